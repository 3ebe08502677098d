"""Eight agents at once: nothing lost, nothing swapped."""

import random
import threading
import uuid

import pytest

from tests.daemon import DaemonProcess
from tests.servers.zoo import zoo
from tests.wire import agent

AGENTS, SEARCHES, CALLS = 8, 1000, 50
WORDS = [
    "echo",
    "text",
    "sleep",
    "seconds",
    "progress",
    "steps",
    "error",
    "server",
    "process",
    "erase",
    "connect",
    "socket",
    "hello",
]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    servers = {name: zoo("steady", env={"WHO": name}) for name in ("a", "b", "c")}
    with DaemonProcess(tmp_path_factory.mktemp("eight"), servers=servers) as daemon:
        daemon.wait_servers(*servers)
        yield daemon


def work(daemon, number, failures):
    try:
        chance = random.Random(number)
        sent = {}
        with agent(daemon, client=f"agent-{number}") as wire:
            wire.sock.settimeout(60)
            requests = [("search", f"{chance.choice(WORDS)} {uuid.uuid4().hex}") for _ in range(SEARCHES)]
            requests += [("call", uuid.uuid4().hex) for _ in range(CALLS)]
            chance.shuffle(requests)
            for request_id, (op, text) in enumerate(requests):
                if op == "search":
                    wire.send({"op": "search", "id": request_id, "queries": [text]})
                else:
                    server = chance.choice("abc")
                    calls = [{"name": f"mcp__{server}__echo", "arguments": {"text": text}}]
                    wire.send({"op": "call", "id": request_id, "calls": calls})
                sent[request_id] = op, text
                while len(sent) >= 12:
                    take(wire, sent)
            while sent:
                take(wire, sent)
    except BaseException as error:
        failures.append(error)
        raise


def take(wire, sent):
    reply = wire.recv()
    assert reply["op"] == "result", reply
    op, text = sent.pop(reply["id"])
    (result,) = reply["results"]
    if op == "search":
        assert result["query"] == text
    else:
        assert result["response"]["content"] == [{"type": "text", "text": text}]


def test_no_reply_is_lost_or_swapped(daemon):
    failures = []
    threads = [threading.Thread(target=work, args=(daemon, n, failures)) for n in range(AGENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not failures
    assert not any(thread.is_alive() for thread in threads)
    assert "Traceback" not in daemon.log.read_text()
