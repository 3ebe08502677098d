"""The login shell's environment, whatever the shell's start-up does."""

import os
from pathlib import Path

import pytest
import trio

from tests.actors.upstream_world import World, steady
from toolsearchd.config.settings import Environment
from toolsearchd.upstream import login_shell
from toolsearchd.upstream.login_shell import is_bare, login_environment


@pytest.mark.parametrize(
    "path", ["", "/bin", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "/snap/bin"]
)
def test_bare(path):
    assert is_bare(path)


@pytest.mark.parametrize("path", ["/home/me/.local/bin:/usr/bin", "/opt/tools", "/usr/bin:/usr/local/go/bin"])
def test_not_bare(path):
    assert not is_bare(path)


@pytest.fixture
def shell(tmp_path):
    """Makes a login shell of a script; `$2` is what it is asked to run."""

    def make(script):
        file = tmp_path / "shell"
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        return {"SHELL": str(file), "PATH": "/usr/bin:/bin"}

    return make


ASKED = 'PATH=/home/me/bin:$PATH; eval "$2"'


@pytest.mark.parametrize(
    "before",
    ["", "echo Welcome; echo /not/this", "sleep 600 &", "printf 'no end of line'", "echo oops >&2"],
)
async def test_what_the_start_up_prints_or_leaves_behind_does_not_matter(shell, before):
    with trio.fail_after(4):
        found = await login_environment(shell(f"{before}\n{ASKED}"))
        assert found["PATH"] == "/home/me/bin:/usr/bin:/bin"


async def test_no_shell(shell):
    assert await login_environment({"SHELL": "/nonexistent/shell"}) == {}
    assert await login_environment(shell("exit 1")) == {}


async def test_a_shell_that_hangs_is_not_waited_for(shell, monkeypatch):
    monkeypatch.setattr(login_shell, "_PATIENCE_S", 0.2)
    with trio.fail_after(4):
        assert await login_environment(shell("sleep 600")) == {}


async def test_servers_get_the_persons_path_where_the_daemons_is_bare(nursery, shell):
    world = World(steady())
    world.fleet._environ |= shell(ASKED)
    await world.start(nursery)
    pid = (await world.reach("steady", "ready"))["pid"]
    environ = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    assert b"PATH=/home/me/bin:/usr/bin:/bin" in environ


async def test_a_path_that_says_something_is_left_alone(nursery, shell):
    world = World(steady())
    world.fleet._environ |= shell(ASKED) | {"PATH": os.environ["PATH"] + ":/opt/mine/bin"}
    await world.start(nursery)
    pid = (await world.reach("steady", "ready"))["pid"]
    assert b":/opt/mine/bin\0" in Path(f"/proc/{pid}/environ").read_bytes()


async def test_servers_get_the_persons_proxies_and_certificates(nursery, shell):
    asked = "export HTTPS_PROXY=http://proxy.example:3128 no_proxy=localhost MINE=1; "
    asked += "export NODE_EXTRA_CA_CERTS=/etc/ssl/company.pem SSL_CERT_FILE=/shell"
    world = World(steady(env={"HTTPS_PROXY": "http://own.example:1"}))
    world.fleet._passed = lambda: Environment().pass_
    world.fleet._environ = shell(f'{asked}; eval "$2"') | {"SSL_CERT_FILE": "/here"}
    await world.start(nursery)
    pid = (await world.reach("steady", "ready"))["pid"]
    environ = set(Path(f"/proc/{pid}/environ").read_text().split("\0"))
    assert {
        "no_proxy=localhost",
        "NODE_EXTRA_CA_CERTS=/etc/ssl/company.pem",
        "SSL_CERT_FILE=/here",
    } <= environ
    assert "HTTPS_PROXY=http://own.example:1" in environ  # the entry's own wins
    assert "MINE=1" not in environ
