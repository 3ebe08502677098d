"""Approvals through the client's own form, as the client sees them: plain JSON lines."""

import pytest
from msgspec.structs import replace
from trio.testing import wait_all_tasks_blocked

from tests.actors.door_session import Catalog, open_door
from toolsearchd.protocol.events import ApprovalEnded, ApprovalRequested, Digests

PROMPT = ApprovalRequested(
    approval="abcde",
    session="s1",
    client="a-client",
    profile="default",
    server="srv",
    tool="mcp__srv__erase",
    arguments='{"text":"a\u202eb"}',
    arguments_bytes=16,
    rule="approval.default",
    asked_at="2026-12-01T12:00:00+00:00",
    expires_at="2026-12-01T12:05:00+00:00",
    digests=Digests(server="", tool="", arguments=""),
    pid=1,
    pending=1,
)


async def asked(peer, session, **changes):
    """The form that the client is sent for a prompt."""
    await wait_all_tasks_blocked()
    session.notify(replace(PROMPT, **changes))
    return await peer.receive()


async def answered(peer, session, result):
    await peer.send({"jsonrpc": "2.0", **result})
    await wait_all_tasks_blocked()
    return session.decisions


async def opened(peer, catalog):
    await peer.initialize(capabilities={"elicitation": {}})
    return catalog.sessions[0]


async def test_a_client_without_a_form_is_not_asked():
    catalog = Catalog({})
    async with open_door(catalog) as peer:
        await peer.initialize()
        assert catalog.sessions[0].forms is False


@pytest.mark.parametrize(
    ("answer", "decisions"),
    [
        ({"action": "accept", "content": {"decision": "approve"}}, ["approve"]),
        ({"action": "accept", "content": {"decision": "session"}}, ["session"]),
        ({"action": "accept", "content": {"decision": "always"}}, ["deny"]),  # that is nobody's to say here
        ({"action": "accept", "content": {"decision": "deny"}}, ["deny"]),
        ({"action": "accept", "content": {"decision": "whatever"}}, ["deny"]),
        ({"action": "accept", "content": {}}, ["deny"]),
        ({"action": "decline"}, ["deny"]),
        ({"action": "cancel"}, []),
    ],
)
async def test_answers(answer, decisions):
    catalog = Catalog({})
    async with open_door(catalog) as peer:
        session = await opened(peer, catalog)
        form = await asked(peer, session)
        assert form["method"] == "elicitation/create"
        assert '{"text":"a\\u202eb"}' in form["params"]["message"]
        assert "mcp__srv__erase" in form["params"]["message"]
        found = await answered(peer, session, {"id": form["id"], "result": answer})
        assert found == [("abcde", decision) for decision in decisions]
        assert session.forms is True


@pytest.mark.parametrize(
    "broken",
    [{"error": {"code": -32601, "message": "no form here"}}, {"result": {"action": "perhaps"}}],
)
async def test_a_form_that_fails_is_not_used_again(broken):
    catalog = Catalog({})
    async with open_door(catalog) as peer:
        session = await opened(peer, catalog)
        form = await asked(peer, session)
        assert await answered(peer, session, {"id": form["id"], **broken}) == []
        assert session.forms is False
        assert await peer.answer(9, "ping") == {}


async def test_a_form_is_taken_away_when_somebody_else_answered():
    catalog = Catalog({})
    async with open_door(catalog) as peer:
        session = await opened(peer, catalog)
        form = await asked(peer, session)
        session.notify(ApprovalEnded(approval="abcde", state="denied", by="somebody"))
        cancelled = await peer.receive()
        assert cancelled["method"] == "notifications/cancelled"
        assert cancelled["params"]["requestId"] == form["id"]
        late = {"action": "accept", "content": {"decision": "approve"}}
        assert await answered(peer, session, {"id": form["id"], "result": late}) == []


async def test_what_is_too_long_to_show_is_asked_elsewhere():
    catalog = Catalog({})
    async with open_door(catalog) as peer:
        session = await opened(peer, catalog)
        session.notify(replace(PROMPT, arguments=None))
        assert await peer.answer(1, "ping") == {}
