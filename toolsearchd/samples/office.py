"""Sample MCP server with many generated tools, to see what a large catalog costs. They only echo.

`python -m toolsearchd.samples.office 300`: so many tools, at most 480.
"""

from __future__ import annotations

import itertools
import sys
from typing import Any

from toolsearchd.samples.stdio_server import Schema, StdioServer, _Call, integer, text, texts

server = StdioServer("office", "Generated tools of made-up services; each tells what it was given.")

SERVICES = (
    "tickets", "wiki", "mail", "chat", "drive", "billing", "payroll", "crm",
    "inventory", "shipping", "builds", "deployments", "monitoring", "surveys", "contracts", "travel",
)  # fmt: skip
OBJECTS = ("item", "comment", "label", "attachment", "report", "subscription")
VERBS = {
    "create": ("Create a new {object} in {service}.", ("title", "body", "labels", "assignee")),
    "get": ("Return one {object} of {service} with all its fields.", ("id", "fields")),
    "list": ("List the {object}s of {service}, newest first, in pages.", ("filter", "cursor", "limit")),
    "update": (
        "Change fields of a {object} in {service}; the others stay.",
        ("id", "title", "body", "labels"),
    ),
    "delete": ("Delete a {object} of {service} for good.", ("id", "reason")),
}
ARGUMENTS: dict[str, Schema] = {
    "id": text("Identifier, as a create, get or list call gave it"),
    "title": text("One line that says what it is about", maxLength=200),
    "body": text("The text, in Markdown"),
    "labels": texts("Labels to sort it by"),
    "assignee": text("Mail address of who takes care of it"),
    "fields": texts("Only these fields; all where none is named"),
    "filter": text("Words or `key:value` pairs that must all hold"),
    "cursor": text("Where the page begins, from the page before"),
    "limit": integer("How many at most", minimum=1, maximum=100),
    "reason": text("Why, for the audit log"),
}
OPTIONAL = ("labels", "assignee", "fields", "filter", "cursor", "limit", "reason")


def echo(call: _Call) -> Any:
    return {"received": call.arguments}


def declare(count: int) -> None:
    combinations = itertools.product(SERVICES, OBJECTS, VERBS)
    for service, thing, verb in itertools.islice(combinations, count):
        description, names = VERBS[verb]
        server.tool(
            f"{service}_{verb}_{thing}",
            f"{verb.title()} {thing}",
            description.format(object=thing, service=service),
            {name: ARGUMENTS[name] for name in names},
            optional=OPTIONAL,
            read_only=verb in ("get", "list"),
            destructive=verb == "delete",
        )(echo)


if __name__ == "__main__":
    declare(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
    server.run()
