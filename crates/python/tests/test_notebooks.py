"""The notebooks of docs/notebooks run from top to bottom."""

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).resolve().parents[3] / "docs/notebooks").glob("*.ipynb"))
#: Those that need a library that the slow suite alone installs.
NEEDS = {"sweep-on-ray": "ray", "reproduce": "ray"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path, tmp_path):
    if path.stem in NEEDS:
        pytest.importorskip(NEEDS[path.stem])
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "outputs are not kept"
    # The kernel is another process, which reads the same variables.
    assert os.environ["FAIRWAVE"]
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": tmp_path}}).execute()
    assert all(cell.outputs for cell in notebook.cells if cell.cell_type == "code")
