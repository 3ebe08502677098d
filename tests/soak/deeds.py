"""What goes wrong around the daemon: kills, freezes, edits, files and sockets that vanish, hostile clients.

Each deed leaves the world whole, but for what the daemon has to mend by itself.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import resource
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import msgspec
import yaml

from tests.daemon import processes_with
from tests.soak.history import Forbidden
from tests.soak.world import ALL_NAMES, LEDGERS, UNREAD_AT_MOST, World, greeted
from tests.wire import Wire

HOGS = 8
HOG_BYTES = 4 << 20
BROKEN = (b"", b"  \n\n\t", b"\xef\xbb\xbf", b"\0" * 512, b"[", b"{\x22a\x22: [1, 2", None)
ODD_JSON = ('"\\ud800"', str(2**70), "1e999", "NaN", '{"\\udfff": 1}', "[" * 500 + "]" * 500)
SETTLE_S = 1.0  # for an edit to be read


class Deeds:
    """`run` in a thread of its own."""

    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        self._chance = random.Random(f"{seed} disrupt")
        self._entries = dict(world.servers)
        self._rules: dict = {}  # in the config, besides what it began with
        self._filtered: tuple[str, int] | None = None  # (server, since) whose `record` is filtered out
        self._denied: tuple[str, int] | None = None  # (server, since) whose `record` a rule denies
        self._deeds: dict[Callable[[], None], int] = {
            self._kill: 4,
            self._freeze: 3,
            self._edit: 3,
            self._rule: 3,
            self._break_config: 2,
            self._break_sources: 2,
            self._stall: 1,
            self._nonsense: 2,
            self._hogs: 1,
            self._fresh_tools: 2,
            self._contexts: 1,
            self._half_close: 2,
            self._door: 2,
            self._unbind: 1,
            self._starve: 1,
            self._deafen: 1,
        }

    def run(self, over: threading.Event) -> None:
        """Until `over`; then everything is as it was at the start."""
        try:
            while not over.wait(self._chance.uniform(0.1, 0.8)):
                (deed,) = self._chance.choices(list(self._deeds), self._deeds.values())
                deed()
        except BaseException as error:
            self._world.found.append(f"the deed {deed.__name__} failed: {error!r}")
            raise
        finally:
            self._end(self._filtered), self._end(self._denied)
            self._world.daemon.write_config(self._world.daemon.config)
            self._world.daemon.write_servers(self._world.servers)

    def _note(self, text: str) -> None:
        self._world.events.append(f"{time.monotonic():.4f} {text}")

    # --- servers ----------------------------------------------------------------------------------

    def _pid(self) -> int | None:
        """Of some ledger's process, or of one that leaves children, that is surely one of ours."""
        names = (*LEDGERS, "breeder")
        found = {s["name"]: s["pid"] for s in self._world.ask("servers")["servers"] if s["name"] in names}
        pid = found[self._chance.choice(sorted(found))] if found else None
        return pid if pid is not None and pid in processes_with("SOAK_MARKER=") else None

    def _signal(self, pid: int, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
            self._note(f"{signal.Signals(number).name} {pid}")

    def _kill(self) -> None:
        if (pid := self._pid()) is not None:
            self._signal(pid, signal.SIGKILL)

    def _freeze(self) -> None:
        if (pid := self._pid()) is not None:
            self._signal(pid, signal.SIGSTOP)
            time.sleep(self._chance.uniform(0.1, 2.5))
            if pid in processes_with("SOAK_MARKER="):
                self._signal(pid, signal.SIGCONT)

    # --- what the person forbids --------------------------------------------------------------------

    def _edit(self) -> None:
        """Another list of servers, and a filter, in the client's file."""
        self._end(self._filtered)
        self._filtered = None
        entries = dict(self._world.servers)
        deed = self._chance.choice(("add", "remove", "change", "filter", "filter", "restore"))
        if deed == "add":
            entries["extra"] = self._world.extra
        elif deed == "remove":
            del entries[self._chance.choice(sorted(entries))]
        elif deed == "change":
            name = self._chance.choice(LEDGERS)
            entries[name] = entries[name] | {
                "env": entries[name]["env"] | {"TURN": str(self._chance.random())}
            }
        elif deed == "filter":
            name = self._chance.choice(LEDGERS)
            entries[name] = entries[name] | {"tools": {"exclude": ["record"]}}
        self._entries = entries
        self._world.daemon.write_servers(entries)
        self._note(f"client file: {deed}, now {' '.join(entries)}")
        if deed == "filter":
            self._world.ask("reload")
            self._filtered = (name, time.monotonic_ns())

    def _rule(self) -> None:
        """Another rule in the config: some calls are denied, or asked for."""
        self._end(self._denied)
        self._denied = None
        name, then = self._chance.choice(LEDGERS), self._chance.choice(("deny", "deny", "ask", "allow"))
        rule = {"server": name, "tool": "record", "then": then}
        self._world.daemon.write_config(
            self._world.daemon.config | {"approval": {"wait_s": 2, "rules": [rule]}}
        )
        self._world.ask("reload")
        self._rules = {"approval": {"wait_s": 2, "rules": [rule]}}
        self._note(f"config: {name} {then}")
        if then == "deny":
            self._denied = (name, time.monotonic_ns())

    def _end(self, window: tuple[str, int] | None) -> None:
        if window is not None:
            name, since = window
            self._world.forbidden.append(Forbidden(f"mcp__{name}__record", since, time.monotonic_ns()))

    def _break_config(self) -> None:
        """What was forbidden stays forbidden meanwhile."""
        self._break(self._world.daemon.config_file, yaml.safe_dump(self._world.daemon.config | self._rules))

    def _break_sources(self) -> None:
        self._break(self._world.daemon.servers_file, json.dumps({"mcpServers": self._entries}))

    def _break(self, file: Path, whole: str) -> None:
        broken = self._chance.choice((*BROKEN, whole.encode()[: self._chance.randrange(1, len(whole) - 1)]))
        if broken is None:
            file.unlink()
        elif file.suffix == ".json" or broken in BROKEN:  # a part of a YAML text may be a whole one
            file.write_bytes(broken)
        self._note(f"{file.name} broken: {broken!r:.60}")
        time.sleep(self._chance.uniform(0.0, 2.5))
        new = file.with_suffix(".new")
        new.write_text(whole)
        new.replace(file)

    # --- clients ----------------------------------------------------------------------------------

    def _stall(self) -> None:
        """A client that asks for much and reads nothing, then goes."""
        with suppress(OSError), Wire(self._world.daemon.runtime_dir / "agent.sock", timeout=1) as wire:
            wire.send({"op": "hello", "protocol": 1, "client": "stalled"})
            until = time.monotonic() + 1
            with suppress(OSError):  # it is not read from any more, or was cut
                for number in itertools.count():
                    wire.send({"op": "describe", "id": number, "names": sorted(ALL_NAMES)})
                    if time.monotonic() > until:
                        break
            for session in self._world.ask("sessions")["sessions"]:
                if session["unread_bytes"] > UNREAD_AT_MOST:
                    self._world.found.append(
                        f"{session['unread_bytes']} bytes are held for {session['client']}"
                    )
            self._note("a client that does not read")

    def _nonsense(self) -> None:
        """A client that says what is no message, on either socket."""
        name = self._chance.choice(("agent.sock", "control.sock"))
        with suppress(OSError), Wire(self._world.daemon.runtime_dir / name) as wire:
            hello = {"op": "hello", "protocol": 1, "client": "odd\x1b[31m"}
            wire.send(*[hello] * self._chance.randint(0, 1))
            odd = (b"\0\0\0\0", b"\xff" * 8, msgspec.msgpack.encode(hello), b"\0\0\0\5ab", os.urandom(64))
            wire.send_bytes(self._chance.choice(odd))
            self._note("a client that talks nonsense")

    def _hogs(self) -> None:
        """Clients that call for long results and read none of them."""
        wires = []
        call = {"name": "mcp__long__echo", "arguments": {"bytes": HOG_BYTES, "kind": "image"}}
        with suppress(OSError, AssertionError):
            for at in range(HOGS):
                wires.append(greeted(self._world.daemon, client=f"hog {at}"))
                wires[-1].send(*({"op": "call", "id": id_, "calls": [call] * 4} for id_ in range(4)))
            time.sleep(self._chance.uniform(0.5, 2))
        for wire in wires:
            wire.close()
        self._note("clients that read no results")

    def _fresh_tools(self) -> None:
        """A session with tools that nobody has seen before."""
        tools = [
            {
                "name": f"own_{self._chance.getrandbits(40):x}",
                "description": " ".join(f"{self._chance.getrandbits(30):x}" for _ in range(60)),
                "parameters": {"type": "object"},
                "core": False,
            }
            for _ in range(30)
        ]
        with suppress(OSError), closing(greeted(self._world.daemon, client="fresh", tools=tools)) as wire:
            wire.ask({"op": "assemble", "id": 1, "context_length": 200_000})
            wire.ask({"op": "search", "id": 2, "queries": [tools[0]["description"][:40]]})
        self._note("a session with tools of its own")

    def _contexts(self) -> None:
        with suppress(OSError), closing(greeted(self._world.daemon, client="contexts")) as wire:
            for number in range(40):
                context = self._chance.randrange(1_000, 2_000_000)
                wire.ask({"op": "assemble", "id": number, "context_length": context, "model": f"m{context}"})
        self._note("forty context lengths")

    def _half_close(self) -> None:
        """A client that has said all it wants to say still hears the answers."""
        nonce_free = {"name": "mcp__long__echo", "arguments": {"bytes": 10}}
        try:
            with closing(greeted(self._world.daemon, client="half")) as wire:
                wire.send(*({"op": "call", "id": number, "calls": [nonce_free]} for number in range(3)))
                wire.sock.shutdown(socket.SHUT_WR)
                answered = set()
                while (reply := wire.recv()) is not None:
                    answered.add(reply.get("id"))
        except OSError as error:
            self._note(f"half-closed, cut: {error!r}")
            return
        if answered >= {0, 1, 2}:
            self._note("half-closed, answered")
        else:
            self._world.found.append(f"half-closed behind three calls, answered were {answered}")

    def _door(self) -> None:
        """An MCP client that writes what JSON can hold and nobody expects."""
        with suppress(OSError), closing(greeted(self._world.daemon, client="door", mcp=True)) as wire:
            wire.sock.settimeout(2)
            client = {"name": "door\x1b[0m", "version": "1"}
            hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
            lines = [json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})]
            for number, value in enumerate(self._chance.sample(ODD_JSON, 3), 1):
                arguments = f'{{"nonce": "door", "s": {value}}}'
                params = f'{{"name": "red__record", "arguments": {arguments}}}'
                lines.append(
                    f'{{"jsonrpc": "2.0", "id": {number}, "method": "tools/call", "params": {params}}}'
                )
            lines.append(self._chance.choice(("", "{", "null", '{"jsonrpc": "2.0"}', "\x00\xff")))
            wire.send_bytes("".join(line + "\n" for line in lines).encode("utf-8", "surrogatepass"))
            with suppress(OSError):
                while wire.sock.recv(1 << 16):
                    pass
        self._note("an odd MCP client")

    # --- the system -------------------------------------------------------------------------------

    def _unbind(self) -> None:
        """Sockets and lock are removed or replaced; what stands in the way is taken away again."""
        place = self._world.daemon.runtime_dir
        name = self._chance.choice(("agent.sock", "control.sock"))
        deed = self._chance.choice(("socket", "file", "folder", "lock", "all"))
        if deed == "all":
            shutil.rmtree(place, ignore_errors=True)
        elif deed == "lock":
            (place / "lock").unlink(missing_ok=True)
        else:
            (place / name).unlink(missing_ok=True)
        if deed in ("file", "folder"):
            (place / name).touch() if deed == "file" else (place / name).mkdir()
            time.sleep(self._chance.uniform(1, 7))
            (place / name).unlink() if deed == "file" else (place / name).rmdir()
        self._note(f"runtime directory: {deed}")
        self._world.ask("status")
        greeted(self._world.daemon, client="after").close()

    def _starve(self) -> None:
        """No descriptor is left for a while, in which the client's file is saved."""
        pid = self._world.daemon.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        used = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (used, before[1]))
        try:
            self._world.daemon.write_servers(self._entries)
            for _ in range(3):
                with (
                    suppress(OSError),
                    Wire(self._world.daemon.runtime_dir / "agent.sock", timeout=1) as wire,
                ):
                    wire.recv()
        finally:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        self._note("no descriptors left")

    def _deafen(self) -> None:
        """Nobody reads the daemon's log for a while."""
        reader = self._world.reader
        assert reader is not None
        reader.send_signal(signal.SIGSTOP)
        try:
            time.sleep(self._chance.uniform(0.5, 3))
        finally:
            reader.send_signal(signal.SIGCONT)
        self._note("nobody read the log")
