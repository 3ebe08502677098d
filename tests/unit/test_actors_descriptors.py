"""What fits into the descriptors that are allowed."""

from hypothesis import given
from hypothesis import strategies as st

from toolsearchd.limits import Limits
from toolsearchd.system.descriptors import OWN, PER_SERVER, PER_SESSION, fit


@given(st.integers(2, 4096), st.integers(1, 2000), st.integers(1, 2000))
def test_what_is_promised_fits_and_what_was_lowered_is_said(soft, sessions, servers):
    wanted = Limits(sessions=sessions, started_servers=servers)
    limits, findings = fit(wanted, soft)
    assert 1 <= limits.sessions <= sessions
    assert 1 <= limits.started_servers <= servers
    lowered = (limits.sessions, limits.started_servers) != (sessions, servers)
    assert bool(findings) == (soft < OWN + PER_SESSION * sessions + PER_SERVER * servers)
    assert findings or not lowered
    if soft >= 32:
        assert PER_SESSION * limits.sessions + PER_SERVER * limits.started_servers <= soft - min(
            OWN, soft // 2
        )


def test_without_end_everything_fits():
    assert fit(Limits(), -1) == (Limits(), [])
