"""A fleet around servers of the zoo, for tests of what it does with them."""

from __future__ import annotations

import os

import msgspec
import pytest
import trio

from tests.servers.zoo import zoo
from toolsearchd.config.model import ServerSpec
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.upstream.fleet import Fleet

QUICK = {"first_connect_delays_s": (0.05,), "reconnect_delays_s": (0.05, 0.05), "list_min_interval_s": 0.05}


def misbehaving(mode, *args, **more):
    """The spec of a server of `misbehaving.py`, named after its mode."""
    entry = zoo("misbehaving", mode, *args)
    return stdio(mode, entry["command"], *entry["args"], **more)


def steady(name="steady", *args, **more):
    entry = zoo("steady", *args)
    return stdio(name, entry["command"], *entry["args"], **more)


def stdio(name, *command, **more):
    return ServerSpec(name=name, transport="stdio", command=command, digest=f"{name} {command}", **more)


class World:
    """`limits` replace those of `QUICK`, which are the daemon's but for shorter waits."""

    def __init__(self, *specs, **limits):
        self.limits = msgspec.structs.replace(Limits(), **(QUICK | limits))
        self.fleet = Fleet(
            limits=self.limits, environ=dict(os.environ), passed=lambda: ("PATH",), publish=lambda: None
        )
        self.fleet.apply(specs)

    async def start(self, nursery):
        await nursery.start(self.fleet.run)
        return self

    def status(self, name):
        (found,) = [status for status in self.fleet.status() if status["name"] == name]
        return found

    def source(self, name):
        (found,) = [source for source in self.fleet.sources() if source.name == name]
        return found

    def tools(self, name):
        return [definition.name for definition in self.source(name).definitions]

    async def reach(self, name, *states):
        """Until the server is in one of the states; its status then."""
        await until(lambda: self.status(name)["state"] in states)
        return self.status(name)

    async def call(self, name, timeout_s=30, tool="echo", on_progress=None, replays=False, **arguments):
        return await self.fleet.call(
            name, tool, arguments, timeout_s=timeout_s, on_progress=on_progress, replays=replays
        )


async def until(condition, within_s=30):
    with trio.fail_after(within_s):
        while not condition():
            await trio.sleep(0.01)


async def refused(expected, call, *args, **options):
    """The message of the error with which the call ends; its code is `expected`."""
    with pytest.raises(ToolsearchdError) as caught:
        await call(*args, **options)
    assert caught.value.code == expected, caught.value.message
    return caught.value.message


def text(result):
    return result["content"][0]["text"]
