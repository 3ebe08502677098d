"""Whole numbers as options: what is below its bound is wrong usage, not the daemon's to wonder about."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable


def count(least: int) -> Callable[[str], int]:
    """What reads a number from `least` on; what no message can hold, the client refuses."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdecimal() and int(text) >= least):
            raise ArgumentTypeError(f"expected a whole number from {least} on")
        return int(text)

    return read
