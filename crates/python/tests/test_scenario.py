"""Scenarios: what they have after their file changed, and in another process."""

import pickle
import shutil
import subprocess
import sys

import cloudpickle
import numpy as np
import pytest
from conftest import ROOT
from own_still import Still

import fairwave as fw
from fairwave._scenario import settings


@pytest.fixture
def recorded(tmp_path):
    """A scenario with a sweep, which names a file beside it."""
    place = tmp_path / "recorded"
    place.mkdir()
    for name in ("recorded-call.toml", "recorded-call.csv"):
        shutil.copy(ROOT / "scenarios" / name, place)
    return place / "recorded-call.toml"


ENDLESS = """
import fairwave as fw

table = {"duration": "1 s"}
table["node"] = [table]
nested = {}
for _ in range(100_000):
    nested = {"node": nested}
for endless in (table, nested):
    try:
        fw.Scenario(endless)
    except fw.ScenarioError as error:
        print(error)
"""


def test_a_dict_that_contains_itself_is_refused():
    # Once it killed the process.
    made = subprocess.run([sys.executable, "-c", ENDLESS], capture_output=True, text=True)
    refused = "a dict that is no TOML: more than 80 lists or tables nested\n"
    assert made.stdout == 2 * refused, made


class Fixed(Still):
    """A window of three segments."""

    segments = 3

    def on_ack(self, ack):
        self.cwnd = self.segments * 1460


@pytest.fixture
def fixed():
    """The algorithm, registered under its name."""
    fw.cc.register(Fixed)
    yield {"tcp.congestion_control": "Fixed"}
    if "Fixed" in fw.cc.registered():
        fw.cc.unregister("Fixed")


def test_a_scenario_needs_its_files_only_once(recorded):
    chosen = fw.Scenario(recorded, set={"duration": "2 s"}, seeds=2)
    ours = fw.sweep(chosen).to_arrow()
    assert len(ours) == 6
    sent = pickle.dumps(chosen)
    shutil.rmtree(recorded.parent)
    for again in (chosen, pickle.loads(sent), pickle.loads(pickle.dumps(pickle.loads(sent)))):
        assert again.points == chosen.points
        assert again.name == str(recorded)
        assert again.plan.warnings == chosen.plan.warnings
        assert fw.sweep(again).to_arrow().equals(ours)


def test_a_scenario_keeps_the_text_that_it_was_made_of(tiny, reno, tmp_path):
    file = tmp_path / "scenario.toml"
    shutil.copy(tiny, file)
    chosen = fw.Scenario(file)
    ours = fw.run(chosen, set=reno, seed=3).summary
    file.write_text("nothing = 1")
    assert fw.run(chosen, set=reno, seed=3).summary == ours


def test_an_unpickled_scenario_finds_files_beside_its_own(recorded, tmp_path, monkeypatch):
    monkeypatch.chdir(recorded.parent)
    sent = pickle.dumps(fw.Scenario(recorded.name))
    monkeypatch.chdir(tmp_path)
    short = {"duration": "2 s", "node.sta.data_rate": "2 Mbps"}
    assert len(fw.run(pickle.loads(sent), set=short).flows) == 1


def test_a_scenario_keeps_its_algorithms(tiny, fixed):
    chosen = fw.Scenario(tiny, set=fixed)
    ours = fw.run(chosen, seed=3).summary
    sent = cloudpickle.dumps(chosen)
    fw.cc.unregister("Fixed")
    for again in (chosen, cloudpickle.loads(sent)):
        assert fw.run(again, seed=3).summary == ours
        assert len(fw.sweep(again)) == 4

    class Other(Fixed):
        segments = 30

    fw.cc.register(Other, name="Fixed")
    assert fw.run(chosen, seed=3).summary == ours
    assert fw.run(tiny, set=fixed, seed=3).summary != ours


def test_scalars_of_numpy_are_settings(tiny, reno):
    table = fw.sweep(tiny, seeds=1, set={**reno, "node.sta.count": list(np.arange(2, 4))})
    assert table.to_polars()["node.sta.count"].unique().to_list() == [2, 3]
    kinds = {"pcap": np.True_, "sta.count": np.uint8(3), "y": np.float32(0.5), "z": np.array(7)}
    assert settings(kinds) == ["pcap=true", "sta.count=3", "y=0.5", "z=7"]
    for other in (np.array([1]), np.datetime64("2026-11-30"), None, 1j):
        with pytest.raises(TypeError, match="a setting is a text, a number"):
            settings({"x": other})
