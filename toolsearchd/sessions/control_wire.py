"""Serves one person's connection on the control socket. Any number of requests, no hello.

All that goes out is clean, whoever wrote it; what has to be judged as it is, a call's arguments, is JSON text
with nothing hidden in it.

Who ends the sending and reads on gets what was asked for first.
"""

from __future__ import annotations

import inspect
import logging
import socket
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import trio

from toolsearchd.calls.activity import Activity
from toolsearchd.calls.approver import Approver, Person
from toolsearchd.disclosure.gate import clean_error, clean_told
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.protocol.connection import ControlConnection, Refusal, event_frame
from toolsearchd.protocol.control_replies import WatchReply
from toolsearchd.protocol.requests import ControlRequest, WatchRequest
from toolsearchd.records import Open, WireRecord
from toolsearchd.system import guard
from toolsearchd.system.peer import Peer
from toolsearchd.system.stream import PeerStalledError, PeerStream

log = logging.getLogger(__name__)

_LAST_WORDS_S = 1.0  # for what a peer that we let go has not read yet

Answer = Callable[[Any], WireRecord | Awaitable[WireRecord]]


class ControlWire:
    """`answers`: message type → what answers it; composed in app.py, where everything is at hand.
    Approvals are answered for one person at a time: it matters who asks."""

    def __init__(
        self,
        answers: Mapping[type[ControlRequest], Answer],
        approver: Approver,
        activity: Activity,
        limits: Limits,
    ) -> None:
        self._answers = answers
        self._approver = approver
        self._activity = activity
        self._limits = limits

    async def serve(self, sock: socket.socket, peer: Peer) -> None:
        stream = PeerStream(sock, self._limits)
        wire = ControlConnection(self._limits)
        person = Person(peer, partial(self._send_event, stream))
        answers = {**self._answers, **self._approver.answers_for(person)}
        endings: dict[str, Callable[[], None]] = {"person": partial(self._approver.leave, person)}
        is_refused = False
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(stream.run_writer)
                while data := await stream.receive():
                    for item in wire.receive(data):
                        if isinstance(item, Refusal):
                            stream.send_nowait(item.frame)
                            if item.close:
                                is_refused = True
                                stream.shutdown_read()
                        elif isinstance(item, WatchRequest):
                            if "watch" not in endings:  # each event is sent once
                                endings["watch"] = self._watch(stream)
                            stream.send_nowait(wire.result(item.id, WatchReply(watching=True)))
                        else:
                            assert isinstance(item, ControlRequest)
                            guard.start(
                                nursery,
                                f"answering {type(item).__name__}",
                                self._answer,
                                answers[type(item)],
                                stream,
                                wire,
                                item,
                                tell=partial(self._refuse, stream, wire, item),
                            )
                if not is_refused and not stream.is_gone:
                    await stream.wait_answered(lambda: not wire.open_ids)
                    await stream.drain()  # the writer bounds how long the peer may take over it
                with trio.move_on_after(_LAST_WORDS_S):
                    await stream.drain()
                nursery.cancel_scope.cancel()
        except* PeerStalledError as stalled:
            log.info("control connection of pid %d: %s", peer.pid, stalled.exceptions[0])
        finally:
            for end in endings.values():
                end()
            stream.close()

    async def _answer(
        self, answer: Answer, stream: PeerStream, wire: ControlConnection, request: ControlRequest
    ) -> None:
        answered = answer(request)
        reply = await answered if inspect.isawaitable(answered) else answered
        stream.send_nowait(wire.result(request.id, _clean(reply)))

    def _refuse(
        self, stream: PeerStream, wire: ControlConnection, request: ControlRequest, error: ToolsearchdError
    ) -> None:
        stream.send_nowait(wire.error(request.id, clean_error(error)))

    def _watch(self, stream: PeerStream) -> Callable[[], None]:
        return self._activity.subscribe(partial(self._send_event, stream))

    def _send_event(self, stream: PeerStream, event: WireRecord) -> None:
        # An event is dropped, not queued, for a peer that leaves its replies unread.
        if stream.outbox_bytes <= self._limits.frame_bytes_before_hello:
            stream.send_nowait(event_frame(_clean(event)))


def _clean(told: WireRecord) -> Open:
    """As it may be told: others' words may stand in any of it."""
    return Open(fields=clean_told(told.as_map()))
