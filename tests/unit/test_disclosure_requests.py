"""Arguments of tool_search and tool_describe: repaired where there is one reading, refused with words."""

import pytest

from toolsearchd.disclosure.requests import parse_limit, parse_names, parse_queries
from toolsearchd.errors import ToolsearchdError


def queries(args, most=16, **more):
    return parse_queries(args, most=most, max_chars=20, **more)


def names(args):
    return parse_names(args, most=3)


def refused(run, code):
    with pytest.raises(ToolsearchdError) as caught:
        run()
    assert caught.value.code == code
    return caught.value


def test_queries_are_trimmed_and_blanks_dropped():
    assert queries({"queries": [" list files ", "", None, "   ", "a"]}) == ["list files", "a"]


def test_one_text_is_a_list_of_one():
    assert queries({"queries": "list"}) == ["list"]
    assert queries({"query": "list"}) == ["list"]
    assert names({"name": "a"}) == ["a"]


def test_queries_are_cut_not_refused():
    assert queries({"queries": ["x" * 1000]}) == ["x" * 20]


def test_numbers_are_texts():
    assert queries({"queries": [42, 1.5, True]}) == ["42", "1.5", "True"]


def test_only_blanks_find_nothing_but_are_an_error_of_the_reference():
    assert queries({"queries": ["  ", ""]}) == [""]
    refused(lambda: queries({"queries": ["  "]}, items_as_text=True), "BAD_ARGUMENTS")
    refused(lambda: queries({"queries": []}), "BAD_ARGUMENTS")


def test_an_object_in_the_list_is_refused_with_its_place():
    error = refused(lambda: queries({"queries": ["a", {"q": "x"}]}), "BAD_ARGUMENTS")
    assert "queries[1]" in error.message
    assert queries({"queries": [{"q": "x"}]}, items_as_text=True) == ["{'q': 'x'}"]


@pytest.mark.parametrize("given", [None, {"q": "x"}, 5, True])
def test_what_is_no_list_is_refused_with_an_example(given):
    error = refused(lambda: queries({"queries": given}), "BAD_ARGUMENTS")
    assert "queries: expected a list" in error.message
    assert error.fields == {"field": "queries"}


@pytest.mark.parametrize("as_text", [False, True])
def test_odd_values_never_raise_anything_else(as_text):
    deep = []
    for _ in range(5000):
        deep = [deep]
    for odd in (deep, 10**6000):
        try:
            queries({"queries": [odd]}, items_as_text=as_text)
        except ToolsearchdError as error:
            assert error.code == "BAD_ARGUMENTS"


def test_too_many_names_the_cap():
    error = refused(lambda: queries({"queries": ["q"] * 10_000}), "TOO_MANY")
    assert "10000" in error.message
    assert "16" in error.message
    assert error.fields["most"] == 16


def test_names_are_one_each_before_they_are_counted():
    assert names({"names": ["a", " a ", "b", "", "c", "b"]}) == ["a", "b", "c"]
    refused(lambda: names({"names": list("abcd")}), "TOO_MANY")


def test_names_keep_their_case():
    assert names({"names": ["A", "a"]}) == ["A", "a"]


@pytest.mark.parametrize(
    ("given", "limit"),
    [
        (None, 5),
        ("3", 3),
        (3.9, 3),
        (True, 1),
        (0, 1),
        (-1, 1),
        (10**9, 25),
        ("many", 5),
        ([], 5),
        (float("inf"), 5),
        (float("nan"), 5),
        ("9" * 5000, 5),
    ],
)
def test_limits_are_read_or_the_default_and_clamped(given, limit):
    assert parse_limit({"limit": given}, default=5, most=25) == limit
