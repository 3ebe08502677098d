"""Languages and word lists of the person's own, from the config file to what a search finds."""

import json
import shlex

import pytest

from tests.daemon import DaemonProcess, wait_until
from tests.servers.zoo import zoo

TOOLS = {
    "t1": "Kegelbahnen verpachten",
    "t2": "Отправить счета клиентам",
    "t3": "Frobnicate the widget",
    "t4": "Send a message to a channel",
    "t5": "Die Wetterlage von morgen",
}


@pytest.fixture
def daemon(tmp_path):
    listed = tmp_path / "tools.json"
    tools = [{"name": n, "description": d, "inputSchema": {"type": "object"}} for n, d in TOOLS.items()]
    listed.write_text(json.dumps(tools))
    with DaemonProcess(tmp_path, servers={"s": zoo("steady", "--tools-from", listed)}) as daemon:
        daemon.wait_servers("s")
        yield daemon


def group(daemon, query):
    return daemon.ctl("search", query)[1]["results"][0]


def finds(daemon, query):
    return [name.removeprefix("mcp__s__") for name in group(daemon, query)["matches"]]


def configure(daemon, **tool_search):
    daemon.write_config(daemon.config | {"tools": {"tool_search": tool_search}})


def test_a_language_of_the_config_is_in_force_without_a_restart(daemon):
    assert finds(daemon, "kegelbahn") == []
    generation = daemon.ctl("status")[1]["generation"]
    configure(daemon, languages=["english", "german"])
    wait_until(lambda: finds(daemon, "kegelbahn") == ["t1"], within_s=10)
    assert daemon.ctl("status")[1]["generation"] > generation
    assert finds(daemon, "frobnicating widgets") == ["t3"]
    _, explained = daemon.ctl("explain", "kegelbahn", "--tool", "t1")
    assert explained["verdict"]["cause"] == "offered"
    configure(daemon)
    wait_until(lambda: finds(daemon, "kegelbahn") == [], within_s=10)


def test_a_script_tells_its_language(daemon):
    assert finds(daemon, "счетов клиента") == ["t2"]


def test_words_that_stand_for_one_another_are_read_when_the_file_is_saved(daemon, tmp_path):
    words = tmp_path / "house.txt"
    words.write_text("frobnicate tweak\n")
    configure(daemon, lexicon={"thesaurus": "house.txt"})
    wait_until(lambda: finds(daemon, "tweak") == ["t3"], within_s=10)
    assert finds(daemon, "gizmo") == []
    words.write_text("frobnicate tweak\nwidget gizmo\n")
    wait_until(lambda: finds(daemon, "gizmo") == ["t3"], within_s=10)
    _, explained = daemon.ctl("explain", "gizmo")
    assert [stem["stem"] for stem in explained["terms"][0]["stems"]] == ["widget"]


def test_a_house_product_is_said_to_be_absent_and_an_ordinary_word_is_none(daemon, tmp_path):
    assert group(daemon, "send a message with telegram")["absent_product"] == "telegram"
    assert "absent_product" not in group(daemon, "send a message with acmeboard")
    (tmp_path / "products.txt").write_text("Acmeboard\n")
    (tmp_path / "ordinary.txt").write_text("telegram\n")
    configure(daemon, lexicon={"products": "products.txt", "ordinary_words": "ordinary.txt"})
    wait_until(
        lambda: group(daemon, "send a message with acmeboard").get("absent_product") == "acmeboard",
        within_s=10,
    )
    assert "absent_product" not in group(daemon, "send a message with telegram")


def test_stop_words_make_another_index(daemon, tmp_path):
    assert finds(daemon, "die wetterlage von morgen") == ["t5"]
    assert finds(daemon, "die") == ["t5"]
    (tmp_path / "stop.txt").write_text("der die das von\n")
    configure(daemon, lexicon={"stop_words": "stop.txt"})
    wait_until(lambda: finds(daemon, "die") == [], within_s=10)
    assert finds(daemon, "die wetterlage von morgen") == ["t5"]


def test_a_file_that_cannot_be_used_changes_nothing_and_is_told(daemon, tmp_path):
    words = tmp_path / "house.txt"
    words.write_text("frobnicate tweak\nlonely\n")
    configure(daemon, lexicon={"thesaurus": "house.txt", "products": "nowhere.txt", "replace": ["products"]})

    def problems():
        return daemon.ctl("status")[1]["problems"]

    found = wait_until(problems, within_s=10)
    assert any("house.txt:2: warning: expected two words or more" in problem for problem in found)
    assert any("nowhere.txt: error: the file does not exist" in problem for problem in found)
    assert finds(daemon, "tweak") == ["t3"]
    assert group(daemon, "send a message with telegram")["absent_product"] == "telegram"
    words.write_bytes(b"\xff\xfe\x00")
    wait_until(lambda: any("not UTF-8" in problem for problem in problems()), within_s=10)
    assert finds(daemon, "tweak") == ["t3"]
    assert "house.txt" in str(daemon.ctl("doctor")[1]["findings"])


def test_a_start_from_the_kept_catalog_reads_queries_in_its_language(tmp_path):
    listed, gate = tmp_path / "tools.json", tmp_path / "gate"
    listed.write_text(json.dumps([{"name": "t1", "description": TOOLS["t1"]}]))
    gate.touch()
    server = shlex.join([(entry := zoo("steady", "--tools-from", listed))["command"], *entry["args"]])
    command = f"while [ ! -e {gate} ]; do sleep 0.05; done; exec {server}"
    languages = {"tools": {"tool_search": {"languages": "german"}}}
    daemon = DaemonProcess(
        tmp_path, servers={"s": {"command": "sh", "args": ["-c", command]}}, config=languages
    )
    with daemon:
        daemon.wait_servers("s")
        assert finds(daemon, "kegelbahn") == ["t1"]
    gate.unlink()
    with daemon.start():
        assert daemon.server("s")["state"] == "starting"
        assert finds(daemon, "kegelbahn") == ["t1"]
    daemon.write_config(daemon.config | {"tools": {"tool_search": {"languages": "english"}}})
    with daemon.start():
        assert finds(daemon, "kegelbahn") == []
        assert finds(daemon, "kegelbahnen") == ["t1"]
