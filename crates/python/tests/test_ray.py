"""Sweeps and studies on Ray: what they give is what this machine's threads give."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

import fairwave as fw

ray = pytest.importorskip("ray")


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """Ray on this machine. It expects its own start within 30 s, which a busy machine exceeds."""
    for attempt in range(10):
        try:
            ray.init(log_to_driver=False, include_dashboard=False)
            break
        except Exception:
            ray.shutdown()
            if attempt == 9:
                raise
    yield
    ray.shutdown()


@ray.remote(num_cpus=0)
def kill(task):
    """Kills the first worker that is seen at `task`; its process, or `None` after a minute."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        found = subprocess.run(["pgrep", "-f", f"ray::{task}"], capture_output=True, text=True)
        for pid in found.stdout.split():
            os.kill(int(pid), signal.SIGKILL)
            return int(pid)
    return None


def test_ray_makes_the_same_table(tiny, tmp_path):
    ours = fw.sweep(tiny, seeds=2).to_arrow()
    assert fw.sweep(tiny, seeds=2, backend="ray", out=tmp_path).to_arrow().equals(ours)


def test_ray_carries_an_algorithm_of_ones_own(tiny):
    @fw.cc.register
    class Fixed(fw.cc.Controller):
        def on_ack(self, ack):
            self.cwnd = 3 * 1460

        def on_loss(self, loss):
            pass

        def on_rto(self, rto):
            pass

    axes = {"tcp.congestion_control": ["Fixed", "reno"]}
    ours = fw.sweep(tiny, seeds=2, set=axes).to_arrow()
    assert fw.sweep(tiny, seeds=2, set=axes, backend="ray").to_arrow().equals(ours)
    fw.cc.unregister("Fixed")


def test_ray_accepts_the_cluster_file():
    from ray.autoscaler._private import util

    yaml = pytest.importorskip("yaml")
    file = Path(__file__).resolve().parents[3] / "packaging/ray/cluster.yaml"
    util.validate_config(util.prepare_config(yaml.safe_load(file.read_text())))


def test_a_worker_that_is_killed_costs_nothing_but_time(tiny, tmp_path):
    ours = fw.sweep(tiny, seeds=8, dataset=tmp_path / "ours").to_arrow()
    killed = kill.remote("_runs")
    theirs = fw.sweep(tiny, seeds=8, backend="ray", dataset=tmp_path / "theirs").to_arrow()
    assert theirs.equals(ours)
    assert ray.get(killed), "no worker was killed: the test shows nothing"
    assert content(tmp_path / "theirs") == content(tmp_path / "ours")
    assert fw.sweep(tiny, seeds=8, backend="ray", dataset=tmp_path / "ours").to_arrow().equals(ours)


def content(place):
    """Files of a dataset, but for those that a killed worker left unfinished."""
    files = place.rglob("[!.]*.parquet")
    return {file.relative_to(place): file.read_bytes() for file in files}


def test_a_study_has_the_page_of_any_machine_though_a_worker_is_killed(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    killed = kill.remote("_parts")
    study = fw.reproduce("ap-buffer", backend="ray", out=tmp_path / "ray")
    assert ray.get(killed), "no worker was killed: the test shows nothing"
    command("--out", tmp_path / "runs", "--no-store")
    # Read back from its runs, a study has no cost of its own.
    command("--out", tmp_path / "ours", "--from", tmp_path / "runs")
    assert study.report.read_bytes() == (tmp_path / "ours/report.html").read_bytes()
    assert [figure.name for figure in study.figures]
    assert study.claims[0].id == "BUF-1"
    # A second time everything is in this machine's store.
    again = fw.reproduce("ap-buffer", backend="ray", out=tmp_path / "again")
    assert again.report.read_bytes() == study.report.read_bytes()


def command(*options):
    """Reruns the study by the command."""
    words = ["reproduce", "ap-buffer", "--quiet", *map(str, options)]
    subprocess.run([fw.command(), *words], check=True, capture_output=True)


def test_a_study_that_does_not_exist_has_the_words_of_the_command():
    with pytest.raises(fw.ScenarioError, match='there is no study "none"; there are: ack-loss'):
        fw.reproduce("none", backend="ray")
