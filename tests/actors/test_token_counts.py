"""Token counts on the disk: a start counts nothing again, and no file in their place does harm."""

import logging
import os

import pytest
import trio

from toolsearchd.disclosure.tokens import VOCABULARIES, count_tokens
from toolsearchd.live.token_counts import TokenCounts
from toolsearchd.live.worker import Worker, WorkerError

TEXTS = ["create an issue", "<|endoftext|> " * 5, "a" * 10_000, "图像\n", "\ud800 half"]


class Broken:
    """A worker that can't be asked: what is known must come from elsewhere."""

    async def ask(self, _request, _type):
        raise WorkerError("the worker process ended under a request")


async def counted(state_dir, worker, encoding="o200k_base", texts=TEXTS):
    """One start's counts; what was learnt is on the disk when this returns."""
    counts = TokenCounts(worker=worker, state_dir=state_dir)
    async with trio.open_nursery() as nursery:
        await nursery.start(counts.run)
        known = await counts.known(encoding, texts)
        nursery.cancel_scope.cancel()
    return [known(text) for text in texts]


@pytest.fixture
async def worker():
    one = Worker(60.0, dict(os.environ))
    async with trio.open_nursery() as nursery:
        await nursery.start(one.run)
        yield one
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("encoding", sorted(VOCABULARIES))
async def test_a_start_counts_nothing_again(tmp_path, worker, encoding):
    first = await counted(tmp_path, worker, encoding)
    assert first == count_tokens(encoding, TEXTS)
    assert await counted(tmp_path, Broken(), encoding) == first


async def test_encodings_are_kept_apart(tmp_path, worker):
    await counted(tmp_path, worker, "o200k_base")
    with pytest.raises(ExceptionGroup) as failed:
        await counted(tmp_path, Broken(), "cl100k_base")
    assert failed.group_contains(WorkerError)


async def test_estimates_are_not_kept(tmp_path, worker):
    await counted(tmp_path, worker, "../../somewhere")
    assert not list(tmp_path.rglob("*.counts"))


@pytest.mark.parametrize("content", [b"", b"no counts", b"\xff" * 100_000])
async def test_a_damaged_file_is_replaced(tmp_path, worker, content, caplog):
    first = await counted(tmp_path, worker)
    (file,) = tmp_path.rglob("*.counts")
    file.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert await counted(tmp_path, worker) == first
    assert "counted anew" in caplog.text
    assert await counted(tmp_path, Broken()) == first


@pytest.mark.parametrize("kind", ["fifo", "too large", "not this user's alone"])
async def test_what_is_no_file_of_counts_holds_nobody_up(tmp_path, worker, caplog, kind):
    first = await counted(tmp_path, worker)
    (file,) = tmp_path.rglob("*.counts")
    match kind:
        case "fifo":
            file.unlink()
            os.mkfifo(file)
        case "too large":
            os.truncate(file, 1 << 40)
        case _:
            file.chmod(0o666)
    with caplog.at_level(logging.WARNING):
        assert await counted(tmp_path, worker) == first
    assert "counted anew" in caplog.text
    assert file.is_file()
    assert file.stat().st_mode & 0o777 == 0o600


async def test_the_file_is_private_and_whole(tmp_path, worker):
    await counted(tmp_path, worker)
    (file,) = tmp_path.rglob("*.counts")
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in file.parent.iterdir()] == [file.name]


async def test_a_state_directory_that_can_not_be_written_is_said(tmp_path, worker, caplog):
    (tmp_path / "tokens").write_text("in the way")
    assert await counted(tmp_path, worker) == count_tokens("o200k_base", TEXTS)
    assert "can't be kept" in caplog.text
