"""Which dialect a session gets: an explicit `direct`, then a model's manifest, then what was asked for.

Disclosure changes what a model sees, never what its agent may do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from toolsearchd.dialects.disclosures import DISCLOSURES
from toolsearchd.dialects.registry import CLIENTS, DIALECTS
from toolsearchd.disclosure.manifest import Manifest, Model, switching_off
from toolsearchd.errors import ToolsearchdError
from toolsearchd.globs import matches_glob


class TierChoice(NamedTuple):
    dialect: str
    why: str  # who chose it, for people


def check_disclosure(value: str | None, where: str) -> None:
    """Raises BAD_ARGUMENTS for a word that is neither `progressive` nor `direct`."""
    if value is not None and value not in DISCLOSURES:
        raise ToolsearchdError(
            "BAD_ARGUMENTS", f"{where} {value[:64]!r}; there are {' and '.join(DISCLOSURES)}"
        )


def choose(
    *,
    direct_by: Sequence[tuple[str | None, str]],
    dialect_by: Sequence[tuple[str | None, str]],
    client: str,
    model: Model,
    manifests: Sequence[Manifest],
) -> TierChoice:
    """The dialect in force.

    `direct_by`: (disclosure, who says so); one `direct` settles it. `dialect_by`: (name, who says so), the
    first that names one counts; without any, the client's name decides. Raises BAD_ARGUMENTS for a dialect
    or a disclosure that does not exist.
    """
    for value, who in direct_by:
        check_disclosure(value, who)
    for value, who in direct_by:
        if value == "direct":
            return TierChoice("direct", f"{who} direct")
    asked, who = next(((name, who) for name, who in dialect_by if name), (None, ""))
    choice = _by_client(client) if asked is None else TierChoice(asked, f"{who} {asked[:64]}")
    dialect = DIALECTS.get(choice.dialect)
    if dialect is None:
        known = ", ".join(sorted(DIALECTS))
        raise ToolsearchdError(
            "BAD_ARGUMENTS", f"no dialect {choice.dialect[:64]!r} ({who}); there are {known}"
        )
    manifest = switching_off(manifests, model, dialect.agent)
    if manifest is not None and dialect.bridges:
        return TierChoice("direct", f"the manifest {manifest.id} for the model {model.model_id[:64]}")
    return choice


def _by_client(client: str) -> TierChoice:
    for glob, dialect in CLIENTS:
        if matches_glob(client.lower(), glob):
            return TierChoice(dialect, f"the client's name {client[:64]}")
    return TierChoice("default", "nothing else was asked for")
