"""Connections of the verbs: as an agent of its own name, or on the control socket."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import Any

from toolsearchd.client import Client, ControlClient
from toolsearchd.ctl.output import complain
from toolsearchd.errors import ToolsearchdError

CLIENT_NAME = "toolsearchctl"
_REPLY_S = 330.0  # a call's own time limit, and some


def agent(args: Namespace, **hello: Any) -> Client:
    """An agent session, in the directory where the person stands. Raises BAD_ARGUMENTS for a profile that
    there is not."""
    profile = getattr(args, "profile", None)
    given = {key: value for key, value in ({"profile": profile} | hello).items() if value is not None}
    session = Client(
        client=CLIENT_NAME, runtime_dir=args.runtime_dir, timeout_s=_REPLY_S, cwd=os.getcwd(), **given
    )
    if session.welcome.get("unknown_profile"):
        session.close()
        raise ToolsearchdError("BAD_ARGUMENTS", f"--profile: {unknown_profile(str(profile))}")
    for warning in session.welcome.get("warnings", ()):
        complain(f"warning: {warning}")
    return session


def unknown_profile(name: str) -> str:
    return f"there is no profile {name[:64]!r}; `profiles` in the daemon's config has them"


def control(args: Namespace, timeout_s: float | None = 30.0) -> ControlClient:
    return ControlClient(runtime_dir=args.runtime_dir, timeout_s=timeout_s)
