"""Notifications: shown where notify-send is, else said once; many at once are one."""

import logging
import os

import pytest
from trio.testing import wait_all_tasks_blocked

from toolsearchd.calls import desktop as module
from toolsearchd.calls.desktop import Desktop

SHOW = '#!/bin/sh\nfor last; do :; done\nprintf \'%s\\0\' "$last" >> "$NOTICES"\n'


@pytest.fixture
def environ(tmp_path):
    """With a notify-send, or what stands in `tmp_path/notify-send`."""
    return {"PATH": f"{tmp_path}:{os.environ['PATH']}", "NOTICES": str(tmp_path / "notices")}


def install(tmp_path, script):
    (tmp_path / "notify-send").write_text(script)
    (tmp_path / "notify-send").chmod(0o755)


def shown(tmp_path):
    file = tmp_path / "notices"
    return file.read_text().split("\0")[:-1] if file.exists() else []


async def until(condition):
    import trio

    with trio.fail_after(20):
        while not condition():
            await trio.sleep(0.01)


async def test_many_at_once_are_one(tmp_path, environ, nursery):
    install(tmp_path, SHOW)
    desktop = Desktop(environ)
    for number in range(5):
        desktop.show(f"call <{number}>")
    await nursery.start(desktop.run)
    await until(lambda: shown(tmp_path))
    (text,) = shown(tmp_path)
    assert "call &lt;0&gt;" in text
    assert "call &lt;3&gt;" not in text
    assert "2 more: toolsearchctl approvals" in text
    desktop.show("another")
    await until(lambda: len(shown(tmp_path)) == 2)
    nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (None, "not on PATH"),
        ("#!/bin/sh\necho no bus >&2; exit 1\n", "no bus"),
        ("no program at all", "Exec format error"),
        ("#!/bin/sh\nexec sleep 60\n", "did not end"),
    ],
)
async def test_what_cannot_be_shown_is_said_once(
    tmp_path, environ, nursery, caplog, monkeypatch, script, said
):
    monkeypatch.setattr(module, "_PATIENCE_S", 0.5)
    if script is None:
        environ["PATH"] = str(tmp_path)
    else:
        install(tmp_path, script)
    desktop = Desktop(environ)
    await nursery.start(desktop.run)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            desktop.show("call")
            await until(lambda: said in caplog.text)
            await wait_all_tasks_blocked()
    assert len(caplog.records) == 1
    nursery.cancel_scope.cancel()
