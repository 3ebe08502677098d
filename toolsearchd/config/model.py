"""Desired state: which servers should run. What the config package gives to the fleet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from toolsearchd.config.needs import mend_of
from toolsearchd.config.restrictions import Restrictions

Transport = Literal["stdio", "http", "sse"]


MEND = "mend the file; it is read again as soon as it is saved"
"""What to do about a problem that says nothing else."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Something odd in a config. An error keeps a file (or an entry) out of force; a warning does not."""

    level: Literal["error", "warning"]
    message: str  # what is wrong, what is accepted, what to try; never a secret value
    file: str = ""
    line: int = 0  # 1-based, 0: unknown
    column: int = 0
    path: str = ""  # "tools.tool_search.listing", "mcpServers.github.env.TOKEN"
    mend: str = ""  # what to do, where that is not to mend what stands there

    @property
    def place(self) -> str:
        """The file with line and column, and the path in it."""
        where = (
            self.file
            + (f":{self.line}" if self.line else "")
            + (f":{self.column}" if self.line and self.column else "")
        )
        return ": ".join(part for part in (where, self.path) if part)

    def __str__(self) -> str:
        said = f"{self.level}: {self.message}" + (f"; {self.mend}" if self.mend else "")
        return f"{self.place}: {said}" if self.place else said


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where a server's entry was found."""

    file: str
    format: str  # "claude-code", …, "toolsearchd" for the daemon's own `servers:`
    entry: str  # its key there
    project: str = ""  # project root for a project's config, else empty
    kept_in: str = ""  # the file of ours that holds the entry since `toolsearchctl install` moved it


class ServerSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One server to run. Two specs of equal `digest` mean the same running server."""

    name: str  # unique among the desired servers; the `<server>` of public names
    transport: Transport
    command: tuple[str, ...] = ()  # argv for stdio
    env: Mapping[str, str] = msgspec.field(default_factory=dict)  # the entry's own, expanded
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    headers_helper: str = ""  # for the shell: prints more headers as a JSON object, at each connect
    env_file: str = ""  # of variables beneath `env`
    origins: tuple[Origin, ...] = ()
    digest: str = ""  # transport, command, env, cwd | url, headers; keyed, since values may be secrets
    # The daemon's own keys: changing one of these does not restart the server.
    enabled: bool = True
    timeout_s: float | None = None  # of a call; None: Limits.call_timeout_s
    connect_timeout_s: float = 60.0
    include: tuple[str, ...] | None = None  # exact names or case-sensitive globs; None: all; beats exclude
    exclude: tuple[str, ...] = ()
    supports_parallel_tool_calls: bool = False
    max_concurrency: int = 8
    sharing: Literal["shared", "per-session", "per-call"] = "shared"
    start: Literal["eager", "lazy"] = "eager"
    idle_timeout_s: float = 0.0  # 0: never stopped for idleness
    trust: Literal["full", "untrusted"] = "full"
    pins: tuple[str, ...] = ()
    approval: Literal["allow", "ask", "deny", ""] = ""
    pass_env: tuple[str, ...] = ()
    validate: bool = True  # False: its schemas judge no arguments
    unvalidatable: Literal["forward", "refuse"] = "forward"
    protocol: Literal["auto", "legacy", "2026-07-28"] = "legacy"
    breaker: Literal["lost", "any"] = "lost"  # what keeps further calls away; any: a tool's own errors too
    project: str = ""  # project root where the entry is a project's; its sessions alone see it
    needs: str = ""  # "variable NAME", "folder", …: what is not there, so that it can't run
    kept_by: str = ""  # the client that runs it itself
    restrictions: tuple[Restrictions, ...] = ()  # of each origin, for its client's sessions

    @property
    def idle(self) -> str:
        """Why it is not to run though it is enabled; empty: it is."""
        if self.kept_by:
            return f"kept by {self.kept_by}"
        return f"needs {self.needs}" if self.needs else ""

    @property
    def mend(self) -> str:
        """What to do about `idle`."""
        if self.kept_by:
            name = next((one.entry for one in self.origins if one.format == self.kept_by), self.name)
            return f"`toolsearchctl install {self.kept_by} --move {name}` gives it to the daemon"
        return mend_of(self.needs) if self.needs else ""


class Desired(msgspec.Struct, frozen=True, kw_only=True):
    """The whole desired state, in catalog order: sources in config order, entries in file order."""

    servers: tuple[ServerSpec, ...] = ()
    problems: tuple[Problem, ...] = ()
