"""The demo: a private daemon, three sample servers, and each thing that an agent would do, with its cost.

Everything shown is a real reply of a real daemon; token counts are those of the texts a model would get.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from typing import Any

from msgspec.structs import replace

from toolsearchd.client import Client
from toolsearchd.ctl.documents import DemoCost, DemoDescribe, DemoDocument, DemoSearch, DemoStop
from toolsearchd.ctl.output import print_json, say, table
from toolsearchd.ctl.private_daemon import PrivateDaemon, wait_for
from toolsearchd.disclosure.sanitise import clipped, short_description
from toolsearchd.disclosure.tokens import DEFAULT_ENCODING, count_tokens
from toolsearchd.errors import ToolsearchdError
from toolsearchd.protocol.control_replies import ServerStatus
from toolsearchd.protocol.replies import CallReply, DescribeReply, SearchReply
from toolsearchd.records import WireRecord

SAMPLES = {name: [f"toolsearchd.samples.{name}"] for name in ("notes", "calendar", "units")}
MANY = 300
CONTEXT_TOKENS = 200_000
SLOW_S = 60
LINE_CHARS = 100  # of a listing's lines, where they are shown only as an example
QUERIES = ("convert miles to kilometres", "calendar free slot for a meeting")
CONVERT = "mcp__units__convert_length"
SLOW = "mcp__calendar__sync_calendar"


def run_demo(*, as_json: bool) -> int:
    """Exit status. Nothing is left behind, whatever ends it."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    found: dict[str, Any] = {}
    with PrivateDaemon() as daemon:
        try:
            for step in (_servers, _cost, _search, _describe, _call, _stop, _large_catalog):
                found[step.__name__.strip("_")] = step(daemon, quiet=as_json)
        except ToolsearchdError:
            print(daemon.log_tail(), file=sys.stderr)
            raise
    if as_json:
        print_json(DemoDocument(**found))
    else:
        _next_steps()
    return 0


def _interrupt(*_signal: object) -> None:
    raise KeyboardInterrupt


def _agent(daemon: PrivateDaemon, **hello: Any) -> Client:
    return Client(
        client="demo", runtime_dir=daemon.runtime_dir, timeout_s=120, context_length=CONTEXT_TOKENS, **hello
    )


def _head(quiet: bool, text: str) -> None:
    if not quiet:
        say(f"\n=== {text}\n")


def _tokens(value: Any) -> int:
    """Of a text, or of the JSON as it would stand in a request."""
    value = value.as_map() if isinstance(value, WireRecord) else value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    (count,) = count_tokens(DEFAULT_ENCODING, [text])
    return count


def _servers(daemon: PrivateDaemon, *, quiet: bool) -> list[ServerStatus]:
    _head(quiet, "Three MCP servers, started by one private daemon")
    daemon.serve(SAMPLES)
    daemon.wait_ready(set(SAMPLES))
    servers = daemon.servers()
    if not quiet:
        table(
            ("SERVER", "STATE", "PID", "TOOLS"),
            ([server[key] for key in ("name", "state", "pid", "tools")] for server in servers),
        )
    return servers


def _cost(daemon: PrivateDaemon, *, quiet: bool) -> DemoCost:
    _head(quiet, "What a model is given: three bridge tools with this listing")
    cost, listing = _measured(daemon)
    if not quiet:
        say(listing)
        say()
        _show_cost(cost)
        say(
            "Read this with care. For so few tools the schemas are a small part of the context, and each\n"
            "tool that the model has not used yet costs one or two round trips more: plain schemas serve\n"
            "better. `enabled: fit` gives them directly until they take 10% of the context. More tools:\n"
            "see the end."
        )
    return replace(cost, listing=listing)


def _measured(daemon: PrivateDaemon) -> tuple[DemoCost, str]:
    """All schemas at once against the bridge, as two agents get them; and the listing."""
    with _agent(daemon, disclosure="direct") as eager:
        schemas = eager.assemble().tools
    with _agent(daemon) as agent:
        bridge = agent.assemble()
    cost = DemoCost(
        tools=len(schemas),
        eager_tokens=_tokens(schemas),
        bridge_tokens=_tokens(bridge.tools),
        listing_tokens=bridge.listing_tokens,
        listing_form=bridge.listing_form,
        tier=bridge.tier,
        context_tokens=CONTEXT_TOKENS,
    )
    return cost, bridge.listing


def _show_cost(cost: DemoCost) -> None:
    rows = [
        (
            f"all {cost.tools} schemas, every turn",
            f"{cost.eager_tokens:,}",
            f"{cost.eager_tokens / CONTEXT_TOKENS:.1%}",
        ),
        (
            f"three bridge tools and the listing ({cost.listing_form})",
            f"{cost.bridge_tokens:,}",
            f"{cost.bridge_tokens / CONTEXT_TOKENS:.1%}",
        ),
    ]
    table(("GIVEN TO THE MODEL", "TOKENS", f"OF {CONTEXT_TOKENS:,}"), rows)
    say()


def _search(daemon: PrivateDaemon, *, quiet: bool) -> DemoSearch:
    _head(quiet, "tool_search: two queries in one request")
    with _agent(daemon) as agent:
        began = time.perf_counter()
        reply = agent.search(QUERIES, 3)
        took_ms = (time.perf_counter() - began) * 1000
    if not quiet:
        for group in reply["results"]:
            names = [("match", name) for name in group["matches"]] + [("near", n) for n in group["near"]]
            say(f"{group['query']}:")
            table(
                ("", "TOOL", "DESCRIPTION"),
                [
                    (kind, name, short_description(reply["tools"][name]["description"]))
                    for kind, name in names[:3]
                ],
            )
            say()
        say(f"{took_ms:.1f} ms; the reply takes {_tokens(reply)} tokens")
    assert isinstance(reply, SearchReply)  # the demo speaks the default dialect
    return DemoSearch(reply=reply, ms=round(took_ms, 2), tokens=_tokens(reply))


def _describe(daemon: PrivateDaemon, *, quiet: bool) -> DemoDescribe:
    _head(quiet, "tool_describe: the schema of the one that is wanted")
    with _agent(daemon) as agent:
        reply = agent.describe([CONVERT])
    if not quiet:
        say(f"{CONVERT}\n{json.dumps(reply['tools'][CONVERT]['parameters'], indent=2, ensure_ascii=False)}")
        say(f"\nthe reply takes {_tokens(reply)} tokens")
    assert isinstance(reply, DescribeReply)
    return DemoDescribe(reply=reply, tokens=_tokens(reply))


def _call(daemon: PrivateDaemon, *, quiet: bool) -> CallReply:
    _head(quiet, "tool_call: run it")
    arguments = {"value": 26.2, "from_unit": "mi", "to_unit": "km"}
    with _agent(daemon) as agent:
        reply = agent.call([{"name": CONVERT, "arguments": arguments}])
    (slot,) = reply["results"]
    if "response" not in slot:
        raise ToolsearchdError("INTERNAL", f"the sample call failed: {slot['error']}")
    if not quiet:
        say(f"{CONVERT} {json.dumps(arguments)}\n-> {slot['response']['content'][0]['text']}")
    return reply


def _stop(daemon: PrivateDaemon, *, quiet: bool) -> DemoStop:
    _head(quiet, f"stop: a call that would take {SLOW_S} s")
    replies: list[CallReply] = []
    with _agent(daemon) as agent, daemon.control() as control:
        calls = [{"name": SLOW, "arguments": {"seconds": SLOW_S}}]
        asking = threading.Thread(target=lambda: replies.append(agent.call(calls)), daemon=True)
        asking.start()
        wait_for("starting the slow call", lambda: any(s["in_flight"] for s in daemon.servers()) or None)
        began = time.perf_counter()
        counts = control.stop()
        took_ms = (time.perf_counter() - began) * 1000
        asking.join(30)
    if not replies:
        raise ToolsearchdError("INTERNAL", "the stopped call never answered")
    (slot,) = replies[0]["results"]
    if not quiet:
        say(f"{SLOW} is running; `toolsearchctl stop` from elsewhere:")
        say(
            f"-> {counts.running} running call told to cancel, {counts.interrupted} not sent, "
            f"{took_ms:.1f} ms"
        )
        say(f"the agent's answer: {slot['error']['code']}: {slot['error']['message']}")
    return DemoStop(counts=counts, ms=round(took_ms, 2), reply=replies[0])


def _large_catalog(daemon: PrivateDaemon, *, quiet: bool) -> DemoCost:
    _head(quiet, f"A server with {MANY} generated tools is added to the config; the daemon goes on")
    began = time.perf_counter()
    daemon.serve(SAMPLES | {"office": ["toolsearchd.samples.office", str(MANY)]})
    daemon.wait_ready({*SAMPLES, "office"})
    with _agent(daemon) as agent:
        wanted = "invoices comment create billing"
        wait_for("indexing", lambda: agent.search([wanted])["total_available"] > MANY or None)
        took_s = time.perf_counter() - began
        found = agent.search([wanted], 1)["results"][0]
    cost, listing = _measured(daemon)
    if not quiet:
        say(
            f"found {took_s:.1f} s after the file was saved: {', '.join(found['matches'] or found['near'])}\n"
        )
        _show_cost(cost)
        for line in listing.splitlines():
            say(clipped(line, LINE_CHARS))
        saved = cost.eager_tokens - cost.bridge_tokens
        say(f"\n{saved:,} tokens less in every turn, against a search and a describe where a tool is new")
    return replace(cost, added_s=round(took_s, 2))


def _next_steps() -> None:
    say(
        """
=== Next, with your own servers

  toolsearchd --check-config     what it would read from the configs of your MCP clients
  toolsearchd                    run it here; or `make install-units` for systemd
  toolsearchctl servers          what it started
  toolsearchctl search "..."     what an agent would find
  toolsearchctl doctor           everything odd, with the mend

and one entry in an MCP client's config instead of all the others:

  {"mcpServers": {"toolsearchd": {"command": "toolsearchctl", "args": ["mcp"]}}}
"""
    )
