"""How a terminal shows an approval prompt: the exact arguments, with nothing in them hidden."""

from __future__ import annotations

from toolsearchd.ctl.output import coloured
from toolsearchd.disclosure.sanitise import plain_line, visible
from toolsearchd.protocol.control_replies import ShownPermit
from toolsearchd.protocol.events import ShownPrompt


def prompt_text(prompt: ShownPrompt) -> str:
    """Some lines. What the agent or the server wrote is made safe for a terminal; the arguments are JSON
    with every invisible character written as its escape."""
    sent = prompt.arguments
    if sent is None:
        sent = f"({prompt.arguments_bytes} bytes: toolsearchctl approvals {prompt.approval})"
    lines = [
        f"{coloured(prompt.approval, 'warning')}  {plain_line(prompt.tool)}",
        f"    asked by  {plain_line(prompt.client)}, session {prompt.session}, pid {prompt.pid}",
        f"    because   {plain_line(prompt.rule)}",
        f"    sends     {visible(sent)}",
        f"    until     {prompt.expires_at}",
    ]
    if prompt.needs_code:
        lines.append(
            "    from here it takes the code (--code) that the notification shows, or "
            "`toolsearchctl approvals` in a terminal of another login"
        )
    else:
        lines.append(f"    code      {prompt.code}  (for a terminal that has to type it)")
    if prompt.pending > 1:
        lines.append(f"    {prompt.pending} calls of this session wait")
    return "\n".join(lines)


def permit_line(permit: ShownPermit) -> str:
    scope = f"session {permit.session}" if permit.session else "always"
    return f"{permit.approval}  {permit.tool}: permitted, {scope}; `toolsearchctl deny` ends it"
