"""What is said of a remote server that can't be reached: what failed, whose it is, and the mend."""

import socket
import ssl
import threading

import pytest

from tests.actors.upstream_world import World
from tests.servers.certificates import Authority
from toolsearchd.config.model import ServerSpec

SECRET = "s3cr3t-of-the-url"
pytestmark = [
    pytest.mark.filterwarnings("ignore:Async generator .* was garbage collected:ResourceWarning"),
    pytest.mark.filterwarnings(
        "ignore:Exception ignored in. <async_generator:pytest.PytestUnraisableExceptionWarning"
    ),
]


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def serve():
    """`start(answer, pem)`: a loopback port that reads a little of each connection, answers, and closes."""
    listeners, threads = [], []

    def start(answer=b"", pem=None):
        context = None
        if pem is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(pem)
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def run():
            while True:
                try:
                    sock, _ = listener.accept()
                except OSError:
                    return  # the test is over
                try:
                    sock.settimeout(5)
                    sock = context.wrap_socket(sock, server_side=True) if context else sock
                    sock.recv(65536)
                    sock.sendall(answer)
                    sock.settimeout(1)
                    while answer and sock.recv(65536):
                        pass  # what is left unread when it closes would take the answer back
                except OSError:
                    pass  # refused by the client: that is what is tried
                finally:
                    sock.close()

        threads.append(threading.Thread(target=run))
        threads[-1].start()
        return listener.getsockname()[1]

    yield start
    for listener in listeners:
        listener.shutdown(socket.SHUT_RDWR)
    for thread in threads:
        thread.join()
    for listener in listeners:
        listener.close()


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return sock.getsockname()[1]


async def reason(nursery, url, transport="http"):
    spec = ServerSpec(name="remote", transport=transport, url=f"{url}?key={SECRET}", digest="x")
    world = await World(spec).start(nursery)
    status = await world.reach("remote", "failed", "parked")
    assert SECRET not in str(status)
    assert "TaskGroup" not in status["reason"]
    assert "nursery" not in status["reason"]
    return status["reason"]


@pytest.mark.parametrize("transport", ["http", "sse"])
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda a: a.self_signed("localhost"), ("is self-signed", "SSL_CERT_FILE")),
        (lambda a: a.issue("localhost"), ("an authority that is not known here", "SSL_CERT_FILE")),
    ],
)
async def test_a_certificate_nobody_here_trusts(nursery, serve, authority, transport, make, words):
    port = serve(pem=make(authority))
    said = await reason(nursery, f"https://localhost:{port}/mcp", transport)
    for word in (f"can't connect to localhost:{port}: its certificate", *words):
        assert word in said


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda a: a.issue("localhost", days_from=-9, days_to=-2), ("has expired", "has to renew it")),
        (lambda a: a.issue("localhost", days_from=2, days_to=9), ("is not valid yet", "clock")),
        (lambda a: a.issue("elsewhere.example"), ("is for another name", "not valid for 'localhost'")),
    ],
)
async def test_a_certificate_of_a_known_authority(nursery, serve, authority, monkeypatch, make, words):
    """The mend for an authority that is not known works, and what else is wrong is said."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.pem))
    port = serve(pem=make(authority))
    said = await reason(nursery, f"https://localhost:{port}/mcp")
    for word in (f"can't connect to localhost:{port}: its certificate", *words):
        assert word in said


async def test_the_mend_of_an_unknown_authority_works(nursery, serve, authority, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.pem))
    port = serve(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", authority.issue("localhost"))
    assert "answered 401" in await reason(nursery, f"https://localhost:{port}/mcp")


async def test_no_tls_where_tls_is_spoken_to(nursery, serve):
    port = serve(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    said = await reason(nursery, f"https://localhost:{port}/mcp")
    assert f"can't connect to localhost:{port}: what answers there speaks no TLS" in said


async def test_tls_where_none_is_spoken(nursery, serve, authority):
    port = serve(pem=authority.issue("localhost"))
    said = await reason(nursery, f"http://localhost:{port}/mcp")
    assert f"localhost:{port} ended the connection without an answer; is the url one of https://?" in said


async def test_nobody_listens(nursery):
    port = free_port()
    said = await reason(nursery, f"http://127.0.0.1:{port}/mcp")
    assert said.startswith(f"can't connect to 127.0.0.1:{port}: connection refused")


async def test_a_name_that_leads_nowhere(nursery):
    said = await reason(nursery, "https://no-such-host.invalid/mcp")
    assert said.startswith("can't connect to no-such-host.invalid: its name can't be resolved")


async def test_a_proxy_that_is_not_there(nursery, monkeypatch):
    port = free_port()
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:{SECRET}@127.0.0.1:{port}")
    said = await reason(nursery, "https://mcp.example/mcp")
    assert said.startswith(f"can't connect to the proxy 127.0.0.1:{port}: connection refused")


async def test_a_proxy_that_wants_a_login(nursery, serve, monkeypatch):
    port = serve(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
    said = await reason(nursery, "https://mcp.example/mcp")
    assert f"the proxy 127.0.0.1:{port} lets nobody through to mcp.example: 407" in said
    assert "login" in said


async def test_a_redirect_is_named_and_not_followed(nursery, serve):
    answer = (
        f"HTTP/1.1 302 Found\r\nLocation: https://elsewhere.example/{SECRET}\r\nContent-Length: 0\r\n\r\n"
    )
    port = serve(answer.encode())
    said = await reason(nursery, f"http://127.0.0.1:{port}/mcp")
    assert "it answered 302 Found" in said
    assert "elsewhere.example" in said


async def test_a_server_that_breaks_off(nursery, serve):
    port = serve(b"")
    said = await reason(nursery, f"http://127.0.0.1:{port}/mcp")
    assert f"127.0.0.1:{port} ended the connection without an answer" in said
