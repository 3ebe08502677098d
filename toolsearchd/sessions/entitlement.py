"""What a hello entitles to: a profile, a grant, a dialect, and what of the model is known. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import PurePath

import msgspec

from toolsearchd.catalog.grant import ALL, Grant, ServerTerms
from toolsearchd.catalog.model import Tool
from toolsearchd.config.model import ServerSpec
from toolsearchd.config.profile import DEFAULT_PROFILE, Profile
from toolsearchd.config.restrictions import Restrictions, bound_by, word_on
from toolsearchd.config.sources import FORMATS, client_of
from toolsearchd.dialects.precedence import TierChoice, choose
from toolsearchd.dialects.registry import DIALECTS
from toolsearchd.disclosure.local_model import is_local_model
from toolsearchd.disclosure.manifest import Manifest, Model
from toolsearchd.dispatch.policy import Decision
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.live.evaluator import ViewKey
from toolsearchd.protocol.requests import GrantScope, Hello
from toolsearchd.records import Finding


class ToldModel(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent said last of its model; None where it said nothing."""

    context_length: int | None = None
    encoding: str | None = None
    model: str | None = None

    def updated(self, *, context_length: int | None, encoding: str | None, model: str | None) -> ToldModel:
        """What is None stays."""
        return ToldModel(
            context_length=self.context_length if context_length is None else context_length,
            encoding=encoding or self.encoding,
            model=model or self.model,
        )


class ClientTerms(msgspec.Struct, frozen=True, kw_only=True):
    """What clients' own configs say of one session. `bound`: of each server that narrows it, the records."""

    client: str = ""  # the format of its client's config; empty: it has none that is known
    projects: tuple[str, ...] = ()
    bound: Mapping[str, tuple[Restrictions, ...]] = {}
    servers: tuple[ServerTerms, ...] = ()

    def word_on(self, tool: Tool) -> Decision | None:
        if tool.kind == "plugin":
            return None
        word, whose = word_on(self.bound.get(tool.server, ()), self.client, tool.name, self.projects)
        return Decision(word, f"approval of {whose} for {tool.server}") if word else None


def client_terms(hello: Hello, servers: Sequence[ServerSpec]) -> ClientTerms:
    """What the entries and rules of clients say of a session with this hello."""
    client = hello.config_of if hello.config_of in FORMATS else client_of(hello.client)
    projects = tuple(_projects_of(hello))
    bound: dict[str, tuple[Restrictions, ...]] = {}
    terms = []
    for spec in servers:
        found = bound_by(spec.restrictions, client, projects)
        if found is None:
            if spec.enabled and not spec.idle:  # else it says itself why it is out of use
                terms.append(ServerTerms(server=spec.name, hidden=True))
            continue
        bound[spec.name] = found
        filters = dict.fromkeys(one for said in found for one in said.filters_in(projects))
        filters.pop((spec.include, spec.exclude), None)  # the catalog has it
        if filters:
            terms.append(ServerTerms(server=spec.name, filters=tuple(filters)))
    return ClientTerms(client=client or "", projects=projects, bound=bound, servers=tuple(terms))


class Entitlement(msgspec.Struct, frozen=True, kw_only=True):
    """`profile` is the one in force; `profiles` all whose rules bind the session, its client's own first."""

    profile: str
    profiles: tuple[str, ...]
    grant: Grant
    how: Profile | None
    terms: ClientTerms = ClientTerms()
    may_decide: bool = False  # every one of its profiles lets it answer its own approvals
    warnings: tuple[str, ...] = ()
    is_unknown: bool = False  # there is no profile of the name that was asked for


def checked_hello(hello: Hello, limits: Limits) -> Hello:
    """The hello as it may be held: its client's name clipped, `only` and `without` read. Raises BAD_ARGUMENTS
    for what is too long or of another shape."""
    for field in (
        "profile",
        "config_of",
        "model",
        "provider",
        "api",
        "encoding",
        "dialect",
        "disclosure",
        "listing",
    ):
        check_own_name(getattr(hello, field), field, limits)
    if hello.base_url is not None and len(hello.base_url) > limits.path_chars:
        raise _too_long("base_url", len(hello.base_url), limits.path_chars, "characters")
    roots = hello.roots or []
    if len(roots) > limits.own_names:
        raise _too_long("roots", len(roots), limits.own_names, "directories")
    for field, place in (("cwd", hello.cwd), *(("roots", root) for root in roots)):
        if place is None:
            continue
        if len(place) > limits.path_chars:
            raise _too_long(field, len(place), limits.path_chars, "characters")
        if (depth := len(PurePath(place).parts)) > limits.path_depth:
            raise _too_long(field, depth, limits.path_depth, "levels")
    return msgspec.structs.replace(
        hello,
        client=hello.client[: limits.own_name_chars],
        only=_scope("only", hello, limits),
        without=_scope("without", hello, limits),
    )


def _scope(field: str, hello: Hello, limits: Limits) -> GrantScope | None:
    """What was meant to narrow and can't be read must not be taken for nothing."""
    value = getattr(hello, field)
    if value is None:
        return None
    if hello.mcp:
        raise ToolsearchdError(
            "BAD_ARGUMENTS",
            f"{field}: not through the MCP door; a profile narrows what it grants",
            field=field,
        )
    try:
        scope = msgspec.convert(value, GrantScope)
    except msgspec.ValidationError as error:
        raise ToolsearchdError(
            "BAD_ARGUMENTS", f"{field}: {error}; {{servers: [glob], tools: [glob]}} is accepted", field=field
        ) from error
    for globs in (scope.servers or (), scope.tools or ()):
        if len(globs) > limits.own_names:
            raise _too_long(field, len(globs), limits.own_names, "globs")
        for glob in globs:
            check_own_name(glob, field, limits)
    return scope


def check_own_name(name: str | None, field: str, limits: Limits) -> None:
    """Raises BAD_ARGUMENTS for a name, of a model for example, that is longer than any is."""
    if name is not None and len(name) > limits.own_name_chars:
        raise _too_long(field, len(name), limits.own_name_chars, "characters")


def _too_long(field: str, length: int, most: int, what: str) -> ToolsearchdError:
    return ToolsearchdError("BAD_ARGUMENTS", f"{field}: {length} {what}; {most} are accepted", field=field)


def entitlement_of(
    hello: Hello,
    profiles: Mapping[str, Profile],
    servers: Collection[str],
    specs: Sequence[ServerSpec] = (),
) -> Entitlement:
    """What its profiles grant, narrowed by what clients' own configs say of the session."""
    found, terms = _entitlement_of(hello, profiles, servers), client_terms(hello, specs)
    grant = msgspec.structs.replace(found.grant, terms=terms.servers)
    warnings = found.warnings
    if hello.config_of is not None and hello.config_of not in FORMATS:
        warnings += (f"no client {hello.config_of[:64]!r} is known: it is taken by the name it gives itself",)
    return msgspec.structs.replace(found, grant=grant, terms=terms, warnings=warnings)


def _entitlement_of(hello: Hello, profiles: Mapping[str, Profile], servers: Collection[str]) -> Entitlement:
    """The client's own profile, narrowed by the one the hello names and by its `only` and `without` (which
    `checked_hello` has read). An unknown name grants nothing.

    `servers`: the names of those that there are, to warn of a profile that means none of them.
    """
    by_profile = _entitlement_by_profile(hello, profiles, servers)
    only, without = hello.only or GrantScope(), hello.without or GrantScope()
    if only == without == GrantScope():
        return by_profile
    narrower = Grant(
        servers=ALL if only.servers is None else only.servers,
        tools=ALL if only.tools is None else only.tools,
        without_servers=without.servers or (),
        without_tools=without.tools or (),
    )
    return msgspec.structs.replace(by_profile, grant=by_profile.grant.narrowed(narrower))


def _entitlement_by_profile(
    hello: Hello, profiles: Mapping[str, Profile], servers: Collection[str]
) -> Entitlement:
    own = next(
        (name for name, one in profiles.items() if name != DEFAULT_PROFILE and one.matches(hello.client)),
        DEFAULT_PROFILE,
    )
    projects = tuple(_projects_of(hello))
    grant, warnings = _grant_of(own, profiles.get(own), projects, servers)
    asked = hello.profile
    if asked is None or asked == own:
        return Entitlement(
            profile=own,
            profiles=(own,),
            grant=grant,
            how=profiles.get(own),
            may_decide=_may_decide(profiles, own),
            warnings=tuple(warnings),
        )
    if asked not in profiles and asked != DEFAULT_PROFILE:
        warnings.append(f"there is no profile {asked[:64]!r}: nothing is granted under it")
        return Entitlement(
            profile=asked[:64],
            profiles=(own, asked[:64]),
            grant=Grant.nothing(),
            how=None,
            warnings=tuple(warnings),
            is_unknown=True,
        )
    narrower, more = _grant_of(asked, profiles.get(asked), projects, servers)
    return Entitlement(
        profile=asked,
        profiles=(own, asked),
        grant=grant.narrowed(narrower),
        how=profiles.get(asked),
        may_decide=_may_decide(profiles, own, asked),
        warnings=(*warnings, *more),
    )


def key_of(
    hello: Hello,
    entitlement: Entitlement,
    told: ToldModel,
    environment: tuple[str | None, str],
    manifests: Callable[[], Sequence[Manifest]],
) -> tuple[ViewKey, TierChoice]:
    """What the session sees, and who chose its dialect. `environment`: a word on disclosure
    in the daemon's, and the variable that says it.

    Raises BAD_ARGUMENTS for a dialect or a disclosure that does not exist.
    """
    how = entitlement.how
    model = Model(
        model_id=told.model or "",
        provider=hello.provider or "",
        api=hello.api or "",
        base_url=hello.base_url or "",
    )
    choice = choose(
        direct_by=(
            (hello.disclosure, "disclosure"),
            environment,
        ),
        dialect_by=(
            (hello.dialect, "dialect"),
            (how.dialect if how else None, f"the profile {entitlement.profile}: dialect"),
        ),
        client="" if hello.mcp else hello.client,  # the door has a dialect of its own
        model=model,
        manifests=manifests() if told.model else (),
    )
    key = ViewKey(
        grant=entitlement.grant,
        dialect=choice.dialect,
        profile=entitlement.profile,
        context_length=told.context_length or (how.context_length if how else None),
        encoding=told.encoding or (how.encoding if how else None),
        model=told.model,
        separate_listing=hello.listing == "separate",
        local_model=is_local_model(model.provider, model.model_id, model.base_url),
    )
    return key, choice


def _grant_of(
    name: str, profile: Profile | None, projects: tuple[str, ...], servers: Collection[str]
) -> tuple[Grant, list[str]]:
    if profile is None:
        return Grant(projects=projects), []
    grant = Grant(servers=profile.servers, tools=profile.tools, projects=projects)
    return grant, [
        f"the profile {name} names the server {server[:64]!r}, which there is not"
        for server in _unknown_servers(profile, servers)
    ]


def _may_decide(profiles: Mapping[str, Profile], *names: str) -> bool:
    return all(name in profiles and profiles[name].may_decide for name in names)


def _unknown_servers(profile: Profile, servers: Collection[str]) -> list[str]:
    """What a profile grants by plain names and nothing bears."""
    return [server for server in profile.servers if not set(server) & set("*?[") and server not in servers]


def profile_findings(profiles: Mapping[str, Profile], servers: Collection[str]) -> list[Finding]:
    """What of the profiles has not the effect that was meant."""
    found: list[Finding] = []
    for name, profile in profiles.items():
        found += [
            Finding(
                level="warning",
                about=f"profiles.{name}.servers",
                message=f"there is no server {server[:64]!r}: nothing is granted by it",
                mend="`toolsearchctl servers` lists those that there are; a glob needs a `*`",
                kind="unknown-server",
            )
            for server in _unknown_servers(profile, servers)
        ]
        if profile.dialect is not None and profile.dialect not in DIALECTS:
            found.append(
                Finding(
                    level="error",
                    about=f"profiles.{name}.dialect",
                    message=f"no dialect {profile.dialect[:64]!r}: its clients are refused",
                    mend=f"there are {', '.join(sorted(DIALECTS))}",
                    kind="unknown-dialect",
                )
            )
    return found


def _projects_of(hello: Hello) -> list[str]:
    """Every directory that the session's places lie in: a project's servers are for sessions inside it."""
    places = [PurePath(place) for place in (hello.cwd, *(hello.roots or ())) if place]
    return sorted({str(directory) for place in places for directory in (place, *place.parents)})
