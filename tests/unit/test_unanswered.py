"""Starts without an end, in whatever is left of a journal."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearchd.calls.unanswered import read_unanswered

NOW = 1_800_000_000.0
AT = "2027-01-15T08:00:00.000+00:00"  # NOW
OLD = "2027-01-13T08:00:00.000+00:00"


def line(step, call, at=AT, **more):
    return json.dumps({"at": at, "step": step, "call": call, "tool": "t", "client": "c", **more}) + "\n"


def read(folder, *texts, life="now", max_bytes=1 << 20):
    paths = []
    for number, text in enumerate(texts):
        paths.append(folder / f"{number}")
        paths[-1].write_bytes(text.encode() if isinstance(text, str) else text)
    new, named = read_unanswered([*paths, folder / "none"], life=life, now=NOW, max_bytes=max_bytes)
    return [call.call for call in new], [call.call for call in named]


@pytest.mark.parametrize(
    ("texts", "new", "named"),
    [
        ([""], [], []),
        ([line("sent", "a-1")], ["a-1"], []),
        ([line("sent", "a-1") + line("call", "a-1")], [], []),
        ([line("sent", "a-1"), line("call", "a-1")], [], []),  # rotated between the two
        ([line("sent", "now-1")], [], []),  # on its way
        ([line("approved", "a-1") + line("sent", "a-1")], ["a-1"], []),
        ([line("approved", "a-1")], ["a-1"], []),
        ([line("sent", "a-1") + line("unanswered", "a-1")], [], ["a-1"]),
        ([line("sent", "a-1") + line("unanswered", "a-1", at=OLD)], [], []),
        ([line("sent", "a-1") + line("sent", "b-1") + line("call", "a-1")], ["b-1"], []),
        ([line("sent", "a-1") + '{"at": "2027', ""], ["a-1"], []),  # torn
        ([b"\xff\x00\n" + line("sent", "a-1").encode() + b"[1]\n5\nnull\n"], ["a-1"], []),
        ([line("sent", "a-1", tool=5)], [], []),
        ([line("stop", "") + line("sent", "")], [], []),
    ],
)
def test_what_never_ended(tmp_path, texts, new, named):
    assert read(tmp_path, *texts) == (new, named)


def test_one_that_was_approved_may_not_have_been_sent(tmp_path):
    (tmp_path / "j").write_text(line("approved", "a-1") + line("approved", "a-2") + line("sent", "a-2"))
    new, _ = read_unanswered([tmp_path / "j"], life="now", now=NOW, max_bytes=1 << 20)
    assert [(call.call, call.sent) for call in new] == [("a-1", False), ("a-2", True)]


def test_no_more_than_the_tail_is_read(tmp_path):
    assert read(tmp_path, line("sent", "a-1"), line("sent", "a-2"), max_bytes=len(line("sent", "a-2"))) == (
        ["a-2"],
        [],
    )
    assert read(tmp_path, line("sent", "a-1") + line("sent", "a-2"), max_bytes=100) == (["a-2"], [])


@given(
    st.lists(st.tuples(st.sampled_from(["sent", "call", "approved"]), st.integers(1, 4))),
    st.binary(max_size=20),
)
def test_whatever_happened_is_told_once(tmp_path_factory, steps, rubbish):
    folder = tmp_path_factory.mktemp("journal")
    text = "".join(line(step, f"a-{number}") for step, number in steps)
    new, _ = read(folder, text.encode() + rubbish)
    last = {number: step for step, number in steps}
    assert sorted(new) == sorted(f"a-{number}" for number, step in last.items() if step != "call")
