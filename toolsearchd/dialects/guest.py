"""What a guest brings: the names it is known by, and where what bears them is. Loads nothing of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Guest(NamedTuple):
    """A place: a module of the guest's folder and a constant there, which bears the name, or several."""

    dialects: Mapping[str, str]  # name → place
    clients: tuple[tuple[str, str], ...] = ()
    """(glob of lower-cased names of clients, the dialect that they speak unasked); the first match counts."""
    rankings: Mapping[str, str] = {}  # of its own: name → place
    options: Mapping[str, str] = {}  # dialects whose profiles' options have a shape of their own → place
    modules: tuple[str, ...] = ()  # for whoever loads ahead: each before what imports it
