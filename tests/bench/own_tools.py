"""What stays of sessions that bring tools of their own: the daemon's memory after each hundred of them.

    python -m tests.bench.own_tools [--sessions N]

Each session brings 30 tools with words that nobody used before, asks for its listing, searches, describes,
and goes. Asked for: after the first hundred, nothing more.
"""

from __future__ import annotations

import argparse
import itertools
import random
import tempfile
import time
from pathlib import Path

from tests.daemon import DaemonProcess
from tests.servers.zoo import zoo
from tests.wire import agent

TOOLS = 30
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def fresh_words(chance, count):
    return " ".join("".join(chance.choices(LETTERS, k=chance.randint(4, 10))) for _ in range(count))


def fresh_tools(chance, number):
    return [
        {
            "name": f"own_{number}_{at}_{fresh_words(chance, 1)}",
            "description": fresh_words(chance, 25),
            "parameters": {
                "type": "object",
                "properties": {
                    fresh_words(chance, 1): {"type": "string", "description": fresh_words(chance, 8)}
                },
            },
            "core": False,
        }
        for at in range(TOOLS)
    ]


def visit(daemon, chance, number, dialect):
    tools = fresh_tools(chance, number)
    with agent(daemon, client="visitor", context_length=1_000_000 + number, dialect=dialect) as wire:
        wire.ask({"op": "tools", "id": 0, "tools": tools})
        assert wire.ask({"op": "assemble", "id": 1})["op"] == "result"
        query = tools[0]["description"][:60]
        assert wire.ask({"op": "search", "id": 2, "queries": [query]})["op"] == "result"
        wire.ask({"op": "describe", "id": 3, "names": [tool["name"] for tool in tools]})


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--sessions", type=int, default=600)
    options.add_argument("--dialect")
    chosen = options.parse_args()
    chance = random.Random(7)
    with tempfile.TemporaryDirectory() as root:
        servers = {"steady": zoo("steady")}
        with DaemonProcess(Path(root), servers=servers) as daemon:
            daemon.wait_servers(*servers)
            before, started = daemon.rss_bytes(), time.monotonic()
            for number in itertools.count(1):
                visit(daemon, chance, number, chosen.dialect)
                if number % 100 == 0:
                    grown = (daemon.rss_bytes() - before) / (1 << 20)
                    print(
                        f"{number:5} sessions, {time.monotonic() - started:4.0f} s: +{grown:.1f} MiB",
                        flush=True,
                    )
                if number == chosen.sessions:
                    break


if __name__ == "__main__":
    main()
