"""The one table of error codes, and the exception that carries one.

Every error that a person, an agent or a model sees has a code from `CODES`; the README's table is checked
against it by a test.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple


class CodeEntry(NamedTuple):
    cause: str
    remedy: str


Code = Literal[
    "BAD_MESSAGE",
    "FRAME_TOO_LARGE",
    "WRONG_STATE",
    "UNSUPPORTED_PROTOCOL",
    "DUPLICATE_ID",
    "BUSY",
    "NOT_ALLOWED",
    "SHUTTING_DOWN",
    "INTERNAL",
    "BAD_ARGUMENTS",
    "TOO_MANY",
    "MISSING_EXTRA",
    "UNKNOWN_BATCH",
    "UNKNOWN_SERVER",
    "UNKNOWN_SESSION",
    "TOOL_NOT_FOUND",
    "TOOL_CHANGED",
    "INVALID_ARGUMENTS",
    "VALIDATION_BUDGET",
    "UNVALIDATABLE",
    "NO_APPROVER",
    "APPROVAL_TIMEOUT",
    "STALE",
    "UNKNOWN_APPROVAL",
    "AUDIT_UNAVAILABLE",
    "HOOK_FAILED",
    "DENIED",
    "QUEUE_FULL",
    "INTERRUPTED",
    "INDETERMINATE",
    "TOOL_ERROR",
    "BAD_RESULT",
    "RESULT_TOO_LARGE",
    "UNKNOWN_HANDLE",
    "INPUT_REQUIRED",
    "SERVER_UNAVAILABLE",
    "SERVER_ERROR",
    "UNSUPPORTED",
    "BAD_CONFIG",
    "NO_CLIENT",
    "NOT_INSTALLED",
    "CONFIG_CHANGED",
    "WRITE_FAILED",
    "ALREADY_RUNNING",
    "NO_DAEMON",
]
"""The keys of `CODES`, as a type: what is no code does not pass the type checker."""

CODES: dict[Code, CodeEntry] = {
    # The wire.
    "BAD_MESSAGE": CodeEntry(
        "The frame is not a message of this protocol.", "Compare it with `toolsearchctl schema`."
    ),
    "FRAME_TOO_LARGE": CodeEntry(
        "A frame is empty or over the limit.", "64 KiB before hello, 8 MiB after; split the request."
    ),
    "WRONG_STATE": CodeEntry("A valid message at the wrong time.", "Send `hello` first, and once."),
    "UNSUPPORTED_PROTOCOL": CodeEntry(
        "The hello names a protocol version this daemon does not speak.", "Use protocol 1."
    ),
    "DUPLICATE_ID": CodeEntry(
        "A request with this id is still open.", "Use an id unique among open requests."
    ),
    "BUSY": CodeEntry(
        "Too many sessions, or too many open requests in this one.", "Wait for a reply, then send again."
    ),
    "NOT_ALLOWED": CodeEntry(
        "This peer or profile may not do that, or the socket is not this user's.",
        "See `doctor`; check which process connects, or whose the runtime directory is.",
    ),
    "SHUTTING_DOWN": CodeEntry("The daemon is stopping.", "Reconnect; the client library does so by itself."),
    "INTERNAL": CodeEntry("A bug in the daemon.", "Look at its log and report it."),
    # Requests.
    "BAD_ARGUMENTS": CodeEntry(
        "A request's argument has the wrong shape.", "The message names the field and what is accepted."
    ),
    "TOO_MANY": CodeEntry(
        "More queries, names or calls than one request takes.", "Send fewer; the message names the cap."
    ),
    "MISSING_EXTRA": CodeEntry(
        "The verb needs a package that is not installed.", "Install the extra that the message names."
    ),
    "UNKNOWN_BATCH": CodeEntry(
        "No call with this id is open in this session.", "Nothing to stop; it may have ended."
    ),
    "UNKNOWN_SERVER": CodeEntry(
        "No server of this name is configured.", "`toolsearchctl servers` lists them."
    ),
    "UNKNOWN_SESSION": CodeEntry(
        "No session of this name is connected.", "`toolsearchctl sessions` lists them."
    ),
    # Entries of a call.
    "TOOL_NOT_FOUND": CodeEntry(
        "No tool of this name is granted to the session.", "Search, or use one of the near names."
    ),
    "TOOL_CHANGED": CodeEntry(
        "The tool's definition changed since this session was shown it.", "Describe it again, then call."
    ),
    "INVALID_ARGUMENTS": CodeEntry(
        "The arguments do not fit the tool's schema.", "Mend the path named in the error."
    ),
    "VALIDATION_BUDGET": CodeEntry(
        "Schema and arguments together cost too much to validate.",
        "Simplify the arguments, or set `unvalidatable: forward`.",
    ),
    "UNVALIDATABLE": CodeEntry(
        "The tool's schema can't be used to validate.",
        "Set `unvalidatable: forward` for the server, or mend its schema.",
    ),
    "NO_APPROVER": CodeEntry(
        "The call needs an approval and nobody answered who could.",
        "Keep `toolsearchctl approvals --watch` open, or allow it by a rule under `approval.rules`.",
    ),
    "APPROVAL_TIMEOUT": CodeEntry(
        "The approval was asked for and not answered in time.", "Answer it, then call again."
    ),
    "STALE": CodeEntry(
        "The approval was used, answered by somebody else, or has expired.", "A new call asks anew."
    ),
    "UNKNOWN_APPROVAL": CodeEntry(
        "No approval of this id is pending.", "`toolsearchctl approvals` lists them."
    ),
    "AUDIT_UNAVAILABLE": CodeEntry(
        "What has to be on disk first could not be written.",
        "Make room, or mend the state directory; nothing was sent.",
    ),
    "HOOK_FAILED": CodeEntry(
        "A hook that has to pass did not do its work.", "Mend the command, or set `on_error: open` for it."
    ),
    "DENIED": CodeEntry(
        "The policy, a hook or a person refused the call.", "Do not retry it; ask the person."
    ),
    "QUEUE_FULL": CodeEntry("Too many entries wait in this session.", "Wait for replies first."),
    "INTERRUPTED": CodeEntry(
        "A stop came before the entry was sent.", "Nothing happened; send it again if still wanted."
    ),
    "INDETERMINATE": CodeEntry(
        "The entry was sent and no answer came: it may have happened.",
        "Check the effect before sending it again.",
    ),
    "TOOL_ERROR": CodeEntry("The tool itself reported an error.", "Read its text; it is in `response`."),
    "BAD_RESULT": CodeEntry("The server's answer can't be represented.", "Report it to the server's author."),
    "RESULT_TOO_LARGE": CodeEntry("The server's answer is over the line limit.", "Ask for less, or page."),
    "UNKNOWN_HANDLE": CodeEntry(
        "Nothing is kept under this handle: it expired, or is another session's.", "Call the tool again."
    ),
    "INPUT_REQUIRED": CodeEntry(
        "The tool wants to be told more in the middle of the call; it was not completed.",
        "Answer in the arguments of a new call, or ask the person; `requests` says what it wants.",
    ),
    # Servers.
    "SERVER_UNAVAILABLE": CodeEntry(
        "The tool's server is not connected.",
        "`toolsearchctl servers NAME` says why and when it is tried again.",
    ),
    "SERVER_ERROR": CodeEntry("The server answered with a protocol error.", "Its message is in the error."),
    "UNSUPPORTED": CodeEntry(
        "The server asks for something this daemon does not do.", "The message names it."
    ),
    # Configuration.
    "BAD_CONFIG": CodeEntry(
        "A configuration file can't be used as it stands, or one that was there is gone.",
        "The message names file, line, path and what is accepted; "
        "`toolsearchctl reload --accept-missing` where it is meant to be gone.",
    ),
    "NO_CLIENT": CodeEntry(
        "A client's config is not where that client keeps it.", "Name the file with `--file`."
    ),
    "NOT_INSTALLED": CodeEntry(
        "A client's config holds nothing of the daemon's.", "`toolsearchctl install CLIENT` puts it there."
    ),
    "CONFIG_CHANGED": CodeEntry(
        "A client's config was written by somebody else meanwhile; nothing was changed.", "Try it again."
    ),
    "WRITE_FAILED": CodeEntry(
        "A file can't be written; what was written before it is as it was.",
        "The message says which file and why.",
    ),
    "ALREADY_RUNNING": CodeEntry(
        "Another daemon holds the runtime directory or the state directory, or took it over.",
        "Use it, stop it, or give --runtime-dir and --state-dir.",
    ),
    "NO_DAEMON": CodeEntry(
        "No daemon answers at the socket.", "Start `toolsearchd`, or the systemd socket unit."
    ),
}
"""code → (cause, remedy)."""


def known_code(code: object) -> Code:
    """A code that another daemon sent; INTERNAL for one that this table does not have."""
    return next((known for known in CODES if known == code), "INTERNAL")


class RpcError(Exception):
    """What a peer answered in JSON-RPC instead of a result; `data` is any JSON, or None."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class ToolsearchdError(Exception):
    """An error with a stable code.

    `message` says what was wrong, where, what is accepted and what to try;
    `fields` are further members of the error as it is sent (JSON-able values).
    """

    def __init__(self, code: Code, message: str, **fields: Any) -> None:
        assert code in CODES, code
        super().__init__(message)
        self.code = code
        self.message = message
        self.fields = fields

    def as_fields(self) -> dict[str, Any]:
        """`{code, message, …}` as a slot or an error reply carries it."""
        return {"code": self.code, "message": self.message, **self.fields}
