"""Everyday verbs: where no tool says the query's own, tools of its kind go before their siblings."""

from __future__ import annotations

import pytest

from tests.unit.test_index_ranker import Engine

DONE = {
    "create": "Create a new {} with a time and guests",
    "cancel": "Cancel a {}",
    "move": "Move a {} to another time",
    "list": "List each {} of a day",
}
NOUNS = {  # no two of which mean the same
    "meeting": "calendar",
    "flight": "travel",
    "delivery": "shop",
    "shift": "roster",
    "lesson": "school",
}
MEANT = {
    "create": "book schedule reserve arrange register",
    "move": "reschedule postpone transfer",
    "cancel": "abort terminate halt",
    "list": "show find view enumerate",
}
OTHERS = {
    "fmt/format_bytes": "Formats bytes to store as text",
    "memory/create_entities": "Create entities in the knowledge graph",
    "memory/add_observations": "Add observations to entities in the knowledge graph",
    "files/read_file": "Read a file",
    "files/delete_file": "Delete a file",
    "chat/post_message": "Post a message to a channel",
    "chat/delete_message": "Delete a message of a channel",
}
ENGINE = Engine(
    OTHERS
    | {
        f"{server}/{verb}_{noun}": text.format(noun)
        for noun, server in NOUNS.items()
        for verb, text in DONE.items()
    }
)


@pytest.mark.parametrize("noun", NOUNS)
@pytest.mark.parametrize(
    ("asked", "meant"), [(word, verb) for verb, words in MEANT.items() for word in words.split()]
)
def test_a_verb_that_no_tool_says_finds_its_kind(asked: str, meant: str, noun: str) -> None:
    assert ENGINE.all(f"{asked} a {noun}")[0] == f"{NOUNS[noun]}/{meant}_{noun}"


@pytest.mark.parametrize("verb", DONE)
@pytest.mark.parametrize("noun", NOUNS)
def test_a_verb_that_tools_say_is_its_own(verb: str, noun: str) -> None:
    assert ENGINE.all(f"{verb} a {noun}")[0] == f"{NOUNS[noun]}/{verb}_{noun}"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("wipe a file", "files/delete_file"),
        ("discard the message", "chat/delete_message"),
        ("jot down an entity", "memory/create_entities"),
        ("nudge the channel", "chat/post_message"),
    ],
)
def test_words_of_talk_are_of_a_kind_too(query: str, expected: str) -> None:
    assert ENGINE.all(query)[0] == expected


@pytest.mark.parametrize("verb", ["store", "remember", "save", "memorize", "record", "jot down"])
@pytest.mark.parametrize("thing", ["a fact about a person", "what a customer likes"])
def test_to_store_a_fact_is_no_sure_match_for_what_stores_bytes(verb: str, thing: str) -> None:
    assert "fmt/format_bytes" not in ENGINE.matches(f"{verb} {thing}")
    assert "files/read_file" not in ENGINE.matches(f"{verb} {thing}")


def test_a_kind_that_only_ungranted_tools_say_shows_nothing_of_them() -> None:
    """A tool that is not granted says the verb: what is granted is ranked as without it."""
    names = {f"calendar/{verb}_meeting": text.format("meeting") for verb, text in DONE.items()}
    with_other = Engine(names | {"library/book_meeting": "Book a meeting"}, mask=range(len(names)))
    assert with_other.all("book a meeting") == Engine(names).all("book a meeting")
