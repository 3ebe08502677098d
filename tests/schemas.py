"""What `toolsearchctl schema` says, as validators that take no field it does not name."""

import json
import subprocess

import jsonschema_rs

from tests.daemon import BIN

OPEN = {"ErrorReply"}  # what more is known of an error stands beside its fields


def printed(*words):
    return json.loads(subprocess.check_output([BIN / "toolsearchctl", "schema", *words], timeout=60))


def closed(schema):
    """The same, with every struct of the protocol closed."""
    for name, one in schema["$defs"].items():
        if "properties" in one and name not in OPEN:
            one["additionalProperties"] = False
    return schema


def validator(schema, part):
    return jsonschema_rs.validator_for(part | {"$defs": schema["$defs"]})


class Protocol:
    """Judges what the daemon says; `seen` has each (socket, operation or event) that was judged."""

    def __init__(self, schema):
        self._schema = schema
        self.seen = set()

    def judge(self, socket, op, message):
        """`op`: of the request that it answers; None for an event."""
        kind, rest = message["op"], {key: value for key, value in message.items() if key not in ("op", "id")}
        if kind in ("welcome", "error"):
            part, value = self._schema[kind], message
        elif kind == "result":
            part, value = self._schema["replies"][socket][op], rest
        else:
            part, value, op = self._schema["events"][socket][kind], message, kind
        validator(self._schema, part).validate(value)
        self.seen.add((socket, kind if kind in ("welcome", "error") else op))

    def all(self):
        """What there is to be seen."""
        named = {
            (socket, name)
            for part in ("replies", "events")
            for socket, found in self._schema[part].items()
            for name in found
        }
        return named | {("agent", "welcome"), ("agent", "error"), ("control", "error")}
