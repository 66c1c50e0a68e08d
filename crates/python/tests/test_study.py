"""Studies whose runs other processes make."""

import pickle
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

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
    assert not list((tmp_path / "store").glob("*.runs")), "this process made runs"


def test_a_pickled_study_has_its_figures_and_its_page():
    place = TemporaryDirectory()
    figures = Path(place.name) / "figures"
    figures.mkdir()
    (figures / "ap-1.svg").write_text("<svg></svg>")
    (figures.parent / "report.html").write_text("page")
    sent = pickle.dumps(fw.Reproduction({"study": "s", "claims": []}, figures.parent, place))
    place.cleanup()
    again = pickle.loads(sent)
    assert again.report.read_text() == "page"
    assert "<svg></svg>" in again._repr_html_()
    assert repr(again) == "<fairwave.Reproduction s: >"


PANIC = """
import sys
from fairwave._fairwave import reproduce

def source(part, scenario):
    [panic] = [kind for kind in BaseException.__subclasses__() if kind.__name__ == "PanicException"]
    raise panic("of a test")

def fails(part, scenario):
    raise ValueError

for source in (fails, source):
    try:
        reproduce(sys.argv[1:], source)
    except BaseException as error:
        print(type(error).__name__, error)
"""


def test_a_panic_of_a_study_is_raised(tmp_path):
    line = [sys.executable, "-c", PANIC, *words(tmp_path), "--force"]
    # Once it hung.
    made = subprocess.run(line, capture_output=True, text=True, timeout=300)
    assert made.stdout.split("\n")[:2] == ["ValueError ", "PanicException of a test"], made


def test_progress_of_a_study_is_shown_and_ends_it(tmp_path):
    shares = []

    def give_up(done):
        shares.append(done)
        if done:
            raise KeyboardInterrupt(f"at {done}")

    with pytest.raises(KeyboardInterrupt, match="at "):
        reproduce(words(tmp_path), progress=give_up)
    assert sorted(shares) == shares


def test_a_wrong_version_or_part_is_refused(tmp_path):
    with pytest.raises(ValueError, match="this machine has version"):
        make_run(bytes(32), "summary", "seed = 1", tmp_path)
    with pytest.raises(ValueError, match="a version has 32 bytes"):
        make_run(b"", "summary", "seed = 1", tmp_path)
    with pytest.raises(ValueError, match="resolved scenario"):
        make_run(code_version(), "summary", "seeds = 1", tmp_path)


def test_a_study_that_does_not_exist_has_the_words_of_the_command():
    with pytest.raises(fw.ScenarioError, match='there is no study "none"; there are: ack-loss'):
        fw.reproduce("none", jobs=2, progress=True)


def test_a_backend_that_does_not_exist():
    with pytest.raises(ValueError, match="there are 'threads' and 'ray'"):
        fw.reproduce("ap-buffer", backend="dask")
