"""The fleet without a daemon around it: starts, changes, stops."""

from __future__ import annotations

import os

import msgspec
import pytest
import trio

from tests.daemon import processes_with
from tests.servers.zoo import zoo
from toolsearchd.config.model import ServerSpec
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.upstream.fleet import Fleet


def spec(name, *args, **more):
    entry = zoo("steady", *args)
    command = (entry["command"], *entry["args"])
    return ServerSpec(name=name, transport="stdio", command=command, digest=f"{name} {args}", **more)


def make_fleet(limits=None):
    return Fleet(
        limits=limits or Limits(), environ=dict(os.environ), passed=lambda: ("PATH",), publish=lambda: None
    )


@pytest.fixture
def fleet():
    return make_fleet()


async def until(condition, within_s=20):
    with trio.fail_after(within_s):
        while not condition():
            await trio.sleep(0.01)


def states(fleet):
    return {source.name: source.state for source in fleet.sources()}


async def test_few_servers_start_at_once(nursery):
    # None says a word: a slot is given on by the clock alone.
    limits = msgspec.structs.replace(Limits(), start_slot_s=2.0)
    fleet = make_fleet(limits)
    fleet.apply([spec(f"s{n}", "--delay", "60") for n in range(9)])
    await nursery.start(fleet.run)

    def running():
        return sum(status["pid"] is not None for status in fleet.status())

    await until(running)
    began = trio.current_time()
    await until(lambda: running() == limits.concurrent_starts)
    await until(lambda: running() > limits.concurrent_starts)
    assert trio.current_time() - began > 1.5
    await until(lambda: running() == 9)


async def test_policy_keys_change_without_a_restart(fleet, nursery):
    fleet.apply([spec("a"), spec("b")])
    await nursery.start(fleet.run)
    await until(lambda: set(states(fleet).values()) == {"ready"})
    before = {status["name"]: status["pid"] for status in fleet.status()}
    fleet.apply([msgspec.structs.replace(spec("a"), include=("echo",), timeout_s=1.0), spec("b")])
    await until(lambda: len(fleet.sources()[0].definitions) == 1)
    assert {status["name"]: status["pid"] for status in fleet.status()} == before
    fleet.apply([spec("b")])
    await until(lambda: not os.path.exists(f"/proc/{before['a']}"))
    assert list(states(fleet)) == ["b"]
    with pytest.raises(ToolsearchdError) as caught:
        await fleet.call("a", "echo", {"text": "x"}, timeout_s=5)
    assert caught.value.code == "SERVER_UNAVAILABLE"


async def test_disabled_and_surplus_servers_say_so(nursery):
    limits = msgspec.structs.replace(Limits(), started_servers=1)
    fleet = Fleet(limits=limits, environ=dict(os.environ), passed=tuple, publish=lambda: None)
    fleet.apply([spec("off", enabled=False), spec("first"), spec("second")])
    await nursery.start(fleet.run)
    await until(lambda: states(fleet) == {"off": "disabled", "first": "ready", "second": "not_started"})
    assert "limit" in fleet.sources()[2].reason


async def test_a_lazy_server_starts_with_its_first_call(fleet, nursery):
    fleet.apply([spec("lazy", start="lazy")])
    await nursery.start(fleet.run)
    await until(lambda: states(fleet)["lazy"] == "not_started")
    assert fleet.status()[0]["pid"] is None
    result = await fleet.call("lazy", "echo", {"text": "up"}, timeout_s=10)
    assert result["content"][0]["text"] == "up"


async def test_cancelling_stops_every_server(fleet):
    async with trio.open_nursery() as nursery:
        fleet.apply([spec("a"), spec("b")])
        await nursery.start(fleet.run)
        await until(lambda: set(states(fleet).values()) == {"ready"})
        assert len(processes_with(f"TOOLSEARCHD_SERVER={os.getpid()}:")) == 2
        with trio.fail_after(10):
            nursery.cancel_scope.cancel()
    assert not processes_with(f"TOOLSEARCHD_SERVER={os.getpid()}:")


async def test_cancelling_a_call_frees_its_slot(fleet, nursery):
    fleet.apply([spec("a", max_concurrency=1)])
    await nursery.start(fleet.run)
    with trio.move_on_after(0.5) as moved:
        await until(lambda: states(fleet)["a"] == "ready")
        await fleet.call("a", "sleep", {"s": 30}, timeout_s=60)
    assert moved.cancelled_caught
    await until(lambda: states(fleet)["a"] == "ready")
    with trio.fail_after(5):
        result = await fleet.call("a", "echo", {"text": "free"}, timeout_s=10)
    assert result["content"][0]["text"] == "free"
