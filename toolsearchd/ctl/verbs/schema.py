"""`schema [VERB]`: JSON Schema of all socket messages, or of a verb's `--json`. Needs no daemon."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

from toolsearchd.errors import ToolsearchdError

HELP = "JSON Schema of the protocol's messages, or of a verb's --json"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("of", nargs="?", metavar="VERB", help="of the document that this verb prints")


def run(args: Namespace) -> int:
    from toolsearchd.protocol.json_schema import json_schema

    print(json.dumps(json_schema() if args.of is None else _document_schema(args.of), indent=2))
    return 0


def _document_schema(verb: str) -> dict[str, object]:
    from toolsearchd.ctl.documents import DOCUMENTS, Failed
    from toolsearchd.protocol.json_schema import schema_of

    if verb not in DOCUMENTS:
        raise ToolsearchdError("BAD_ARGUMENTS", f"{verb}: there are {', '.join(DOCUMENTS)}")
    found = schema_of({"document": (*DOCUMENTS[verb], Failed)})
    document: dict[str, object] = found.pop("document")
    return document | found
