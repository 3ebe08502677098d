"""What a failed server's last words mean: one line decides, and each kind has a mend of its own."""

import pytest

from toolsearchd.upstream.evidence import Evidence, read_evidence

CASES = [
    ("ModuleNotFoundError: No module named 'mcp_server_x'", "missing-module", "mcp_server_x"),
    ("Error: Cannot find module '@scope/thing'", "missing-module", "@scope/thing"),
    (
        "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'zod' imported from /a/b.js",
        "missing-module",
        "zod",
    ),
    ("npm error code E404", "missing-package", ""),
    ("npm ERR! 404 Not Found - GET https://r.example/no-such-server", "missing-package", "no-such-server"),
    ("ERROR: No matching distribution found for no-such-thing", "missing-package", "no-such-thing"),
    ("Because no-such-thing was not found in the package registry", "missing-package", "no-such-thing"),
    ("Error: EACCES: permission denied, open '/root/x'", "no-permission", "EACCES"),
    ("PermissionError: [Errno 13] Permission denied: '/x'", "no-permission", ""),
    ("Error: listen EADDRINUSE: address already in use :::3000", "port-in-use", "EADDRINUSE"),
    ("OSError: [Errno 98] Address already in use", "port-in-use", ""),
    ("sh: 1: uvx: not found", "missing-command", "uvx"),
    ("bash: npx: command not found", "missing-command", "npx"),
    ("Error: spawn docker ENOENT", "missing-command", "docker"),
    ("env: 'node': No such file or directory", "missing-command", "node"),
    ("Error: GITHUB_PERSONAL_ACCESS_TOKEN is not set", "missing-variable", "GITHUB_PERSONAL_ACCESS_TOKEN"),
    ("Please set BRAVE_API_KEY in your environment", "missing-variable", "BRAVE_API_KEY"),
    ("Missing required environment variable: SLACK_BOT_TOKEN", "missing-variable", "SLACK_BOT_TOKEN"),
    ("getaddrinfo ENOTFOUND api.example.com", "no-network", "ENOTFOUND"),
    ("ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] x", "certificate", "CERTIFICATE"),
    ("Error: unable to get local issuer certificate", "certificate", ""),
    ("npm WARN EBADENGINE Unsupported engine", "wrong-version", ""),
    ("FATAL ERROR: JavaScript heap out of memory", "out-of-memory", ""),
    (
        "python3: can't open file '/x/server.py': [Errno 2] No such file or directory",
        "missing-file",
        "server.py",
    ),
]


MORE = [
    ("/usr/bin/python3: No module named my_server", "missing-module", "my_server"),
    ("Error: Cannot find module './lib/x.js'", "missing-file", "./lib/x.js"),
    ("npm error 404  '@no/such@*' is not in this registry.", "missing-package", "@no/such@*"),
    ("npm ERR! code ETARGET", "missing-package", ""),
    ("npm error notarget No matching version found for thing@9.9.9.", "missing-package", "thing@9.9.9"),
    ("ERROR: Could not find a version that satisfies the requirement nothing", "missing-package", "nothing"),
    ("zsh: command not found: npx", "missing-command", "npx"),
    ('exec: "docker": executable file not found in $PATH', "missing-command", "docker"),
    ("error: Failed to spawn: `my-server`", "missing-command", "my-server"),
    ("KeyError: 'BRAVE_API_KEY'", "missing-variable", "BRAVE_API_KEY"),
    ("OPENAI_API_KEY environment variable must be provided", "missing-variable", "OPENAI_API_KEY"),
    ("Error: API key is required", "missing-key", "API key"),
    (
        "Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?",
        "no-docker",
        "Docker",
    ),
    ("Error: connect ECONNREFUSED 127.0.0.1:5432", "nobody-listens", "ECONNREFUSED"),
    ("error: unknown option '--sdtio'", "bad-argument", "--sdtio"),
    ("server.py: error: unrecognized arguments: --stdo", "bad-argument", "--stdo"),
    ("ImportError: cannot import name 'FastMCP' from 'mcp'", "wrong-version", "FastMCP"),
]


@pytest.mark.parametrize(("line", "kind", "shown"), MORE)
def test_other_forms_of_the_same(line, kind, shown):
    (finding,) = read_evidence(failed(line))
    assert finding.kind == kind
    assert shown in finding.message
    assert "()" not in finding.message


@pytest.mark.parametrize(
    "line",
    [
        "Because of load, retrying",
        "HTTP_PROXY not set, continuing directly",
        "TypeError: Cannot read properties of undefined (reading 'MY_TOKEN')",
        "Server started",
    ],
)
def test_what_says_nothing_is_read_as_nothing(line):
    assert read_evidence(failed(line)) == []


def test_what_came_last_decides():
    (finding,) = read_evidence(failed("WARN: HTTPS_TOKEN is not set", "Error: listen EADDRINUSE :::3000"))
    assert finding.kind == "port-in-use"


def failed(*stderr, reason="it exited with status 1", **more):
    return Evidence(name="s", is_failed=True, reason=reason, stderr=stderr, **more)


@pytest.mark.parametrize(("line", "kind", "shown"), CASES)
def test_the_decisive_line_is_found(line, kind, shown):
    (finding,) = read_evidence(failed("starting", line, "    at Object.<anonymous> (x.js:1:1)"))
    assert (finding.kind, finding.level, finding.about) == (kind, "warning", "s")
    assert shown in finding.message
    assert finding.mend


def test_each_kind_has_a_mend_of_its_own():
    found = {}
    for line, kind, _ in CASES:
        (finding,) = read_evidence(failed(line))
        found.setdefault(kind, set()).add(finding.mend)
    mends = [mend for of_kind in found.values() for mend in of_kind]
    assert len(mends) == len(set(mends))


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (126, "not-executable"),
        (127, "missing-command"),
        (137, "killed"),
        (139, "crashed"),
        (159, "forbidden-call"),
    ],
)
def test_an_exit_status_says_something_where_no_line_does(status, kind):
    (finding,) = read_evidence(failed("bye", reason=f"it exited with status {status}"))
    assert finding.kind == kind


@pytest.mark.parametrize(("signal", "kind"), [(9, "killed"), (11, "crashed"), (31, "forbidden-call")])
def test_a_signal_says_what_its_status_in_a_shell_does(signal, kind):
    (finding,) = read_evidence(failed(reason=f"it was ended by signal {signal}"))
    assert finding.kind == kind


def test_a_status_that_means_nothing_is_not_made_up():
    assert read_evidence(failed("bye", reason="it exited with status 3")) == []


def test_a_server_that_runs_is_not_judged_by_old_words():
    line = CASES[0][0]
    assert read_evidence(Evidence(name="s", is_failed=False, reason="", stderr=(line,))) == []


@pytest.mark.parametrize(("is_failed", "level"), [(True, "warning"), (False, "info")])
def test_text_on_stdout_is_told_with_its_first_line(is_failed, level):
    found = Evidence(name="s", is_failed=is_failed, reason="", junk=3, first_junk="Server running on stdio")
    (finding,) = read_evidence(found)
    assert (finding.kind, finding.level) == ("text-on-stdout", level)
    assert "Server running on stdio" in finding.message


def test_a_tilde_in_an_argument_is_named():
    found = failed("python3: can't open file '~/s.py': [Errno 2] x", command=("python3", "~/tools/s.py"))
    assert [finding.kind for finding in read_evidence(found)] == ["missing-file", "tilde"]
    assert "~/tools/s.py" in read_evidence(found)[1].message


def test_long_hostile_lines_cost_little():
    lines = ["A_" * 50_000, "npm error 404 " + "- GET " * 20_000, "not set " * 20_000, "'" * 100_000]
    assert len(read_evidence(failed(*lines))) <= 1
