"""The README's tables say what the code says."""

import re
from pathlib import Path
from typing import get_args

from toolsearchd.errors import CODES, Code

README = Path(__file__).parents[2] / "README.md"


def test_each_error_code_stands_in_the_readme_with_its_cause_and_remedy():
    table = README.read_text().partition("## Error codes")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([A-Z_]+)` \| (.+?) \| (.+?) \|$", table, re.MULTILINE)
    assert {code: (cause, remedy) for code, cause, remedy in rows} == {
        code: tuple(entry) for code, entry in CODES.items()
    }
    assert len(rows) == len(CODES)


def test_the_type_of_codes_and_their_table_are_the_same():
    assert get_args(Code) == tuple(CODES)
