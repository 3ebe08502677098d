"""Counts the rows of README.md: each fault has a test that exists, or names the part that is missing."""

import re
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
ROW = re.compile(r"^\| (F\d{3}|N\d{2,3}) \| (.+?) \| (.+?) \|$")

# Chapters of the table that must be complete: ids run with gaps, so the ids themselves are listed.
COMPLETE = {
    "A server start": "001 003 004 005 007 008 009 011 012 013 015 016 017 019 020",
    "B server traffic": "021 023 024 025 027 028 029 031 032 033 035 036 037 039 040 041 043 044 045",
    "C tool names, descriptions, schemas": "047 048 049 051 052 053 055 056 057 059 060 061 "
    "063 064 065 067 068 069",
    "D agent protocol": "071 072 073 075 076 077 079 080 081 083 084 085 087 088 089 091 092 093 095 096 097",
    "E dispatch, approval, stop": "099 100 101 103 104 105 107 108 109 111 112 113 115 116 117 119 120",
    "F config and files": "121 123 124 125 127 128 129 131 132 133 135 136 137 139 140 141 143 144 145 147",
    "G process and system": "148 149 151 152 153 155 156 157 159 160 161 163 164 165",
    "H index, tokens, internals": "167 168 169 171 172 173 175",
}


def rows():
    found = {}
    for line in (HERE / "README.md").read_text().splitlines():
        if match := ROW.match(line):
            fault, _, proof = match.groups()
            assert fault not in found, f"{fault} stands twice"
            found[fault] = proof
    return found


def test_every_fault_has_its_row():
    found = rows()
    wanted = {f"F{number}" for chapter in COMPLETE.values() for number in chapter.split()}
    assert wanted <= found.keys(), sorted(wanted - found.keys())


def test_every_row_names_a_test_that_exists_or_what_is_missing():
    wrong = []
    for fault, proof in rows().items():
        if proof.startswith("missing: "):
            continue
        for reference in re.findall(r"`([^`]+)`", proof) or [proof]:
            path, _, name = reference.partition("::")
            file = ROOT / "tests" / path
            if not file.is_file() or not re.search(rf"def {re.escape(name)}\b", file.read_text()):
                wrong.append(f"{fault}: {reference}")
    assert not wrong, "\n".join(wrong)


def test_warnings_are_errors():
    import tomllib

    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert settings["filterwarnings"][0] == "error"
