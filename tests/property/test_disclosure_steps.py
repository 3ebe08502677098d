"""The default dialect's listing for any catalog and budget: within it, monotone, the same bytes."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolsearchd.disclosure.listing import listed, unavailable
from toolsearchd.disclosure.listing_families import families
from toolsearchd.disclosure.listing_steps import HEADER, ListingPlan, forms_of
from toolsearchd.disclosure.tokens import VOCABULARIES, count_tokens

NAMES = st.one_of(
    st.text("ab_-", min_size=1, max_size=12),
    st.builds(
        "_".join,
        st.lists(
            st.sampled_from("zone get list issue récord 图 x1 API".split()),
            min_size=1,
            max_size=4,
        ),
    ),
)
TEXTS = st.text(st.sampled_from("abc déя图🙂 .,-_/<|>'"), max_size=60).map(str.strip)
TOOLS = st.lists(st.tuples(NAMES, TEXTS), min_size=1, max_size=25, unique_by=lambda tool: tool[0])


def catalogs(labels):
    return st.lists(
        st.one_of(
            st.builds(listed, labels, TOOLS),
            st.builds(unavailable, labels, st.integers(0, 50), st.text("abc '/", min_size=1, max_size=30)),
        ),
        min_size=1,
        max_size=8,
        unique_by=lambda server: server.label,
    )


PLAIN = catalogs(st.text("abcdefg-_é", min_size=1, max_size=12))
ODD = catalogs(st.text(st.sampled_from("a/<|>: 图🙂()"), min_size=1, max_size=8))
ENCODINGS = st.sampled_from(sorted(VOCABULARIES))


@cache
def counter(encoding):
    return cache(lambda text: count_tokens(encoding, [text])[0])


def shown(text, server):
    """How much of the server a listing shows, 0 for nothing; every form is whole lines."""
    blocks = forms_of(server).blocks
    for less, block in enumerate(blocks):
        if f"\n{block.text}" in f"{text}\n":
            return len(blocks) - less
    return 0


@settings(deadline=None)
@given(ODD | PLAIN, st.integers(0, 900), ENCODINGS, st.randoms(use_true_random=False))
def test_within_the_budget_by_the_real_tokenizer_in_any_order(servers, budget, encoding, chance):
    count = counter(encoding)
    found = ListingPlan(servers, count).listing(budget)
    assert found.tokens == count(found.text) <= budget
    shuffled = list(servers)
    chance.shuffle(shuffled)
    assert ListingPlan(shuffled, count).listing(budget) == found


@settings(deadline=None)
@given(ODD | PLAIN, ENCODINGS)
def test_a_larger_budget_never_shows_less_of_any_server(servers, encoding):
    plan = ListingPlan(servers, counter(encoding))
    texts = [plan.listing(budget).text for budget in range(0, 900, 45)]
    for server in servers:
        amounts = [shown(text, server) for text in texts]
        assert amounts == sorted(amounts), server.label


@settings(deadline=None)
@given(PLAIN, ENCODINGS)
def test_the_fewest_steps_that_fit_are_taken(servers, encoding):
    """Walked by hand: each prefix of the sequence, from full to the shortest, with its own count."""
    count = counter(encoding)
    plan = ListingPlan(servers, count)
    texts = [plan.text_after(taken) for taken in range(len(plan.steps) + 1)]
    sizes = [count(text) for text in texts]
    assert all(more > less for more, less in pairwise(sizes)), "each step frees something"
    for budget in {edge + d for edge in sizes for d in (-1, 0, 1)}:
        fits = [text for text, size in zip(texts, sizes, strict=True) if size <= budget]
        last = plan.one_line if count(plan.one_line) <= budget else ""
        assert plan.listing(budget).text == (fits[0] if fits else last)


@settings(deadline=None)
@given(PLAIN, ENCODINGS)
def test_never_empty_while_a_line_for_each_server_fits(servers, encoding):
    count = counter(encoding)
    lines = "".join(forms_of(server).blocks[-1].text for server in servers)
    plan = ListingPlan(servers, count)
    found = plan.listing(count(f"{HEADER}\n{lines}"))
    assert found.form != "none"
    assert found.text != plan.one_line
    assert all(shown(found.text, server) for server in servers)


@settings(deadline=None)
@given(ODD | PLAIN, ENCODINGS, st.integers(0, 200))
def test_never_empty_while_one_line_for_all_fits(servers, encoding, more):
    plan = ListingPlan(servers, counter(encoding))
    least = counter(encoding)(plan.one_line)
    found = plan.listing(least + more)
    assert found.text
    assert found.form != "none"
    assert plan.listing(0).text == ""


@given(PLAIN)
def test_with_room_for_all_everything_is_shown(servers):
    found = ListingPlan(servers, len).listing(10**6)
    assert all(forms_of(server).blocks[0].text in f"{found.text}\n" for server in servers)
    assert found.form == ("full" if any(not server.reason for server in servers) else "groups")


@given(st.lists(NAMES | st.text("aB1._ -", min_size=1), min_size=1, unique=True))
def test_families_hold_every_name_once(names):
    found, others = families(names)
    assert sum(len(family.names) for family in found) + others == len(names)
    assert len(found) <= 2 * len(names).bit_length()
    assert found == sorted(found, key=lambda family: family.order)
    for family in found:
        assert len(family.names) == 1 or all(name.startswith(family.prefix) for name in family.names)
    assert families(reversed(names)) == (found, others)


# --- the same bytes from any process --------------------------------------------------------------

ASSEMBLE = """
import json, random, sys
from tests.unit.disclosure_catalog import assembled, source, view
catalogs = json.load(sys.stdin)
for seed, catalog in enumerate(catalogs):
    servers = list(catalog.items())
    random.Random(int(sys.argv[1]) + seed).shuffle(servers)
    sources = [
        source(name, dict(random.Random(int(sys.argv[1])).sample(sorted(tools.items()), len(tools))))
        for name, tools in servers
    ]
    for most in (200, 700, 3000):
        print(json.dumps(assembled(view(*sources, listing_max_tokens=most))))
"""


def some_catalogs(chance):
    words = "zone get list issue record user file search create page".split()
    for _ in range(6):
        yield {
            f"server{at}": {
                "_".join(chance.sample(words, 3)): " ".join(chance.choices(words, k=chance.randint(0, 12)))
                for _ in range(chance.choice((1, 3, 12, 60)))
            }
            for at in range(chance.randint(1, 9))
        }


@pytest.mark.parametrize("seed", [11])
def test_equal_sources_give_equal_bytes_under_any_hash_seed(seed):
    catalogs = json.dumps(list(some_catalogs(random.Random(seed))))
    outputs = {
        subprocess.run(
            [sys.executable, "-c", ASSEMBLE, str(hash_seed)],
            input=catalogs,
            env=os.environ | {"PYTHONHASHSEED": str(hash_seed)},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout
        for hash_seed in (0, 1, 4242)
    }
    (output,) = outputs
    assert len({json.loads(line)["listing_form"] for line in output.splitlines()}) > 1
