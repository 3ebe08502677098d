"""The arrows between the rooms: which package may import which, and which library belongs to which file."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "toolsearchd"

PURE = {"index", "catalog", "disclosure", "dispatch", "dialects", "protocol", "config"}
RIM = {"upstream", "sockets", "watching", "live", "calls", "sessions", "doors", "ctl"}
SHARED = {"errors", "globs", "limits", "nfkc", "records", "values"}  # modules that anyone may import
GROUND = (PURE - {"dialects"}) | {"system"}  # what every room of the rim stands on
# Of our own packages, what each may import besides itself and SHARED. `worker` is the worker process.
ARROWS = {
    "index": set(),
    "config": set(),
    "protocol": set(),
    "catalog": {"index"},
    "disclosure": {"catalog", "index", "config"},
    "dispatch": {"catalog", "config"},
    "dialects": {"disclosure", "dispatch", "catalog", "index", "config"},
    "system": set(),
    "sockets": GROUND,
    "watching": GROUND,
    "live": GROUND | {"dialects", "worker"},
    "calls": GROUND,
    "upstream": GROUND,
    "sessions": GROUND | {"dialects", "live", "calls", "sockets"},
    "doors": GROUND,
    "daemon": GROUND | RIM | {"dialects", "worker"},
    "ctl": PURE | {"system", "client", "endpoint", "places", "daemon", "samples", "__main__"},
    "samples": set(),
    "client": {"client_wire", "protocol", "async_client", "endpoint"},
    "async_client": {"client_wire", "protocol", "endpoint"},
    "client_wire": {"protocol", "places", "endpoint"},
    "endpoint": {"system"},
    "worker": PURE,
    "places": set(),
    "errors": set(),
    "globs": set(),
    "nfkc": set(),
    "records": set(),
    "values": set(),
    "limits": set(),
    "__main__": GROUND | RIM | {"dialects", "daemon", "places"},
}
MOST_LINES = 400
# The one list of what other systems' files, clients and variables are called, where it is data of a format.
FORMATS = {
    *("config/sources", "config/install/clients.py", "config/expand.py", "disclosure/manifest.py"),
    "config/tool_search.py",  # the rankers that a person may choose
}
GUESTS = re.compile(r"hermes|openclaw|nemoclaw|deepagents", re.IGNORECASE)
WAITING = {"trio", "anyio", "socket", "subprocess", "os", "select", "asyncio", "threading"}
# The one place of each library.
HOMES = {
    "tiktoken": {"disclosure/tokens.py"},
    "snowballstemmer": {"index/"},
    "pyroaring": {"index/", "catalog/"},
    "watchfiles": {"watching/watcher.py"},
    "jsonschema_rs": {"dispatch/"},
    "mcp": {"upstream/", "doors/"},
    "mcp_types": {"upstream/", "doors/"},
    "yaml": {"config/"},
    "matplotlib": {"ctl/plot.py"},
}


def imports_of(path):
    """Top-level names of outside modules, and our own packages, that a file imports anywhere."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add(node.module)
            if node.module == "toolsearchd":
                found |= {
                    f"toolsearchd.{alias.name}" for alias in node.names if not alias.name.startswith("__v")
                }
    return found


FILES = sorted(ROOT.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(ROOT)) for path in FILES])
def test_arrows(path):
    place = path.relative_to(ROOT)
    room = place.parts[0].removesuffix(".py")
    if room == "__init__":
        return
    for name in imports_of(path):
        parts = name.split(".")
        if parts[0] == "toolsearchd" and len(parts) > 1:
            other = parts[1]
            assert other in ARROWS[room] | SHARED | {room}, f"{place} imports {name}"
        elif room in PURE:
            assert parts[0] not in WAITING, f"{place} is pure and imports {name}"


def docstrings(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from (part.value for part in node.body if isinstance(part, ast.Expr))


def test_nobody_else_names_a_dialect():
    """No branch on a name, and none in a name: what a guest does stands in its own folder."""
    named = []
    for path in FILES:
        place = path.relative_to(ROOT)
        if place.parts[0] == "dialects" or any(str(place).startswith(home) for home in FORMATS):
            continue
        tree = ast.parse(path.read_text())
        told = {id(text) for text in docstrings(tree)}
        for node in ast.walk(tree):
            words = [getattr(node, name, None) for name in ("id", "attr", "name", "arg", "module", "value")]
            if id(node) not in told and any(isinstance(word, str) and GUESTS.search(word) for word in words):
                named.append(f"{place}:{getattr(node, 'lineno', '?')}")
    assert named == []


@pytest.mark.parametrize("library", HOMES)
def test_one_library_one_place(library):
    users = {
        str(path.relative_to(ROOT))
        for path in FILES
        if library in {name.split(".")[0] for name in imports_of(path)}
    }
    assert users, f"nobody uses {library}"
    for user in users:
        assert any(user.startswith(home) for home in HOMES[library]), f"{user} imports {library}"


MODULES = {
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in FILES
}


def own_imports_of(path):
    """Modules of ours that a file imports, for the checker's eyes alone or within a function, too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                if name in MODULES:
                    yield name
                elif node.module in MODULES:
                    yield node.module


def in_circles(graph):
    """What remains when all that imports nothing left, or that nothing left imports, is taken away."""
    left = {name: set(others) for name, others in graph.items()}
    while True:
        imported = {other for others in left.values() for other in others}
        ends = {name for name, others in left.items() if not others or name not in imported}
        if not ends:
            return left
        left = {name: others - ends for name, others in left.items() if name not in ends}


def test_no_modules_import_one_another_in_a_circle():
    graph = {name: set(own_imports_of(path)) - {name} for name, path in MODULES.items()}
    assert in_circles(graph) == {}, "move what both need to a module that imports neither"


def test_a_circle_is_found_and_what_leads_to_it_is_none():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": {"e"}, "e": set(), "f": {"a"}}
    assert in_circles(graph) == {"b": {"c"}, "c": {"b"}}
    assert in_circles(graph | {"c": {"d"}}) == {}


def test_no_two_public_classes_share_a_name():
    defined = {}
    for name, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                defined.setdefault(node.name, []).append(name)
    assert {name: places for name, places in defined.items() if len(places) > 1} == {}


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(ROOT)) for path in FILES])
def test_no_file_is_long(path):
    assert len(path.read_text().splitlines()) <= MOST_LINES


def test_one_reader_of_proc():
    readers = {str(path.relative_to(ROOT)) for path in FILES if '"/proc/' in path.read_text()}
    assert readers == {"system/processes.py"}


# Beside `system/files.py`, who reads a file: the package's own data, and for `toolsearchctl` the person's.
READS_WHOLE = {
    "index/lexicon/__init__.py",
    "index/mapped.py",
    "index/semantics.py",
    "index/sentence_model.py",
    "disclosure/tokens.py",
    "disclosure/manifest.py",
    "ctl/private_daemon.py",
    "ctl/verbs/eval.py",
}


def test_one_reader_of_files():
    whole = re.compile(r"\.read_(?:bytes|text)\(|(?<!def )(?<![\w.])open\(")
    readers = {str(path.relative_to(ROOT)) for path in FILES if whole.search(path.read_text())}
    assert readers - {"system/files.py", "system/processes.py"} == READS_WHOLE


# What starts a process. In the daemon an inherited child is told from an own one by who was told of it.
STARTS = {"Popen", "open_process", "run_process", "create_subprocess_exec", "create_subprocess_shell"}
STARTS |= {
    "check_output",
    "check_call",
    "getoutput",
    "system",
    "popen",
    "fork",
    "posix_spawn",
    "posix_spawnp",
}
IN_THE_DAEMON = sorted(
    path for path in FILES if path.relative_to(ROOT).parts[0] in RIM - {"ctl"} | GROUND | {"daemon"}
)


@pytest.mark.parametrize("path", IN_THE_DAEMON, ids=[str(p.relative_to(ROOT)) for p in IN_THE_DAEMON])
def test_every_start_of_a_process_is_told(path):
    if path.relative_to(ROOT) == Path("system/children.py"):
        return
    source = path.read_text()
    for call in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)):
        if isinstance(call.func, ast.Attribute) and call.func.attr in STARTS:
            owner = ast.unparse(call.func.value)
            told = owner == "children" or (call.func.attr == "Popen" and "children.adopt(" in source)
            assert told, f"{path.name}:{call.lineno}: {ast.unparse(call.func)} without system.children"
        elif isinstance(call.func, ast.Attribute) and ast.unparse(call.func) == "subprocess.run":
            raise AssertionError(f"{path.name}:{call.lineno}: subprocess.run without system.children")
