"""Lists of prompts and resources without end: what a session takes of them, and how long it waits."""

import itertools

import msgspec
import pytest
import trio

from toolsearchd.doors.offers import PROMPTS, RESOURCES, Offers
from toolsearchd.limits import Limits

LIMITS = msgspec.structs.replace(
    Limits(),
    list_pages=50,
    cursor_chars=100,
    offers_bytes=100_000,
    offered_bytes=150_000,
    offers_timeout_s=20,
)


class Servers:
    """Each gives page upon page; `pages[name]`: (items, cursor, seconds that it takes) of each."""

    def __init__(self, **pages):
        self.granted_servers = tuple(pages)
        self.asked = []
        self._pages = {name: iter(given) for name, given in pages.items()}

    def capabilities(self, _server):
        return frozenset(("prompts", "resources"))

    async def request(self, server, method, params, *, timeout_s, client):
        items, cursor, seconds = next(self._pages[server])
        self.asked.append(len(str(params)))
        await trio.sleep(seconds)
        return {RESOURCES.field: items, PROMPTS.field: items, "nextCursor": cursor}


def item(number, size=10):
    return {"uri": f"x://{number}", "name": f"n{number}", "description": "d" * size}


def endless(size=10, cursor=lambda at: str(at), seconds=0.0):
    return (([item(at, size)], cursor(at), seconds) for at in itertools.count())


@pytest.mark.parametrize("kind", [PROMPTS, RESOURCES])
@pytest.mark.parametrize(
    ("pages", "most"),
    [
        (endless, 50),
        (lambda: endless(size=30_000), 3),
        (lambda: endless(cursor=lambda at: f"{at}" * 101), 1),
        (lambda: endless(seconds=3), 6),
        (lambda: iter([([item(1)], ["a"], 0)]), 1),
        (lambda: iter([([item(1)], "a", 0), ([item(2)], "a", 0)]), 2),
    ],
)
async def test_what_is_taken_of_a_list_without_end(kind, pages, most, autojump_clock):
    servers = Servers(srv=pages())
    started = trio.current_time()
    found = await Offers(servers, None, LIMITS).items(servers, kind)
    assert len(found) == most
    assert trio.current_time() - started <= LIMITS.offers_timeout_s
    assert max(servers.asked) < 200


async def test_many_servers_together_are_bounded_and_the_first_come_first(autojump_clock):
    names = [f"s{at}" for at in range(8)]
    servers = Servers(**{name: iter([([item(name, 50_000)], None, 0)]) for name in names})
    offers = Offers(servers, None, LIMITS)
    assert len(await offers.items(servers, RESOURCES)) == 2


async def test_an_item_that_has_no_json_form_costs_itself(autojump_clock):
    odd = item(1) | {"title": "\ud800"}
    servers = Servers(srv=iter([([odd, item(2)], None, 0)]))
    assert len(await Offers(servers, None, LIMITS).items(servers, RESOURCES)) == 1
