"""Connections of the verbs: as an agent of its own name, or on the control socket."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import Any

from toolsearchd.client import Client, ControlClient
from toolsearchd.ctl.output import complain

CLIENT_NAME = "toolsearchctl"
_REPLY_S = 330.0  # a call's own time limit, and some


def agent(args: Namespace, **hello: Any) -> Client:
    """An agent session, in the directory where the person stands."""
    profile = getattr(args, "profile", None)
    given = {key: value for key, value in ({"profile": profile} | hello).items() if value is not None}
    session = Client(
        client=CLIENT_NAME, runtime_dir=args.runtime_dir, timeout_s=_REPLY_S, cwd=os.getcwd(), **given
    )
    for warning in session.welcome.get("warnings", ()):
        complain(f"warning: {warning}")
    return session


def control(args: Namespace, timeout_s: float | None = 30.0) -> ControlClient:
    return ControlClient(runtime_dir=args.runtime_dir, timeout_s=timeout_s)
