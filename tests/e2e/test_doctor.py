"""`doctor` names the tools that nobody finds, and its mend, taken as it stands, makes them found."""

import json
import re
import subprocess
import time

import pytest
import yaml

from tests.daemon import BIN, DaemonProcess, wait_until
from tests.servers.zoo import zoo
from tests.wire import agent

ALIKE = ("list_accounts", "list-accounts", "list.accounts", "accounts_list", "accounts-list", "accounts.list")


def tool(name, description, **properties):
    return {
        "name": name,
        "description": description,
        "inputSchema": {"type": "object", "properties": properties},
    }


def hard(daemon):
    return [f for f in daemon.ctl("doctor")[1]["findings"] if f.get("kind") == "hard-to-find"]


@pytest.fixture
def daemon(tmp_path):
    listed = tmp_path / "tools.json"
    tools = [tool(name, "List accounts") for name in ALIKE]
    tools.append(tool("list/accounts", "", warehouse={"type": "string"}))
    listed.write_text(json.dumps(tools))
    with DaemonProcess(tmp_path, servers={"db": zoo("steady", "--tools-from", listed)}) as daemon:
        daemon.wait_servers("db")
        yield daemon


def test_the_mend_makes_the_tool_found(daemon):
    finding = next(f for f in hard(daemon) if f["about"] == "db/list/accounts")
    assert finding["words"][0] == "warehouse"
    assert len(finding["before"]) == 5
    people = subprocess.run(
        [BIN / "toolsearchctl", "--runtime-dir", daemon.runtime_dir, "doctor"],
        env=daemon.env,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    assert "db/list/accounts: hard to find" in people
    mend = re.search(r"tools\.tool_search\.aliases: (\{\"db/list/accounts\".*\})", people)[1]
    daemon.write_config(daemon.config | {"tools": {"tool_search": {"aliases": yaml.safe_load(mend)}}})
    wait_until(lambda: "db/list/accounts" not in [f["about"] for f in hard(daemon)], within_s=10)
    (group,) = daemon.ctl("search", "warehouse accounts")[1]["results"]
    assert group["matches"][0].startswith(
        "mcp__db__list_accounts_"
    )  # the one with a digest: its name was altered


def test_another_ranker_is_not_judged_by_the_default_ones_rules(daemon):
    daemon.write_config(daemon.config | {"tools": {"tool_search": {"ranker": "hermes"}}})
    wait_until(lambda: not hard(daemon), within_s=10)


def test_ten_thousand_tools_are_looked_at_beside_other_work(tmp_path):
    listed = tmp_path / "tools.json"
    names = [
        f"list{between}thing{at}"
        for at in range(1_250)
        for between in ("_", "-", ".", "/", "__", "--", "..", "_-")  # all read the same
    ]
    tools = [tool(name, "") for name in names]
    listed.write_text(json.dumps(tools))
    with DaemonProcess(tmp_path, servers={"big": zoo("steady", "--tools-from", listed)}) as daemon:
        daemon.wait_servers("big")
        told = tmp_path / "doctor.json"
        with told.open("wb") as stdout:
            command = [BIN / "toolsearchctl", "--runtime-dir", daemon.runtime_dir, "--json", "doctor"]
            doctor = subprocess.Popen(command, env=daemon.env, stdout=stdout)
        waits = []
        with agent(daemon) as wire:
            while doctor.poll() is None:
                began = time.monotonic()
                wire.ask({"op": "ping", "id": len(waits)})
                waits.append(time.monotonic() - began)
                time.sleep(0.005)  # another agent's work, not a flood
    assert doctor.returncode == 0
    findings = json.loads(told.read_text())["findings"]
    assert findings[-1]["about"] == "catalog"
    assert len(findings) > 100
    waits.sort()
    assert waits[int(len(waits) * 0.99)] < 0.1


def test_a_servers_name_forges_no_line(tmp_path):
    """Neither in what doctor says nor in the log: a name in a file that is shared may hold anything."""
    with DaemonProcess(
        tmp_path, servers={"a\nerror b\x1b[31m\u202e": {"command": "no-such-program"}}
    ) as daemon:
        wait_until(lambda: "no-such-program" in daemon.log.read_text(), what="the failure in the log")
        command = [BIN / "toolsearchctl", "--runtime-dir", daemon.runtime_dir, "doctor"]
        told = wait_until(lambda: subprocess.run(command, capture_output=True, text=True).stdout)
        log = daemon.log.read_text()
    assert "warning a error b: " in told
    assert "a\\u000aerror b\\u001b[31m\\u202e" in log
    assert not set("\x1b\u202e") & set(told + log)
