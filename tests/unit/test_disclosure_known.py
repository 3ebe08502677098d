"""Counts that are kept: asked once, by text and by digest, on the disk under the way of counting, bounded."""

import pytest

from toolsearchd.disclosure.tokens import VOCABULARIES, UncountedError, fingerprint
from toolsearchd.disclosure.tokens_known import KnownCounts

LONG = "long " * 200


def test_a_text_is_asked_about_once():
    known = KnownCounts("f")
    assert known.unknown(["a", LONG, "a"]) == ["a", LONG]
    with pytest.raises(UncountedError) as missing:
        known(LONG)
    assert missing.value.text == LONG
    known.learn(["a", LONG], [1, 200])
    assert (known("a"), known(LONG)) == (1, 200)
    assert known.unknown(["a", LONG, "b"]) == ["b"]


def test_what_was_packed_is_known_after_a_start():
    known = KnownCounts("f")
    known.learn(["a", LONG, "\ud800"], [1, 200, 3])
    again = KnownCounts("f")
    again.learn(["b"], [2])
    again.load(known.packed())
    assert [again(text) for text in ("a", LONG, "\ud800", "b")] == [1, 200, 3, 2]


def test_counts_of_another_vocabulary_are_refused():
    packed = KnownCounts(fingerprint("o200k_base")).packed()
    with pytest.raises(ValueError, match="o200k_base"):
        KnownCounts(fingerprint("cl100k_base")).load(packed)
    assert len({fingerprint(encoding) for encoding in (*VOCABULARIES, "other")}) == 3


@pytest.mark.parametrize("damage", [b"", b"x", b"x" * 400])
def test_a_damaged_file_is_refused(damage):
    with pytest.raises(ValueError, match="checksum"):
        KnownCounts("f").load(damage)


def test_every_flipped_byte_is_seen():
    known = KnownCounts("f")
    known.learn(["a", "b"], [1, 2])
    packed = known.packed()
    for at in range(len(packed)):
        flipped = packed[:at] + bytes([packed[at] ^ 1]) + packed[at + 1 :]
        with pytest.raises(ValueError, match="checksum"):
            KnownCounts("f").load(flipped)


def test_the_oldest_are_forgotten_but_never_what_one_catalog_needs():
    known = KnownCounts("f", most=100)
    for at in range(1000):
        known.learn([f"text {at}"], [at])
    assert len(known) <= 100
    assert known("text 999") == 999
    assert known.unknown(["text 0"])
    catalog = [f"line {at}" for at in range(500)]
    known.make_room(len(catalog))
    known.learn(known.unknown(catalog), range(500))
    assert known.unknown(catalog) == []
    kept = KnownCounts("f", most=100)
    kept.load(known.packed())
    assert len(kept) == 100
