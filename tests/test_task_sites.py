"""Every task is started by the guard, or stands here with the reason why a bug in it may go up."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1] / "toolsearchd"

SINGLETON = "a singleton's own loop: a bug in it ends the process"
CONNECTION = "the connection's own; `Listener` guards the connection"
LIFE = "within one life of its server, whose end by any error `Upstream` takes as that server's failure"
COMMAND = "within one command, which its asker awaits under its own guard"
CLIENT = "the client library, in the agent's process"

# (file, what is started): why.
UNGUARDED = {
    ("calls/dispatcher.py", "self._sender.run"): SINGLETON,
    ("watching/watcher.py", "self._watch_directories"): SINGLETON,
    ("watching/watcher.py", "self._sweep"): SINGLETON,
    ("watching/watcher.py", "self._mark_dirty_after"): SINGLETON,
    ("daemon/app.py", "self._obey"): SINGLETON,
    ("daemon/stages.py", "body"): "a singleton itself, as `Stages` starts it",
    ("sessions/agent_wire.py", "stream.run_writer"): CONNECTION,
    ("sessions/control_wire.py", "stream.run_writer"): CONNECTION,
    ("system/commands.py", "write"): COMMAND,
    ("system/commands.py", "read"): COMMAND,
    ("upstream/stdio.py", "session.run"): LIFE,
    ("upstream/stdio.py", "session.flush"): LIFE,
    ("upstream/stdio.py", "self._answer"): LIFE,
    ("upstream/stdio_streams.py", "self._read_until_exit"): LIFE,
    ("upstream/stdio_streams.py", "self._write"): LIFE,
    ("upstream/process.py", "self._cancel_after_exit"): LIFE,
    ("upstream/sdk_peer.py", "changes.run"): LIFE,
    ("upstream/process.py", "self._drain_stderr"): LIFE,
    ("upstream/upstream.py", "self._hold_start_slot"): LIFE,
    ("upstream/upstream.py", "self._kept.run"): LIFE,
    ("upstream/upstream.py", "self.calls.watch_again"): LIFE,
    ("async_client.py", "self._run"): CLIENT,
    ("async_client.py", "self._answer"): CLIENT,
    ("system/guard.py", "body"): "the guard itself",
    ("system/children.py", "run"): "within one process's run, which its caller awaits under its own guard",
}
# Calls of that name that start no task here.
OTHER = {
    ("calls/sender.py", "context.caller.queue.start"): "an entry's state",
    ("daemon/app.py", "stages.start"): "as `Stages.start` does it",
    ("upstream/upstream.py", "ServerProcess.start"): "a process",
}


def sites(path):
    """(what is called, what it starts) of each place where a file starts a task."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr in ("start_soon", "start"):
            called = ast.unparse(node.func)
            if called != "guard.start":
                yield called, ast.unparse(node.args[0]) if node.args else ""


def found():
    """Sites of trio's nurseries, and those of the waiting rim that only look like them."""
    tasks, others = set(), set()
    for path in ROOT.rglob("*.py"):
        file, waits = str(path.relative_to(ROOT)), "trio" in path.read_text()
        for called, started in sites(path):
            if (file, called) in OTHER:
                others.add((file, called))
            elif called.endswith("start_soon") or (waits and started):  # a pattern's `start()` names nothing
                tasks.add((file, started))
    return tasks, others


def test_every_task_is_guarded_or_has_its_reason():
    tasks, others = found()
    assert tasks == UNGUARDED.keys(), "start it by `guard.start`, or say here why not"
    assert others == OTHER.keys()


def test_a_site_is_seen_however_the_nursery_is_called(tmp_path):
    file = tmp_path / "x.py"
    file.write_text(
        "async def f(n):\n    n.start_soon(g, 1)\n    await self._all.start(h)\n    guard.start(n, 'x', g)"
    )
    assert set(sites(file)) == {("n.start_soon", "g"), ("self._all.start", "h")}


CLIENTS = {("async_client.py", "_back")}  # the client library stands on nothing of the rim


def events_made(node):
    """Attributes of `self` that a class gives a new event, once for each place where it does."""
    for one in ast.walk(node):
        if isinstance(one, ast.Assign | ast.AnnAssign) and one.value is not None:
            made = [ast.unparse(value) for value in ast.walk(one.value) if isinstance(value, ast.Call)]
            for target in one.targets if isinstance(one, ast.Assign) else [one.target]:
                for name in ast.walk(target):
                    if isinstance(name, ast.Attribute) and "trio.Event()" in made:
                        yield name.attr


def test_an_event_is_set_once_and_what_is_set_again_is_a_signal():
    again = set()
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                file, made = str(path.relative_to(ROOT)), list(events_made(node))
                again |= {(file, name) for name in made if made.count(name) > 1}
    assert again == CLIENTS, "`system.signal` has what can be set again"


def test_an_event_that_is_made_again_is_seen():
    body = "self._x = trio.Event()\nold, self._x = self._x, trio.Event()\nself.y: trio.Event = trio.Event()"
    assert list(events_made(ast.parse(body))) == ["_x", "_x", "y"]
