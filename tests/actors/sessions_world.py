"""Sessions over a catalog that a test changes: all real between the wire and a fake fleet."""

from __future__ import annotations

import socket

import msgspec
import trio
from trio.testing import wait_all_tasks_blocked

from tests.actors.calls_world import LIMITS, PEER, CallsWorld
from tests.unit.disclosure_catalog import GITHUB, SLACK
from toolsearchd.calls.activity import Activity
from toolsearchd.catalog.snapshot import Snapshot
from toolsearchd.disclosure.tokens_known import KnownCounts
from toolsearchd.index.lexicon import default_lexicon
from toolsearchd.live.cataloger import Cataloger
from toolsearchd.live.evaluator import Evaluator
from toolsearchd.protocol.framing import FrameDecoder, encode_frame
from toolsearchd.protocol.requests import Hello
from toolsearchd.sessions.sessions import Sessions


class Counts:
    """Counts characters; `hold`: they come when it is set."""

    def __init__(self):
        self.hold = None
        self._known = KnownCounts("test")

    async def known(self, _encoding, texts, _owner=""):
        await trio.lowlevel.checkpoint()
        if self.hold is not None:
            await self.hold.wait()
        wanted = self._known.unknown(texts)
        self._known.learn(wanted, [len(text) // 4 for text in wanted])
        return self._known

    def forget(self, owner):
        """Nothing is kept."""


class SessionsWorld(CallsWorld):
    def __init__(self, directory, *sources, limits=LIMITS, **approval):
        super().__init__(directory, **({"default": "allow"} | approval))
        self.sources = list(sources or (GITHUB, SLACK))
        self.counts, self.activity = Counts(), Activity()
        self.cataloger = Cataloger(
            sources=lambda: tuple(self.sources),
            options=dict,
            worker=None,
            limits=limits,
            snapshot=Snapshot.empty(),
        )
        self.evaluator = Evaluator(
            cataloger=self.cataloger,
            settings=lambda: self.settings,
            lexicon=default_lexicon,
            counts=self.counts,
            limits=limits,
        )
        self.sessions = Sessions(
            settings=lambda: self.settings,
            evaluator=self.evaluator,
            dispatcher=self.dispatcher,
            approver=self.approver,
            activity=self.activity,
            limits=limits,
            manifests=tuple,
        )
        self.cataloger.on_snapshot.append(lambda _generation: self.evaluator.changed())

    async def start(self, nursery):
        await super().start(nursery)
        await nursery.start(self.cataloger.run)
        await nursery.start(self.evaluator.run)
        return self

    async def change(self, name, **fields):
        """Another word of one server, compiled when this returns."""
        self.sources = [
            msgspec.structs.replace(source, **fields) if source.name == name else source
            for source in self.sources
        ]
        await self.compiled()

    async def compiled(self):
        self.cataloger.mark_dirty()
        await wait_all_tasks_blocked(0.01)

    async def open(self, **hello):
        return await self.sessions.open(Hello(protocol=1, **({"client": "agent"} | hello)), PEER)


class End:
    """A peer's end of a socket that `serve` has the other end of."""

    def __init__(self, nursery, serve):
        ours, theirs = socket.socketpair()
        self.stream = trio.SocketStream(trio.socket.from_stdlib_socket(ours))
        self.frames = FrameDecoder(64 << 20)
        self.served = trio.Event()

        async def run():
            await serve(theirs, PEER)
            self.served.set()

        nursery.start_soon(run)

    async def send(self, *messages):
        await self.stream.send_all(b"".join(map(encode_frame, messages)))

    async def recv(self):
        """The next frame; None at the end of the stream."""
        with trio.fail_after(20):
            while (payload := self.frames.next_payload()) is None:
                try:
                    data = await self.stream.receive_some(65536)
                except trio.BrokenResourceError:
                    return None
                if not data:
                    return None
                self.frames.feed(data)
        return msgspec.msgpack.decode(payload)

    async def ask(self, op, id=1, **fields):
        """The reply with this id; what comes before it is dropped."""
        await self.send({"op": op, "id": id, **fields})
        while (reply := await self.recv()) is not None and reply.get("id") != id:
            pass
        return reply
