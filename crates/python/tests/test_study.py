"""Studies whose runs other processes make."""

import pytest

import fairwave as fw
from fairwave._fairwave import code_version, make_run, reproduce


def words(tmp_path):
    """The command line of the smallest study."""
    places = ["--out", str(tmp_path / "study"), "--store", str(tmp_path / "store")]
    return ["fairwave", "reproduce", "ap-buffer", "--quiet", "--jobs", "2", *places]


def test_an_exception_of_the_source_ends_the_study(tmp_path):
    asked = []

    def source(part, scenario):
        asked.append(part)
        raise KeyboardInterrupt(f"at {part}")

    with pytest.raises(KeyboardInterrupt, match="at summary"):
        reproduce(words(tmp_path), source)
    assert len(asked) <= 2, "two threads had begun"


def test_a_wrong_version_or_part_is_refused(tmp_path):
    with pytest.raises(ValueError, match="this machine has version"):
        make_run(bytes(32), "summary", "seed = 1", tmp_path)
    with pytest.raises(ValueError, match="a version has 32 bytes"):
        make_run(b"", "summary", "seed = 1", tmp_path)
    with pytest.raises(ValueError, match="resolved scenario"):
        make_run(code_version(), "summary", "seeds = 1", tmp_path)


def test_a_backend_that_does_not_exist():
    with pytest.raises(ValueError, match="there are 'threads' and 'ray'"):
        fw.reproduce("ap-buffer", backend="dask")
