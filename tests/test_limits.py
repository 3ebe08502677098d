"""Every limit is true: it is read where it binds, and comes from the config, never from a second default."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from toolsearchd.limits import LIVE, Limits

ROOT = Path(__file__).parents[1] / "toolsearchd"
HOLDERS = {"limits", "_limits"}
MAKERS = {
    "config/settings.py",  # what the person wrote, or the defaults
    "ctl/verbs/eval.py",  # a catalog from a file, without a daemon
}


def nodes() -> Iterator[tuple[str, ast.AST]]:
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name != "limits.py":
            yield from ((name, node) for node in ast.walk(ast.parse(path.read_text())))


def name_of(node: ast.AST) -> str:
    """The last part of `a.b.c`."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def test_limits_are_made_where_the_config_is_read() -> None:
    makers = set()
    for name, node in nodes():
        if isinstance(node, ast.Call):
            made = (node.func, *(key.value for key in node.keywords if key.arg == "default_factory"))
            if "Limits" in map(name_of, made):
                makers.add(name)
    assert {name for name in makers if not name.startswith("daemon/")} == MAKERS


def test_what_is_read_of_the_config_anew_needs_no_restart() -> None:
    read = {
        node.attr
        for name, node in nodes()
        if isinstance(node, ast.Attribute)
        and name_of(node.value) == "limits"
        and (name.startswith("watching/") or name_of(getattr(node.value, "value", node)) == "settings")
    }
    assert read == LIVE


@pytest.fixture(scope="module")
def read() -> set[str]:
    """Names of attributes that are read of what is called limits."""
    return {
        node.attr for _, node in nodes() if isinstance(node, ast.Attribute) and name_of(node.value) in HOLDERS
    }


@pytest.mark.parametrize("field", [field.name for field in msgspec.structs.fields(Limits)])
def test_a_limit_is_read(field: str, read: set[str]) -> None:
    assert field in read
