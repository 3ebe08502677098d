"""What one client, or a server by way of it, makes the door hold: each thing has its bound."""

import socket

import msgspec
import pytest
import trio
from mcp_types import JSONRPCNotification

from tests.actors.door_session import Catalog, open_door
from toolsearchd.doors.client_side import ClientSide
from toolsearchd.doors.wire import Charges, MessageSink
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.system.stream import PeerStream
from toolsearchd.upstream.elicitation import ElicitedClients

LIMITS = Limits()


async def test_an_initialize_without_end_is_refused_and_a_short_one_taken():
    async with open_door(Catalog({})) as peer:
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"experimental": {"x": {"much": "x" * LIMITS.frame_bytes_before_hello}}},
            "clientInfo": {"name": "boasts", "version": "1"},
        }
        error = await peer.answer(1, "initialize", params)
        assert "bytes" in error["message"]
        await peer.initialize("modest")


def test_of_a_clients_capabilities_only_what_is_asked_for_is_kept():
    client = ClientSide(lambda _message: None, lambda: None)
    much = "x" * 100_000
    said = {"elicitation": {"form": {much: much}, "url": {}, much: {}}, "roots": {}, "experimental": much}
    client.shake_hands(object(), {"capabilities": said | {f"{at}{much}": {} for at in range(50)}})
    assert len(msgspec.json.encode(client._capabilities)) < 200
    assert set(client._capabilities) == {"elicitation", "roots"}
    assert {"form", "url"} <= set(client._capabilities["elicitation"])


async def test_a_servers_log_is_dropped_for_a_client_that_does_not_read():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        stream = PeerStream(ours, LIMITS)
        sink = MessageSink(stream, Charges(LIMITS.outstanding_bytes), LIMITS)
        client = ClientSide(sink.tell_nowait, lambda: None)
        client.shake_hands(object(), {})
        for _ in range(200):
            client.tell("srv", "notifications/message", {"level": "error", "data": "x" * 100_000})
        assert 0 < stream.outbox_bytes < 400_000
        # What is no log is sent all the same.
        before = stream.outbox_bytes
        sink.send_nowait(JSONRPCNotification.model_validate({"jsonrpc": "2.0", "method": "x"}))
        assert stream.outbox_bytes > before
        stream.close()


async def test_questions_of_one_server_are_few_at_once(autojump_clock):
    asked, answered = [], trio.Event()

    class Client:
        async def ask(self, _server, method, _params):
            asked.append(method)
            await answered.wait()
            return {}

    waiting, refused = ElicitedClients("srv", most=8), []

    async def ask():
        try:
            await waiting.ask("elicitation/create", {})
        except ToolsearchdError as error:
            refused.append(error.code)

    with waiting.counted(Client()):
        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(ask)
            await trio.testing.wait_all_tasks_blocked()
            assert (len(asked), refused) == (8, ["UNSUPPORTED"] * 12)
            answered.set()
        assert await waiting.ask("elicitation/create", {}) == {}


@pytest.mark.parametrize("uri", ["x://" + "u" * 10_000, "x://{}"])
async def test_subscriptions_of_one_client_are_few(uri):
    watched = []

    async def offers(method, params, _client):
        await trio.lowlevel.checkpoint()
        watched.append(params.get("uri"))
        return {}

    catalog = Catalog({})
    catalog.offers["srv"] = offers
    async with open_door(catalog) as peer:
        await peer.initialize()
        replies = []
        for number in range(LIMITS.watched_resources + 5):
            replies.append(await peer.answer(number, "resources/subscribe", {"uri": uri.format(number)}))
            if "code" in replies[-1]:
                break
        assert "code" in replies[-1]
        assert len(replies) == (1 if len(uri) > 100 else LIMITS.watched_resources + 1)
        if len(replies) > 1:
            assert await peer.answer("u", "resources/unsubscribe", {"uri": uri.format(3)}) == {}
            assert await peer.answer("s", "resources/subscribe", {"uri": "x://another"}) == {}
