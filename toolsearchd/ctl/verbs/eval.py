"""`eval FILE`: retrieval figures over a file of queries, on the running daemon or on a catalog file."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from toolsearchd.ctl.connect import agent
from toolsearchd.ctl.documents import EvalDocument, Figures
from toolsearchd.ctl.output import print_json, say, table
from toolsearchd.disclosure.sanitise import clean
from toolsearchd.errors import ToolsearchdError
from toolsearchd.index.evaluate import Answer, EvalQuery, Judged, SearchCall, evaluate, report

HELP = "recall and rank figures for a file of queries"
T = TypeVar("T", bound=msgspec.Struct)


class CatalogLine(msgspec.Struct, frozen=True):
    """A line of `--catalog FILE`."""

    server: str
    name: str
    description: str | None = ""
    input_schema: msgspec.Raw = msgspec.Raw(b"null")


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", help='JSONL of {"id", "query", "relevant": ["server/tool", …]}'
    )
    parser.add_argument(
        "--catalog", metavar="FILE", help="JSONL of {server, name, description, input_schema}"
    )
    parser.add_argument("--compare", metavar="OLD", help="what `eval --json` said before, query by query")
    parser.add_argument("--profile", metavar="P", help="as a client of this profile sees it")


def run(args: Namespace) -> int:
    queries = _lines(args.file, EvalQuery)
    for query in queries:
        if odd := [name for name in query.relevant if "/" not in name]:
            raise ToolsearchdError(
                "BAD_ARGUMENTS", f"{args.file}: query {query.id!r}: {odd[0]!r} is not of the form server/tool"
            )
    if args.catalog:
        search, why = _offline(_lines(args.catalog, CatalogLine))
        found = _report(queries, search, why)
    else:
        with agent(args) as session:
            search, why = _daemon(session, queries)
            found = _report(queries, search, why)
    if args.compare:
        from toolsearchd.index.calibration import compared

        found["compared"] = compared(found.pop("judged"), _before(args.compare))
    found.pop("judged", None)
    if args.json:
        print_json(msgspec.convert(found, EvalDocument))
    else:
        _show(found)
    return 0


def _report(queries: Sequence[EvalQuery], search: SearchCall, why: Callable[[Judged], str]) -> dict[str, Any]:
    from toolsearchd.index.calibration import calibration, intervals  # numpy: not for `--help`

    judged = evaluate(queries, search, lambda: time.perf_counter() * 1e6)
    kinds = {one.query.kind for one in judged if one.query.kind}
    of_kind = {kind: [one for one in judged if one.query.kind == kind] for kind in sorted(kinds)}
    return report(judged, why) | {
        "intervals": {name: intervals(several) for name, several in ({"all": judged} | of_kind).items()},
        "calibration": calibration(judged),
        "by_query": {one.query.id: one.figures for one in judged},
        "judged": judged,
    }


def _before(path: str) -> dict[str, dict[str, float]]:
    """Query id → its figures, of a file that `eval --json` wrote."""
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=EvalDocument).by_query
    except (OSError, msgspec.MsgspecError) as error:
        raise ToolsearchdError("BAD_ARGUMENTS", f"--compare {path}: {error}") from error


def _lines(path: str, kind: type[T]) -> list[T]:
    """Raises BAD_ARGUMENTS with the file and the line."""
    decoder = msgspec.json.Decoder(kind)
    found = []
    try:
        lines = Path(path).read_bytes().splitlines()
    except OSError as error:
        raise ToolsearchdError("BAD_ARGUMENTS", f"{path} can't be read: {error.strerror}") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                found.append(decoder.decode(line))
            except msgspec.DecodeError as error:
                wanted = ", ".join(kind.__struct_fields__)
                message = f"{path}:{number}: {error}; a line is a JSON object of {wanted}"
                raise ToolsearchdError("BAD_ARGUMENTS", message) from error
    return found


def _offline(tools: Sequence[CatalogLine]) -> tuple[SearchCall, Callable[[Judged], str]]:
    """The daemon's own reading of queries, compile and searcher, without a daemon."""
    from toolsearchd.catalog.compile import compile_snapshot
    from toolsearchd.catalog.definition import decode_definition
    from toolsearchd.catalog.model import Definition, Source
    from toolsearchd.catalog.snapshot import Snapshot
    from toolsearchd.dialects.registry import make_analyzer
    from toolsearchd.disclosure.requests import parse_queries
    from toolsearchd.index.explain import verdict
    from toolsearchd.index.ranker import DefaultSearcher
    from toolsearchd.index.ranking import DEFAULT
    from toolsearchd.limits import Limits

    limits = Limits()
    servers: dict[str, list[Definition]] = {}
    for tool in tools:
        wire = {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
        try:
            definition = decode_definition(msgspec.json.encode(wire), limits)
        except ValueError as error:
            raise ToolsearchdError("BAD_ARGUMENTS", f"{tool.server}/{tool.name[:80]}: {error}") from error
        servers.setdefault(tool.server, []).append(definition)
    sources = [Source(name=name, definitions=tuple(found)) for name, found in servers.items()]
    snapshot = compile_snapshot(
        Snapshot.empty(), sources, {"default": make_analyzer("default")}, limits.analysed_bytes
    )
    searcher = snapshot.searcher(DEFAULT, snapshot.live)
    assert isinstance(searcher, DefaultSearcher)
    names = [f"{tool.server}/{tool.name}" if tool else "" for tool in snapshot.tools]
    docs = {name: doc for doc, name in enumerate(names)}

    def read(query: str) -> str:
        asked = {"queries": [query]}
        return parse_queries(asked, most=1, max_chars=limits.query_chars)[0]

    def search(query: str, limit: int) -> Answer:
        group = searcher.search(read(query), limit)
        hits = (*group.matches, *group.near)
        listed = [names[hit.doc] for hit in hits]
        p = {names[hit.doc]: hit.p for hit in hits if hit.p is not None}
        return listed[: len(group.matches)], listed[len(group.matches) :], p

    def why(one: Judged) -> str:
        known = [docs[name] for name in one.query.relevant if name in docs]
        if not known:
            return "nothing should be found" if not one.query.relevant else "not in the catalog"
        return verdict(searcher, read(one.query.query), known[0], 5).text

    return search, why


def _daemon(session: Any, queries: Sequence[EvalQuery]) -> tuple[SearchCall, Callable[[Judged], str]]:
    """Through the socket. What comes back under a name that stands for something relevant counts as that."""
    dialect = session.welcome["dialect"]
    plain = _names_of({name for query in queries for name in query.relevant}, dialect)

    def translated(names: Sequence[str], tools: dict[str, Any]) -> list[str]:
        for name in names:
            if name not in plain:
                server = tools[name]["source_name"]
                plain[name] = name.replace(f"mcp__{server}__", f"{server}/", 1)
        return [plain[name] for name in names]

    def search(query: str, limit: int) -> Answer:
        if not clean(query).strip():
            return [], []  # some dialects refuse it: either way an agent finds nothing
        try:
            reply = session.search([query], limit, scores=dialect == "default" or None)
        except ToolsearchdError as error:
            said = f"dialect {dialect} refuses {query[:80]!r}: {error.message}"
            raise ToolsearchdError(error.code, said) from error
        matches, near, tools = _ranked(reply, dialect)
        scores = reply["results"][0].get("scores", {}) if "results" in reply else {}
        p = dict(zip(translated(list(scores), tools), scores.values(), strict=True))
        return translated(matches, tools), translated(near, tools), p

    def why(one: Judged) -> str:
        if not one.query.relevant:
            return "nothing should be found"
        try:
            reply = session.explain(one.query.query, one.query.relevant[0])
        except ToolsearchdError as error:
            return error.message
        return str(reply["verdict"]["text"])

    return search, why


def _ranked(reply: dict[str, Any], dialect: str) -> tuple[list[str], list[str], dict[str, Any]]:
    """Matches, near and the map of tools in a reply to one query, whatever the dialect calls them."""
    if "results" in reply:
        (group,) = reply["results"]
        return group["matches"], group.get("near", []), reply["tools"]
    if "matches" in reply:
        tools = {tool["name"]: tool for tool in reply["matches"]}
        return list(tools), [], tools
    if isinstance(reply.get("value"), list):
        tools = {_plain_of(tool): tool | {"source_name": tool["sourceName"]} for tool in reply["value"]}
        return list(tools), [], tools
    raise ToolsearchdError(
        "BAD_ARGUMENTS", f"dialect {dialect} answers in prose, without a ranked list: take another profile"
    )


def _plain_of(candidate: dict[str, Any]) -> str:
    """`server/tool` of an OpenClaw candidate."""
    return f"{candidate.get('mcp', {}).get('serverName', candidate['sourceName'])}/{candidate['name']}"


def _names_of(relevant: Collection[str], dialect: str) -> dict[str, str]:
    """The dialect's name → `server/tool`. A name is a function of server and tool, and may be cut or altered,
    so it can't be read back. Either may hold a slash: every reading of the pair has its name."""
    from toolsearchd.catalog.model import Definition, Tool
    from toolsearchd.catalog.naming import public_name
    from toolsearchd.dialects.registry import DIALECTS

    name_of = DIALECTS[dialect].name_of
    found = {}
    for plain in sorted(relevant):
        parts = plain.split("/")
        for cut in range(1, len(parts)):
            server, name = "/".join(parts[:cut]), "/".join(parts[cut:])
            definition = Definition(name=name, digest="")
            tool = Tool(definition=definition, server=server, public_name=public_name(server, name))
            found[name_of(tool)] = plain
    return found


def _show(found: dict[str, Any]) -> None:
    names = [name for name in Figures.__struct_fields__ if name in found]
    rows = [("all", found), *found["kinds"].items()]
    table(["", *names], ([title, *(_cell(figures[name]) for name in names)] for title, figures in rows))
    say("\nintervals of 95%, by resampling the queries:")
    for title, figures in found["intervals"].items():
        parts = (f"{name} {low:.3f} to {high:.3f}" for name, (low, high) in figures.items())
        say(f"  {title}: {', '.join(parts)}")
    if told := found["calibration"]:
        say(f"\nBrier score {told['brier']:.4f} over {told['tools']} tools of answers; by p:")
        lines = (
            [f"{one['from']:.1f}", one["tools"], _cell(one["p"]), _cell(one["right"])] for one in told["bins"]
        )
        table(["P FROM", "TOOLS", "MEAN P", "RIGHT"], lines)
    if "compared" in found:
        say()
        table(
            ["FIGURE", "QUERIES", "BEFORE", "NOW", "DIFFERENCE", "UP", "DOWN"],
            (
                [
                    *(one["figure"], one["queries"], _cell(one["before"]), _cell(one["now"])),
                    f"{one['difference']:+.3f} ({one['interval'][0]:+.3f} to {one['interval'][1]:+.3f})",
                    *(one["up"], one["down"]),
                ]
                for one in found["compared"]
            ),
        )
    say()
    for miss in found["misses"][:50]:
        say(
            f"{miss['id']}: {miss['query']}\n    got {', '.join(miss['got'][:3]) or 'nothing'}; {miss['why']}"
        )
    if len(found["misses"]) > 50:
        say(f"… and {len(found['misses']) - 50} more misses; --json has them all")


def _cell(value: Any) -> str:
    return (
        "-"
        if value is None
        else f"{value:.3f}"
        if isinstance(value, float) and value < 10
        else f"{value:.0f}"
    )
