"""What people are answered, from what the actors hold: counted, judged and told with its mend."""

import msgspec
import pytest

from tests.actors.calls_world import at_once
from tests.actors.sessions_world import SessionsWorld
from tests.unit.disclosure_catalog import GITHUB, SLACK
from toolsearchd.config.model import Desired, ServerSpec
from toolsearchd.config.settings import Settings
from toolsearchd.daemon.admin import Admin
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.protocol import requests as messages
from toolsearchd.protocol.control_replies import EntryOrigin, ServerStatus
from toolsearchd.records import Finding
from toolsearchd.system import guard

ORIGIN = EntryOrigin(file="mcp.json", format="claude-desktop", entry="x", project="", kept_in="")


class Watcher:
    config_file, problems, settings = "config.yaml", (), Settings()
    desired = Desired(servers=(ServerSpec(name="slack", transport="stdio"),))
    looked_for = ()

    def __init__(self):
        self.refused = None

    def refusal(self):
        return self.refused

    def files(self):
        return []


class Fleet:
    def __init__(self, world):
        self.world, self.restarted = world, []

    def sources(self):
        return tuple(self.world.sources)

    def status(self):
        return [
            ServerStatus(
                name=source.name,
                state=source.state,
                reason="",
                transport="stdio",
                pid=None,
                tools=len(source.definitions),
                in_flight=0,
                restarts=0,
                last_error="",
                stderr_tail=[],
                junk_lines=0,
                first_junk="",
                next_retry_s=None,
                origins=[ORIGIN],
            )
            for source in self.world.sources
        ]

    def restart(self, name):
        self.restarted.append(name)


class Silent:
    """Nothing odd, and no model."""

    state = "off"
    reason = "not installed"

    def findings(self):
        return []


@pytest.fixture
async def world(tmp_path, nursery):
    guard.bugs.clear()
    return await SessionsWorld(tmp_path).start(nursery)


@pytest.fixture
def admin(world):
    return Admin(
        watcher=Watcher(),
        fleet=Fleet(world),
        cataloger=world.cataloger,
        evaluator=world.evaluator,
        sessions=world.sessions,
        journal=world.journal,
        manifests=Silent(),
        orphans=Silent(),
        sentences=Silent(),
        limits=Limits(),
        restart_needed=list,
        oddities=(lambda: [Finding(level="warning", about="fds", message="few", mend="raise", kind="few")],),
    )


async def test_status_says_what_there_is(world, admin):
    session = await world.open(client="one")
    status = admin.status()
    assert (status["servers"], status["tools"]) == ({"ready": 2}, 5)
    assert [one["session"] for one in status["sessions"]] == [session.session_id]
    assert status["problems"] == ["few"]
    assert status["semantic"].members() == {"state": "off", "reason": "not installed"}
    assert status["memory_bytes"] > 1 << 20
    assert admin.one_line() == "servers: 2 ready; tools: 5; sessions: 1"


async def test_a_server_whose_tools_are_not_indexed_yet_is_not_called_ready(world, admin):
    world.sources[0] = msgspec.structs.replace(GITHUB, definitions=SLACK.definitions)
    (github,) = admin.servers("github", origins=False)["servers"]
    assert (github["state"], github["reason"]) == ("starting", "its tools are being indexed")
    await world.compiled()
    (github,) = admin.servers("github", origins=True)["servers"]
    assert (github["state"], github["origins"]) == ("ready", [ORIGIN])


async def test_names_that_do_not_exist_are_refused_before_anything_is_done(world, admin):
    for ask in (lambda: admin.servers("nobody", origins=False), lambda: admin.restart("nobody")):
        with pytest.raises(ToolsearchdError) as refused:
            ask()
        assert refused.value.code == "UNKNOWN_SERVER"
    with pytest.raises(ToolsearchdError) as refused:
        await admin.tokens("s0", None)
    assert refused.value.code == "UNKNOWN_SESSION"
    assert admin._fleet.restarted == []
    assert admin.restart("github") == {"restarted": "github"}
    assert admin._fleet.restarted == ["github"]


async def test_no_config_in_force_is_said_first(admin):
    admin._watcher.refused = ToolsearchdError("BAD_CONFIG", "no")
    assert admin.one_line().startswith("no config is in force, calls are refused; ")


async def test_what_is_odd_is_found_with_its_mend(world, admin):
    await world.change("github", state="failed", reason="it ended", rejected=("x: no name",), truncated=3)
    await world.change("slack", state="not_started", reason="limit: too many", mended=("y: a part",))
    guard.caught("answering", RuntimeError("planted"))
    world.journal.error, world.journal.dropped = "disk full", 7
    findings = admin.findings()
    words = " | ".join(f"{finding['level']} {finding['about']}: {finding['message']}" for finding in findings)
    for expected in (
        "warning github: failed: it ended",
        "warning github: tool left out: x: no name",
        "warning github: 3 tools left out over the limit",
        "warning slack: not_started: limit: too many",
        "warning slack: tool mended: y: a part",
        "error answering: answering failed by a bug in the daemon, 1 times",
        "the journal can't be written (disk full)",
        "7 records of the journal were dropped",
        "warning fds: few",
    ):
        assert expected in words
    assert all(finding["mend"] for finding in findings)


async def test_a_lazy_server_whose_tools_are_known_is_nothing_odd(world, admin):
    await world.change("slack", state="not_started", reason="idle")
    assert [finding["about"] for finding in admin.findings()] == ["fds"]
    await world.change("slack", definitions=())
    assert {finding["about"]: finding["level"] for finding in admin.findings()} == {
        "fds": "warning",
        "slack": "info",
    }


async def test_every_request_has_an_answer(admin):
    wire_own = {
        messages.WatchRequest,
        messages.ApprovalsRequest,
        messages.ApproveRequest,
        messages.DenyRequest,
    }
    assert set(messages.ControlRequest.__subclasses__()) - wire_own == admin.answers().keys()


async def test_statistics_count_tasks_and_descriptors(admin):
    told = admin.statistics()
    assert told["tasks"] > 1
    assert told["open_fds"] > 3
    assert told["bugs"] == {}
    assert await at_once(admin.one_line)
