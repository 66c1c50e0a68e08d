"""Sweeps: one table, the same however it was made."""

import fcntl
import json
import os
import signal
import subprocess

import pytest
from own_reno import Reno
from own_still import Still

import fairwave as fw


def test_each_axis_has_a_column(tiny):
    table = fw.sweep(tiny, seeds=2).to_pandas()
    assert table.columns[:3].tolist() == ["tcp.congestion_control", "seed", "name"]
    assert table["tcp.congestion_control"].unique().tolist() == ["reno", "ack-loss+compound"]
    assert table["seed"].tolist() == [1, 1, 2, 2] * 2


def test_the_number_of_threads_changes_nothing(tiny):
    one, two = (fw.sweep(tiny, seeds=2, jobs=jobs).to_arrow() for jobs in (1, 2))
    assert one.equals(two)


def test_axes_are_made_by_settings(tiny, reno):
    table = fw.sweep(tiny, seeds=1, set={**reno, "node.sta.count": [2, 3]}, rows="stations")
    frame = table.to_polars()
    assert frame["node.sta.count"].to_list() == [2] * 3 + [3] * 4
    assert frame.schema["node.sta.count"].is_integer()


def test_an_axis_of_seeds_has_the_column_of_the_runs_seeds(tiny, reno, tmp_path):
    settings = {**reno, "seed": [7, 3]}
    out, place = tmp_path / "out", tmp_path / "dataset"
    table = fw.sweep(tiny, seeds=1, set=settings, out=out)
    assert table.to_polars()["seed"].to_list() == [7, 7, 3, 3]
    assert table.column_names[:3] == ["tcp.congestion_control", "seed", "name"]
    rows = json.loads(answer("query", out, "SELECT seed::INT AS seed FROM runs", "--json"))
    assert sorted(row["seed"] for row in rows) == [3, 7]
    for _ in ("made", "read"):
        again = fw.sweep(tiny, seeds=1, set=settings, dataset=place)
        assert again.to_arrow().equals(table.to_arrow())
    files = sorted(str(file.parent.relative_to(place)) for file in place.rglob("*.parquet"))
    assert files == [f"tcp.congestion_control=reno/seed={seed}" for seed in (3, 7)]


def test_a_value_is_refused_that_an_axis_has_twice(tiny):
    with pytest.raises(fw.ScenarioError, match="this value is there twice"):
        fw.sweep(tiny, set={"node.sta.count": [1, 2, 1]})


def test_runs_that_are_there_are_not_made_again(tiny, tmp_path):
    first = fw.sweep(tiny, seeds=1, out=tmp_path).to_arrow()
    files = sorted(tmp_path.glob("**/summary.json"))
    assert len(files) == 2
    before = [file.stat().st_mtime_ns for file in files]
    assert fw.sweep(tiny, seeds=1, out=tmp_path).to_arrow().equals(first)
    assert [file.stat().st_mtime_ns for file in files] == before
    assert len(fw.load(files[0].parent).flows) == 2


def test_a_part_without_runs_is_joined(tiny, reno, tmp_path):
    parts = [tmp_path / str(number) for number in (1, 2, 3)]
    settings = ["--set", f"tcp.congestion_control={reno['tcp.congestion_control']}"]
    for number, part in enumerate(parts, 1):
        answer("sweep", tiny, *settings, "--out", part, "--shard", f"{number}/3")
    joined = json.loads(answer("merge", *parts, "--out", tmp_path / "whole", "--json"))
    assert joined == {
        "copied": 2,
        "already": 0,
        "warnings": [f"no complete run is in {parts[2]}"],
    }


def test_a_run_is_asked_once_whatever_its_directories_are_called(tiny, reno, tmp_path):
    out = tmp_path / "*a[1]?'s"
    # As a pattern, the name is that of other runs.
    other = tmp_path / "a1-'s"
    fw.sweep(tiny, seeds=1, set={**reno, "node.sta.count": [2, 3]}, out=other)
    fw.sweep(tiny, seeds=2, set={**reno, "node.sta.count": [2, 3]}, out=out)
    (tmp_path / "link").symlink_to(out)
    (point,) = out.glob("*count=3*")
    sql = "SELECT (SELECT count(*) FROM flows) f, (SELECT count(*) FROM results) r"
    sql += ", count(*) runs, any_value(run) run FROM runs"
    (once,) = json.loads(answer("query", out, sql, "--json"))
    assert once["f"] > 10 and (once["runs"], once["r"]) == (4, 8)
    assert once["run"].startswith(str(out))
    twice = answer("query", out, point, f"{out}/", tmp_path / "link", sql, "--json")
    assert json.loads(twice) == [once]


def test_parts_of_a_sweep_are_joined_and_asked_by_sql(tiny, tmp_path):
    parts = [tmp_path / name for name in ("a", "b")]
    for number, part in enumerate(parts, 1):
        answer("sweep", tiny, "--out", part, "--shard", f"{number}/2")
    whole = tmp_path / "whole"
    joined = json.loads(answer("merge", *parts, "--out", whole, "--json"))
    assert joined == {"copied": 4, "already": 0, "warnings": []}
    sql = 'SELECT "tcp.congestion_control" AS cc, seed::INT AS seed, name, goodput_bps FROM results'
    rows = json.loads(answer("query", whole, f"{sql} ORDER BY 1, 2, 3", "--json"))
    table = fw.sweep(tiny, seeds=2).to_pandas()
    frame = table.rename(columns={"tcp.congestion_control": "cc"})[list(rows[0])]
    assert rows == frame.sort_values(["cc", "seed", "name"]).to_dict("records")
    counts = json.loads(answer("query", whole, "SELECT count(*) AS n FROM flows", "--json"))
    assert counts[0]["n"] > 10


def test_a_reader_that_has_enough_of_an_answer_is_no_error(tiny, reno, tmp_path):
    fw.sweep(tiny, seeds=1, set=reno, out=tmp_path)
    line = [fw.command(), "query", tmp_path, "SELECT * FROM range(10_000_000)", "--csv"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as query:
        assert query.stdout.readline() == "range\n"
        query.stdout.close()
        said = query.stderr.read()
    assert (query.returncode, said) == (0, "")


def answer(*words):
    """What the command prints."""
    line = [fw.command(), *map(str, words), "--quiet"]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("with_dataset", [False, True])
def test_ctrl_c_ends_the_runs_under_way(tiny, tmp_path, with_dataset):
    begun, last_ns = [], [0]

    @fw.cc.register
    class Interrupting(Still):
        def __init__(self, initial):
            super().__init__(initial)
            if not begun:
                os.kill(os.getpid(), signal.SIGINT)
            begun.append(self)

        def on_ack(self, ack):
            last_ns[0] = max(last_ns[0], ack.now_ns)

    axes = {"tcp.congestion_control": ["Interrupting"], "duration": "86400 s"}
    dataset = tmp_path / "dataset" if with_dataset else None
    with pytest.raises(KeyboardInterrupt):
        fw.sweep(tiny, seeds=2, set=axes, jobs=1, dataset=dataset)
    fw.cc.unregister("Interrupting")
    assert 1 <= len(begun) <= 4, "one run of two connections had begun"
    assert last_ns[0] < 86400e9, "it was not completed"
    assert not list(tmp_path.rglob("*.parquet"))


def test_an_exception_of_the_progress_ends_a_sweep(tiny):
    def give_up(done):
        raise KeyError(f"at {done}")

    plan = fw.Scenario(tiny, set={"duration": "600 s"}).plan
    with pytest.raises(KeyError, match="at 0"):
        plan.sweep("flows", 1, None, give_up)


@pytest.mark.parametrize("with_dataset", [False, True])
def test_complete_runs_of_another_sweep_are_replaced_by_force_alone(tiny, tmp_path, with_dataset):
    out, dataset = tmp_path / "out", tmp_path / "dataset" if with_dataset else None
    fw.sweep(tiny, seeds=1, out=out)
    before = {file: file.read_bytes() for file in out.glob("**/summary.json")}
    other = {"out": out, "dataset": dataset, "set": {"duration": "1 s"}}
    belongs = "do not belong to this sweep, such as .*force=True"
    with pytest.raises(ValueError, match=belongs) as refused:
        fw.sweep(tiny, seeds=2, **other)
    assert {file: file.read_bytes() for file in out.glob("**/summary.json")} == before
    line = [fw.command(), "sweep", tiny, "--resume", "--out", out, "--set", "duration=1 s"]
    theirs = subprocess.run(line, capture_output=True, text=True).stderr
    assert str(refused.value).partition(";")[0] in theirs
    table = fw.sweep(tiny, seeds=2, force=True, **other).to_arrow()
    assert table.equals(fw.sweep(tiny, seeds=2, set={"duration": "1 s"}).to_arrow())
    assert not (out / ".fairwave.lock").exists()
    assert fw.sweep(tiny, seeds=1, **other).to_arrow().num_rows == 4


def test_runs_with_an_algorithm_of_ones_own_replace_their_own_alone(tiny, tmp_path):
    fw.cc.register(Reno, name="mine")
    axes = {"tcp.congestion_control": ["mine"]}
    first = fw.sweep(tiny, seeds=1, set=axes, out=tmp_path).to_arrow()
    assert fw.sweep(tiny, seeds=1, set=axes, out=tmp_path).to_arrow().equals(first)
    with pytest.raises(ValueError, match="do not belong to this sweep"):
        fw.sweep(tiny, seeds=1, set={**axes, "duration": "1 s"}, out=tmp_path)
    fw.cc.unregister("mine")


def test_a_directory_has_one_writer(tiny, tmp_path):
    with open(tmp_path / ".fairwave.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for force in (False, True):
            with pytest.raises(fw.RunError, match="another fairwave is writing into it"):
                fw.sweep(tiny, seeds=1, out=tmp_path, force=force)
    assert len(fw.sweep(tiny, seeds=1, out=tmp_path)) == 4


def test_a_url_is_no_directory(tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="out='s3://bucket/sweep': it is a directory; `dataset`"):
        fw.sweep(tiny, out="s3://bucket/sweep")
    assert not list(tmp_path.iterdir())


def test_a_table_or_backend_that_does_not_exist(tiny):
    with pytest.raises(ValueError, match="there are flows, queues, stations and pairs"):
        fw.sweep(tiny, rows="airtime")
    with pytest.raises(ValueError, match="there are 'threads' and 'ray'"):
        fw.sweep(tiny, backend="dask")
