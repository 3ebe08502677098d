"""What a client says of itself at hello: clipped or refused, before anything is made of it."""

import pytest

from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.protocol.requests import Hello
from toolsearchd.sessions.entitlement import checked_hello, entitlement_of

LIMITS = Limits()


def hello(**fields):
    return Hello(protocol=1, **({"client": "c"} | fields))


def test_an_ordinary_one_stays_as_it_is():
    said = hello(cwd="/home/p/project", roots=["/a", "/b/c"], model="m", encoding="o200k_base", profile="p")
    assert checked_hello(said, LIMITS) == said


def test_a_long_name_is_clipped():
    assert len(checked_hello(hello(client="x" * 50_000), LIMITS).client) == LIMITS.own_name_chars


@pytest.mark.parametrize(
    "fields",
    [
        {"model": "m" * 50_000},
        {"encoding": "e" * 257},
        {"profile": "p" * 50_000},
        {"dialect": "d" * 50_000},
        {"base_url": "u" * 50_000},
        {"cwd": "/" + "d" * 50_000},
        {"cwd": "/d" * 2_000},
        {"roots": ["/a"] * 10_000},
        {"roots": ["/a", "a/" * 1_000]},
        {"only": {"tools": ["t"] * 10_000}},
        {"without": {"servers": ["s" * 50_000]}},
    ],
)
def test_what_is_longer_than_any_is_refused(fields):
    with pytest.raises(ToolsearchdError) as caught:
        checked_hello(hello(**fields), LIMITS)
    assert caught.value.code == "BAD_ARGUMENTS"
    assert caught.value.fields["field"] in fields
    assert len(caught.value.message) < 200


def test_the_deepest_places_take_little():
    """Every directory above a place is looked at: their texts grow with the square of the depth."""
    place = "/" + "/".join(["d" * 6] * (LIMITS.path_depth - 1))
    roots = [f"{place}{at}" for at in range(LIMITS.own_names)]
    standing = entitlement_of(checked_hello(hello(roots=roots), LIMITS), {}, ())
    assert sum(map(len, standing.grant.projects)) < 2 << 20


@pytest.mark.parametrize(
    "scope", [5, "github", ["github"], {"servers": "github"}, {"tools": [5]}, {"tool": ["x"]}, {"tools": {}}]
)
@pytest.mark.parametrize("field", ["only", "without"])
def test_what_was_meant_to_narrow_is_understood_or_refused(field, scope):
    with pytest.raises(ToolsearchdError, match=f"^{field}: ") as caught:
        checked_hello(hello(**{field: scope}), LIMITS)
    assert caught.value.code == "BAD_ARGUMENTS"
    assert "{servers: [glob], tools: [glob]} is accepted" in caught.value.message


def test_the_door_says_neither():
    with pytest.raises(ToolsearchdError, match=r"only: not through the MCP door"):
        checked_hello(hello(mcp=True, only={"servers": []}), LIMITS)
