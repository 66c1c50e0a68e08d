"""The examples of the package's page run as they stand there."""

import re
from pathlib import Path

import matplotlib
import pytest

PAGES = [Path(__file__).resolve().parents[1] / "README.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run(page, tmp_path, monkeypatch):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    assert blocks
    scope = {}
    for block in blocks:
        exec(compile(block, page.name, "exec"), scope)
    assert matplotlib.pyplot.get_fignums(), "the figure was not drawn"
