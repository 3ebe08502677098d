"""Where the listing goes for a client that cuts what it shows."""

import pytest

from toolsearchd.disclosure.listing import HEADER, listed, render
from toolsearchd.doors.texts import BRIDGED, DIRECT, cut_for, direct, place_listing

CUT = 2048
DESCRIPTION = "Search all tools."


def size_of(blocks):
    return len("\n".join(blocks).encode())


def place(servers, description=DESCRIPTION, budget=10**6):
    listing = render(servers, budget, size_of, HEADER).text
    placed = place_listing(
        listing,
        description=description,
        cut=CUT,
        shorter=lambda size: render(servers, size, size_of, HEADER).text,
    )
    assert max(len(placed.description.encode()), len(placed.instructions.encode())) <= CUT
    return placed, f"{placed.description}\n{placed.instructions}"


def server(label, tools, words=6):
    return listed(label, [(f"{label}_tool_{number}", "lorem " * words) for number in range(tools)])


def test_a_client_with_a_cut_is_known_by_name():
    assert cut_for("claude-code") == 2048
    assert cut_for("some-editor") is None


def test_a_short_listing_stands_in_the_description():
    placed, _ = place([server("notes", 3)])
    assert placed.description.startswith(f"{DESCRIPTION}\n{HEADER}\nnotes tools (3):")
    assert placed.instructions == BRIDGED


def test_a_longer_one_goes_on_in_the_instructions_without_loss():
    notes = server("notes", 60)
    placed, shown = place([notes])
    assert [line for line in shown.splitlines() if line in notes.full.splitlines()] == notes.full.splitlines()
    assert placed.instructions.startswith(BRIDGED)


@pytest.mark.parametrize("tools", [80, 110, 140, 170])
def test_one_too_long_for_both_is_given_with_less_detail_and_still_whole(tools):
    _, shown = place([server("notes", tools, words=20), server("mail", 2)])
    assert "lorem" not in shown
    names = shown.replace("\n", " ").replace(",", " ").split()
    if "names not listed" in shown:
        assert "notes (" in shown
    else:
        assert {f"notes_tool_{number}" for number in range(tools)} <= set(names)
    assert "mail_tool_1" in names


def test_names_are_never_parted():
    servers = [server("notes", 150)]
    _, shown = place(servers)
    names = {name for name, _ in servers[0].tools}
    words = shown.replace("\n", " ").replace(",", " ").split()
    assert {word for word in words if word.startswith("notes_tool")} == names


def test_many_servers_are_named_as_far_as_there_is_room():
    placed, shown = place([server(f"server-{number:03}", 5) for number in range(300)])
    assert shown.count("server-") > 20
    assert "server-000" in placed.description


def test_lengths_are_counted_in_bytes():
    place([listed("münz", [(f"t{number}", "ü" * 60) for number in range(20)])])


def test_no_listing_needs_no_words():
    assert place([], budget=0)[0] == (DESCRIPTION, BRIDGED)


def test_a_description_that_fills_the_cut_keeps_its_own_text():
    description = "d" * (CUT - 10)
    placed, _ = place([server("notes", 2)], description)
    assert placed.description == description
    assert "notes_tool_1" in placed.instructions


def test_where_all_tools_are_listed_servers_say_how_to_use_them_within_a_bound():
    assert direct({}) == DIRECT
    told = direct({"lib": "Call lookup first.", "far": "x" * 9000})
    assert "lib says of its tools:\nCall lookup first." in told
    assert len(told) < len(DIRECT) + 4100
