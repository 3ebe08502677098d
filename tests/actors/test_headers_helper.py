"""The command of an entry that prints its headers: what becomes of what it prints."""

import pytest

from toolsearchd.config.model import ServerSpec
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
        ("echo sorry >&2; exit 1", "sorry"),
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
