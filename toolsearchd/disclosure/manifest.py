"""Model manifests: for which models progressive disclosure is switched off, as data files.

The form is NemoClaw's, with two additions: the agent may be `any`, and `toolSearch` may stand in `effects`
itself. A manifest can switch disclosure off and nothing else; `toolSearch: true` asks for what is there.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any, Literal

import msgspec

Agent = Literal["any", "openclaw", "hermes"]


class _Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Unknown keys are errors."""


class ModelMatch(_Strict, frozen=True, kw_only=True):
    """All that is given must hold. Prefixes are of a model's name without its route: they hold no `/`."""

    modelIds: tuple[str, ...] = ()
    modelIdPrefixes: tuple[str, ...] = ()
    providerKey: str | None = None
    inferenceApi: str | None = None
    baseUrl: str | None = None

    def __post_init__(self) -> None:
        if bool(self.modelIds) == bool(self.modelIdPrefixes):
            raise ValueError("exactly one of modelIds and modelIdPrefixes must be given")
        if any("/" in prefix or not prefix for prefix in self.modelIdPrefixes):
            raise ValueError("a prefix in modelIdPrefixes is a name's beginning, without `/`")


class OpenClawTools(_Strict, frozen=True, kw_only=True):
    toolSearch: bool


class Effects(_Strict, frozen=True, kw_only=True):
    """`toolSearch` decides disclosure; what else a manifest says is for the agent that it was written for."""

    toolSearch: bool | None = None
    openclawTools: OpenClawTools | None = None
    openclawCompat: dict[str, Any] | None = None
    openclawReasoning: Literal[True] | None = None
    openclawPlugins: tuple[Any, ...] | None = None
    hermesCompat: dict[str, Any] | None = None


class Manifest(_Strict, frozen=True, kw_only=True):
    id: str
    agent: Agent
    description: str = ""
    match: ModelMatch
    effects: Effects

    def __post_init__(self) -> None:
        foreign = {"openclaw": "hermes", "hermes": "openclaw"}.get(self.agent)
        for name in Effects.__struct_fields__:
            if foreign and name.startswith(foreign) and getattr(self.effects, name) is not None:
                raise ValueError(f"a manifest for {self.agent} can't have the effect {name}")

    @property
    def switches_off(self) -> bool:
        tools = self.effects.openclawTools
        return self.effects.toolSearch is False or (tools is not None and not tools.toolSearch)


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """What a session says of its model; empty where it says nothing."""

    model_id: str = ""
    provider: str = ""
    api: str = ""
    base_url: str = ""


def decode_manifest(data: bytes) -> Manifest:
    """Raises ValueError with what is wrong, and where."""
    try:
        return msgspec.json.decode(data, type=Manifest)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise ValueError(f"not a model manifest: {error}") from None


def matches(manifest: Manifest, model: Model, agent: str) -> bool:
    """Is the manifest about this model, in an agent of this kind? Case does not matter in model names."""
    if manifest.agent not in ("any", agent):
        return False
    match, name = manifest.match, model.model_id.lower()
    if match.modelIds and name not in {known.lower() for known in match.modelIds}:
        return False
    bare = name.rpartition("/")[2]
    if match.modelIdPrefixes and not any(bare.startswith(known.lower()) for known in match.modelIdPrefixes):
        return False
    wanted = (
        (match.providerKey, model.provider),
        (match.inferenceApi, model.api),
        (match.baseUrl and match.baseUrl.rstrip("/"), model.base_url.rstrip("/")),
    )
    return all(one is None or one == other for one, other in wanted)


def switching_off(manifests: Iterable[Manifest], model: Model, agent: str) -> Manifest | None:
    """The first manifest that switches disclosure off for this model."""
    return next((one for one in manifests if one.switches_off and matches(one, model, agent)), None)


@cache
def shipped_manifests() -> tuple[Manifest, ...]:
    """Those in the package, by file name."""
    folder = resources.files("toolsearchd.disclosure").joinpath("manifests")
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".json")), key=lambda f: f.name)
    return tuple(decode_manifest(file.read_bytes()) for file in files)
