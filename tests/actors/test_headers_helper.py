"""The command of an entry that prints its headers: what becomes of what it prints."""

import pytest
import trio

from toolsearchd.config.model import ServerSpec
from toolsearchd.system import processes
from toolsearchd.system.commands import CommandFault
from toolsearchd.upstream import headers_helper
from toolsearchd.upstream.headers_helper import with_headers

ENV = {"PATH": "/usr/bin:/bin", "TOKEN": "s3cret"}


def spec(command):
    return ServerSpec(
        name="far",
        transport="http",
        url="http://h/mcp",
        headers={"A": "entry", "B": "b"},
        headers_helper=command,
    )


async def test_its_headers_stand_over_the_entrys():
    found = await with_headers(spec("""printf '{"A": "Bearer %s"}' "$TOKEN" """), ENV)
    assert found.headers == {"A": "Bearer s3cret", "B": "b"}


async def test_without_one_the_spec_is_the_same():
    plain = spec("")
    assert await with_headers(plain, ENV) is plain


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("exit 3", "status 3"),
        ("echo s3cret >&2; exit 1", "status 1"),
        ("set -x; false $TOKEN || exit 4", "status 4"),
        ("""printf '{"A": "s3cret"}'; exit 5""", "status 5"),
        ("echo s3cret", "no JSON object"),
        ("""echo '["s3cret"]'""", "no JSON object"),
        ("""echo '{"A": 5}'""", "no JSON object"),
        ("""printf '{"A": "s3cret\\\\nB: c"}'""", "line break"),
        ("/nowhere/helper", "status 127"),
        ("sleep 60", "no answer within"),
        ("yes s3cret", "more than"),
    ],
)
async def test_one_that_gives_no_headers_is_the_servers_reason(monkeypatch, command, words):
    monkeypatch.setattr(headers_helper, "_TIMEOUT_S", 1.0)
    with pytest.raises(CommandFault) as caught:
        await with_headers(spec(command), ENV)
    assert words in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert "headersHelper" in str(caught.value)


LEAVES = (
    "setsid sh -c 'echo $$ > {0}/new; mv {0}/new {0}/pid; exec sleep 600' & "
    "until [ -e {0}/pid ]; do sleep .01; done"
)


@pytest.mark.parametrize("then", ["echo '{}'", "exit 3", "sleep 60", "exec yes"])
@pytest.mark.parametrize("depth", [LEAVES, "(LEAVES)"])
async def test_nothing_of_it_stays(monkeypatch, tmp_path, then, depth):
    """Be it in a session of its own, below a parent that has ended."""
    monkeypatch.setattr(headers_helper, "_TIMEOUT_S", 3.0)
    command = depth.replace("LEAVES", LEAVES).format(tmp_path)
    try:
        await with_headers(spec(f"{command}; {then}"), ENV)
    except CommandFault:
        pass
    pid = int((tmp_path / "pid").read_text())
    with trio.move_on_after(5):
        while (left := processes.read(pid)) is not None and left.is_live:
            await trio.sleep(0.02)
    assert left is None or not left.is_live
