"""`toolsearchctl journal` on what is no journal."""

import os

import pytest

from toolsearchd.ctl.verbs import journal
from toolsearchd.errors import ToolsearchdError


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_file_in_its_place_is_said_and_holds_nobody(tmp_path, make):
    path = tmp_path / "journal.jsonl"
    make(path)
    with pytest.raises(ToolsearchdError, match="can't be read") as told:
        list(journal._records([str(tmp_path / "gone.jsonl"), str(path)]))
    assert told.value.code == "AUDIT_UNAVAILABLE"
