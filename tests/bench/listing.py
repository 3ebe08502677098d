"""What the default listing shows of real catalogs, by budget and by server; beside it the reference's rule.

    python -m tests.bench.listing [--data DIR]…

DIR holds catalogs, itself or in `catalogs/`: each *.jsonl is one (lines of {server, name, description}), and
all *.json together are one (a file a server, {"tools": […]} as `tools/list` gives them). Without DIR: the set
in tests/data/livemcp. Tokens are o200k_base; every text's tokens are counted as a whole.
"""

from __future__ import annotations

import argparse
import json
import lzma
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from toolsearchd.catalog.naming import public_name
from toolsearchd.disclosure.budget import listing_budget
from toolsearchd.disclosure.listing import HEADER, ListedServer, listed, render
from toolsearchd.disclosure.listing_steps import ListingPlan, forms_of
from toolsearchd.disclosure.sanitise import short_description
from toolsearchd.disclosure.tokens import chars4_of, count_tokens

OWN = Path(__file__).parents[1] / "data" / "livemcp" / "catalog.jsonl.xz"
BUDGETS = (200, 500, 1000, 2000, 4000, 8000, 16_000, 60_000)
CONTEXT, CAP, PERCENT = 200_000, 4000, 5.0
SMALL = 10
_MOST_ROWS = 100  # servers


@cache
def count(text: str) -> int:
    return count_tokens("o200k_base", [text])[0]


def catalogs(folders: list[Path]) -> Iterator[tuple[str, list[ListedServer]]]:
    if not folders:
        lines = lzma.decompress(OWN.read_bytes()).decode().splitlines()
        yield "livemcp", servers_of(map(json.loads, lines))
    for folder in folders:
        inner = folder / "catalogs"
        place = inner if inner.is_dir() else folder
        for file in sorted(place.glob("*.jsonl")):
            yield file.stem, servers_of(map(json.loads, file.read_text("utf-8").splitlines()))
        files = sorted(place.glob("*.json"))
        if files:
            yield (
                f"{len(files)} servers",
                servers_of(
                    tool | {"server": file.stem}
                    for file in files
                    for tool in json.loads(file.read_text("utf-8"))["tools"]
                ),
            )


def servers_of(tools) -> list[ListedServer]:
    by_server: dict[str, dict[str, str]] = {}
    for tool in tools:
        name = public_name(tool["server"], tool["name"])
        by_server.setdefault(tool["server"], {})[name] = short_description(tool.get("description") or "")
    return [listed(server, found.items()) for server, found in by_server.items()]


def shown(text: str, server: ListedServer) -> str:
    """The form in which a listing shows the server."""
    forms = {block.form: block.text for block in forms_of(server).blocks} | {"summary": f"{server.summary}\n"}
    return next((form for form, block in forms.items() if f"\n{block}" in f"{text}\n"), "-")


def figures(text: str, servers: list[ListedServer]) -> list[int]:
    """Servers shown; tools described; tools named; tools of which only a family or a line tells."""
    forms = {server.label: shown(text, server) for server in servers}
    sizes = [(forms[server.label], server) for server in servers]
    described = sum(sum(1 for _, short in server.tools if short) for form, server in sizes if form == "full")
    named = sum(len(server.tools) for form, server in sizes if form in ("full", "names"))
    hinted = sum(len(server.tools) for form, server in sizes if form in ("families", "line", "summary"))
    return [sum(form != "-" for form, _ in sizes), described, named, hinted]


def table(head: list[str], rows: list[list[object]]) -> None:
    cells = [head, *([f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(head))]
    for row in cells:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
    print()


def by_budget(name: str, servers: list[ListedServer]) -> None:
    tools = sum(len(server.tools) for server in servers)
    print(f"{name}: {len(servers)} servers, {tools:,} tools")
    forms_of.cache_clear()
    began = time.perf_counter()
    plan = ListingPlan(servers, count)
    counted = time.perf_counter()
    forms_of.cache_clear()
    again = ListingPlan(servers, count)
    made = time.perf_counter()
    rows: list[list[object]] = []
    for budget in BUDGETS:
        found = again.listing(budget)
        assert found == plan.listing(budget)
        rows.append(["steps", budget, found.form, found.tokens, *figures(found.text, servers)])
        reference = render(servers, budget, lambda blocks: chars4_of(len("\n".join(blocks))), HEADER)
        of_reference = figures(reference.text, servers)
        rows.append(["reference", budget, reference.form, count(reference.text), *of_reference])
    head = ["rule", "budget", "form", "tokens", "servers", "described", "named", "hinted at"]
    table(head, rows)
    print(
        f"plan: {(counted - began) * 1e3:.0f} ms with counting, {(made - counted) * 1e3:.0f} ms with counts "
        f"that are known; {len(plan.steps)} steps\n"
    )


def by_server(name: str, servers: list[ListedServer]) -> None:
    budget = listing_budget(CAP, PERCENT, CONTEXT)
    found = ListingPlan(servers, count).listing(budget)
    print(f"{name}, context {CONTEXT:,}, {CAP:,} tokens: {found.form}, {found.tokens:,} tokens")
    rows: list[list[object]] = []
    for server in servers:
        form = shown(found.text, server)
        cost = next((count(b.text) for b in forms_of(server).blocks if b.form == form), 0)
        rows.append([server.label, len(server.tools), form, cost])
    table(["server", "tools", "shown", "tokens"], rows)
    servers_shown, described, *_ = figures(found.text, servers)
    print(f"{servers_shown} of {len(servers)} servers are shown, {described} tools with descriptions\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, action="append", default=[])
    found = list(catalogs(parser.parse_args().data))
    for name, servers in found:
        by_budget(name, servers)
        if 1 < len(servers) <= _MOST_ROWS:
            by_server(name, servers)
    everyone = [server for _, servers in found for server in servers]
    huge = max(everyone, key=lambda server: len(server.tools))
    others = {server.label: server for server in everyone if server is not huge and len(server.tools) > 4}
    small = sorted(others.values(), key=lambda server: (len(server.tools), server.label))[:SMALL]
    by_server(f"{huge.label} beside {len(small)} small ones", [huge, *small])


if __name__ == "__main__":
    main()
