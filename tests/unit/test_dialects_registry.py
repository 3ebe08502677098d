"""The list of dialects: what the port has is used, and what the config names is there."""

import pytest

from toolsearchd.config.tool_search import RANKERS
from toolsearchd.dialects.base import Dialect
from toolsearchd.dialects.registry import CLIENTS, DIALECTS, MODULES, OPTIONS, RANKINGS


def test_each_name_loads_what_bears_it():
    for table in (DIALECTS, RANKINGS, OPTIONS):
        assert {name: table[name].name for name in table} == {name: name for name in table}
    assert {dialect for _, dialect in CLIENTS} <= set(DIALECTS)
    assert {dialect.ranker for dialect in DIALECTS.values()} == set(RANKINGS)
    assert set(RANKERS) <= set(RANKINGS)
    assert OPTIONS.keys() <= DIALECTS.keys()
    assert len(MODULES) == len(set(MODULES))


@pytest.mark.parametrize("member", Dialect.__struct_fields__)
def test_each_member_of_the_port_is_used_by_two_dialects(member):
    """Two at least have another value than the daemon's own words."""
    own = getattr(DIALECTS["default"], member)
    assert len([name for name, dialect in DIALECTS.items() if getattr(dialect, member) != own]) >= 2
