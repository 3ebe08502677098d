"""What systemd is told, in which order, and how often its watchdog is fed."""

import os
import socket

import pytest
import trio

from toolsearchd.daemon.notifier import Notifier


@pytest.fixture
def heard(tmp_path):
    """systemd's end: `heard()` has all that came since."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(str(tmp_path / "notify"))
        sock.setblocking(False)

        def since():
            found = []
            while True:
                try:
                    found.append(sock.recv(4096).decode())
                except BlockingIOError:
                    return found

        yield since


def notifier(tmp_path, **environ):
    environ = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "OTHER": "stays"} | environ
    made = Notifier(environ)
    assert environ == {"OTHER": "stays"}  # no child inherits them
    return made


async def run_for(made, seconds, status=lambda: "well"):
    with trio.move_on_after(seconds):
        await made.run(status)


async def test_states_are_told_as_they_come(tmp_path, heard):
    made = notifier(tmp_path)
    made.ready("servers: 1 ready")
    made.reloading()
    made.stopping()
    ready, reloading, stopping = heard()
    assert ready == "READY=1\nSTATUS=servers: 1 ready"
    assert reloading.startswith("RELOADING=1\nMONOTONIC_USEC=")
    assert stopping == "STOPPING=1"
    made._close()


async def test_the_watchdog_is_fed_twice_a_period(tmp_path, heard, autojump_clock):
    made = notifier(tmp_path, WATCHDOG_USEC="4000000", WATCHDOG_PID=str(os.getpid()))
    await run_for(made, 9)
    assert heard() == ["WATCHDOG=1\nSTATUS=well", *["WATCHDOG=1"] * 3]
    made._close()


@pytest.mark.parametrize(
    "environ", [{"WATCHDOG_USEC": "4000000", "WATCHDOG_PID": "1"}, {"WATCHDOG_USEC": "x"}]
)
async def test_a_watchdog_of_another_process_is_not_fed(tmp_path, heard, autojump_clock, environ):
    made, states = notifier(tmp_path, **environ), iter(["one", "one", "two", "two"])
    await run_for(made, 21, lambda: next(states))
    assert heard() == ["STATUS=one", "STATUS=two"]
    made._close()


async def test_without_a_socket_every_word_goes_nowhere(autojump_clock):
    made = Notifier({})
    made.ready("well")
    await run_for(made, 20)


async def test_a_notice_that_can_not_be_delivered_is_said_and_the_next_one_tried(tmp_path, caplog):
    made = notifier(tmp_path)
    made.ready("well")
    assert "can't be notified" in caplog.text
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as late:
        late.bind(str(tmp_path / "notify"))
        made.stopping()
        assert late.recv(100) == b"STOPPING=1"
    made._close()
