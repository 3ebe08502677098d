"""Values in a query: names, places, files, and products that are only what something is about."""

import string

import pytest
from hypothesis import given as sampled
from hypothesis import strategies as st

from tests.unit.test_index_ranker import Engine
from toolsearchd.index.given import given, is_place, is_value
from toolsearchd.index.lexicon import default_lexicon

NAMES = st.text(string.ascii_lowercase, min_size=4, max_size=10)
PRODUCTS = st.sampled_from(sorted(name for name in default_lexicon().products if name.isascii()))

AS_VALUES = (
    "current share price of {}",
    "posts about {}",
    "open a note about the failing {} job",
    "find files called {}-board",
    "take a picture of {}.com",
    "rename {} to anything",
    "search code for {}_key",
    "threads mentioning {}",
)
AS_PLACES = (
    "{} send message",
    "{}",
    "post it on {}",
    "save this in my {}",
    "push the numbers into our {} sheet",
    "send it via {}",
)


@sampled(PRODUCTS, st.sampled_from(AS_VALUES))
def test_a_product_that_something_is_about_is_a_value(product: str, form: str) -> None:
    assert is_value(product, form.format(product))
    assert is_value(product, form.format(product.title()))


@sampled(PRODUCTS, st.sampled_from(AS_PLACES))
def test_a_product_that_is_worked_with_is_none(product: str, form: str) -> None:
    query = form.format(product)
    assert is_place(product, query)
    assert not is_value(product, query, (), lambda word: True)


def test_at_another_service_a_product_is_a_value() -> None:
    assert is_value("dropbox", "deactivate the Dropbox app in okta", ["okta"])
    assert not is_value("dependabot", "github dependabot alerts", ["github"])
    assert not is_value("jira", "move a Jira ticket to done")


def test_one_of_several_that_a_tool_is_for() -> None:
    known = {"image"}.__contains__
    assert is_value("redis", "start a container from the redis image", (), known)
    assert not is_value("snowflake", "ask the Snowflake warehouse", (), known)


@sampled(
    NAMES,
    st.sampled_from(
        ["weather in {} today", "mail {} and others", "flights from {} tomorrow", "(see {}) now"]
    ),
)
def test_a_capital_within_a_sentence_is_a_name(name: str, form: str) -> None:
    assert name in given(form.format(name.title()))
    assert name not in given(form.format(name))


@sampled(NAMES, NAMES)
def test_titles_shouts_and_beginnings_name_nothing(one: str, other: str) -> None:
    assert not given(f"{one} {other}".title())
    assert not given(f"{one} {other}".upper())
    assert not given(f"{one.title()} the {other}")
    assert not given(f"stop. {one.title()} the {other}")
    assert not given(f"post it on {one.title()}")


@sampled(
    NAMES,
    st.sampled_from(
        ["{}.pdf", "{}@example.org", "https://{}/x", "/home/{}/y", "docs\\{}", "{}.v2", "'{} x'"]
    ),
)
def test_what_is_written_as_a_file_or_an_address_is_a_value(name: str, form: str) -> None:
    assert name in given(f"open {form.format(name)} please")


@sampled(st.text(max_size=200))
def test_any_text_is_read(query: str) -> None:
    assert all(word for word in given(query))
    assert isinstance(is_value("jira", query), bool)


ENGINE = Engine(
    {
        "market/get_stock_price": "Get the current price of a stock.",
        "market/list_orders": "List the orders of an account.",
        "shots/take_screenshot": "Take a screenshot of a web page.",
        "files/move_file": "Move or rename a file.",
        "boxes/create_container": "Create and start a container of an image.",
        "mail/find_message": "Find messages in the mail box.",
        "sky/get_weather": "Get the weather of a city.",
    }
)


@pytest.mark.parametrize(
    ("query", "tool"),
    [
        ("get stock price nvidia", "market/get_stock_price"),
        ("stock price of Shopify", "market/get_stock_price"),
        ("screenshot of linear.app", "shots/take_screenshot"),
        ("rename zoom_recording.mp4 to kickoff.mp4", "files/move_file"),
        ("start a container from the redis image", "boxes/create_container"),
        ("find messages about the failing discord webhook", "mail/find_message"),
        ("weather in Ouagadougou", "sky/get_weather"),
    ],
)
def test_a_value_does_not_empty_the_answer(query: str, tool: str) -> None:
    assert ENGINE.all(query)[0] == tool


def test_a_service_that_is_not_there_is_said_and_not_answered() -> None:
    for query in ("slack send message", "find messages on Slack", "new row in Airtable"):
        group = ENGINE.group(query)
        assert group.absent_product is not None
        assert not group.matches
