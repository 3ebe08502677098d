"""What HTTP refuses, forgets or wraps: a call is sent again where nothing was carried out, else not."""

import gzip
import json
import zlib
from contextlib import asynccontextmanager

import pytest
import trio

from tests.actors.upstream_world import World, refused, text, until
from tests.servers.http_script import TOOL, Script, http_server
from toolsearchd.config.model import ServerSpec
from toolsearchd.errors import ToolsearchdError

# The SDK leaves httpx's generators to the garbage collector, which trio tells of.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Async generator .* was garbage collected:ResourceWarning"),
    pytest.mark.filterwarnings(
        "ignore:Exception ignored in. <async_generator:pytest.PytestUnraisableExceptionWarning"
    ),
]

JSON = {"Content_Type": "application/json"}


def rpc_error(code, message):
    return json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}).encode()


@pytest.fixture
def script():
    return Script()


@asynccontextmanager
async def reached(script):
    with http_server(script) as url:
        transport = "sse" if script.legacy else "http"
        spec = ServerSpec(name="far", transport=transport, url=url, digest=url)
        async with trio.open_nursery() as nursery:
            world = await World(spec, reconnect_delays_s=(5.0,) * 10).start(nursery)
            await world.reach("far", "ready")
            yield world
            nursery.cancel_scope.cancel()


ENDED = {
    "404": (404, b"", {}),
    "404 with an error": (404, rpc_error(-32001, "Session not found"), JSON),
    "404 with a page": (404, b"<html>no</html>", {"Content_Type": "text/html"}),
    "410": (410, b"gone", {}),
    "400 with an error": (400, rpc_error(-32000, "Bad Request: No valid session ID provided"), JSON),
    "400 in words": (400, b"Invalid or missing session ID", {"Content_Type": "text/plain"}),
    "400 not initialised": (400, rpc_error(-32000, "Bad Request: Server not initialized"), JSON),
}


@pytest.mark.parametrize("answer", ENDED.values(), ids=ENDED)
async def test_a_session_that_ended_is_begun_anew_and_the_call_sent_once_more(script, answer):
    async with reached(script) as world:
        script.answers = [answer]
        assert text(await world.call("far", text="again")) == "again"
        assert (script.calls, script.began) == (2, 2)
        status = world.status("far")
        assert (status["state"], status["last_error"]) == ("ready", "")


async def test_many_calls_of_a_session_that_ended_share_one_new_session(script):
    async with reached(script) as world:
        script.forget()

        async def one(said):
            assert text(await world.call("far", text=said)) == said

        async with trio.open_nursery() as nursery:
            for number in range(5):
                nursery.start_soon(one, str(number))
        assert script.began == 2


async def test_a_session_that_ends_at_once_again_is_told_of(script):
    async with reached(script) as world:
        script.answers = [ENDED["404"]] * 2
        words = await refused("SERVER_UNAVAILABLE", world.call, "far")
        assert "404" in words
        assert "session has ended" in words
        assert text(await world.call("far", text="later")) == "later"


SAYS_SO = '{"jsonrpc": "2.0", "id": ID, "error": {"code": -32001, "message": "Session expired"}}'


async def test_an_answer_that_says_so_is_sent_again_only_where_the_tool_reads(script):
    async with reached(script) as world:
        script.answers = [SAYS_SO]
        assert text(await world.call("far", text="read", replays=True)) == "read"
        script.answers = [SAYS_SO]
        words = await refused("INDETERMINATE", world.call, "far", text="write")
        assert "Session expired" in words
        assert text(await world.call("far", text="next")) == "next"
        assert script.began == 3


async def test_a_tools_own_words_about_sessions_are_its_own(script):
    async with reached(script) as world:
        script.answers = ['{"jsonrpc": "2.0", "id": ID, "error": {"code": 7, "message": "no session"}}']
        assert await refused("SERVER_ERROR", world.call, "far") == "no session"
        assert script.began == 1


async def test_a_method_that_is_not_there_ends_no_session(script):
    async with reached(script) as world:
        script.answers = [(404, rpc_error(-32601, "no such tool"), JSON)]
        assert await refused("SERVER_ERROR", world.call, "far") == "no such tool"
        assert script.began == 1


@pytest.mark.parametrize("status", [401, 403])
async def test_credentials_that_ran_out_are_tried_with_one_new_connect(script, status):
    ran_out = (status, b'{"error": "invalid_token"}', JSON)
    async with reached(script) as world:
        assert text(await world.call("far", text="first")) == "first"
        script.answers = [ran_out]
        assert text(await world.call("far", text="a")) == "a"
        assert script.began == 2
        script.answers = [ran_out] * 2
        words = await refused("SERVER_UNAVAILABLE", world.call, "far", text="b")
        assert str(status) in words
        assert "credentials" in words or "login" in words
        assert "invalid_token" in words
        assert script.began == 3
        shown = world.status("far")
        assert shown["state"] == "ready"
        assert str(status) in shown["last_error"]
        assert text(await world.call("far", text="c")) == "c"
        assert world.status("far")["last_error"] == ""


@pytest.mark.parametrize(
    ("status", "code"), [(401, "SERVER_UNAVAILABLE"), (429, "SERVER_UNAVAILABLE"), (502, "INDETERMINATE")]
)
async def test_a_refusal_in_a_legacy_session_ends_its_call_with_the_status(script, status, code):
    script.legacy = True
    async with reached(script) as world:
        assert text(await world.call("far", text="first")) == "first"
        script.answers = [(status, b"", {})] * 2
        began = trio.current_time()
        words = await refused(code, world.call, "far", text="x", timeout_s=60)
        assert trio.current_time() - began < 20
        assert str(status) in words
        script.answers = []
        await until(lambda: world.status("far")["state"] == "ready")
        assert text(await world.call("far", text="again")) == "again"


async def test_a_server_that_is_asked_too_often_is_asked_again_when_it_says(script):
    async with reached(script) as world:
        script.answers = [(429, b"", {"Retry_After": "1"})]
        before = trio.current_time()
        assert text(await world.call("far", text="a")) == "a"
        assert trio.current_time() - before >= 1.0
        script.answers = [(503, b"", {"Retry_After": "3600"})]
        with pytest.raises(ToolsearchdError) as caught:
            await world.call("far", text="b")
        assert caught.value.code == "SERVER_UNAVAILABLE"
        assert (caught.value.fields["http_status"], caught.value.fields["retry_after_s"]) == (503, 3600)
        assert script.began == 1


@pytest.mark.parametrize("status", [500, 502, 504])
async def test_a_server_that_fails_keeps_its_status_and_is_not_asked_again(script, status):
    async with reached(script) as world:
        script.answers = [(status, b"<html>sorry</html>", {"Content_Type": "text/html"})]
        words = await refused("INDETERMINATE", world.call, "far", text="write")
        assert str(status) in words
        assert "<" not in words
        assert script.calls == 1
        script.answers = [(status, b"", {})]
        assert text(await world.call("far", text="read", replays=True)) == "read"


async def test_a_tools_own_errors_lock_nobody_out_and_what_is_lost_does(script):
    async with reached(script) as world:
        script.answers = ['{"jsonrpc": "2.0", "id": ID, "error": {"code": 1, "message": "no"}}'] * 5
        for _ in range(5):
            await refused("SERVER_ERROR", world.call, "far")
        assert text(await world.call("far", text="fine")) == "fine"
        script.answers = [(502, b"", {})] * 3
        for _ in range(3):
            await refused("INDETERMINATE", world.call, "far")
        words = await refused("SERVER_UNAVAILABLE", world.call, "far")
        assert "3 calls in a row" in words
        assert world.status("far")["breaker_open_s"] > 0


def events(body, lines=b"data: %s", end=b"\n\n", eol=b"\n"):
    data = eol.join(lines % part for part in body.split(b"\n"))
    return {"Content_Type": "text/event-stream"}, b"event: message" + eol + data + end


def in_two(body):
    half = body.index(b",") + 1
    return body[:half] + b"\n" + body[half:]


SHAPES = {
    "two data lines": lambda body: events(in_two(body)),
    "carriage returns": lambda body: events(in_two(body), eol=b"\r", end=b"\r\r"),
    "both": lambda body: events(in_two(body), eol=b"\r\n", end=b"\r\n\r\n"),
    "no blank behind the colon": lambda body: events(body, lines=b"data:%s"),
    "no last blank line": lambda body: events(body, end=b"\n"),
    "no last line end": lambda body: events(body, end=b""),
    "a byte order mark": lambda body: (events(body)[0], b"\xef\xbb\xbf" + events(body)[1]),
    "comments": lambda body: (events(body)[0], b": hello\n\n: again\n" + events(body)[1]),
    "a batch of one": lambda body: events(b"[" + body + b"]"),
    "a body that is a batch of one": lambda body: (JSON, b"[" + body + b"]"),
    "gzip": lambda body: (JSON | {"Content_Encoding": "gzip"}, gzip.compress(body)),
    "deflate": lambda body: (JSON | {"Content_Encoding": "deflate"}, zlib.compress(body)),
    "events in gzip": lambda body: (
        events(body)[0] | {"Content_Encoding": "gzip"},
        gzip.compress(events(in_two(body))[1]),
    ),
    "indented": lambda body: (JSON, json.dumps(json.loads(body), indent=2).encode()),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
async def test_however_an_answer_is_wrapped_it_arrives(script, shape):
    script.reply = shape
    async with reached(script) as world:
        assert text(await world.call("far", text="a, b\nc")) == "a, b\nc"


async def test_a_packed_body_that_swells_costs_its_call_only(script):
    bomb = gzip.compress(b" " * (40 << 20))
    async with reached(script) as world:
        script.answers = [(200, bomb, JSON | {"Content_Encoding": "gzip"})]
        await refused("RESULT_TOO_LARGE", world.call, "far")
        assert text(await world.call("far", text="fine")) == "fine"


def pages(*cursors):
    """A list of pages of one tool each, the n-th asked for with the n-th cursor."""
    found = {}
    for at, cursor in enumerate((None, *cursors)):
        tools = [TOOL | {"name": f"t{at}"}]
        more = {"nextCursor": cursors[at]} if at < len(cursors) else {}
        found[json.dumps(cursor)] = {"tools": tools, **more}
    return found


@pytest.mark.parametrize("cursor", ["", " ", "0", 0, 5, 1.5, "ä\n", "null", "x" * 2000])
async def test_a_cursor_is_any_text_and_any_number(script, cursor):
    script.list_pages = pages(cursor)
    async with reached(script) as world:
        assert world.tools("far") == ["t0", "t1"]


async def test_an_empty_cursor_that_is_refused_was_the_end_of_the_list(script):
    script.list_pages = {"null": {"tools": [TOOL], "nextCursor": ""}}  # any other is an error
    async with reached(script) as world:
        assert world.tools("far") == ["echo"]


@pytest.mark.parametrize("code", [-32092, -32093])
async def test_no_server_can_have_its_call_sent_again(script, code):
    async with reached(script) as world:
        script.answers = [
            json.dumps({"jsonrpc": "2.0", "id": "ID", "error": {"code": code, "message": "x", "data": {}}})
        ]
        script.answers = [script.answers[0].replace('"ID"', "ID")]
        await refused("SERVER_ERROR", world.call, "far")
        assert (script.calls, script.began) == (1, 1)


@pytest.mark.parametrize("cursor", ["", "same", 3])
async def test_a_cursor_that_leads_back_ends_the_list_without_doubles(script, cursor):
    page = {"tools": [TOOL], "nextCursor": cursor}
    script.list_pages = {"null": page, json.dumps(cursor): page}
    async with reached(script) as world:
        assert world.tools("far") == ["echo"]
        assert world.source("far").rejected == ()
