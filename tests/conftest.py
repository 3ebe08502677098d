"""Hypothesis profiles (machines differ in speed, `make soak` looks longer), the second account, signals."""

import signal

from hypothesis import settings

from tests.second_account import second_account

__all__ = ["second_account"]

settings.register_profile("everyday", deadline=None)
settings.register_profile("soak", deadline=None, max_examples=5000)
settings.load_profile("everyday")

# In the background of a shell it is ignored, and what the tests start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
