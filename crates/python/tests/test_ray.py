"""Sweeps and studies on Ray: what they give is what this machine's threads give."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import own_still
import pytest

import fairwave as fw
from fairwave import _ray

ray = pytest.importorskip("ray")


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """Ray on this machine. It expects its own start within 30 s, which a busy machine exceeds."""
    for attempt in range(10):
        try:
            # A test has two tasks that wait for each other.
            processors = max(2, os.cpu_count() or 1)
            ray.init(num_cpus=processors, log_to_driver=False, include_dashboard=False)
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


def test_ray_carries_the_files_that_a_scenario_names(tmp_path):
    file = Path(__file__).resolve().parents[3] / "scenarios/recorded-call.toml"
    short = {"duration": "2 s"}
    ours = fw.sweep(file, seeds=1, set=short).to_arrow()
    assert fw.sweep(file, seeds=1, set=short, backend="ray").to_arrow().equals(ours)


def test_relative_places_are_those_of_the_driver(tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fw.sweep(tiny, seeds=1, backend="ray", out="out", dataset="dataset")
    assert len(list(tmp_path.glob("out/*/seed-1/summary.json"))) == 2
    assert len(list(tmp_path.glob("dataset/*/seed=1/*.parquet"))) == 2


def test_a_worker_of_another_version_is_refused(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(_ray, "code_version", lambda: bytes(32))
    with pytest.raises(ValueError, match="this machine has version"):
        fw.sweep(tiny, seeds=1, backend="ray", dataset=tmp_path / "dataset")
    assert not list(tmp_path.rglob("*.parquet"))


def test_an_address_of_another_cluster_is_refused(tiny):
    with pytest.raises(ValueError, match="Ray is connected to .*:"):
        fw.sweep(tiny, backend="ray", address="192.0.2.1:6379")
    here = ray.get_runtime_context().gcs_address
    for address in (here, "auto"):
        assert len(fw.sweep(tiny, seeds=1, backend="ray", address=address)) == 4


@pytest.mark.parametrize("jobs", [None, 3])
def test_the_number_of_tasks_follows_runs_and_jobs_not_processors(tiny, monkeypatch, jobs):
    in_flight, sizes = [], []

    class Counting:
        """Ray, which counts the tasks in flight."""

        def __getattr__(self, name):
            return getattr(ray, name)

        def wait(self, refs):
            in_flight.append(len(refs))
            return ray.wait(refs)

        def remote(self, **options):
            def counted(run):
                task = ray.remote(**options)(run)
                begin = task.remote
                task.remote = lambda *inputs: sizes.append(len(inputs[-1])) or begin(*inputs)
                return task

            return counted

    monkeypatch.setattr(_ray, "_connected", lambda address: Counting())
    monkeypatch.setattr(_ray, "_MOST_TASKS", 20)
    table = fw.sweep(tiny, seeds=19, backend="ray", jobs=jobs)
    assert len(table) == 2 * 38
    assert sizes == [2] * 19, "38 runs in 20 tasks at most"
    assert max(in_flight) == (jobs or 19)


def test_a_large_cluster_has_two_tasks_for_each_processor(monkeypatch):
    sizes = []

    def send(version, shared, numbers):
        sizes.append(len(numbers))
        return object()

    def wait(waiting):
        raise RuntimeError(f"{len(waiting)} tasks wait")

    here = SimpleNamespace(
        cluster_resources=lambda: {"CPU": 8_000.0},
        remote=lambda **options: lambda run: SimpleNamespace(remote=send),
        put=lambda task: task,
        wait=wait,
        cancel=lambda task, force: None,
    )
    monkeypatch.setattr(_ray, "_connected", lambda address: here)
    task = SimpleNamespace(jobs=range(1_000_000))
    with pytest.raises(RuntimeError, match="15874 tasks wait"):
        _ray.sweep(task, address=None, jobs=None, progress=False)
    assert max(sizes) == 63


@pytest.mark.parametrize(
    ("resources", "jobs", "expected"),
    [({}, None, 1024), ({"CPU": 3.0}, None, 6), ({"CPU": 3.0}, 40, 40)],
)
def test_a_study_has_runs_by_jobs_or_processors(monkeypatch, resources, jobs, expected):
    asked = []
    here = SimpleNamespace(
        cluster_resources=lambda: resources, remote=ray.remote, exceptions=ray.exceptions
    )
    monkeypatch.setattr(_ray, "_connected", lambda address: here)
    monkeypatch.setattr(_ray, "reproduced", lambda words, *_: asked.append(words) or {})
    fw.reproduce("ap-buffer", backend="ray", jobs=jobs)
    assert asked[0][-2:] == ["--jobs", str(expected)]


@pytest.fixture
def own():
    """Registers an algorithm for a test."""
    made = []
    yield lambda algorithm: made.append(fw.cc.register(algorithm).__name__)
    for name in made:
        fw.cc.unregister(name)


# Ray sends what a module of the tests has by its name, which workers cannot import.
for module in (sys.modules[__name__], own_still):
    ray.cloudpickle.register_pickle_by_value(module)


def test_a_run_that_kills_its_workers_is_a_warning(tiny, own, monkeypatch):
    class Deadly(own_still.Still):
        def on_ack(self, ack):
            os.kill(os.getpid(), signal.SIGKILL)

    own(Deadly)
    # Runs of both algorithms in one task.
    monkeypatch.setattr(_ray, "_MOST_TASKS", 1)
    monkeypatch.setattr(_ray, "_AHEAD", 0)
    monkeypatch.setattr(_ray, "_RETRIES", 0)
    axes = {"tcp.congestion_control": ["Deadly", "reno"]}
    with pytest.warns(fw.SweepWarning, match="run with seed 1 at .* = Deadly: .*worker died"):
        table = fw.sweep(tiny, seeds=1, set=axes, backend="ray")
    assert table.to_pandas()["tcp.congestion_control"].tolist() == ["reno", "reno"]


def test_an_exception_ends_the_tasks_that_are_under_way(tiny, own, tmp_path):
    class Wrong(own_still.Still):
        def on_ack(self, ack):
            # Not before the other task has begun.
            if list(tmp_path.iterdir()):
                raise ZeroDivisionError

    class Endless(own_still.Still):
        def on_ack(self, ack):
            (tmp_path / str(os.getpid())).touch()

    own(Wrong)
    own(Endless)
    axes = {"tcp.congestion_control": ["Wrong", "Endless"], "duration": "86400 s"}
    with pytest.raises(ZeroDivisionError):
        fw.sweep(tiny, seeds=1, set=axes, backend="ray")
    [worker] = [int(file.name) for file in tmp_path.iterdir()]
    end = time.monotonic() + 60
    while os.path.exists(f"/proc/{worker}") and time.monotonic() < end:
        pass
    assert not os.path.exists(f"/proc/{worker}")


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


def test_a_study_has_the_page_of_any_machine_though_a_worker_is_killed(
    tmp_path, monkeypatch, capsys
):
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
    here = fw.reproduce("ap-buffer", jobs=2, out=tmp_path / "here", progress=True)
    assert here.summary["claims"] == study.summary["claims"]
    assert "reproduce: " in capsys.readouterr().err


def command(*options):
    """Reruns the study by the command."""
    words = ["reproduce", "ap-buffer", "--quiet", *map(str, options)]
    subprocess.run([fw.command(), *words], check=True, capture_output=True)


def test_a_study_that_does_not_exist_has_the_words_of_the_command():
    with pytest.raises(fw.ScenarioError, match='there is no study "none"; there are: ack-loss'):
        fw.reproduce("none", backend="ray")
