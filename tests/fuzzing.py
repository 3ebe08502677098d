"""How long the fuzzers look: the same values each time in `make test`, new and many ones in `make soak`."""

import os

from hypothesis import HealthCheck, settings

_SOAK = 10  # times as many examples in `make soak`: ten minutes for all
_ROUNDS = int(os.environ.get("TOOLSEARCHD_PROPERTY_ROUNDS", "0"))


def fuzzed(everyday: int) -> settings:
    """`everyday`: examples in `make test`, chosen so that all fuzzers together take a minute at most."""
    is_soak = _ROUNDS > 0 or settings.default.max_examples > settings.get_profile("everyday").max_examples
    return settings(
        deadline=None,
        max_examples=everyday * _SOAK if is_soak else everyday,
        derandomize=not is_soak,
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.large_base_example,
        ],
    )
