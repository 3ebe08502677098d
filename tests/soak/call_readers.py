"""What reads names, calls, schemas, arguments and queries."""

from __future__ import annotations

from functools import cache
from typing import Any

from tests.soak import call_documents, documents
from tests.soak.reader_rows import LIMITS, clean_utf8, loaded, row
from toolsearchd.dialects.registry import RANKINGS


@row(
    "a glob against itself",
    LIMITS.frame_bytes_before_hello,
    "globs.py",
    "dispatch/policy.py",
    "dispatch/hooks.py",
    "catalog/grant.py",
    families=documents.GLOBS,
)
def glob(text: str) -> object:
    from toolsearchd.globs import matches_glob

    return [
        matches_glob(name, pattern)
        for name, pattern in (
            (text, text),
            (text, text + "*b"),
            (text + "a", "*" + text),
            ("a" * len(text), text),
            (text, "*a?" * 20 + "b"),
        )
    ]


@row("names", 64 * 1024, "catalog/naming.py", "dialects/hermes/names.py", families={})
def names(text: str) -> object:
    from toolsearchd.catalog.naming import door_name, mcp_name, near_names, public_name
    from toolsearchd.dialects.hermes.names import hermes_v1_name

    made = [make(text, text) for make in (public_name, door_name, mcp_name, hermes_v1_name)]
    return made, near_names(text, [*made, text, text[::-1], text[:-1]])


@row(
    "a name that is meant",
    LIMITS.frame_bytes,
    "catalog/meaning.py",
    "catalog/snapshot.py",
    "disclosure/names.py",
    "index/postings.py",
)
def resolved(text: str) -> object:
    snapshot = catalog()
    return snapshot.resolve(text, snapshot.live)


@row(
    "calls as a model writes them",
    LIMITS.frame_bytes,
    "dispatch/shapes.py",
    "dispatch/jsontext.py",
    "dialects/hermes/shapes.py",
    families=call_documents.CALLS,
)
def calls(text: str) -> object:
    from toolsearchd.dialects.registry import DIALECTS
    from toolsearchd.errors import ToolsearchdError

    for args in ({"calls": text}, {"name": "x", "arguments": text}, {"calls": [text]}, {"name": text}):
        for rules in ("default", "hermes", "openclaw"):
            try:
                DIALECTS[rules].rules.parse(args, max_entries=64)
            except ToolsearchdError:
                continue
    return None


@row("JSON that is mended", LIMITS.frame_bytes, "dispatch/jsontext.py", families=call_documents.CALLS)
def mended(text: str) -> object:
    from toolsearchd.dispatch.jsontext import JsonFault, mend_brackets, read_json_leniently

    try:
        return mend_brackets(text), read_json_leniently(text)
    except JsonFault:
        return None


@row(
    "a schema",
    LIMITS.validation_bytes,
    "dispatch/schema.py",
    "dispatch/bounds.py",
    families=call_documents.SCHEMAS,
    budget_s=0.25,
)
def schema(text: str) -> object:
    from toolsearchd.dispatch.bounds import count_steps
    from toolsearchd.dispatch.schema import read_schema

    found = read_schema(clean_utf8(text), LIMITS)
    if found.fault:
        return found.fault
    return [count_steps(found, value, 10_000, LIMITS) for value in call_documents.arguments_for(len(text))]


@row(
    "arguments against a schema",
    LIMITS.validation_bytes,
    "dispatch/arguments.py",
    "dispatch/coerce.py",
    "dialects/hermes/coercion.py",
    "dispatch/validation_errors.py",
    "dispatch/validate.py",
    families=call_documents.ARGUMENTS,
    budget_s=0.25,
)
def arguments(text: str) -> object:
    from toolsearchd.dialects.registry import DIALECTS
    from toolsearchd.dispatch.arguments import prepare
    from toolsearchd.errors import ToolsearchdError

    value = loaded(text)
    for given in (
        value if isinstance(value, dict) else {"list": value},
        {"text": text, "number": text, "list": text},
    ):
        for rules in ("default", "hermes", "hermes-v1"):
            try:
                prepare(call_documents.definition(), given, rules=DIALECTS[rules].rules, limits=LIMITS)
            except ToolsearchdError:
                continue
    return None


@row(
    "arguments against a schema of their size",
    LIMITS.validation_bytes,
    "dispatch/coerce.py",
    "dispatch/validate.py",
    families=call_documents.PAIRS,
    budget_s=0.25,
)
def pairs(text: str) -> object:
    from toolsearchd.dialects.registry import DIALECTS
    from toolsearchd.dispatch.arguments import prepare
    from toolsearchd.dispatch.check import plan
    from toolsearchd.errors import ToolsearchdError

    value = loaded(text)
    if not isinstance(value, dict) or "schema" not in value:
        return None
    plan.cache_clear()
    definition = call_documents.definition_of(value["schema"])
    for rules in ("default", "hermes"):
        try:
            prepare(definition, value["arguments"], rules=DIALECTS[rules].rules, limits=LIMITS)
        except ToolsearchdError:
            continue
    return None


@row("what a call touches", LIMITS.frame_bytes, "dispatch/parallel.py", families=call_documents.PATHS)
def touched(text: str) -> object:
    from toolsearchd.dispatch.parallel import footprint, may_join

    one, two = (
        footprint(
            {"path": text, "paths": given.split(",")}, read_only=False, trusted=True, server_is_parallel=True
        )
        for given in (text, text[::-1])
    )
    return may_join(one, [two])


@row("rules on arguments", LIMITS.frame_bytes, "dispatch/policy.py")
def ruled(text: str) -> object:
    from toolsearchd.dispatch.policy import arguments_match

    wanted = [{"path": form} for form in ({"glob": "/etc/*x*y"}, {"fold": "a"}, {"glob": "*a?b*"}, "*", "x")]
    return [arguments_match({"path": text}, one) for one in wanted]


@row("a hook's answer", LIMITS.line_bytes, "dispatch/hooks.py")
def hook(text: str) -> object:
    from toolsearchd.dispatch.hooks import HookFault, read_answer

    for status in (0, 1, 2):
        try:
            read_answer("pre_call", status, clean_utf8(text), clean_utf8(text))
        except HookFault:
            continue
    return None


@row(
    "the analyzers",
    LIMITS.analysed_bytes,
    "index/text.py",
    "nfkc.py",
    "index/analyzer.py",
    "dialects/hermes/analyzer.py",
    "dialects/openclaw/ranker.py",
    families=documents.SIGNS,
)
def analysed(text: str) -> object:
    from toolsearchd.dialects.registry import make_analyzer
    from toolsearchd.index.document import IndexDocument

    text = text.encode("utf-8", "replace").decode()
    document = IndexDocument(key="k", name=text[:64], server="s", exposed="k", description=text)
    return [make_analyzer(name).analyse(document) for name in ("default", "hermes", "hermes-v1", "openclaw")]


@row(
    "queries",
    LIMITS.query_chars,
    "index/query.py",
    "index/given.py",
    "dialects/hermes/ranker.py",
    "dialects/openclaw/ranker.py",
    "disclosure/history.py",
)
def queries(text: str) -> object:
    from toolsearchd.disclosure.history import SearchHistory

    snapshot = catalog()
    history = SearchHistory(fruitless=3, remembered=16)
    history.note_search([{"query": text, "matches": []}])
    return [searcher(ranker).search(text, 5) for ranker in ("default", "hermes", "openclaw")], len(snapshot)


@cache
def catalog() -> Any:
    from tests.unit.disclosure_catalog import GITHUB, SLACK
    from toolsearchd.catalog.compile import compile_snapshot
    from toolsearchd.catalog.snapshot import Snapshot
    from toolsearchd.dialects.registry import make_analyzer

    analyzers = {name: make_analyzer(name) for name in ("default", "hermes", "openclaw")}
    return compile_snapshot(Snapshot.empty(), (GITHUB, SLACK), analyzers)


@cache
def searcher(ranker: str) -> Any:
    snapshot = catalog()
    return snapshot.searcher(RANKINGS[ranker], snapshot.live)
