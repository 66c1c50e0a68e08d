"""The examples of pages run as they stand there."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import matplotlib
import pytest

import fairwave as fw

ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / "crates/python/README.md", ROOT / "docs/own-algorithm.md"]


def run(page):
    """Executes the blocks of Python on a page, one after the other."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    assert blocks
    scope = {}
    for block in blocks:
        exec(compile(block, page.name, "exec"), scope)
    return scope


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run(page, tmp_path, monkeypatch):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    run(page)
    if ".plot()" in page.read_text():
        assert matplotlib.pyplot.get_fignums(), "the figure was not drawn"
    for name in fw.cc.registered():
        fw.cc.unregister(name)


def test_the_first_example_runs(monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(fw, "reproduce", lambda study: SimpleNamespace(claims=[study]))
    lines = [line for line in fw.__doc__.splitlines() if line.startswith("    ")]
    scope = {}
    exec(compile(textwrap.dedent("\n".join(lines)), "fairwave", "exec"), scope)
    assert len(scope["run"].flows) == 1


def test_the_environment_of_the_manual_runs():
    scope = run(ROOT / "docs/gym.md")
    assert scope["over"] and len(scope["info"]["goodput_bps"]) == 4


def test_the_reference_of_the_package_is_current():
    command = [sys.executable, "-B", ROOT / "crates/python/reference.py"]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    kept = (ROOT / "docs/python-api.md").read_text(encoding="utf-8")
    assert made == kept, "docs/python-api.md is out of date: `cargo xtask gen`"
    missing = [name for name in fw.__all__ if f"fairwave.{name}" not in kept]
    assert missing == ["__version__"]
