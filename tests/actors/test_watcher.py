"""The watcher on real files: what reaches the desired state, what must not, and what is said about it."""

import contextlib
import json
import os
import resource
import socket
import time

import pytest
import trio
import yaml

from toolsearchd.dialects.registry import OPTIONS
from toolsearchd.watching.files import watch_points
from toolsearchd.watching.watcher import Watcher

LIMITS = {"settle_s": 0.02, "sweep_s": 600, "deleted_grace_s": 0.4}  # events alone must do


class Place:
    """A home with a config that names one file of servers, and what the watcher made of it."""

    def __init__(self, root):
        self.root = root
        self.config_file = root / "config.yaml"
        self.servers_file = root / "mcp.json"
        self.published = 0

    def watcher(self, *, sources=None, limits=None, environ=None, **config):
        if sources is None:
            sources = [{"path": str(self.servers_file), "format": "claude-desktop"}]
        self.write_config(sources=sources, limits=LIMITS | (limits or {}), **config)
        self.made = Watcher(
            self.config_file, dialect_options=OPTIONS, environ={"HOME": str(self.root), **(environ or {})}
        )
        self.made.load_now()
        self.made.on_change.append(self._count)
        return self.made

    def _count(self):
        self.published += 1

    def write_config(self, **config):
        self.config_file.write_text(yaml.safe_dump(config))

    def save(self, *names, file=None, **entries):
        """As an editor saves: a new file renamed over the old one."""
        file = file or self.servers_file
        new = file.with_name("new")
        new.write_text(text(*names, **entries))
        new.replace(file)

    def names(self):
        return {spec.name for spec in self.made.desired.servers}

    def problems(self):
        return "\n".join(map(str, self.made.problems))


def text(*names, **entries):
    return json.dumps({"mcpServers": {name: {"command": name} for name in names} | entries})


async def until(condition, within_s=8.0):
    with trio.fail_after(within_s):
        while not condition():
            await trio.sleep(0.005)


@contextlib.asynccontextmanager
async def running(watcher):
    async with trio.open_nursery() as nursery:
        await nursery.start(watcher.run)
        await until(lambda: watcher._points.directories)
        yield
        nursery.cancel_scope.cancel()


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


async def test_the_last_of_two_quick_saves_counts(place):
    place.save("a")
    async with running(place.watcher()):
        assert place.names() == {"a"}
        place.save("b")
        place.save("c")
        await until(lambda: place.names() == {"c"})
        assert place.problems() == ""


async def test_a_half_written_file_changes_nothing_until_it_is_whole(place):
    place.save("a", "b")
    async with running(place.watcher()):
        whole = text("a", "b", "c")
        place.servers_file.write_text(whole[: len(whole) // 2])
        await until(lambda: "not JSON" in place.problems())
        assert "mcp.json:1:" in place.problems()
        assert "last good state is in force" in place.problems()
        assert place.names() == {"a", "b"}
        assert place.made.files()[0]["error"]
        place.servers_file.write_text(whole)
        await until(lambda: place.names() == {"a", "b", "c"})
        assert place.problems() == ""


async def test_touch_indent_key_order_and_backups_publish_nothing(place):
    entry = {"command": "x", "env": {"A": "1", "B": "2"}}
    place.save(a=entry, b={"command": "y"})
    async with running(place.watcher()):
        os.utime(place.servers_file)
        turned = {"env": dict(reversed(entry["env"].items())), "command": "x"}
        place.servers_file.write_text(
            json.dumps({"other": 1, "mcpServers": {"a": turned, "b": {"command": "y"}}}, indent=3)
        )
        for backup in ("mcp.json~", ".mcp.json.swp", "mcp.json.backup.123", "#mcp.json#"):
            (place.root / backup).write_text(text("stranger"))
        before = {spec.name: spec.digest for spec in place.made.desired.servers}
        place.made.load_now()
        assert place.published == 0
        # What comes after them arrives, and is the only thing that is published.
        place.save(a=entry, b={"command": "z"})
        await until(lambda: place.published)
        assert place.published == 1
        after = {spec.name: spec.digest for spec in place.made.desired.servers}
        assert after["a"] == before["a"]
        assert after["b"] != before["b"]


async def test_one_change_among_thirty_is_one_change(place):
    entries = {f"s{n}": {"command": "x", "args": [str(n)]} for n in range(30)}
    place.save(**entries)
    async with running(place.watcher()):
        before = {spec.name: spec.digest for spec in place.made.desired.servers}
        place.save(**entries | {"s7": {"command": "x", "args": ["other"]}})
        await until(lambda: place.published)
        changed = {s.name for s in place.made.desired.servers if before[s.name] != s.digest}
        assert changed == {"s7"}


def _deleted(path):
    path.unlink()


def _renamed_away(path):
    path.rename(path.with_name("away"))


def _link_to_nothing(path):
    path.unlink()
    path.symlink_to("nowhere")


def _holding(content):
    return lambda path: path.write_bytes(content)


ABSENCES = {
    "deleted": _deleted,
    "renamed away": _renamed_away,
    "a link to nothing": _link_to_nothing,
    "zero bytes": _holding(b""),
    "white space": _holding(b" \r\n\t\n"),
    "a byte order mark": _holding(b"\xef\xbb\xbf"),
    "two, and white space": _holding(b"\xef\xbb\xbf\n\xef\xbb\xbf "),
}
absences = pytest.mark.parametrize("lose", ABSENCES.values(), ids=ABSENCES)


@absences
async def test_a_file_that_is_gone_or_empty_loses_nothing_and_is_told_after_a_grace(place, lose):
    place.save("a")
    async with running(place.watcher()):
        began = time.monotonic()
        lose(place.servers_file)
        await until(lambda: "its last good state is in force" in place.problems())
        assert time.monotonic() - began >= LIMITS["deleted_grace_s"]
        assert "--accept-missing" in place.problems()
        assert place.made.files()[0]["error"]
        assert (place.names(), place.published) == ({"a"}, 0)
        place.save("a", "b")
        await until(lambda: place.names() == {"a", "b"})
        assert place.problems() == ""


async def test_a_file_that_is_back_within_the_grace_was_never_gone(place):
    place.save("a")
    async with running(place.watcher()):
        place.servers_file.unlink()
        await until(lambda: any(file.is_fading for file in place.made._files()))
        assert (place.names(), place.problems()) == ({"a"}, "")
        place.save("a")
        await until(lambda: not any(file.is_fading for file in place.made._files()))
        assert (place.names(), place.published, place.problems()) == ({"a"}, 0, "")


@pytest.mark.parametrize("document", ["{}", '{"mcpServers": {}}', '{"other": 1}'])
async def test_a_document_without_servers_is_an_edit(place, document):
    place.save("a")
    async with running(place.watcher()):
        place.servers_file.write_text(document)
        await until(lambda: place.names() == set())
        assert place.problems() == ""


@absences
def test_that_there_is_nothing_is_accepted_until_there_is_something(place, lose):
    place.save("a")
    watcher = place.watcher()
    lose(place.servers_file)
    assert watcher.reload_nowait() == ()
    assert place.names() == {"a"}
    assert "--accept-missing" in place.problems()
    assert watcher.reload_nowait(accept_missing=True) == (place.servers_file,)
    assert (place.names(), place.problems()) == (set(), "")
    assert watcher.reload_nowait(accept_missing=True) == ()
    place.servers_file.unlink(missing_ok=True)
    place.save("b")
    watcher.load_now()
    assert place.names() == {"b"}
    place.servers_file.write_text("")
    watcher.reload_nowait()
    assert place.names() == {"b"}
    assert "the file is empty" in place.problems()


@absences
def test_an_own_config_that_is_gone_or_empty_keeps_every_rule(place, lose):
    place.save("a")
    watcher = place.watcher(approval={"default": "deny"})
    before = watcher.settings
    lose(place.config_file)
    watcher.reload_nowait()
    assert (watcher.settings, watcher.refusal(), place.names()) == (before, None, {"a"})
    assert "config.yaml: error: the file" in place.problems()
    assert watcher.reload_nowait(accept_missing=True) == (place.config_file,)
    assert watcher.settings.approval.default == "ask-destructive"
    assert (watcher.refusal(), place.problems()) == (None, "")
    place.config_file.unlink(missing_ok=True)
    place.config_file.write_text("approval: {default: dney}")
    watcher.load_now()
    assert watcher.refusal() is None
    assert "every key has its default" in place.problems()


def test_an_own_config_of_comments_is_an_edit(place):
    watcher = place.watcher(approval={"default": "deny"})
    place.config_file.write_text("# approval: {default: deny}\n")
    watcher.load_now()
    assert watcher.settings.approval.default == "ask-destructive"


NUL_FILES = {
    "config.yaml": lambda made: made.settings.approval.default == "deny",
    "mcp.json": lambda made: [spec.name for spec in made.desired.servers] == ["a"],
    "secrets.env": lambda made: made._environment.value == {"TOKEN": "one"},
    "stop.txt": lambda made: "frobnicate" in made.lexicon.stop_words,
}


@pytest.mark.parametrize("damage", ["NULs", "zero bytes", "deleted"])
@pytest.mark.parametrize("name", NUL_FILES)
def test_what_a_crash_left_of_any_file_is_a_failure(place, name, damage):
    """To an environment file or a word list zeros would be odd lines, and nothing else in force."""
    place.save("a")
    (place.root / "secrets.env").write_text("TOKEN=one\n")
    (place.root / "stop.txt").write_text("frobnicate\n")
    watcher = place.watcher(
        approval={"default": "deny"},
        environment={"file": "secrets.env"},
        tools={"tool_search": {"lexicon": {"stop_words": "stop.txt"}}},
    )
    in_force, file = NUL_FILES[name], place.root / name
    assert in_force(watcher)
    assert place.problems() == ""
    size = file.stat().st_size
    if damage == "deleted":
        file.unlink()
    else:
        file.write_bytes(bytes(size if damage == "NULs" else 0))
    watcher.reload_nowait()
    assert in_force(watcher)
    assert f"{name}: error" in place.problems()
    assert place.published == 0


def start(place):
    """As the daemon starts: with what was remembered."""
    place.made = Watcher(
        place.config_file,
        dialect_options=OPTIONS,
        environ={"HOME": str(place.root)},
        state_dir=place.root / "state",
    )
    place.made.load_now()
    return place.made


UNUSABLE = ABSENCES | {"invalid": _holding(b"approval: {default: dney}"), "cut": _holding(b"approval: {")}


@pytest.mark.parametrize("lose", UNUSABLE.values(), ids=UNUSABLE)
def test_a_start_without_the_config_that_was_there_starts_nothing(place, lose):
    place.save("a", file=place.root / ".claude.json")
    moved = place.root / "clients/codex.toml"
    moved.parent.mkdir()
    moved.write_text('moved_from = "/x/config.toml"\n[mcp_servers.moved]\ncommand = "x"\n')
    place.write_config(approval={"default": "deny"})
    assert start(place).refusal() is None
    assert place.names() == {"a", "moved"}
    lose(place.config_file)
    refusal = start(place).refusal()
    assert refusal.code == "BAD_CONFIG"
    assert "config.yaml" in refusal.message
    assert ("--accept-missing" in refusal.message) == (lose in ABSENCES.values())
    assert place.names() == set()
    assert "no server is started" in place.problems()
    (place.root / "away").unlink(missing_ok=True)
    place.config_file.unlink(missing_ok=True)
    place.made.load_now()
    assert place.made.refusal().code == "BAD_CONFIG"
    place.write_config(approval={"default": "deny"})
    place.made.load_now()
    assert (place.made.refusal(), place.problems(), place.names()) == (None, "", {"a", "moved"})


@absences
def test_that_the_config_is_meant_to_be_missing_is_remembered(place, lose):
    place.save("a", file=place.root / ".claude.json")
    place.write_config(approval={"default": "deny"})
    start(place)
    lose(place.config_file)
    assert start(place).reload_nowait(accept_missing=True) == (place.config_file,)
    assert (place.made.refusal(), place.names(), place.problems()) == (None, {"a"}, "")
    assert start(place).refusal() is None
    assert (place.names(), place.problems()) == ({"a"}, "")
    place.config_file.unlink(missing_ok=True)
    place.write_config(approval={"default": "deny"})
    assert start(place).settings.approval.default == "deny"
    place.config_file.write_bytes(b"")
    assert start(place).refusal() is not None


def test_a_config_that_never_was_is_no_failure_and_an_empty_one_is(place):
    place.save("a", file=place.root / ".claude.json")
    assert start(place).refusal() is None
    assert (place.names(), place.problems()) == ({"a"}, "")
    place.config_file.write_bytes(b"\n")
    assert start(place).refusal() is not None


def test_what_is_remembered_is_the_owners_and_what_is_damaged_counts_as_known(place):
    place.write_config()
    start(place)
    (kept,) = (place.root / "state/configs").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    place.config_file.unlink()
    for damage in (lambda: kept.write_bytes(b"\0" * 20), lambda: kept.chmod(0o666)):
        damage()
        assert start(place).refusal() is not None
    kept.unlink()
    assert start(place).refusal() is None


def _fifo(path):
    os.mkfifo(path)


def _socket(path):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(path))


def _device(path):
    path.symlink_to("/dev/zero")


def _sparse(path):
    with path.open("wb") as file:
        file.truncate(5 << 30)


@pytest.mark.parametrize("make", [_fifo, _socket, _device, _sparse, os.mkdir, "loop", "latin-1"])
async def test_what_is_no_config_file_is_never_read(place, make):
    place.save("a")
    async with running(place.watcher()):
        place.servers_file.unlink()
        if make == "loop":
            place.servers_file.symlink_to(place.servers_file)
        elif make == "latin-1":
            place.servers_file.write_bytes(b'{"mcpServers": {"caf\xe9": {}}}')
        else:
            make(place.servers_file)
        await until(lambda: "mcp.json: error" in place.problems())
        assert "last good state is in force" in place.problems()
        assert place.names() == {"a"}
        if make is os.mkdir:
            place.servers_file.rmdir()
        else:
            place.servers_file.unlink()
        place.save("b")
        await until(lambda: place.names() == {"b"})


@pytest.mark.parametrize("odd", ["/a\0b", "/" + "x" * 300 + "/y", "~nobody-of-that-name/z"])
async def test_a_path_that_no_file_can_have_is_said_and_outlived(place, odd):
    place.save("a")
    async with running(place.watcher()):
        sources = [{"path": str(place.servers_file), "format": "claude-desktop"}]
        place.config_file.write_text(
            json.dumps({"sources": sources, "limits": LIMITS, "environment": {"file": odd}})
        )
        await until(lambda: "nothing of it is in force" in place.problems())
        place.save("a", "b")
        await until(lambda: place.names() == {"a", "b"})


async def test_whatever_bound_of_files_a_config_sets_it_can_be_mended(place):
    place.save("a")
    for size in (1, 1 << 32):
        async with running(place.watcher()):
            place.write_config(sources=[], limits=LIMITS | {"user_file_bytes": size, "word_list_bytes": size})
            await until(lambda: place.names() == set())
            place.write_config(
                sources=[{"path": str(place.servers_file), "format": "claude-desktop"}], limits=LIMITS
            )
            await until(lambda: place.names() == {"a"})


async def test_links_are_followed_wherever_they_lead(place):
    for directory in ("one", "two", "links"):
        (place.root / directory).mkdir()
    one, two, middle = place.root / "one" / "x", place.root / "two" / "x", place.root / "links" / "middle"
    place.save("a", file=one)
    place.save("b", file=two)
    middle.symlink_to(one)
    place.servers_file.symlink_to(middle)
    async with running(place.watcher()):
        assert place.names() == {"a"}
        place.save("a2", file=one)  # the target edited
        await until(lambda: place.names() == {"a2"})
        new = place.root / "links" / "new"
        new.symlink_to(two)
        new.replace(middle)  # a link in the middle swapped
        await until(lambda: place.names() == {"b"})
        place.save("b2", file=two)  # the new target edited
        await until(lambda: place.names() == {"b2"})
        two.unlink()
        await until(lambda: "mcp.json: error: the file does not exist" in place.problems())
        assert place.names() == {"b2"}


async def test_a_linked_directory_is_swapped(place):
    for directory in ("one", "two"):
        (place.root / directory).mkdir()
        place.save(directory, file=place.root / directory / "mcp.json")
    link = place.root / "dotfiles"
    link.symlink_to("one")
    file = {"path": str(link / "mcp.json"), "format": "cursor"}
    async with running(place.watcher(sources=[file])):
        assert place.names() == {"one"}
        new = place.root / "new-link"
        new.symlink_to("two")
        new.replace(link)
        await until(lambda: place.names() == {"two"})
        place.save("three", file=link / "mcp.json")
        await until(lambda: place.names() == {"three"})


async def test_a_directory_that_is_removed_and_made_again(place):
    directory = place.root / "folder"
    directory.mkdir()
    place.save("a", file=directory / "x.json")
    file = {"path": "folder/x.json", "format": "cursor"}
    async with running(place.watcher(sources=[file])):
        assert place.names() == {"a"}
        (directory / "x.json").unlink()
        directory.rmdir()
        directory.mkdir()
        place.save("b", file=directory / "x.json")
        await until(lambda: place.names() == {"b"})
        place.save("c", file=directory / "x.json")
        await until(lambda: place.names() == {"c"})


async def test_the_sweep_sees_a_directory_that_was_moved_away(place):
    directory = place.root / "folder"
    directory.mkdir()
    place.save("a", file=directory / "x.json")
    file = {"path": "folder/x.json", "format": "cursor"}
    async with running(place.watcher(sources=[file], limits={"sweep_s": 0.2})):
        directory.rename(place.root / "elsewhere")
        directory.mkdir()
        place.save("b", file=directory / "x.json")
        await until(lambda: place.names() == {"b"})


async def test_auto_finds_what_exists_and_what_appears_in_folders_made_at_once(place):
    place.save("a", file=place.root / ".claude.json")
    async with running(place.watcher(sources="auto")):
        assert place.names() == {"a"}
        assert place.problems() == ""
        nested = place.root / ".config" / "Code" / "User"
        nested.mkdir(parents=True)
        (nested / "mcp.json").write_text('{"servers": {"b": {"command": "b"}}} // a comment')
        await until(lambda: place.names() == {"a", "b"})
        assert [file["format"] for file in place.made.files()] == ["claude-code", "vscode"]


async def test_a_bad_own_config_keeps_the_last_good_one(place):
    place.save("a")
    async with running(place.watcher()):
        good = place.config_file.read_text()
        place.config_file.write_text("approval:\n  defualt: deny\n")
        await until(lambda: "did you mean default" in place.problems())
        assert "config.yaml:2:3: approval.defualt: error" in place.problems()
        assert place.names() == {"a"}
        place.config_file.write_text(good + "approval: {default: deny}\n")
        await until(lambda: place.made.settings.approval.default == "deny")
        assert (place.names(), place.problems()) == ({"a"}, "")


async def test_the_own_config_renamed_away_for_a_moment_is_no_removal(place):
    place.save("a")
    async with running(place.watcher()):
        place.config_file.rename(place.root / "away")
        await until(lambda: any(file.is_fading for file in place.made._files()))
        assert place.names() == {"a"}
        (place.root / "away").rename(place.config_file)
        await until(lambda: not any(file.is_fading for file in place.made._files()))
        assert place.published == 0


def test_a_config_that_never_was_usable_starts_nothing(place):
    place.save("a", file=place.root / ".claude.json")
    place.config_file.write_text("approval: {default: dney}")
    watcher = Watcher(place.config_file, dialect_options=OPTIONS, environ={"HOME": str(place.root)})
    watcher.load_now()
    assert watcher.desired.servers == ()
    assert "nothing of it is in force" in "\n".join(map(str, watcher.problems))
    # That the file goes then is no person's word that its rules shall not be.
    place.config_file.unlink()
    watcher.reload_nowait()
    assert watcher.desired.servers == ()
    assert watcher.refusal().code == "BAD_CONFIG"
    watcher.reload_nowait(accept_missing=True)
    assert [spec.name for spec in watcher.desired.servers] == ["a"]


async def test_a_file_written_all_the_time_is_read_all_the_same(place):
    place.save("a")
    async with running(place.watcher(limits={"settle_s": 1.5})):
        async with trio.open_nursery() as nursery:

            async def write():
                for n in range(1000):
                    place.save("b", n={"command": str(n)})
                    await trio.sleep(0.1)

            nursery.start_soon(write)
            await until(lambda: "b" in place.names())
            nursery.cancel_scope.cancel()


def test_reload_reads_at_once(place):
    place.save("a")
    watcher = place.watcher()
    place.save("b")
    assert place.names() == {"a"}
    watcher.reload_nowait()
    assert place.names() == {"b"}
    assert place.published == 1


async def test_a_cancelled_watcher_ends_soon_and_leaves_no_watch(place):
    place.save("a")
    watcher = place.watcher()
    async with trio.open_nursery() as nursery:
        await nursery.start(watcher.run)
        await until(lambda: watcher._points.directories)
        began = time.monotonic()
        nursery.cancel_scope.cancel()
    assert time.monotonic() - began < 5
    # Its thread closes the watch by itself, a moment after it was told to.
    await until(
        lambda: not [fd for fd in os.listdir("/proc/self/fd") if _leads_to(fd) == "anon_inode:inotify"]
    )


def _leads_to(fd):
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except FileNotFoundError:
        return ""


async def test_without_inotify_files_are_polled_and_it_is_said(place):
    place.save("a")
    watcher = place.watcher(limits={"sweep_s": 0.2})
    with only_two_free_descriptors():  # enough to read a file, too few for inotify
        async with running(watcher):
            await until(lambda: "fs.inotify" in place.problems())
            assert "files are looked at every 0.2 s" in place.problems()
            place.save("b")
            await until(lambda: place.names() == {"b"})
    async with running(watcher):
        await until(lambda: place.problems() == "")


@contextlib.contextmanager
def only_two_free_descriptors():
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    top = max(int(fd) for fd in os.listdir("/proc/self/fd")) + 1
    held = []
    while not held or held[-1] < top:  # no free numbers below
        held.append(os.open("/dev/null", os.O_RDONLY))
    resource.setrlimit(resource.RLIMIT_NOFILE, (held[-1] + 3, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for fd in held:
            os.close(fd)


async def test_the_environment_file_reaches_servers_and_variables(place):
    file = place.root / "secrets.env"
    file.write_text("export TOKEN='one'\n# a comment\nnot a line\n")
    place.save()
    (place.root / ".claude.json").write_text(text(a={"command": "x", "args": ["${TOKEN}"]}))
    async with running(place.watcher(sources="auto", environment={"file": "secrets.env"})):
        (spec,) = place.made.desired.servers
        assert (spec.command, spec.env["TOKEN"]) == (("x", "one"), "one")
        assert "secrets.env:3: warning: expected NAME=value" in place.problems()
        assert "not a line" not in place.problems()
        file.write_text("TOKEN=two\n")
        await until(lambda: place.made.desired.servers[0].env["TOKEN"] == "two")
        assert place.made.desired.servers[0].command == ("x", "two")
        assert place.made.desired.servers[0].digest != spec.digest


def test_a_named_project_file_starts_in_its_project(place):
    project = place.root / "projects" / "app"
    (project / ".vscode").mkdir(parents=True)
    (project / ".vscode" / "mcp.json").write_text(
        json.dumps({"servers": {"a": {"command": "./serve", "args": ["${workspaceFolder}/x"], "cwd": "sub"}}})
    )
    (project / ".mcp.json").write_text(text("b"))
    place.watcher(sources=[{"path": "projects/app/.vscode/mcp.json"}, {"path": "~/projects/app/.mcp.json"}])
    a, b = place.made.desired.servers
    assert (a.command, a.cwd) == (("./serve", f"{project}/x"), f"{project}/sub")
    assert (b.cwd, b.project) == (str(project), "")
    (project / ".mcp.json").write_text(" " * (1 << 20) + text("b"))
    place.made.load_now()
    assert "at most 1048576 are read" in place.problems()


def test_one_file_named_as_two_formats_is_one_server_with_two_origins(place):
    place.save("a")
    formats = ("cursor", "claude-desktop")
    place.watcher(sources=[{"path": "mcp.json", "format": format_} for format_ in formats])
    (spec,) = place.made.desired.servers
    assert spec.name == "a"
    assert tuple(origin.format for origin in spec.origins) == formats


def test_projects_found_by_themselves_stay_inert(place):
    document = {"projects": {"/p": {"mcpServers": {"b": {"command": "${UNSET}"}}}}, "mcpServers": {}}
    (place.root / ".claude.json").write_text(json.dumps(document))
    place.watcher(sources="auto")
    assert (place.names(), place.problems()) == (set(), "")
    assert [(file["servers"], file["inert"]) for file in place.made.files()] == [(0, 1)]
    place.watcher(sources=[{"path": "~/.claude.json"}])
    assert [(spec.name, spec.project, spec.cwd) for spec in place.made.desired.servers] == [("b", "/p", "/p")]


def test_problems_are_logged_once_each_and_never_with_values(place, caplog):
    place.save(a={"command": "x", "env": {"TOKEN": "hunter2 ${UNSET}"}})
    place.watcher(sources=[{"path": str(place.servers_file), "format": "claude-code"}])
    place.made.load_now()
    (record,) = caplog.records
    assert "mcpServers.a.env.TOKEN" in record.getMessage()
    assert "hunter2" not in caplog.text


def test_the_digest_key_is_kept_and_private(tmp_path, caplog):
    def digest_key():
        return Watcher(
            tmp_path / "c",
            dialect_options=OPTIONS,
            environ={"HOME": str(tmp_path)},
            state_dir=tmp_path / "state",
        )._key

    first = digest_key()
    assert digest_key() == first
    file = tmp_path / "state" / "digest.key"
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_bytes(b"torn")
    assert digest_key() != first
    file.unlink()
    os.mkfifo(file)
    kept = digest_key()
    assert digest_key() == kept
    file.unlink()
    (tmp_path / "state").rmdir()
    (tmp_path / "state").write_text("no directory")
    assert len(digest_key()) == 32
    assert "nothing is remembered between starts" in caplog.text


def test_watch_points_are_real_directories(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real" / "up").symlink_to("../missing/file")
    points = watch_points([tmp_path / "link" / "file", tmp_path / "link" / "up", tmp_path / "a" / "b"])
    assert points.paths == {str(tmp_path), str(tmp_path / "real")}
    assert points.names == {str(tmp_path / name) for name in ("link", "real/file", "real/up", "missing", "a")}


async def test_what_was_moved_out_of_a_clients_config_counts_as_standing_there(place):
    """Names, digests and order stay; a broken file of it keeps its last good state."""
    cursor = place.root / ".cursor/mcp.json"
    cursor.parent.mkdir()
    gemini = place.root / ".gemini/settings.json"
    gemini.parent.mkdir()
    place.save(file=gemini, both={"command": "of-gemini"})
    entries = {"both": {"command": "of-cursor"}, "time": {"command": "${env:WHAT}"}}
    place.save(file=cursor, **entries, stays={"command": "stays"})

    def servers():
        return [(spec.name, spec.digest, spec.command) for spec in place.made.desired.servers]

    async with running(place.watcher(sources="auto", environ={"WHAT": "expanded"})):
        before = servers()
        assert [command for _, _, command in before] == [
            ("of-cursor",),
            ("expanded",),
            ("stays",),
            ("of-gemini",),
        ]
        moved = place.root / "clients/cursor.json"
        moved.parent.mkdir()
        moved.write_text(json.dumps({"moved_from": str(cursor), "mcpServers": entries}))
        place.save(
            file=cursor, stays={"command": "stays"}, door={"command": "toolsearchctl", "args": ["mcp"]}
        )
        await until(lambda: all(len(spec.origins) == 1 for spec in place.made.desired.servers))
        await until(lambda: any(o.kept_in for s in place.made.desired.servers for o in s.origins))
        assert servers() == before
        moved.write_text("{")
        await until(lambda: "clients/cursor.json:1:2" in place.problems())
        assert servers() == before
        place.save(file=cursor, **entries, stays={"command": "stays"})
        moved.unlink()
        moved.parent.rmdir()
        await until(lambda: not any(o.kept_in for s in place.made.desired.servers for o in s.origins))
        assert servers() == before


async def test_moved_entries_are_in_force_whatever_the_sources_are(place):
    place.save("named")
    moved = place.root / "clients/codex.toml"
    moved.parent.mkdir()
    moved.write_text('moved_from = "/x/config.toml"\n[mcp_servers.moved]\ncommand = "x"\n')
    place.watcher()
    assert [spec.name for spec in place.made.desired.servers] == ["named", "moved"]
    (origin,) = place.made.desired.servers[1].origins
    assert (origin.file, origin.format, origin.kept_in) == ("/x/config.toml", "codex", str(moved))
    place.write_config(sources=[])
    place.made.load_now()
    assert place.names() == {"moved"}


@pytest.mark.parametrize("how", ["with the folder", "and nobody else's doing", "told"])
def test_moved_entries_whose_file_is_gone_stay_unless_it_was_our_own_hand(place, how):
    cursor, moved = place.root / ".cursor/mcp.json", place.root / "clients/cursor.json"
    cursor.parent.mkdir()
    moved.parent.mkdir()
    moved.write_text(json.dumps({"moved_from": str(cursor), "mcpServers": {"a": {"command": "a"}}}))
    place.save(file=cursor, door={"command": "toolsearchctl", "args": ["mcp"]})
    watcher = place.watcher(sources="auto")
    assert place.names() == {"a"}
    moved.unlink()
    if how == "with the folder":
        moved.parent.rmdir()
    watcher.reload_nowait(removed=[str(moved)] if how == "told" else ())
    assert place.names() == (set() if how == "told" else {"a"})
    assert ("cursor.json: error" in place.problems()) == (how != "told")
