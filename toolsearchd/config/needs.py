"""What an entry needs that is not there: while it does, nothing of it is started or sent."""

from __future__ import annotations

import re

_ASKS_CLIENT = r"\$\{(?:(?:input|config|command):[^}]*|workspaceFolder\w*)\}"
_ANYWHERE = re.compile(_ASKS_CLIENT)
_SENT = re.compile(rf"{_ASKS_CLIENT}|\$\{{(?:env:)?[A-Za-z_][A-Za-z0-9_]*\}}")


def placeholder_in(text: str, *, sent: bool) -> str:
    """The first that no server can mean itself; empty: there is none. `sent`: the text goes out, as an
    address or a header."""
    closed = text[: text.rfind("}") + 1]  # behind it each beginning would look for its end in vain
    match = (_SENT if sent else _ANYWHERE).search(closed)
    return match[0] if match else ""


def need_of(placeholder: str) -> str:
    """`variable NAME`, `folder` or `input NAME`, by how the placeholder is written."""
    inside = placeholder.strip("${}")
    kind, colon, name = inside.partition(":")
    if kind.startswith("workspaceFolder"):
        return "folder"
    if colon and kind in ("input", "config", "command"):
        return f"input {name}"
    return f"variable {name or inside}"


def mend_of(need: str) -> str:
    """The next thing to try."""
    kind, _, name = need.partition(" ")
    if kind == "variable":
        return f"set {name} in the file of environment.file, or where the daemon starts"
    if kind == "folder":
        return "write the folder's path in its place: which folder a window has open only its client knows"
    if kind == "input":
        return f"give {name} as a variable of environment.file and write that here, or leave it to its client"
    return "write that file, or put its variables into env and take envFile out"
