"""What is masked in texts that are shown, and what stays for the person who mends by them."""

import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearchd.config.masking import (
    MASK,
    masked,
    masked_tree,
    masked_url,
    masked_words,
    url_secrets,
    word_secrets,
)
from toolsearchd.config.model import ServerSpec
from toolsearchd.config.secret_values import SecretValues, secrets_in, secrets_of

HEX = "3f2a9c1e5b7d8f0a1c2e4b6d8f0a1c2e"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjMifQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://user:pw@host.example:8080/mcp", "https://***@host.example:8080/mcp"),
        ("https://tok@host.example/mcp", "https://***@host.example/mcp"),
        ("redis://:p4/ss@host.example/0", "redis://***@host.example/0"),
        ("https://h.example/mcp?token=a&x=1&b", "https://h.example/mcp?token=***&x=***&b"),
        ("https://h.example/mcp?abcDEF123abc", "https://h.example/mcp?***"),
        ("https://h.example/mcp#access_token=a", "https://h.example/mcp#***"),
        ("https://h.example/mcp;jsession=a/x", "https://h.example/mcp;jsession=***/x"),
        (f"https://h.example/s/{HEX}/mcp", "https://h.example/s/***/mcp"),
        ("https://h.example/u/3fa85f64-5717-4562-b3fc-2c963f66afa6/mcp", "https://h.example/u/***/mcp"),
        ("https://hooks.slack.com/services/T0A/B0B/aBcDe", "https://hooks.slack.com/services/***/***/***"),
        ("https://d.example/api/webhooks/123/aBcDe", "https://d.example/api/webhooks/***/***"),
        ("https://api.telegram.org/bot1:AB-c/getMe", "https://api.telegram.org/***/getMe"),
        ("https://h.example/key/aBc1/x", "https://h.example/key/***/x"),
        ("https://[::1]:80/mcp?k=v", "https://[::1]:80/mcp?k=***"),
        ("https://h.example:hunter2/mcp", "https://h.example:***/mcp"),
    ],
)
def test_urls(text, shown):
    assert masked_url(text) == shown
    assert masked(f"(see '{text}')") == f"(see '{shown}')"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Authorization: Bearer abc", "Authorization: ***"),
        ("{'Cookie': 'a=b; c=d'}", "{'Cookie': '***'}"),
        ("X-Api-Key: a b c", "X-Api-Key: ***"),
        ("sent bearer abcdef1, refused", "sent bearer ***, refused"),
        ("GITHUB_TOKEN=hunter2 npx x", "GITHUB_TOKEN=*** npx x"),
        ('{"apiKey": "hunter2", "port": 80}', '{"apiKey": "***", "port": 80}'),
        ("password='a b' user=c", "password='***' user=c"),
        ("run --api-key hunter2 --port 80", "run --api-key *** --port 80"),
        (f"bad token {JWT}!", "bad token ***!"),
        ("key ghp_abcdefghij0123456789 is", "key *** is"),
        (f"no such key {HEX}", "no such key ***"),
        ("Qm9vZ0lzQXdlc29tZTEyMzQ1Njc4OTA= end", "*** end"),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nx", "***\nx"),
        ("-----BEGIN PRIVATE KEY-----\nabc", "***"),
    ],
)
def test_texts(text, shown):
    assert masked(text) == shown
    assert masked(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "can't connect to mcp.example.com:443: connection refused",
        "https://mcp.example.com/v1/servers/github/mcp",
        "mcpServers.github.env.TOKEN: warning: a variable in it is not set",
        "invalid token: expected a text",
        "/home/user/node_modules/@scope/server-everything/dist/index.js can't be started: No such file",
        "mcp-server-filesystem-2026-10-01",
        "getUserProfileDataFromTheServerOfTheOtherTeam",
        "the header Authorization is missing",
        "--token-file /etc/token",
        "https://h.example/${TENANT}/mcp?key=${API_KEY}",
        "Authorization: Bearer ${TOKEN}",
        "no answer to tools/list within 60 s",
        "author=Jane, monkey=see",
    ],
)
def test_what_helps_stays(text):
    assert masked(text) == text


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["npx", "-y", "srv@1.2.3"], ["npx", "-y", "srv@1.2.3"]),
        (["x", "--token=abc", "--port=80"], ["x", "--token=***", "--port=80"]),
        (["x", "--api-key", "abc", "--port", "80"], ["x", "--api-key", "***", "--port", "80"]),
        (["x", "-pabc", "-p", "abc", "-p", "80"], ["x", "-p***", "-p", "***", "-p", "80"]),
        (["x", "-port", "80", "-password", "abc"], ["x", "-port", "80", "-password", "***"]),
        (["env", "ANYTHING=abc", "x"], ["env", "ANYTHING=***", "x"]),
        (["docker", "run", "-e", "a=b", "--env=C=d"], ["docker", "run", "-e", "a=***", "--env=C=***"]),
        (["curl", "-H", "X-Any: abc", "--header=Y: abc"], ["curl", "-H", "X-Any: ***", "--header=Y: ***"]),
        (["x", "https://u:p@h.example/?a=b"], ["x", "https://***@h.example/?a=***"]),
        (["sh", "-c", "run; TOKEN=abc run"], ["sh", "-c", "run; TOKEN=*** run"]),
        (["x", "--token", "${TOKEN}", "KEY=${K}"], ["x", "--token", "${TOKEN}", "KEY=${K}"]),
        (["x", "--token-file", "/etc/token"], ["x", "--token-file", "/etc/token"]),
        (
            ["sh", "-ec", "curl -H 'X-Any: abc d' h; x -p abc"],
            ["sh", "-ec", "curl -H 'X-Any: ***' h; x -p ***"],
        ),
    ],
)
def test_command_lines(words, shown):
    assert masked_words(words) == shown


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("curl -H 'Authorization: Bearer abc' h", "curl -H 'Authorization: ***' h"),
        ('curl  --header "X-Any: abc d"  h', 'curl  --header "X-Any: ***"  h'),
        ("x --token 'a b' --port 80", "x --token '***' --port 80"),
        ("A='b c' x", "A=*** x"),
        ("sh -c 'x --token abc'", "sh -c 'x --token ***'"),
        ('echo it\'s "plain"', 'echo it\'s "plain"'),
        ("curl -H X-Any:abc -u 'left open", "curl -H X-Any: *** -u 'left open"),
    ],
)
def test_a_command_in_one_text(line, shown):
    assert masked_tree({"pre_call": [{"command": line}]}) == {"pre_call": [{"command": shown}]}
    secrets = secrets_in({"command": line})
    for value in ("abc d", "a b", "b c"):
        assert value not in line or value not in secrets.masked_source(f"'{value}'")


def test_an_entry_shows_names_and_no_values():
    entry = {
        "command": "npx",
        "args": ["-y", "x", "--token", "abc"],
        "env": {"A": "abc", "B": "${B}", "C": 5, "D": True},
        "http_headers": {"X-Any": "abc"},
        "url": "https://u:p@h.example/",
        "oauth": {"clientSecret": "abc", "scope": "read"},
    }
    assert masked_tree(entry) == {
        "command": "npx",
        "args": ["-y", "x", "--token", "***"],
        "env": {"A": "***", "B": "${B}", "C": "***", "D": True},
        "http_headers": {"X-Any": "***"},
        "url": "https://***@h.example/",
        "oauth": {"clientSecret": "***", "scope": "read"},
    }


# --- what is known to be secret ---------------------------------------------------------------------------

_ends = st.sampled_from(string.ascii_letters + string.digits)
_within = st.text(st.sampled_from(string.ascii_letters + string.digits + " -_./+=%\"'\\\n\té"), min_size=4)
secret = st.builds("{}{}{}".format, _ends, _within, _ends)
around = st.text(st.sampled_from("abc :'\"\n"), max_size=20)


@given(secret, around, around)
def test_a_known_value_is_hidden_wherever_it_stands(value, before, behind):
    import json
    from urllib.parse import quote

    spec = ServerSpec(name="s", transport="stdio", command=("x",), env={"ANY": value})
    secrets = secrets_of(spec)
    for form in (value, json.dumps(value), repr(value), quote(value), quote(value, safe="")):
        shown = secrets.hidden(before + form + behind)
        assert form.strip("\"'") not in shown or form.strip("\"'") in MASK


@given(secret, st.integers(1, 40))
def test_a_text_that_was_cut_within_a_value_shows_no_part_of_it(value, at):
    secrets = SecretValues([value])
    beginning, rest = value[: max(at, 6)], value[-max(at, 6) :]
    assert beginning not in secrets.hidden(f"before {beginning}", is_cut=True)
    assert rest not in secrets.hidden(f"{rest} behind", is_cut=True)


def test_credentials_of_commands_urls_headers_and_what_is_passed_on():
    spec = ServerSpec(
        name="s",
        transport="http",
        url="https://me:pass-word@h.example/mcp?key=query-key#frag-ment",
        headers={"Authorization": "Bearer header-token", "X": "Basic bWU6YmFzaWMtcGFzcw=="},
        command=("x", "--token", "arg-token"),
        pass_env=("PASSED",),
    )
    environment = {"PASSED": "by-name", "MY_TOKEN": "named-so", "LANG": "de_DE.UTF-8"}
    secrets = secrets_of(spec, environment)
    for text in ("pass-word", "query-key", "frag-ment", "header-token", "basic-pass", "arg-token", "by-name"):
        assert secrets.hidden(f"it said {text}.") == "it said ***."
    assert secrets.hidden("named-so de_DE.UTF-8 h.example") == "*** de_DE.UTF-8 h.example"


def test_secrets_of_a_document_are_found_whatever_its_form():
    secrets = secrets_in(
        {"mcp": {"servers": {"a": {"environment": {"X": "value-of-env"}, "args": ["-psecret-p"]}}}},
        {"servers": [{"http_headers": {"Y": "value-of-header"}, "url": "https://h.example/?q=value-of-q"}]},
    )
    shown = secrets.masked_source('"value-of-env" "value-of-header" value-of-q secret-p h.example')
    assert shown == '"***" "***" *** *** h.example'


def test_what_is_hidden_is_what_is_masked():
    words = ["x", "--token=abc", "A=b", "-pabc", "https://u:p@h.example/?a=b#c", "TOKEN=abc run"]
    assert word_secrets(words) == ["abc", "b", "abc", "u:p", "p", "c", "b", "abc run", "abc"]
    assert url_secrets("https://h.example/plain?x") == []
    assert url_secrets("https://h.example:hunter2/x") == ["hunter2"]
    assert url_secrets("https://u:hunter2/x@h.example/") == ["u:hunter2/x", "hunter2/x", "hunter2"]


@pytest.mark.parametrize(
    "piece",
    [
        *("a", "A1", "a=", "a='", 'a="', "--a ", "x-", "x-key", "http://", "://", "eyJa.", "@", "/", "a:b@"),
        *("-----BEGIN PRIVATE KEY-----", "Authorization: ", "bearer ", "?a=b&", "sk-", "_-", "a.", "***"),
        *("\n", "=", ":", " ", "x-a-", "-p", "\u00e9"),
    ],
)
def test_linear_in_the_text(piece):
    """CPU, the least of three: four times the text takes no more than eight times as long."""

    def cost(chars):
        text = (piece * (chars // len(piece) + 1))[:chars]
        times = []
        for _ in range(3):
            began = time.thread_time()
            masked(text)
            times.append(time.thread_time() - began)
        return min(times)

    assert cost(120_000) < 8 * max(cost(30_000), 0.005)
