"""Sample MCP server: notes kept in memory, gone when the process ends."""

from __future__ import annotations

import itertools
from typing import Any

from toolsearchd.samples.stdio_server import StdioServer, ToolError, _Call, integer, text, texts

server = StdioServer("notes", "A store of short notes with tags. Nothing is kept after the end.")
_numbers = itertools.count(1)
_notes: dict[str, dict[str, Any]] = {}

NOTE_ID = text("Identifier of the note, as create_note or search_notes gave it")


def _add(title: str, body: str, tags: list[str]) -> dict[str, Any]:
    note_id = f"n{next(_numbers)}"
    note = _notes[note_id] = {"id": note_id, "title": title, "body": body, "tags": tags}
    return note


def _note(call: _Call) -> dict[str, Any]:
    note_id = call.arguments["note_id"]
    if note_id not in _notes:
        raise ToolError(f"there is no note {note_id!r}; list_notes tells which there are")
    return _notes[note_id]


@server.tool(
    "create_note",
    "Create a note",
    "Write a new note with a title, a text and tags. Returns the note with its identifier.",
    {"title": text("One line"), "body": text("The text"), "tags": texts("Words to find it by")},
    optional=("tags",),
)
def create_note(call: _Call) -> Any:
    return _add(call.arguments["title"], call.arguments["body"], call.arguments.get("tags", []))


@server.tool(
    "read_note", "Read a note", "Return one note's text and tags.", {"note_id": NOTE_ID}, read_only=True
)
def read_note(call: _Call) -> Any:
    return _note(call)


@server.tool(
    "search_notes",
    "Search notes",
    "Find notes whose title, text or tags contain all given words, newest first.",
    {"query": text("Words, in any order"), "limit": integer("How many at most", minimum=1, maximum=50)},
    optional=("limit",),
    read_only=True,
)
def search_notes(call: _Call) -> Any:
    words = call.arguments["query"].casefold().split()
    found = [
        note for note in reversed(_notes.values()) if all(word in str(note).casefold() for word in words)
    ]
    return {"notes": found[: call.arguments.get("limit", 10)]}


@server.tool(
    "list_notes",
    "List notes",
    "List the titles and identifiers of all notes, or of those with a tag.",
    {"tag": text("Only notes with this tag")},
    optional=("tag",),
    read_only=True,
)
def list_notes(call: _Call) -> Any:
    tag = call.arguments.get("tag")
    shown = [note for note in _notes.values() if tag is None or tag in note["tags"]]
    return {"notes": [{"id": note["id"], "title": note["title"]} for note in shown]}


@server.tool(
    "tag_note",
    "Tag a note",
    "Add tags to a note; the ones it has stay.",
    {"note_id": NOTE_ID, "tags": texts("The tags to add")},
)
def tag_note(call: _Call) -> Any:
    note = _note(call)
    note["tags"] = list(dict.fromkeys([*note["tags"], *call.arguments["tags"]]))
    return note


@server.tool(
    "delete_note",
    "Delete a note",
    "Remove a note for good. There is no way back.",
    {"note_id": NOTE_ID},
    destructive=True,
)
def delete_note(call: _Call) -> Any:
    return {"deleted": _notes.pop(_note(call)["id"])["id"]}


def main() -> None:
    _add("Shopping list", "Milk, rye bread, two lemons", ["home"])
    _add("Release plan", "Freeze on Thursday, ship on Monday", ["work", "release"])
    server.run()


if __name__ == "__main__":
    main()
