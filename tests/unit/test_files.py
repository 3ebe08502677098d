"""Files are read within a bound, never wait, and ours are nobody else's to write."""

import os
import resource
import stat

import pytest

from toolsearchd.system.files import NoRoomError, UnreadableError, open_file, read_file, read_private
from toolsearchd.system.state_file import replacing, write_private


@pytest.fixture
def path(tmp_path):
    return tmp_path / "kept"


def words_of(read, *args, **options):
    with pytest.raises(UnreadableError) as caught:
        read(*args, **options)
    return str(caught.value)


def test_the_bound_is_the_last_size_that_is_read(path):
    path.write_bytes(b"x" * 100)
    assert read_file(path, 100) == b"x" * 100
    assert words_of(read_file, path, 99) == "has 100 bytes, at most 99 are read"
    assert words_of(read_private, path, 99) == "has 100 bytes, at most 99 are read"


def test_a_file_that_says_it_is_small_and_is_not():
    """As a file that grows: /proc says 0 bytes of all of its own."""
    assert words_of(read_file, "/proc/self/status", 10) == "grew past 10 bytes; it is not read"


@pytest.mark.parametrize("read", [read_file, read_private])
def test_what_is_no_file_holds_nobody(path, read):
    for make in (os.mkfifo, os.mkdir):
        make(path)
        assert words_of(read, path, 100) == "is not a regular file; it is not read"
        os.rmdir(path) if path.is_dir() else path.unlink()


def test_a_device_is_not_read():
    assert words_of(read_file, "/dev/zero", 100) == "is not a regular file; it is not read"


def test_a_file_that_is_not_there(path):
    for missing in (path, path / "below", "/dev/null/below"):
        with pytest.raises(FileNotFoundError):
            read_file(missing, 100)
    assert read_private(path, 100) is None
    assert "can't be opened" in words_of(read_file, "a\0b", 100)


def test_a_persons_file_may_be_a_link_and_ours_may_not(path, tmp_path):
    target = tmp_path / "target"
    target.write_bytes(b"x")
    path.symlink_to(target)
    assert read_file(path, 100) == b"x"
    assert "can't be opened" in words_of(open_file, path, follow=False)
    assert "can't be opened" in words_of(read_private, path, 100)


def test_what_others_may_write_is_not_ours(path):
    write_private(path, b"x")
    assert read_private(path, 100) == b"x"
    path.chmod(0o620)
    assert words_of(read_private, path, 100) == "can be written by others (mode 620)"


def test_no_descriptor_left_is_no_word_about_the_file(path):
    path.write_bytes(b"x")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
    try:
        with pytest.raises(NoRoomError):
            read_file(path, 100)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_a_file_is_replaced_whole_or_not_at_all(path, tmp_path):
    write_private(path, b"old")
    with pytest.raises(TypeError), replacing(path) as file:
        file.writelines([b"half", None])
    assert path.read_bytes() == b"old"
    with replacing(path) as file:
        file.write(b"ne")
        file.write(b"w")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["kept"]
