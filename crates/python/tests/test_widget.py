"""The widget of `examples/widget.py`: its traits follow its slider, and its script is read.

Its script runs in Chromium in `crates/lab/show/web/tests/examples.js`.
"""

import importlib.util
from pathlib import Path

import pytest
import traitlets

EXAMPLE = Path(__file__).resolve().parents[1] / "examples/widget.py"


@pytest.fixture
def stations():
    spec = importlib.util.spec_from_file_location("widget", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Stations


def test_a_move_of_the_slider_makes_another_run(stations):
    widget = stations()
    assert [name for name, _ in widget.series] == ["up-sta1", "up-sta2"]
    assert widget.answer.startswith("2 flows with ")
    assert all(len(rates) == len(widget.seconds) > 10 for _, rates in widget.series)
    before = widget.series
    widget.stations = 3
    assert [name for name, _ in widget.series] == ["up-sta1", "up-sta2", "up-sta3"]
    assert widget.series[:2] != before
    with pytest.raises(traitlets.TraitError):
        widget.stations = 13


def test_the_script_gets_the_traits_that_it_reads(stations):
    widget = stations(stations=1)
    state = widget.get_state()
    script = EXAMPLE.with_suffix(".js").read_text(encoding="utf-8")
    assert state["_esm"] == script
    for name in ["stations", "most", "answer", "seconds", "series"]:
        assert f'"{name}"' in script
        assert name in state
