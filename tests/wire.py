"""A bare agent or control connection, for tests that say what no client would."""

from __future__ import annotations

import json
import socket

import msgspec

from toolsearchd.protocol.framing import FrameDecoder, encode_frame


class Wire:
    """`recv` gives the next frame as a map, or None at the end of the stream."""

    def __init__(self, path, *, timeout=30):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(timeout)
        self.sock.connect(str(path))
        self._frames = FrameDecoder(64 << 20)

    def send(self, *messages):
        self.sock.sendall(b"".join(encode_frame(message) for message in messages))

    def send_bytes(self, data):
        self.sock.sendall(data)

    def recv(self):
        while (payload := self._frames.next_payload()) is None:
            try:
                data = self.sock.recv(1 << 16)
            except ConnectionResetError:
                return None
            if not data:
                return None
            self._frames.feed(data)
        return msgspec.msgpack.decode(payload)

    def recv_ready(self):
        """The frames that are here after one read. An end of the stream is an error: nobody asked for it."""
        data = self.sock.recv(1 << 16)
        assert data, "the daemon hung up"
        self._frames.feed(data)
        found = []
        while (payload := self._frames.next_payload()) is not None:
            found.append(msgspec.msgpack.decode(payload))
        return found

    def ask(self, message):
        """The reply with the message's id; events that come before it are dropped."""
        self.send(message)
        while True:
            reply = self.recv()
            if reply is None or reply.get("id") == message["id"]:
                return reply

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


def agent(daemon, **hello):
    """A greeted agent connection and its welcome."""
    wire = Wire(daemon.runtime_dir / "agent.sock")
    wire.send({"op": "hello", "protocol": 1, "client": "test", **hello})
    wire.welcome = wire.recv()
    return wire


class DoorWire:
    """An MCP client's end of a connection that asked for MCP: JSON lines."""

    def __init__(self, daemon, **hello):
        self.wire = agent(daemon, mcp=True, **hello)
        assert self.wire.welcome["op"] == "welcome"
        self.file = self.wire.sock.makefile("rwb")
        self.number = 0
        self.notices = []  # methods of notifications that came

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.file.close()
        self.wire.close()

    def ask(self, method, **params):
        self.number += 1
        self.tell(method, id=self.number, **params)
        while (message := json.loads(self.file.readline())).get("id") != self.number:
            self.notices.append(message["method"])
        return message["result"]

    def tell(self, method, *, id=None, **params):
        """A notification, or a request whose answer is not waited for."""
        message = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if id is None else {"id": id})
        self.file.write(json.dumps(message).encode() + b"\n")
        self.file.flush()

    def initialize(self, client="a-client"):
        info = {"name": client, "version": "1"}
        started = self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=info)
        self.tell("notifications/initialized")
        return started

    def next_notice(self):
        """The method of the next notification."""
        if not self.notices:
            self.notices.append(json.loads(self.file.readline())["method"])
        return self.notices.pop(0)

    def call(self, tool, /, **arguments):
        return self.ask("tools/call", name=tool, arguments=arguments)
