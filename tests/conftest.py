"""Hypothesis profiles (machines differ in speed, `make soak` looks longer), the second account, signals, and
what a test leaves running."""

import os
import signal
import time

import pytest
from hypothesis import settings

from tests.left_running import left_running
from tests.second_account import second_account

__all__ = ["second_account"]

settings.register_profile("everyday", deadline=None)
settings.register_profile("soak", deadline=None, max_examples=5000)
settings.load_profile("everyday")

# In the background of a shell it is ignored, and what the tests start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def nothing_is_left_running(request):
    """A process of a test's own directory that outlives it is ended, and charged to that test."""
    if "tmp_path" not in request.fixturenames:
        yield
        return
    directory = request.getfixturevalue("tmp_path")
    yield
    deadline = time.monotonic() + 10  # what was told to end may take its moment
    while (left := left_running(directory)) and time.monotonic() < deadline:
        time.sleep(0.05)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left, f"left running: {left}"
