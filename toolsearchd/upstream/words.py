"""Why a server can't be used, in words for people. One line, nothing of the server's that moves a cursor."""

from __future__ import annotations

from toolsearchd.disclosure.sanitise import plain_line
from toolsearchd.errors import ToolsearchdError

_CHARS = 500


def words_of(error: BaseException) -> str:
    """The innermost error of what the SDK raised."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    kind = type(error).__name__
    if isinstance(error, ToolsearchdError):
        text = error.message
    elif kind == "ValidationError":  # pydantic's: many lines about the SDK's classes
        text = "its answer to the handshake is malformed"
    elif kind == "MCPError" or isinstance(error, RuntimeError):
        text = str(error) or "an error without words"
    elif kind == "ConnectError":
        text = f"can't connect: {error}"
    else:
        text = f"{kind}: {error}" if str(error) else kind
    return plain_line(text)[:_CHARS]


def words_of_spawn_error(error: OSError | ValueError, command: str) -> str:
    """The system's words, and which of the two names it means: the command or its working directory."""
    if not isinstance(error, OSError):
        return plain_line(f"{command} can't be started: {error}")[:_CHARS]
    text = error.strerror or str(error)
    if error.filename and str(error.filename) != command:
        return plain_line(f"{command} can't be started in {error.filename}: {text}")[:_CHARS]
    return plain_line(f"{command} can't be started: {text}")[:_CHARS]


def words_of_end(returncode: int | None) -> str:
    """How a process that was connected has ended; None: it lives."""
    if returncode is None:
        return "it closed its output"
    if returncode < 0:
        return f"it was ended by signal {-returncode}"
    return f"it exited with status {returncode}"
