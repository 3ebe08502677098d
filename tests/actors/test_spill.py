"""Files of long results: who may read them, how long they stay, how much they take."""

import stat

import msgspec
import pytest
import trio

from toolsearchd.calls.spill import Spill
from toolsearchd.dispatch.entry import Outcome
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits

LIMITS = msgspec.structs.replace(Limits(), spill_bytes=500_000, resolve_bytes=1000)


async def at_once(work):
    return work()


@pytest.fixture
async def spill(tmp_path, nursery):
    made = Spill(tmp_path, limits=LIMITS, in_thread=at_once)
    await nursery.start(made.run)
    return made


def outcome(value, **more):
    return Outcome(response={"content": [{"type": "text", "text": value}], **more})


def pieces(spill, session, handle, **options):
    offset = 0
    while offset is not None:
        piece = spill.resolve(session, handle, offset, **options)
        yield piece["text"]
        offset = piece.get("next_offset")


def unknown(spill, session, handle):
    with pytest.raises(ToolsearchdError) as caught:
        spill.resolve(session, handle)
    return caught.value.code == "UNKNOWN_HANDLE"


async def test_a_long_text_is_kept_whole_and_read_on_with_its_handle(spill, tmp_path):
    whole = "".join(f"Zeile {at} — größer\n" for at in range(10_000))
    told = await spill.fitted("s1", outcome(whole))
    where, shown = told.spilled, told.response["content"][0]["text"]
    assert shown.startswith("Zeile 0 ")
    assert shown.endswith("Zeile 9999 — größer\n")
    assert where["handle"] in shown
    assert where["path"] in shown
    assert f"of {len(whole.encode()):,} bytes" in shown
    assert len(shown.encode()) < LIMITS.result_text_bytes + 500
    path = tmp_path / "spilled" / "s1" / where["handle"]
    assert str(path) == where["path"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert path.read_text() == whole
    assert "".join(pieces(spill, "s1", where["handle"])) == whole
    assert "".join(pieces(spill, "s1", where["handle"], limit=7)) == whole
    assert spill.resolve("s1", where["handle"])["total"] == where["bytes"] == len(whole.encode())
    assert unknown(spill, "s2", where["handle"])
    assert unknown(spill, "s1", "r0")
    assert unknown(spill, "s1", "../s1/" + where["handle"])


async def test_what_fits_is_kept_nowhere(spill, tmp_path):
    image = {"type": "image", "data": "A" * 300_000}
    told = await spill.fitted(
        "s1", Outcome(response={"content": [image], "structuredContent": {"a": "b" * 200_000}})
    )
    assert told.spilled is None
    assert told.response["content"] == [image]
    assert len(told.response["structuredContent"]["a"]) == 200_000
    assert not (tmp_path / "spilled").exists()


async def test_odd_pieces(spill):
    told = await spill.fitted("s1", outcome("ü" * 100_000))
    handle = told.spilled["handle"]
    assert spill.resolve("s1", handle, 1, 5)["bytes"] == "ü".encode()[1:] + "üü".encode()
    past = spill.resolve("s1", handle, 10**9)
    assert (past["text"], "next_offset" in past) == ("", False)
    for offset, limit in ((-1, None), (0, 0), (0, -5)):
        with pytest.raises(ToolsearchdError, match="offset"):
            spill.resolve("s1", handle, offset, limit)


async def test_the_oldest_go_first_and_all_expire(spill, tmp_path, autojump_clock):
    handles = [(await spill.fitted("s1", outcome(str(n) * 200_000))).spilled["handle"] for n in range(3)]
    other = (await spill.fitted("s2", outcome("x" * 200_000))).spilled["handle"]
    assert unknown(spill, "s1", handles[0])
    assert spill.resolve("s1", handles[1])["text"].startswith("111")
    assert len(list((tmp_path / "spilled" / "s1").iterdir())) == 2
    await trio.sleep(LIMITS.spill_s + 100)
    assert not [path for path in (tmp_path / "spilled").rglob("*") if path.is_file()]
    assert unknown(spill, "s2", other)


async def test_they_go_with_their_session(spill, tmp_path):
    one = (await spill.fitted("s1", outcome("x" * 200_000))).spilled["handle"]
    two = (await spill.fitted("s2", outcome("x" * 200_000))).spilled["handle"]
    spill.forget("s1")
    spill.forget("never")
    assert unknown(spill, "s1", one)
    assert [path.name for path in (tmp_path / "spilled").iterdir()] == ["s2"]
    assert spill.resolve("s2", two)["text"]


async def test_a_directory_that_cannot_be_written_costs_the_rest_only(tmp_path, nursery):
    spill = Spill(tmp_path / "file", limits=LIMITS, in_thread=at_once)
    await nursery.start(spill.run)
    (tmp_path / "file").write_text("in the way")
    told = await spill.fitted("s1", outcome("x" * 200_000))
    assert "could not be kept: Not a directory" in told.response["content"][0]["text"]


async def test_an_earlier_daemons_files_are_gone(tmp_path, nursery):
    old = tmp_path / "spilled" / "s1" / "r0"
    old.parent.mkdir(parents=True)
    old.write_text("old")
    await nursery.start(Spill(tmp_path, limits=LIMITS, in_thread=at_once).run)
    assert not old.exists()


def nested(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("odd", [2**70, "\ud800", nested(5000), {"\udfff": 1}, {"a": [2**64, -(2**63) - 1]}])
async def test_what_has_no_representation_costs_itself_and_is_said(spill, odd):
    result = {"content": [{"type": "text", "text": "done"}], "structuredContent": {"odd": odd}}
    for given in (Outcome(response=result), Outcome(error={"code": "TOOL_ERROR", "response": result})):
        told = await spill.fitted("s1", given)
        shown = told.response if told.error is None else told.error["response"]
        msgspec.msgpack.encode(shown)
        texts = [block["text"] for block in shown["content"]]
        assert texts[0] == "done"
        assert "can't be represented" in texts[-1]


async def test_the_largest_slots_of_a_reply_give_way(spill):
    limits = msgspec.structs.replace(LIMITS, frame_bytes=300_000, spill_bytes=10**7)
    spill = Spill(spill._root.parent, limits=limits, in_thread=at_once)
    image = {"content": [{"type": "image", "data": "A" * 200_000}]}
    failing = {
        "code": "TOOL_ERROR",
        "message": "no",
        "response": {"content": [], "structuredContent": ["x" * 150_000]},
    }
    slots = [
        {"index": 0, "name": "a", "response": {"content": []}},
        {"index": 1, "name": "b", "response": image},
        {"index": 2, "name": "c", "error": failing},
        {"index": 3, "name": "d", "response": {"content": [{"type": "text", "text": "t" * 50_000}]}},
    ]
    reply = await spill.fit_frame("s1", {"results": list(slots), "total_count": 4})
    assert len(msgspec.msgpack.encode(reply)) < limits.frame_bytes
    assert reply["results"][0] == slots[0]
    assert reply["results"][3] == slots[3]
    handle = reply["results"][1]["spilled"]["handle"]
    assert handle in reply["results"][1]["response"]["content"][0]["text"]
    assert msgspec.json.decode("".join(pieces(spill, "s1", handle))) == image
    small = await spill.fit_frame("s1", {"results": [slots[0], slots[3]]})
    assert small == {"results": [slots[0], slots[3]]}
