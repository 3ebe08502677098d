"""Servers over HTTP: Streamable HTTP and legacy SSE, found, called, lost and found again."""

import socket
import subprocess
import sys
import time

import pytest

from tests.daemon import DaemonProcess, wait_until
from tests.servers.zoo import HERE, zoo


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def serve(transport, port):
    process = subprocess.Popen(
        [sys.executable, HERE / "sdk_remote.py", transport, str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def answers():
        with socket.socket() as sock:
            return sock.connect_ex(("127.0.0.1", port)) == 0

    wait_until(answers, within_s=30, what="the server listening")
    return process


def product(daemon):
    status, reply = daemon.ctl("call", "mcp__remote__multiply", '{"a": 6, "b": 7}')
    return status == 0 and "42" in str(reply["results"][0]["response"]["content"])


@pytest.mark.parametrize(("transport", "path"), [("streamable-http", "mcp"), ("sse", "sse")])
def test_a_remote_server_is_called_lost_and_found_again(tmp_path, transport, path):
    port = free_port()
    servers = {"remote": {"url": f"http://127.0.0.1:{port}/{path}"}, "steady": zoo("steady")}
    server = serve(transport, port)
    try:
        with DaemonProcess(tmp_path, servers=servers) as daemon:
            daemon.wait_servers("remote", "steady")
            assert daemon.server("remote")["transport"] == ("sse" if transport == "sse" else "http")
            assert product(daemon)
            server.kill()
            server.wait()
            began = time.monotonic()
            assert not product(daemon)
            assert time.monotonic() - began < 15
            assert daemon.ctl("call", "mcp__steady__echo", '{"text": "hi"}')[0] == 0
            server = serve(transport, port)
            daemon.ctl("restart", "remote")
            wait_until(lambda: product(daemon), within_s=30, what="the server called again")
    finally:
        server.kill()
        server.wait()


def test_nothing_listens(tmp_path):
    with DaemonProcess(
        tmp_path, servers={"remote": {"url": f"http://127.0.0.1:{free_port()}/mcp"}}
    ) as daemon:
        server = wait_until(lambda: (s := daemon.server("remote")) and s["state"] == "failed" and s)
        assert server["reason"]
        assert "Traceback" not in server["reason"]
