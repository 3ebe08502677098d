"""What HTTP refuses, forgets or wraps: a call is sent again where nothing was carried out, else not."""

import gzip
import json
import time
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
async def reached(script, delay_s=5.0, **more):
    with http_server(script) as url:
        transport = "sse" if script.legacy else "http"
        spec = ServerSpec(name="far", transport=transport, url=url, digest=url, **more)
        async with trio.open_nursery() as nursery:
            world = await World(spec, reconnect_delays_s=(delay_s,) * 10).start(nursery)
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


async def test_sessions_that_end_at_once_bring_no_storm_of_new_ones(script):
    async with reached(script, delay_s=600.0) as world:
        for _ in range(3):  # a session that was of use is begun anew each time
            assert text(await world.call("far", text="fine")) == "fine"
            script.answers = [ENDED["404"]]
            assert text(await world.call("far", text="at once")) == "at once"
        began = script.began
        script.answers = [ENDED["404"]] * 40
        for _ in range(20):
            words = await refused("SERVER_UNAVAILABLE", world.call, "far", timeout_s=2)
        assert world.status("far")["state"] == "failed"
        assert "404" in words
        assert script.began <= began + 4


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


OWN_WORDS = [
    (7, "no session"),
    (-32000, "session x not found"),
    (-32000, "Session 1d4f0c77-2b6e-4a7e-9c07-0a5a7b0b6c1e not found"),
    (-32001, "browser session has expired"),
    (-32600, "Unknown session: jupyter-4"),
    (-32001, "No session with the name build"),
    (-32000, "your login session is invalid"),
    (-32603, "Session not found"),
]


@pytest.mark.parametrize(("code", "words"), OWN_WORDS)
async def test_a_tools_own_words_about_sessions_are_its_own(script, code, words):
    error = json.dumps({"code": code, "message": words})
    async with reached(script) as world:
        script.answers = [f'{{"jsonrpc": "2.0", "id": ID, "error": {error}}}']
        with pytest.raises(ToolsearchdError) as caught:
            await world.call("far")
        told = (caught.value.code, caught.value.message, caught.value.fields["server_code"])
        assert told == ("SERVER_ERROR", words, code)
        assert script.began == 1


@pytest.mark.parametrize("code", [-32000, -32001, -32600])
@pytest.mark.parametrize(
    "words",
    [
        "Session not found",
        "Bad Request: No valid session ID provided",
        "Invalid or missing session ID",
        "Unknown session: SESSION",
        "Session 'SESSION' has been terminated, please re-initialize",
        "Server not initialized",
    ],
)
async def test_an_answer_about_the_session_itself_ends_it(script, code, words):
    error = json.dumps({"code": code, "message": words.replace("SESSION", "s1")})
    async with reached(script) as world:
        script.answers = [f'{{"jsonrpc": "2.0", "id": ID, "error": {error}}}']
        await refused("INDETERMINATE", world.call, "far")
        assert text(await world.call("far", text="next")) == "next"
        assert script.began == 2


async def test_no_answer_ends_a_session_where_there_is_none(script):
    script.sessions = None
    async with reached(script) as world:
        script.answers = [SAYS_SO]
        assert await refused("SERVER_ERROR", world.call, "far") == "Session expired"
        assert script.began == 1


SPEAKS = {
    "in an answer": (SAYS_SO, 4),
    "refused": ((400, rpc_error(-32000, "Session expired"), JSON), 4),
    "refused, of something else": ((400, b'{"error": "the checkout session 77 is open"}', JSON), 2),
    "refused, as JSON-RPC": ((400, rpc_error(-32000, "the shop has no session"), JSON), 2),
}


@pytest.mark.parametrize(("answer", "most"), SPEAKS.values(), ids=SPEAKS)
async def test_a_tool_that_speaks_of_sessions_for_ever_brings_few_new_ones(script, answer, most):
    async with reached(script) as world:
        for number in range(6):
            script.answers = [answer] * 2
            with pytest.raises(ToolsearchdError) as caught:
                await world.call("far")
            script.answers = []
            assert text(await world.call("far", text=str(number))) == str(number)
        assert caught.value.code == "SERVER_ERROR"
        assert "session" in caught.value.message.lower()
        assert 1 < script.began <= most


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


LATER = {
    "too often, no time": (429, {}, "SERVER_UNAVAILABLE"),
    "too often, a time that is none": (429, {"Retry_After": "soon"}, "SERVER_UNAVAILABLE"),
    "not now, no time": (503, {}, "INDETERMINATE"),
    "not now, a time that is none": (503, {"Retry_After": "-1"}, "INDETERMINATE"),
    "not now, in words": (503, {"Content_Type": "text/html"}, "INDETERMINATE"),
}


@pytest.mark.parametrize(("status", "headers", "code"), LATER.values(), ids=LATER)
async def test_what_may_write_is_sent_again_only_where_the_server_says_when(script, status, headers, code):
    async with reached(script) as world:
        script.answers = [(status, b"", headers)]
        with pytest.raises(ToolsearchdError) as caught:
            await world.call("far", text="write")
        assert caught.value.code == code
        assert caught.value.fields["http_status"] == status
        assert caught.value.fields.get("outcome_uncertain", False) == (code == "INDETERMINATE")
        assert script.calls == 1
        script.answers = [(status, b"", headers)]
        assert text(await world.call("far", text="read", replays=True)) == "read"
        assert (script.calls, script.began) == (3, 1)


async def test_whoever_waits_for_the_time_holds_no_turn_and_is_woken_at_once(script):
    async with reached(script, max_concurrency=1) as world:
        script.answers = [(429, b"", {"Retry_After": "14"})]
        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            stopped = trio.CancelScope()

            async def waiting():
                with stopped:
                    await world.call("far", text="waits")

            nursery.start_soon(waiting)
            await until(lambda: script.calls == 1 and not world.status("far")["in_flight"])
            assert text(await world.call("far", text="meanwhile")) == "meanwhile"
            stopped.cancel()
        script.answers = [(429, b"", {"Retry_After": "14"})]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(refused, "SERVER_UNAVAILABLE", world.call, "far")
            await until(lambda: script.calls == 3 and not world.status("far")["in_flight"])
            world.fleet.apply([])  # the entry is taken out of the config
        assert script.calls == 3
        assert trio.current_time() - began < 12


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("status", [400, 500])
async def test_a_refusal_whose_body_drips_ends_its_call_soon(script, legacy, status):
    script.legacy = legacy
    async with reached(script) as world:
        assert text(await world.call("far", text="first")) == "first"
        script.drips = [(status, b"half a")]
        began = trio.current_time()
        with pytest.raises(ToolsearchdError) as caught:
            await world.call("far", text="x", timeout_s=60)
        assert caught.value.fields["http_status"] == status
        assert trio.current_time() - began < 20
        await until(lambda: world.status("far")["state"] == "ready")
        assert text(await world.call("far", text="again")) == "again"


async def test_a_body_behind_a_post_of_a_legacy_session_holds_nothing_up(script):
    script.legacy = True
    async with reached(script) as world:
        script.drips = [(202, b"Acc")] * 2
        began = trio.current_time()
        assert text(await world.call("far", text="a")) == "a"
        assert text(await world.call("far", text="b")) == "b"
        assert trio.current_time() - began < 20


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
    "packed twice": lambda body: (
        JSON | {"Content_Encoding": "gzip, DEFLATE"},
        zlib.compress(gzip.compress(body)),
    ),
    "packed, and then not": lambda body: (
        JSON | {"Content_Encoding": " GZIP, identity"},
        gzip.compress(body) + b"what stands behind it",
    ),
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


BOMB = gzip.compress(b" " * (40 << 20))
EMPTY_BOMB = gzip.compress(gzip.compress(b"") + b"\0" * (100 << 20))  # nothing comes of it
BOMBS = {
    "once": (BOMB, "gzip", "RESULT_TOO_LARGE"),
    "capitals": (BOMB, "GZip", "RESULT_TOO_LARGE"),
    "with identity": (BOMB, "gzip, identity", "RESULT_TOO_LARGE"),
    "with blanks": (BOMB, " identity ,, gzip ,", "RESULT_TOO_LARGE"),
    "twice": (gzip.compress(BOMB), "gzip, gzip", "RESULT_TOO_LARGE"),
    "in two ways": (zlib.compress(BOMB), "gzip ,Deflate", "RESULT_TOO_LARGE"),
    "to nothing": (EMPTY_BOMB, "gzip, gzip", "BAD_RESULT"),
    "nine times": (BOMB, ", ".join(["gzip"] * 9), "BAD_RESULT"),
    "in an unknown way": (BOMB, "gzip, br", "BAD_RESULT"),
    "not at all": (b"{}" + b" " * 1000, "gzip", "BAD_RESULT"),
}


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
@pytest.mark.parametrize(("body", "coding", "code"), BOMBS.values(), ids=BOMBS)
async def test_a_packed_body_that_swells_costs_its_call_only(script, body, coding, code, kind):
    headers = {"Content_Type": kind, "Content_Encoding": coding}
    async with reached(script) as world:
        script.answers = [(200, body, headers)]
        began = time.thread_time()
        if kind == "application/json" or code == "BAD_RESULT":
            await refused(code, world.call, "far")
        else:
            with pytest.raises(ToolsearchdError):
                await world.call("far")
        assert time.thread_time() - began < 3
        assert text(await world.call("far", text="fine")) == "fine"
        assert script.began == 1


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
