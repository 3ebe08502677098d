"""What reaches a person's terminal: aligned, coloured only where wanted, nothing of a server's in control."""

import io
import json
from contextlib import redirect_stdout

import pytest

from toolsearchd.ctl import output
from toolsearchd.ctl.output import coloured, complain, duration, print_json, print_json_line, say, table

HOSTILE = "\x1b]0;owned\x07red\x1b[31m\x9b2Jtext\u202e\x00"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """What is printed within `with terminal as screen` goes to a terminal."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    return redirect_stdout(Terminal())


def lines(capsys):
    return capsys.readouterr().out.splitlines()


def test_columns_are_aligned_and_end_without_spaces(capsys):
    table(("NAME", "N"), [("a", 1), ("longer", None), ("b", 22)])
    assert lines(capsys) == ["NAME    N", "a       1", "longer", "b       22"]


def test_a_table_without_rows_is_its_head(capsys):
    table(("NAME", "STATE"), [])
    assert lines(capsys) == ["NAME  STATE"]


def test_colour_only_on_a_terminal(capsys):
    assert coloured("ready") == "ready"
    table(("STATE",), [("ready",)])
    assert "\x1b" not in capsys.readouterr().out


def test_a_coloured_cell_keeps_its_width(terminal):
    with terminal as screen:
        table(("STATE", "N"), [("ready", 1), ("unknown state", 2)])
    head, ready, unknown = screen.getvalue().splitlines()
    assert ready == "\x1b[32mready\x1b[0m          1"
    assert head.index("N") == unknown.index("2") == 15


def test_no_color_is_honoured(terminal, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "")
    with terminal:
        assert coloured("failed") == "failed"


def test_nothing_of_a_servers_controls_the_terminal(terminal, capsys):
    with terminal as screen:
        say(HOSTILE)
        table(("A", "B"), [(HOSTILE, "x\ny")])
        print_json({"text": HOSTILE})
        print_json_line({"text": HOSTILE})
    complain(HOSTILE)
    shown = screen.getvalue() + capsys.readouterr().err
    assert "redtext" in shown
    assert "x y" in shown  # a cell stays in its line
    for character in "\x1b\x07\x9b\u202e\x00":
        assert character not in shown


def test_a_document_is_one_line_away_from_a_terminal(capsys):
    print_json({"a": ["ü"]})
    assert lines(capsys) == ['{"a": ["ü"]}']


def test_a_streams_documents_are_lines_even_on_a_terminal(terminal):
    with terminal as screen:
        print_json_line({"a": [1, 2]})
        print_json_line({"b": {}})
    assert [json.loads(line) for line in screen.getvalue().splitlines()] == [{"a": [1, 2]}, {"b": {}}]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0s"), (59.9, "59s"), (60, "1m 0s"), (3599, "59m 59s"), (3600, "1h 0m"), (90061, "1d 1h")],
)
def test_durations(seconds, shown):
    assert duration(seconds) == shown


def test_bytes_in_megabytes():
    assert output.megabytes(104_857_600) == "105 MB"
