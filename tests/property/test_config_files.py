"""Whatever becomes of the files: in force is what each said when it was last good, and what that denies stays
denied. The model is the list of what was written; the watcher reads real files."""

import json
import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from toolsearchd.dialects.registry import OPTIONS
from toolsearchd.dispatch.policy import decide
from toolsearchd.watching.watcher import Watcher


def config(default):
    """In flow style: no part of it but the whole is a document. Both deny `erase`, by a rule or like all."""
    approval = {"default": default, "rules": [{"tool": "erase", "then": "deny"}]}
    sources = [{"path": "mcp.json", "format": "cursor"}]
    return json.dumps({"approval": approval, "sources": sources, "limits": {"deleted_grace_s": 0}})


def servers(name):
    return json.dumps({"mcpServers": {name: {"command": name}}})


GOOD = {"config.yaml": [config("ask"), config("deny")], "mcp.json": [servers("a"), servers("b"), "{}"]}

writes = st.sampled_from(sorted(GOOD)).flatmap(
    lambda file: st.tuples(
        st.just(file),
        st.one_of(
            st.tuples(st.just("good"), st.sampled_from(GOOD[file])),
            st.tuples(st.just("cut"), st.sampled_from(GOOD[file]), st.floats(0, 1, exclude_max=True)),
            st.tuples(st.just("NULs"), st.integers(1, 50)),
            st.tuples(st.just("blank"), st.text(" \n\r\t\ufeff", max_size=5)),
            st.tuples(st.sampled_from(["deleted", "folder", "link to nothing", "renamed away", "latin-1"])),
        ),
    )
)
steps = st.lists(st.one_of(writes, writes, writes, st.just(("daemon", ("start",)))), max_size=20)


def carry_out(path, deed, *how):
    """What is done to the file; the text that is a whole document, if it is one."""
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    elif deed == "renamed away" and path.exists():
        path.rename(path.with_name("away"))
    else:
        path.unlink(missing_ok=True)
    match deed:
        case "good":
            path.write_text(how[0])
            return how[0]
        case "cut":
            path.write_text(how[0][: int(how[1] * (len(how[0]) - 1))])
        case "NULs":
            path.write_bytes(bytes(how[0]))
        case "blank":
            path.write_text(how[0])
        case "folder":
            path.mkdir()
        case "link to nothing":
            os.symlink("nowhere", path)
        case "latin-1":
            path.write_bytes(b'{"caf\xe9": 1}')
    return None


class World:
    """The watcher on its files, and what must be in force."""

    def __init__(self, root):
        self.root = root
        self.written = {"config.yaml": GOOD["config.yaml"][0], "mcp.json": GOOD["mcp.json"][0]}
        for name, text in self.written.items():
            (root / name).write_text(text)
        self.last_good = {}
        self.start()

    def start(self):
        self.made = Watcher(
            self.root / "config.yaml",
            environ={"HOME": str(self.root)},
            dialect_options=OPTIONS,
            state_dir=self.root / "state",
            log_problems=False,
        )
        self.made.load_now()
        # What a run never read is not in force in it; the entries of a client count only beside the rules.
        self.last_good = {name: text for name, text in self.written.items() if text}
        if "config.yaml" not in self.last_good:
            self.last_good = {}

    def write(self, name, deed):
        self.written[name] = carry_out(self.root / name, *deed)
        self.made.load_now()
        if self.written[name]:
            self.last_good[name] = self.written[name]
        if "config.yaml" not in self.last_good:
            self.last_good = {}
        elif name == "config.yaml" and self.written["mcp.json"]:
            self.last_good["mcp.json"] = self.written["mcp.json"]

    def check(self):
        made, rules = self.made, self.last_good.get("config.yaml")
        named = json.loads(self.last_good.get("mcp.json", "{}")).get("mcpServers", {})
        assert [spec.name for spec in made.desired.servers] == list(named)
        assert (made.refusal() is None) == (rules is not None)
        if rules is not None:
            assert made.settings.approval.default == json.loads(rules)["approval"]["default"]
            assert self.word_for("erase") == "deny"
        for name, text in self.written.items():
            is_told = any(problem.file.endswith(name) for problem in made.problems)
            is_read = name == "config.yaml" or rules is not None
            was_there = name == "config.yaml" or name in self.last_good or (self.root / name).exists()
            if is_read and (text or was_there):
                assert is_told == (text is None)

    def word_for(self, tool):
        return decide(
            self.made.settings.approval,
            profile="default",
            server="a",
            tool=tool,
            read_only=True,
            destructive=False,
            trust="full",
            server_approval="",
            arguments={},
            public_name=f"mcp__a__{tool}",
            profile_approval=None,
        ).then


@given(steps)
def test_the_rules_in_force_are_those_of_the_last_good_file(deeds):
    root = Path(tempfile.mkdtemp())
    try:
        world = World(root)
        world.check()
        for name, deed in deeds:
            if name == "daemon":
                world.start()
            else:
                world.write(name, deed)
            world.check()
    finally:
        shutil.rmtree(root)
