"""Editing a config reaches the catalog without a restart, and touches only what changed."""

import os

import pytest

from tests.daemon import DaemonProcess, wait_until
from tests.servers.zoo import zoo


@pytest.fixture
def daemon(tmp_path):
    servers = {name: zoo("steady", "echo", "pid") for name in ("one", "two", "three")}
    # Three servers of one meaning would be one server: an argument sets them apart.
    for name, entry in servers.items():
        entry["env"] = {"WHO": name}
    with DaemonProcess(tmp_path, servers=servers) as daemon:
        daemon.entries = servers
        daemon.wait_servers("one", "two", "three")
        yield daemon


def pids(daemon):
    return {server["name"]: server["pid"] for server in daemon.ctl("servers")[1]["servers"]}


def finds(daemon, query):
    return daemon.ctl("search", query)[1]["results"][0]["matches"]


def test_an_added_server_is_found_and_a_removed_one_is_gone(daemon):
    before = pids(daemon)
    daemon.write_servers(daemon.entries | {"four": zoo("steady", "progress")})
    wait_until(lambda: "mcp__four__progress" in finds(daemon, "report progress"), within_s=10)
    daemon.write_servers(daemon.entries)
    wait_until(lambda: "mcp__four__progress" not in finds(daemon, "report progress"), within_s=10)
    assert pids(daemon) == before


def test_only_the_changed_server_restarts(daemon):
    before = pids(daemon)
    daemon.write_servers(daemon.entries | {"two": zoo("steady", "erase", env={"WHO": "two"})})
    wait_until(lambda: "mcp__two__erase" in finds(daemon, "erase everything"), within_s=10)
    after = pids(daemon)
    assert after["two"] != before["two"]
    assert {k: v for k, v in after.items() if k != "two"} == {k: v for k, v in before.items() if k != "two"}


def test_touch_indent_and_key_order_restart_nothing(daemon):
    before = pids(daemon)
    text = daemon.servers_file.read_text()
    os.utime(daemon.servers_file)
    daemon.servers_file.write_text(text.replace(",", ",\n   "))
    daemon.write_servers(dict(reversed(daemon.entries.items())))
    daemon.write_servers(daemon.entries | {"last": zoo("steady", "fail")})
    wait_until(lambda: "last" in pids(daemon), within_s=10)
    assert {k: v for k, v in pids(daemon).items() if k != "last"} == before


def test_a_half_written_file_removes_nothing(daemon):
    before = pids(daemon)
    text = daemon.servers_file.read_text()
    daemon.servers_file.write_text(text[: len(text) // 2])
    status = wait_until(
        lambda: [p for p in daemon.ctl("status")[1]["problems"] if "mcp.json" in p], within_s=10
    )
    assert status
    assert pids(daemon) == before
    assert daemon.ctl("doctor")[1]["findings"]
    daemon.servers_file.write_text(text)
    wait_until(lambda: not daemon.ctl("status")[1]["problems"], within_s=10)
    assert pids(daemon) == before


def test_a_bad_entry_costs_only_itself(daemon):
    before = pids(daemon)
    daemon.write_servers(daemon.entries | {"bad": {"command": 5}, "good": zoo("steady", "fail")})
    wait_until(lambda: "good" in pids(daemon), within_s=10)
    assert {k: v for k, v in pids(daemon).items() if k != "good"} == before


@pytest.mark.parametrize("how", ["deleted", "emptied"])
def test_a_file_that_is_gone_keeps_its_servers_until_that_is_accepted(daemon, how):
    before = pids(daemon)
    daemon.servers_file.unlink() if how == "deleted" else daemon.servers_file.write_bytes(b"")
    (said,) = wait_until(lambda: daemon.ctl("status")[1]["problems"], within_s=15)
    assert "mcp.json: error: the file " in said
    assert "--accept-missing" in said
    (finding,) = [found for found in daemon.ctl("doctor")[1]["findings"] if "mcp.json" in found["message"]]
    assert (finding["level"], "--accept-missing" in finding["mend"]) == ("error", True)
    assert said in daemon.log.read_text()
    assert pids(daemon) == before
    status, reply = daemon.ctl("reload", "--accept-missing")
    assert (status, reply["accepted"], reply["problems"]) == (0, [str(daemon.servers_file)], [])
    assert reply["changed"] == ["one", "three", "two"]
    wait_until(lambda: not pids(daemon), within_s=15)
    daemon.write_servers(daemon.entries)
    daemon.wait_servers("one", "two", "three", within_s=15)


def test_a_bad_own_config_keeps_the_last_good_one(daemon):
    before = pids(daemon)
    daemon.config_file.write_text("sources: [")
    wait_until(lambda: "config.yaml" in str(daemon.ctl("status")[1]["problems"]), within_s=10)
    assert pids(daemon) == before
    daemon.write_config(daemon.config)
    wait_until(lambda: not daemon.ctl("status")[1]["problems"], within_s=10)
    assert pids(daemon) == before
