"""Profiles: what sessions of a client see, and how."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from toolsearchd.config.section import Count, Section, Then
from toolsearchd.config.tool_search import ToolSearch, Warnings, overridden, with_presets
from toolsearchd.globs import matches_glob

DEFAULT_PROFILE = "default"
"""The one of clients that no other matches; it need not be written."""


class Match(Section, frozen=True, kw_only=True):
    client: str | tuple[str, ...] = "*"


class Profile(Section, frozen=True, kw_only=True):
    """`servers`, `tools` and `pins` are globs.

    `options` are keys of `tools.tool_search`, for it alone; under a dialect with options of its own, that
    system's.
    """

    match: Match | None = None
    servers: tuple[str, ...] = ("*",)
    tools: tuple[str, ...] = ("*",)
    dialect: str | None = None
    context_length: Count | None = None
    encoding: str | None = None
    approval: Then | None = None
    may_decide: bool = False  # its sessions may answer their own approval prompts (the request `decide`)
    pins: tuple[str, ...] = ()
    enabled: Literal["auto", "on", "off", "fit"] | bool | None = None
    options: dict[str, Any] = msgspec.field(default_factory=dict)

    def matches(self, client: str) -> bool:
        if self.match is None:
            return False
        globs = self.match.client
        return any(matches_glob(client, glob) for glob in ((globs,) if isinstance(globs, str) else globs))

    def tool_search(self, base: ToolSearch, *, is_foreign: bool = False) -> tuple[ToolSearch, Warnings]:
        """The settings of tool search under this profile: its `options`, then its `enabled`.

        `is_foreign`: its dialect reads the options.
        """
        section = {} if is_foreign else dict(self.options)
        if self.enabled is not None:
            section["enabled"] = self.enabled
        return overridden(base, section)


def settings_under(
    base: ToolSearch, presets: Mapping[str, Any], profile: Profile | None, *, is_foreign: bool = False
) -> ToolSearch:
    """What is in force: the config's, under a dialect's own defaults, under what a profile says."""
    settings = with_presets(base, presets)
    return settings if profile is None else profile.tool_search(settings, is_foreign=is_foreign)[0]
