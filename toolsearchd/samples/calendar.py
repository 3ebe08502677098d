"""Sample MCP server: a calendar in memory, with one slow tool so that there is something to stop."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta
from typing import Any

from toolsearchd.samples.stdio_server import StdioServer, ToolError, _Call, integer, number, text, texts

server = StdioServer("calendar", "Appointments of one person. Nothing is kept after the end.")
_numbers = itertools.count(1)
_events: dict[str, dict[str, Any]] = {}

START = text("When it begins, as 2026-03-31T14:30", pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}")
MINUTES = integer("How long it takes, in minutes", minimum=1, maximum=1440)
EVENT_ID = text("Identifier of the event, as create_event or list_events gave it")
DAY = text("The day, as 2026-03-31", pattern=r"^\d{4}-\d{2}-\d{2}$")


def _add(title: str, start: str, minutes: int, guests: list[str]) -> dict[str, Any]:
    event_id = f"e{next(_numbers)}"
    event = _events[event_id] = {
        "id": event_id,
        "title": title,
        "start": datetime.fromisoformat(start).isoformat(timespec="minutes"),
        "minutes": minutes,
        "guests": guests,
    }
    return event


def _event(call: _Call) -> dict[str, Any]:
    event_id = call.arguments["event_id"]
    if event_id not in _events:
        raise ToolError(f"there is no event {event_id!r}; list_events tells which there are")
    return _events[event_id]


def _on(day: str) -> list[dict[str, Any]]:
    return sorted(
        (event for event in _events.values() if event["start"].startswith(day)), key=lambda e: e["start"]
    )


def _end(event: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(event["start"]) + timedelta(minutes=event["minutes"])


@server.tool(
    "create_event",
    "Create an event",
    "Put an appointment or meeting into the calendar and invite guests.",
    {"title": text("What it is"), "start": START, "minutes": MINUTES, "guests": texts("Mail addresses")},
    optional=("guests",),
)
def create_event(call: _Call) -> Any:
    given = call.arguments
    return _add(given["title"], given["start"], given["minutes"], given.get("guests", []))


@server.tool(
    "list_events",
    "List events",
    "List the appointments of one day, earliest first.",
    {"day": DAY},
    read_only=True,
)
def list_events(call: _Call) -> Any:
    return {"events": _on(call.arguments["day"])}


@server.tool(
    "move_event",
    "Move an event",
    "Reschedule an appointment to another time; its length stays.",
    {"event_id": EVENT_ID, "start": START},
)
def move_event(call: _Call) -> Any:
    event = _event(call)
    event["start"] = datetime.fromisoformat(call.arguments["start"]).isoformat(timespec="minutes")
    return event


@server.tool(
    "cancel_event",
    "Cancel an event",
    "Remove an appointment from the calendar and tell its guests.",
    {"event_id": EVENT_ID},
    destructive=True,
)
def cancel_event(call: _Call) -> Any:
    return {"cancelled": _events.pop(_event(call)["id"])["id"]}


@server.tool(
    "find_free_slot",
    "Find a free slot",
    "Find the first gap of a day, between 8:00 and 18:00, that is long enough for a meeting.",
    {"day": DAY, "minutes": MINUTES},
    read_only=True,
)
def find_free_slot(call: _Call) -> Any:
    day, length = call.arguments["day"], timedelta(minutes=call.arguments["minutes"])
    free_from = datetime.fromisoformat(f"{day}T08:00")
    for event in _on(day):
        if datetime.fromisoformat(event["start"]) - free_from >= length:
            break
        free_from = max(free_from, _end(event))
    if free_from + length > datetime.fromisoformat(f"{day}T18:00"):
        return {"start": None}
    return {"start": free_from.isoformat(timespec="minutes")}


@server.tool(
    "sync_calendar",
    "Synchronise the calendar",
    "Fetch the appointments of a remote calendar step by step. Slow; reports its progress, can be stopped.",
    {"seconds": number("How long the remote side takes", minimum=0, maximum=600)},
)
def sync_calendar(call: _Call) -> Any:
    steps = 20
    for step in range(steps):
        call.pause(call.arguments["seconds"] / steps)
        call.report(step + 1, steps)
    return {"fetched": steps}


def main() -> None:
    _add("Stand-up", "2026-03-31T09:00", 15, ["ann@example.org"])
    _add("Design review", "2026-03-31T10:00", 90, ["ann@example.org", "bo@example.org"])
    server.run()


if __name__ == "__main__":
    main()
