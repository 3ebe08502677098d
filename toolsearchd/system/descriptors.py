"""How many file descriptors may this process have, and what fits into them?

Decided once, at the start: what is promised then can be kept.
"""

from __future__ import annotations

import resource

import msgspec

from toolsearchd.limits import Limits
from toolsearchd.records import Finding

# An idle daemon holds 25: loop, signals, both directories and locks, journal, sockets, reserves, inotify,
# worker. The rest is for what comes and goes: files that are read, hooks, a start's pipes, remote servers.
OWN = 64
PER_SESSION = 2  # a connection of an agent, one of a person: each socket takes so many at most
PER_SERVER = 4  # three pipes, and the process's own descriptor to wait at


def raise_soft_limit(limits: Limits) -> int:
    """The soft RLIMIT_NOFILE after it was raised as far as `limits` want and the hard one allows. Never
    beyond: servers inherit it, and some take long to close every number below."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OWN + PER_SESSION * limits.sessions + PER_SERVER * limits.started_servers
    if 0 <= soft < wanted:
        soft = wanted if hard < 0 else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return soft


def fit(limits: Limits, soft: int) -> tuple[Limits, list[Finding]]:
    """`limits` with `sessions` and `started_servers` lowered to what `soft` descriptors hold, and a finding
    that says so where they were; `soft` below 0 is without end."""
    wanted = OWN + PER_SESSION * limits.sessions + PER_SERVER * limits.started_servers
    if not 0 <= soft < wanted:
        return limits, []
    free = soft - min(OWN, soft // 2)
    # What one side does not need is the other's; where both want more, sessions get a quarter.
    most = max(free - PER_SERVER * limits.started_servers, free // 4)
    sessions = max(1, min(limits.sessions, most // PER_SESSION))
    servers = max(1, min(limits.started_servers, (free - PER_SESSION * sessions) // PER_SERVER))
    finding = Finding(
        level="warning",
        about="RLIMIT_NOFILE",
        message=f"only {soft} file descriptors are allowed: {sessions} sessions (limits.sessions says "
        f"{limits.sessions}) and {servers} started servers (limits.started_servers says "
        f"{limits.started_servers}) fit",
        mend=f"allow {wanted}: LimitNOFILE= in the unit, or `ulimit -n` before the start",
        kind="few-descriptors",
    )
    return msgspec.structs.replace(limits, sessions=sessions, started_servers=servers), [finding]
