"""Where the listing goes for a client that cuts what it shows."""

from toolsearchd.doors.texts import BRIDGED, cut_for, place_listing

CUT = 2048
SERVERS = [("notes", 40), ("mail", 1)]


def place(listing, description="Search all tools."):
    return place_listing(listing, description=description, cut=CUT, servers=SERVERS)


def test_a_client_with_a_cut_is_known_by_name():
    assert cut_for("claude-code") == 2048
    assert cut_for("some-editor") is None


def test_a_short_listing_stands_in_the_description():
    placed = place("notes: add, find\nmail: send")
    assert placed.description.endswith("notes: add, find\nmail: send")
    assert placed.instructions == BRIDGED


def test_a_longer_one_goes_on_in_the_instructions_without_loss():
    lines = [f"tool_{number}: does the thing of number {number}" for number in range(60)]
    placed = place("\n".join(lines))
    shown = placed.description.splitlines() + placed.instructions.splitlines()
    assert [line for line in shown if line in lines] == lines
    assert max(len(placed.description.encode()), len(placed.instructions.encode())) <= CUT


def test_one_too_long_for_both_names_each_server_instead():
    placed = place("\n".join(f"tool_{number}: " + "words " * 20 for number in range(500)))
    assert "- notes (40 tools)\n- mail (1 tool)" in placed.description
    assert "tool_1:" not in placed.description + placed.instructions


def test_lengths_are_counted_in_bytes():
    placed = place("\n".join(["ü" * 100] * 12))
    assert len(placed.description.encode()) <= CUT
    assert "ü" * 100 in placed.instructions


def test_no_listing_needs_no_heading():
    assert place("  \n") == ("Search all tools.", BRIDGED)


def test_a_description_that_fills_the_cut_keeps_its_own_text():
    description = "d" * (CUT - 10)
    placed = place("notes: add", description)
    assert placed.description == description
    assert "notes: add" in placed.instructions
