"""The sentence model's vectors: made behind the start, kept on the disk, and never waited for long."""

import zlib
from itertools import chain

import numpy as np
import pytest
import trio
import trio.testing

from tests.unit.disclosure_catalog import snapshot, source
from toolsearchd.index.sentences import DIMENSIONS
from toolsearchd.limits import Limits
from toolsearchd.live.sentences import Sentences
from toolsearchd.live.worker import WorkerError
from toolsearchd.worker import Embedded

TOOLS = snapshot(source("files", {f"read_{n}": f"Read file number {n}." for n in range(20)}))
LIMITS = Limits(sentence_share=1.0, sentence_query_s=5.0)


def vectors(texts):
    rows = [
        np.random.default_rng(zlib.crc32(text.encode())).integers(-127, 128, DIMENSIONS) for text in texts
    ]
    return np.array(rows, np.int8).tobytes()


class Model:
    """In the worker's place: what it was asked, and what it says."""

    def __init__(self, answer=lambda texts: Embedded(vectors=vectors(texts))):
        self.asked, self.answer = [], answer
        self.may_answer = trio.Event()
        self.may_answer.set()

    async def ask(self, request, _type):
        self.asked.append(request.texts)
        await self.may_answer.wait()
        return self.answer(request.texts)


class World:
    def __init__(self, tmp_path, nursery):
        self.tmp_path, self.nursery = tmp_path, nursery
        self.catalog, self.wanted = TOOLS, True

    async def start(self, model, *, limits=LIMITS, lacking=()):
        made = Sentences(
            worker=model,
            state_dir=self.tmp_path,
            snapshot=lambda: self.catalog,
            is_wanted=lambda: self.wanted,
            limits=limits,
            lacking=lambda: list(lacking),
        )
        await self.nursery.start(made.run)
        return made


@pytest.fixture
def world(tmp_path, nursery):
    return World(tmp_path, nursery)


async def until(condition):
    with trio.fail_after(10):
        while not condition():
            await trio.sleep(0.005)


async def test_all_tools_get_a_vector_and_then_it_is_on(world):
    model = Model()
    model.may_answer = trio.Event()
    made = await world.start(model)
    await until(lambda: model.asked)
    assert made.state == "warming"
    model.may_answer.set()
    await until(lambda: made.state == "on")
    assert len(made.store) == 20
    assert max(map(len, model.asked)) <= LIMITS.sentence_batch
    assert "read 0. Read file number 0." in chain.from_iterable(model.asked)


async def test_a_start_makes_nothing_again(world):
    first = await world.start(Model())
    await until(lambda: (world.tmp_path / "sentences").exists())
    silent = Model()
    second = await world.start(silent)
    await until(lambda: second.state == "on")
    assert not silent.asked
    digests = list(TOOLS.digests)
    assert (second.store.matrix(digests) == first.store.matrix(digests)).all()


@pytest.mark.parametrize("damage", [b"", b"x", b"toolsearchd sentences 1\n" + bytes(100)])
async def test_a_damaged_file_is_made_anew(world, damage):
    path = world.tmp_path / "sentences"
    path.write_bytes(damage)
    path.chmod(0o600)
    made = await world.start(Model())
    await until(lambda: made.state == "on")
    await until(lambda: len(path.read_bytes()) > 20 * DIMENSIONS)


async def test_a_query_is_read_before_the_tools_that_are_left(world):
    model = Model()
    model.may_answer = trio.Event()
    made = await world.start(model)
    await until(lambda: model.asked)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(made.ask, ["read a file"])
        await trio.testing.wait_all_tasks_blocked()
        model.may_answer.set()
    assert model.asked[1] == ["read a file"]
    assert made.store.query("read a file") is not None


async def test_a_late_vector_is_not_waited_for_and_is_there_for_who_asks_again(world):
    model = Model()
    made = await world.start(model, limits=Limits(sentence_share=1.0, sentence_query_s=0.001))
    await until(lambda: made.state == "on")
    model.may_answer = trio.Event()
    with trio.fail_after(5):
        await made.ask(["read a file"])
    assert made.store.query("read a file") is None
    model.may_answer.set()
    await until(lambda: made.store.query("read a file") is not None)


async def test_without_the_extra_nothing_runs(world):
    model = Model()
    made = await world.start(model, lacking=["onnxruntime"])
    await made.ask(["read a file"])
    made.look()
    await trio.testing.wait_all_tasks_blocked()
    assert (made.state, model.asked, made.findings()) == ("off", [], [])
    assert "pip install" in made.reason


def ended(_texts):
    raise WorkerError("the worker process ended under a request")


@pytest.mark.parametrize("answer", [lambda _texts: Embedded(error="ValueError: another model"), ended])
async def test_a_broken_model_is_told_and_tried_again_later(world, answer):
    model = Model(answer)
    made = await world.start(model, limits=Limits(sentence_share=1.0, sentence_retry_s=0.5))
    await until(lambda: made.reason)
    assert made.state == "off"
    await made.ask(["read a file"])
    assert [finding.kind for finding in made.findings()] == ["semantic"]
    model.answer = Model().answer
    await until(lambda: made.state == "on")
    assert (made.reason, made.findings()) == ("", [])


async def test_a_model_that_never_answers_is_given_up(world):
    model = Model()
    model.may_answer = trio.Event()
    made = await world.start(model, limits=Limits(sentence_answer_s=0.05))
    await until(lambda: made.reason)
    assert made.state == "off"
    assert "no answer within 0.05 s" in made.reason


async def test_the_config_switches_it_off_and_on(world):
    world.wanted = False
    model = Model()
    made = await world.start(model)
    await trio.testing.wait_all_tasks_blocked()
    assert (made.state, model.asked) == ("off", [])
    world.wanted = True
    made.look()
    await until(lambda: made.state == "on")


async def test_a_new_tool_is_learnt_alone_and_gone_ones_are_forgotten_in_the_end(world):
    model = Model()
    made = await world.start(model)
    await until(lambda: made.state == "on")
    model.asked.clear()
    world.catalog = snapshot(source("files", {f"read_{n}": f"Read file number {n}." for n in range(21)}))
    made.look()
    await until(lambda: made.state == "on")
    assert sum(map(len, model.asked)) == 1


async def test_what_a_session_has_of_its_own_is_learnt_too(world):
    made = await world.start(Model())
    await until(lambda: made.state == "on")
    own = snapshot(source("own", {"draw_map": "Draw a map."}))
    made.want(own)
    await until(lambda: made.store.matrix(list(own.digests)) is not None)


async def test_half_characters_are_read_as_whole_ones(world):
    model = Model()
    made = await world.start(model)
    await until(lambda: made.state == "on")
    await made.ask(["half \udfff"])
    assert made.store.query("half \udfff") is not None
    for text in chain.from_iterable(model.asked):
        text.encode()


async def test_vectors_of_another_size_are_not_taken(world):
    made = await world.start(Model(lambda _texts: Embedded(vectors=b"123")))
    await until(lambda: made.reason)
    assert "3 bytes came" in made.reason
    assert len(made.store) == 0


async def test_switched_off_while_a_batch_is_made_it_stays_off(world):
    model = Model()
    model.may_answer = trio.Event()
    made = await world.start(model)
    await until(lambda: model.asked)
    world.wanted = False
    made.look()
    model.may_answer.set()
    await trio.testing.wait_all_tasks_blocked(0.01)
    assert made.state == "off"


async def test_a_new_catalog_does_not_forget_what_a_session_waits_for(world):
    model = Model()
    made = await world.start(model)
    await until(lambda: made.state == "on")
    model.may_answer = trio.Event()
    await trio.testing.wait_all_tasks_blocked(0.01)
    own = snapshot(source("own", {f"draw_{n}": f"Draw map number {n}." for n in range(20)}))
    made.want(own)
    world.catalog = snapshot(source("files", {f"read_{n}": f"Read file number {n}." for n in range(21)}))
    made.look()
    model.may_answer.set()
    await until(lambda: made.store.matrix(list(own.digests)) is not None)
    assert made.state == "on"
