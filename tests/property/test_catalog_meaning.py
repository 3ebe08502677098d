"""Names as models write them: the tool that was meant is among those that fit, always."""

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.disclosure_catalog import source, view

WORDS = st.lists(st.sampled_from(["get", "data", "list", "tools", "a", "b2", "été"]), min_size=1, max_size=3)
MARKS = st.sampled_from(["-", "_", "."])


@st.composite
def names(draw, words=WORDS):
    """Words with marks between, or none."""
    first, *rest = draw(words)
    return first + "".join(draw(MARKS) + word for word in rest)


@st.composite
def catalogs(draw):
    pairs = draw(st.lists(st.tuples(names(), names()), min_size=1, max_size=5, unique=True))
    servers = {}
    for server, tool in pairs:
        servers.setdefault(server, {})[tool] = "x"
    return view(*(source(server, tools) for server, tools in servers.items()))


@st.composite
def written(draw, server, tool):
    """The pair in near form."""
    mark = draw(MARKS)
    case = draw(st.sampled_from([str, str.upper, str.title]))

    def near(name):
        return case(re.sub(r"[-_.]", mark, name))

    form = draw(st.sampled_from(["mcp__{}__{}", "mcp_{}_{}", "{}__{}", "{}/{}", "{}:{}", "{}.{}", "{}_{}"]))
    wrapper = draw(st.sampled_from(["", "functions.", "default_api:", "tools/", "default_api.functions."]))
    text = draw(st.sampled_from([form.format(near(server), near(tool)), near(tool)]))
    return wrapper + text


@given(st.data(), catalogs())
def test_what_was_meant_is_taken_or_named(data, seen):
    tool = data.draw(st.sampled_from(list(seen.granted_tools())))
    name = data.draw(written(tool.server, tool.name))
    found = seen.resolve(name)
    if found is None:
        assert tool.public_name in seen.seen.fitting_names(name)
    elif found != tool:  # then it is somebody's name as it was written
        assert name in {*forms(found), *(wrapped + form for form in forms(found) for wrapped in WRAPPED)}


WRAPPED = ("functions.", "default_api:", "tools/", "default_api.functions.", "default_api.")


def forms(tool):
    pair = (tool.server, tool.name)
    marked = ["mcp_{}_{}", "{}__{}", "{}/{}", "{}:{}", "{}.{}"]
    return {tool.name, tool.public_name, *(form.format(*pair) for form in marked)}


@given(catalogs())
def test_what_a_tool_is_shown_as_is_it(seen):
    for tool in seen.granted_tools():
        assert seen.resolve_call(tool.public_name) is tool
        bearers = [one for one in seen.granted_tools() if one.name == tool.name]
        if len(bearers) == 1 and "." not in tool.name and not tool.name.startswith("mcp_"):
            assert seen.resolve_call(tool.name) is tool
