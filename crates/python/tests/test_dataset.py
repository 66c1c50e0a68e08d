"""Sweeps as Parquet datasets: partitions for every reader, and runs that are made once."""

import sys
import threading

import duckdb
import fsspec
import polars
import pyarrow.dataset
import pytest
from own_still import Still

import fairwave as fw
from fairwave import _dataset


@pytest.fixture
def memory():
    """A storage that is no directory."""
    storage = fsspec.filesystem("memory")
    yield storage
    storage.rm("/sweep", recursive=True)


def test_a_dataset_has_a_partition_for_each_axis_and_seed(tiny, tmp_path):
    place = tmp_path / "sweep"
    table = fw.sweep(tiny, seeds=2, dataset=place).to_arrow()
    assert table.equals(fw.sweep(tiny, seeds=2).to_arrow())
    found = sorted(str(file.parent.relative_to(place)) for file in place.rglob("*.parquet"))
    algorithms = ["ack-loss%2Bcompound", "reno"]
    key = "tcp.congestion_control"
    assert found == [f"{key}={name}/seed={seed}" for name in algorithms for seed in (1, 2)]
    # A worker that was killed while it wrote leaves this.
    (place / found[0] / ".key.parquet.unfinished").write_bytes(b"PAR1")
    whole = pyarrow.dataset.dataset(place, partitioning="hive").to_table().sort_by("goodput_bps")
    assert whole["goodput_bps"].to_pylist() == sorted(table["goodput_bps"].to_pylist())
    files = f"{place}/**/*.parquet"
    ours = polars.DataFrame(fw.sweep(tiny, seeds=2)).select(key, "seed", "name", "goodput_bps")
    theirs = polars.scan_parquet(files, hive_partitioning=True).select(ours.columns).collect()
    assert theirs.sort(ours.columns).rows() == ours.sort(ours.columns).rows()
    sql = f"FROM read_parquet('{files}', hive_partitioning = true) SELECT {', '.join(asked(ours))}"
    assert sorted(duckdb.sql(sql).fetchall()) == sorted(ours.rows())


def asked(frame):
    """The columns in SQL."""
    return [f'"{name}"' for name in frame.columns]


def test_runs_of_a_dataset_are_made_once(tiny, memory):
    table = fw.sweep(tiny, seeds=2, dataset="memory://sweep").to_arrow()
    files = {path: memory.cat_file(path) for path in memory.find("/sweep")}
    before = {path: memory.modified(path) for path in files}
    assert len(files) == 4
    lost = min(files)
    memory.rm_file(lost)
    again = fw.sweep(tiny, seeds=2, dataset="memory://sweep")
    assert again.to_arrow().equals(table)
    assert again.descriptions == fw.sweep(tiny, seeds=1).descriptions
    assert {path: memory.cat_file(path) for path in memory.find("/sweep")} == files
    made = [path for path in files if memory.modified(path) != before[path]]
    assert made == [lost]


def test_a_sweep_opens_its_dataset_once(tiny, memory, monkeypatch):
    opened = []

    class Counted(_dataset.Dataset):
        def __init__(self, *inputs):
            super().__init__(*inputs)
            opened.append(self)

    monkeypatch.setattr(_dataset, "Dataset", Counted)
    fw.sweep(tiny, seeds=4, dataset="memory://sweep")
    assert len(opened) == 1


def test_runs_with_an_algorithm_of_ones_own_are_made_each_time(tiny, memory):
    @fw.cc.register
    class Fixed(Still):
        segments = 3

        def on_ack(self, ack):
            self.cwnd = self.segments * 1460

    def goodput():
        set = {"sweep.tcp.congestion_control": ["Fixed"]}
        return fw.sweep(tiny, seeds=1, set=set, dataset="memory://sweep").to_pandas()["goodput_bps"]

    narrow = goodput()
    Fixed.segments = 6
    assert (goodput() > narrow).all()
    fw.cc.unregister("Fixed")


def test_an_exception_spoils_no_run_of_another_thread(tiny, tmp_path):
    class Failing(Still):
        raises = False
        begun = threading.Barrier(4)
        runs = threading.local()

        def __init__(self, initial):
            super().__init__(initial)
            self.acks = 0

        def on_ack(self, ack):
            self.acks += 1
            self.cwnd = (2 + self.acks % 3) * 1460
            if self.raises and not hasattr(self.runs, "is_begun"):
                self.runs.is_begun = True
                if self.begun.wait() == 0:
                    raise ZeroDivisionError

    fw.cc.register(Failing)
    settings = {"seeds": 16, "jobs": 4, "set": {"tcp.congestion_control": ["Failing"]}}
    fw.sweep(tiny, dataset=tmp_path / "good", **settings)
    Failing.raises = True
    with pytest.raises(ZeroDivisionError):
        fw.sweep(tiny, dataset=tmp_path / "left", **settings)
    fw.cc.unregister("Failing")
    good, left = (
        {file.relative_to(place): file.read_bytes() for file in place.rglob("*.parquet")}
        for place in (tmp_path / "good", tmp_path / "left")
    )
    assert len(good) == 16
    assert left.items() <= good.items()


def test_files_of_another_sweep_are_refused(tiny, memory):
    fw.sweep(tiny, seeds=1, dataset="memory://sweep")
    with pytest.raises(ValueError, match="a run of another scenario, of other rows or of another"):
        fw.sweep(tiny, seeds=1, rows="stations", dataset="memory://sweep")
    with pytest.raises(ValueError, match="choose another dataset or remove it"):
        fw.sweep(tiny, seeds=1, set={"duration": "1 s"}, dataset="memory://sweep")
    fw.sweep(tiny, seeds=2, dataset="memory://sweep")
    assert len(memory.find("/sweep")) == 4


def test_a_run_that_fails_is_a_warning_and_the_others_are_there(tiny, memory, tmp_path):
    point = tmp_path / "congestion_control=reno"
    point.mkdir()
    (point / "seed-1").write_text("no directory")
    with pytest.warns(fw.SweepWarning, match="run with seed 1 at tcp.congestion_control"):
        table = fw.sweep(tiny, seeds=2, out=tmp_path, dataset="memory://sweep").to_arrow()
    assert len(memory.find("/sweep")) == 3
    assert table["seed"].to_pylist() == [2, 2, 1, 1, 2, 2]


def test_a_name_that_is_a_pattern_is_refused_where_it_would_be_taken_for_one(tiny, tmp_path):
    with pytest.raises(ValueError, match=r"memory://sweep\[1\]: a storage takes"):
        fw.sweep(tiny, dataset="memory://sweep[1]")
    for _ in ("made", "read"):
        assert len(fw.sweep(tiny, seeds=1, dataset=tmp_path / "*a[1]?")) == 4
    assert len(list(tmp_path.rglob("*.parquet"))) == 2


@pytest.mark.parametrize("library", ["fsspec", "pyarrow"])
def test_a_library_that_is_missing_is_named_with_its_extra(tiny, tmp_path, monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ModuleNotFoundError, match=rf"needs {library}, .* `dataset` of fairwave"):
        fw.sweep(tiny, dataset=tmp_path / "sweep")
    assert not (tmp_path / "sweep").exists()
