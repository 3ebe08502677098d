"""Some seconds of the soak run: agents, dying servers and edits, and a history without a contradiction."""

from tests.soak.run import soak

SEED = 20_260


def test_a_short_history_holds(tmp_path):
    report = soak(tmp_path, seconds=20, seed=SEED)
    assert not report.found, "\n\n".join(report.found)
    # Enough of each kind came about for the check to mean something.
    assert report.executed > 50
    assert report.deeds > 10
    for outcome in ("ok", "INTERRUPTED", "INDETERMINATE"):
        assert report.outcomes[outcome] > 0, report.table()
