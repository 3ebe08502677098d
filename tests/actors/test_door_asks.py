"""What servers ask and tell while a call of the session is with them, as the client's wire shows it."""

import json

import pytest
import trio

from tests.actors.door_session import Catalog, make_tool, open_door, text_result
from toolsearchd.doors.offers import Offers, uri_here, uri_there
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits

FORM = {"message": "Your name?", "requestedSchema": {"type": "object", "properties": {}}}
ACCEPTED = {"action": "accept", "content": {"name": "x"}}


def asking(catalog_of, entered=None, scope=None):
    """A tool that asks for a form and gives back what came of it."""

    async def ask(arguments, report):
        client = catalog_of().sessions[-1].client_side
        try:
            with scope or trio.CancelScope():
                if entered is not None:
                    entered.set()
                return text_result(json.dumps(await client.ask("srv", "elicitation/create", FORM)))
        except ToolsearchdError as error:
            return text_result(error.message)
        return text_result("asked no more")

    return ask


def catalog_asking(**how):
    catalog = Catalog({})
    catalog.tools = {make_tool("srv", "ask"): asking(lambda: catalog, **how)}
    return catalog


def text(reply):
    return reply["result"]["content"][0]["text"]


async def reply_of(peer, request_id):
    while (message := await peer.receive()).get("id") != request_id or "method" in message:
        pass
    return message


# --- the handshake era --------------------------------------------------------------------------------


async def test_a_form_says_whose_it_is_and_its_answer_goes_back_as_it_came():
    async with open_door(catalog_asking()) as peer:
        await peer.initialize(capabilities={"elicitation": {"form": {}}})
        await peer.call(1, "srv__ask")
        asked = await peer.receive()
        assert asked["method"] == "elicitation/create"
        assert asked["params"] == FORM | {"message": "srv: Your name?"}
        await peer.send({"jsonrpc": "2.0", "id": asked["id"], "result": ACCEPTED | {"_meta": {"more": 1}}})
        assert json.loads(text(await reply_of(peer, 1))) == ACCEPTED | {"_meta": {"more": 1}}


@pytest.mark.parametrize(
    ("capabilities", "asks"),
    [
        ({"elicitation": {}}, True),
        ({"elicitation": {"form": {}}}, True),
        ({"elicitation": {"url": {}}}, False),
        ({"sampling": {}}, False),
        ({}, False),
    ],
)
async def test_only_a_client_that_offers_a_form_is_asked(capabilities, asks):
    async with open_door(catalog_asking()) as peer:
        await peer.initialize(capabilities=capabilities)
        await peer.call(1, "srv__ask")
        message = await peer.receive()
        assert ("method" in message) is asks
        if not asks:
            assert "does not offer it" in text(message)


async def test_a_question_that_its_server_takes_back_is_taken_back_from_the_client():
    entered, scope = trio.Event(), trio.CancelScope()
    async with open_door(catalog_asking(entered=entered, scope=scope)) as peer:
        await peer.initialize(capabilities={"elicitation": {}})
        await peer.call(1, "srv__ask")
        asked = await peer.receive()
        scope.cancel()
        cancelled = await peer.receive()
        assert cancelled["method"] == "notifications/cancelled"
        assert cancelled["params"]["requestId"] == asked["id"]
        assert text(await reply_of(peer, 1)) == "asked no more"


async def test_log_messages_come_in_order_before_the_answer_and_by_their_level():
    catalog = Catalog({})

    async def logs(arguments, report):
        for level in ("debug", "warning", "odd", "error"):
            params = {"level": level, "data": level}
            catalog.sessions[-1].client_side.tell("srv", "notifications/message", params)
        return text_result("done")

    catalog.tools = {make_tool("srv", "logs"): logs}
    async with open_door(catalog) as peer:
        await peer.initialize()
        await peer.answer(1, "logging/setLevel", {"level": "warning"})
        await peer.call(2, "srv__logs")
        heard = [await peer.receive() for _ in range(3)]
        assert [message.get("params", {}).get("data") for message in heard] == ["warning", "error", None]
        assert heard[0]["params"]["logger"] == "srv"


# --- the stateless revision -----------------------------------------------------------------------------


MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "modern", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
}


async def call_modern(peer, request_id, **more):
    params = {"name": "srv__ask", "arguments": {}, "_meta": MODERN, **more}
    return await peer.answer(request_id, "tools/call", params)


async def test_a_request_ends_with_a_question_and_comes_again_with_the_answer():
    catalog = catalog_asking()
    async with open_door(catalog) as peer:
        asked = await call_modern(peer, 1)
        assert asked["resultType"] == "input_required"
        ((key, question),) = asked["inputRequests"].items()
        assert question["params"]["message"] == "srv: Your name?"
        answers = {"inputResponses": {key: ACCEPTED}, "requestState": asked["requestState"]}
        done = await call_modern(peer, 2, **answers)
        assert json.loads(done["content"][0]["text"]) == ACCEPTED
        again = await call_modern(peer, 3, **answers)
        assert again["code"] == -32602
        assert catalog.sessions[0].stops == []


@pytest.mark.parametrize("state", ["", "none of ours", 7, [], {}, "TRUNCATED"])
async def test_a_state_that_is_broken_is_a_protocol_error(state):
    catalog = catalog_asking()
    async with open_door(catalog) as peer:
        asked = await call_modern(peer, 1)
        given = asked["requestState"][:-1] if state == "TRUNCATED" else state
        refused = await call_modern(peer, 2, requestState=given, inputResponses={"question": ACCEPTED})
        assert refused["code"] == -32602
        assert "content" not in refused
        other = {"name": "srv__other", "requestState": asked["requestState"]}
        assert (await call_modern(peer, 3, **other))["code"] == -32602
        answers = {"inputResponses": {"question": ACCEPTED}, "requestState": asked["requestState"]}
        assert "content" in await call_modern(peer, 4, **answers)  # the right one still stands


ROUND = {
    "who": ("elicitation/create", FORM),
    "q 2": ("elicitation/create", FORM | {"message": "Your town?"}),
}


@pytest.mark.parametrize("is_modern", [True, False])
async def test_what_is_asked_at_once_keeps_its_keys(is_modern):
    catalog = Catalog({})

    async def ask(arguments, report):
        return text_result(json.dumps(await catalog.sessions[-1].client_side.ask_all("srv", ROUND)))

    catalog.tools = {make_tool("srv", "ask"): ask}
    answers = {key: ACCEPTED | {"content": {"name": key}} for key in ROUND}
    async with open_door(catalog) as peer:
        if is_modern:
            asked = await call_modern(peer, 1)
            messages = {key: one["params"]["message"] for key, one in asked["inputRequests"].items()}
            assert messages == {"who": "srv: Your name?", "q 2": "srv: Your town?"}
            state = {"inputResponses": answers, "requestState": asked["requestState"]}
            done = text({"result": await call_modern(peer, 2, **state)})
        else:
            await peer.initialize(capabilities={"elicitation": {}})
            await peer.call(1, "srv__ask")
            for key in ROUND:
                question = await peer.receive()
                await peer.send({"jsonrpc": "2.0", "id": question["id"], "result": answers[key]})
            done = text(await reply_of(peer, 1))
    assert json.loads(done) == answers


OFFERED = {
    "prompts/get": ({"name": "srv__greet"}, {"messages": []}),
    "resources/read": ({"uri": "toolsearchd://srv/x:a"}, {"contents": []}),
}


@pytest.mark.parametrize("method", OFFERED)
@pytest.mark.parametrize("is_modern", [True, False])
async def test_a_request_that_is_no_tools_asks_too(method, is_modern):
    asked_with, result = OFFERED[method]
    heard = []

    async def offer(requested, params, client):
        if requested == "prompts/list":
            return {"prompts": [{"name": "greet"}]}
        heard.append(params)
        answers = await client.ask_all("srv", ROUND)
        return result | {"_meta": answers["who"]["content"]}

    async with open_door(Catalog({}, offers={"srv": offer})) as peer:
        answers = dict.fromkeys(ROUND, ACCEPTED)
        if is_modern:
            params = {"_meta": MODERN, **asked_with}
            asked = await peer.answer(1, method, params)
            assert set(asked["inputRequests"]) == set(ROUND)
            assert (await peer.answer(2, method, params | {"requestState": "x"}))["code"] == -32602
            state = {"inputResponses": answers, "requestState": asked["requestState"]}
            done = await peer.answer(3, method, params | state)
        else:
            await peer.initialize(capabilities={"elicitation": {}})
            await peer.request(1, method, asked_with)
            for _ in ROUND:
                question = await peer.receive()
                await peer.send({"jsonrpc": "2.0", "id": question["id"], "result": ACCEPTED})
            done = (await reply_of(peer, 1))["result"]
        assert done["_meta"]["name"] == "x"
        assert len(heard) == 1


async def test_an_error_of_what_is_asked_in_rounds_is_the_requests():
    async def offer(requested, params, client):
        raise ToolsearchdError("SERVER_ERROR", "no such mood", server_code=-32077)

    async with open_door(Catalog({}, offers={"srv": offer})) as peer:
        params = {"_meta": MODERN, "uri": "toolsearchd://srv/x:a"}
        assert (await peer.answer(1, "resources/read", params))["code"] == -32077
        missing = await peer.answer(2, "resources/read", params | {"uri": "toolsearchd://none/x:a"})
        assert "no resource" in missing["message"]


async def test_a_call_whose_client_never_comes_back_is_stopped():
    catalog = catalog_asking()
    async with open_door(catalog, limits=Limits(approval_answer_s=0.05)) as peer:
        await call_modern(peer, 1)
        (session,) = catalog.sessions
        with trio.fail_after(10):  # the stop is said first, the batch ends with its call
            while not session.stops or list(session.queue.batches):
                await trio.sleep(0.01)


async def test_a_client_that_comes_back_without_an_answer_ends_the_question():
    async with open_door(catalog_asking()) as peer:
        asked = await call_modern(peer, 1)
        done = await call_modern(peer, 2, requestState=asked["requestState"])
        assert "without an answer" in done["content"][0]["text"]


# --- whose resource -------------------------------------------------------------------------------------


@pytest.mark.parametrize("server", ["plain", "with space", "a/b", "ü", "100%"])
@pytest.mark.parametrize("uri", ["file:///x", "demo://a/{id}", "urn:x", "toolsearchd://other/urn:x", ""])
def test_an_uri_goes_there_and_back(server, uri):
    assert uri_there(uri_here(server, uri)) == (server, uri)


class Two:
    """Two servers that both have `x:both`; `granted` are those that a view grants."""

    granted_servers = ("one", "two")

    def capabilities(self, server):
        return frozenset(("resources",))

    async def request(self, server, method, params, *, timeout_s, client):
        await trio.lowlevel.checkpoint()
        uris = {"one": ["x:both", "x:one"], "two": ["x:both"]}[server]
        return (
            {"resources": [{"uri": uri, "name": uri} for uri in uris]} if method == "resources/list" else {}
        )


async def test_an_uri_by_itself_is_its_servers_where_one_alone_has_it():
    two = Two()
    offers = Offers(two, None, Limits())
    assert await offers.resource(two, "x:one") == ("one", "x:one")
    with pytest.raises(Exception, match="toolsearchd://one/x:both or toolsearchd://two/x:both"):
        await offers.resource(two, "x:both")
    offers.note_links("two", {"content": [{"type": "resource_link", "uri": "x:both"}]})
    assert await offers.resource(two, "x:both") == ("two", "x:both")
    offers.note_links("one", {"content": [{"type": "resource_link", "uri": "x:both"}]})
    with pytest.raises(Exception, match="several servers"):
        await offers.resource(two, "x:both")
