"""Whole numbers as options: what is out of bounds is wrong usage, not the daemon's to wonder about."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable

_MOST = 1 << 31  # of anything that is counted here: tokens, matches, records


def count(least: int, most: int = _MOST) -> Callable[[str], int]:
    """What reads a number from `least` to `most`."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdecimal() and len(text) <= 20 and least <= int(text) <= most):
            raise ArgumentTypeError(f"expected a whole number from {least} to {most}")
        return int(text)

    return read
