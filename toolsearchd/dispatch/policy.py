"""May this call run? The person's rules first, then the profile's word, the server's, the default."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal

import msgspec

from toolsearchd.config.settings import Approval, ApprovalRule
from toolsearchd.dispatch.jsontext import same
from toolsearchd.globs import matches_glob
from toolsearchd.nfkc import nfkc

Then = Literal["allow", "ask", "deny"]


class Decision(msgspec.Struct, frozen=True):
    """`rule` says which word decided, for prompts, errors and the journal."""

    then: Then
    rule: str


def decide(
    approval: Approval,
    *,
    profile: str,
    server: str,
    tool: str,
    read_only: bool | None,
    destructive: bool | None,
    trust: Literal["full", "untrusted"],
    server_approval: Literal["allow", "ask", "deny", ""],
    arguments: Mapping[str, Any],
    public_name: str = "",
    profile_approval: Then | None = None,
    client: Decision | None = None,
) -> Decision:
    """The first rule that matches decides; `arguments` are those that would be sent. `client`: the word of
    the session's client, which tightens what is decided here; its `allow` answers for a tool that says that
    it destroys, and for nothing else.

    An untrusted server's hints may tighten and never loosen: the stricter word counts, of what holds with
    the hints and what holds without any.
    """

    def decided(facts: Mapping[str, bool | None]) -> Decision:
        names = (tool, f"{server}/{tool}", public_name)
        for at, rule in enumerate(approval.rules):
            if _matches(rule, profile, server, names, facts, arguments):
                return Decision(rule.then, f"approval.rules[{at}]")
        if profile_approval is not None:
            return Decision(profile_approval, f"approval of the profile {profile}")
        if server_approval:
            return Decision(server_approval, f"approval of the server {server}")
        if approval.default != "ask-destructive":
            return Decision(approval.default, f"approval.default: {approval.default}")
        if facts.get("destructiveHint") is True:
            if client is not None and client.then == "allow" and trust == "full":
                return client
            return Decision("ask", "approval.default: the tool says that it destroys")
        if trust == "untrusted":
            return Decision("ask", "approval.default: its server is untrusted")
        return Decision("allow", "approval.default")

    hinted = decided({"readOnlyHint": read_only, "destructiveHint": destructive})
    decisions = [hinted] if trust == "full" else [hinted, decided({})]
    return strictest([*decisions, client] if client is not None else decisions)


def strictest(decisions: Iterable[Decision]) -> Decision:
    """Of what several profiles say of one call: naming another profile must not loosen anything."""
    return max(decisions, key=lambda decision: ("allow", "ask", "deny").index(decision.then))


def _matches(
    rule: ApprovalRule,
    profile: str,
    server: str,
    names: tuple[str, ...],
    facts: Mapping[str, bool | None],
    arguments: Mapping[str, Any],
) -> bool:
    if rule.profile is not None and not matches_glob(profile, rule.profile):
        return False
    if rule.server is not None and not matches_glob(server, rule.server):
        return False
    if rule.tool is not None and not any(matches_glob(name, rule.tool) for name in names):
        return False
    if rule.annotation is not None and not _has_annotation(rule.annotation, facts):
        return False
    return arguments_match(arguments, rule.arguments, loosens=rule.then == "allow")


def _has_annotation(annotation: str, facts: Mapping[str, bool | None]) -> bool:
    """`destructiveHint`, or `readOnlyHint=false`: the hint has that value exactly."""
    name, _, value = annotation.partition("=")
    return facts.get(name.strip()) is (value.strip().lower() != "false")


def arguments_match(
    arguments: Mapping[str, Any], wanted: Mapping[str, Any] | None, *, loosens: bool = False
) -> bool:
    """`wanted`: dotted path → what stands there; all of them have to. `loosens`: a match lets it pass."""
    return all(_argument_matches(arguments, path, value, loosens) for path, value in (wanted or {}).items())


def _argument_matches(arguments: Mapping[str, Any], path: str, wanted: Any, loosens: bool) -> bool:
    """A dotted path: exact text or a glob for text, equality for the rest, any of a list. Names may hold dots
    themselves: of several places that the path may mean one is enough, and all are needed to let pass, so
    that a spare argument hides none."""
    options = wanted if isinstance(wanted, list) else [wanted]
    found = [any(_value_matches(value, option) for option in options) for value in _places(arguments, path)]
    return bool(found) and (all(found) if loosens else any(found))


def _places(value: Any, path: str) -> Iterator[Any]:
    """What stands at the path, wherever in it names end."""
    left = [(value, path)]
    while left:
        holder, rest = left.pop()
        if not isinstance(holder, Mapping):
            continue
        if rest in holder:
            yield holder[rest]
        dots = (at for at, character in enumerate(rest) if character == ".")
        left += [(holder[rest[:at]], rest[at + 1 :]) for at in dots if rest[:at] in holder]


def _value_matches(value: Any, option: Any) -> bool:
    if isinstance(option, str) and isinstance(value, str):
        return matches_glob(value, option)
    if isinstance(option, dict) and len(option) == 1 and isinstance(value, str):
        ((form, pattern),) = option.items()
        if form in ARGUMENT_FORMS and isinstance(pattern, str):
            return ARGUMENT_FORMS[form](value, pattern)
    return same(value, option)


def _fold(text: str) -> str:
    """Letters that differ in case, width or composition alone become the same (Unicode's NFKC_Casefold)."""
    return nfkc(nfkc(text).casefold())


ARGUMENT_FORMS: Mapping[str, Callable[[str, str], bool]] = {
    "text": lambda value, text: value == text,
    "glob": matches_glob,
    "fold": lambda value, glob: matches_glob(_fold(value), _fold(glob)),
}
"""How `{form: pattern}` in a rule's arguments compares a text; a plain text is a `glob`."""
