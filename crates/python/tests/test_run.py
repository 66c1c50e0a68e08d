"""Runs: the same as the command's, and taken by other libraries."""

import copy
import filecmp
import json
import multiprocessing
import pickle
import subprocess
from concurrent.futures import ProcessPoolExecutor

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

import fairwave as fw


@pytest.fixture
def run(tiny, reno):
    """One run of the scenario."""
    return fw.run(tiny, seed=3, set=reno)


def test_a_saved_run_has_the_bytes_of_the_commands(run, tiny, tmp_path):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    run.save(ours)
    line = [fw.command(), "run", tiny, "--seed", "3", "--set", "tcp.congestion_control=reno"]
    subprocess.run([*line, "--out", theirs, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    names = sorted(file.name for file in theirs.iterdir())
    assert "flows.parquet" in names
    assert sorted(file.name for file in ours.iterdir()) == names
    # Of the origin, machine and time may differ.
    same = [name for name in names if name != "meta.json"]
    assert filecmp.cmpfiles(ours, theirs, same, shallow=False) == (same, [], [])


def test_a_copy_without_its_summary_is_no_run(run, tmp_path, monkeypatch):
    def killed(_, to):
        assert (tmp_path / "run/flows.parquet").exists()
        raise KeyboardInterrupt(f"before {to.name}")

    monkeypatch.setattr("shutil.copy2", killed)
    with pytest.raises(KeyboardInterrupt, match="before summary"):
        run.save(tmp_path / "run")
    with pytest.raises(fw.RunError, match=r"no run directory: it has no summary\.json"):
        fw.load(tmp_path / "run")


def test_a_pickled_run_has_its_files(tiny, reno):
    run = fw.run(tiny, seed=3, set=reno)
    before, summary, series = run.directory, run.summary, run.series("flows").to_pandas()
    sent, copied = pickle.dumps(run), copy.deepcopy(run)
    del run
    assert not before.exists(), "the original is gone"
    for make in (lambda: pickle.loads(sent), lambda: copy.deepcopy(copied)):
        again = make()
        assert again.summary == summary
        assert len(again.flows) == 2
        assert again.series("flows").to_pandas().equals(series)
        place = again.directory
        del again
        assert not place.exists(), "it was temporary, too"


def test_a_pickled_saved_run_names_its_directory(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sent = pickle.dumps(run.save("kept"))
    assert len(sent) < 1000
    monkeypatch.chdir("/")
    assert pickle.loads(sent).directory == tmp_path / "kept"
    assert pickle.loads(sent).summary == run.summary


def test_a_run_of_another_process_is_read_here(tiny, reno):
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh) as pool:
        run = pool.submit(fw.run, tiny, seed=3, set=reno).result()
    assert run.summary == fw.run(tiny, seed=3, set=reno).summary
    assert len(run.flows) == 2


def test_results_that_are_too_large_are_not_copied(run, monkeypatch):
    monkeypatch.setattr("fairwave._carried._MAX_BYTES", 1000)
    with pytest.raises(ValueError, match="too many for a copy in memory"):
        pickle.dumps(run)


def test_tables_are_taken_by_four_libraries(run):
    flows = run.flows
    bps = [flow["goodput_bps"] for flow in run.summary["flows"]]
    assert pyarrow.table(flows)["goodput_bps"].to_pylist() == bps
    assert polars.DataFrame(flows)["goodput_bps"].to_list() == bps
    assert pandas.DataFrame.from_arrow(flows)["goodput_bps"].tolist() == bps
    assert flows.to_pandas()["goodput_bps"].tolist() == bps
    found = duckdb.sql("SELECT goodput_bps FROM flows").fetchall()
    assert [value for (value,) in found] == bps


def test_a_run_directory_is_read_by_four_libraries(run, tmp_path):
    run.save(tmp_path / "run")
    file = str(tmp_path / "run/flows.parquet")
    rows = len(fw.load(tmp_path / "run").series("flows"))
    assert rows > 10
    assert len(pyarrow.parquet.read_table(file)) == rows
    assert len(polars.read_parquet(file)) == rows
    assert len(pandas.read_parquet(file)) == rows
    assert duckdb.sql(f"SELECT count(*) FROM '{file}'").fetchall() == [(rows,)]


def test_columns_have_the_types_and_words_of_the_summary(run):
    schema = run.flows.to_arrow().schema
    assert schema.field("goodput_bps").type == pyarrow.int64()
    assert run.stations.to_arrow().schema.field("airtime_share").type == pyarrow.float64()
    # A part that no flow of this run has is null, not 0.
    assert run.flows.to_polars()["shake.probes"].null_count() == len(run.flows)
    described = run.flows.descriptions
    assert described["goodput_bps"] == "Mean rate of delivery to the application."
    assert "delay.p95_ns" in described
    assert "t_ns" in run.series("flows").descriptions


def test_queues_stations_and_series(run):
    assert run.stations.to_polars()["name"].to_list() == ["ap", "sta1", "sta2"]
    assert set(run.queues.column_names) > {"name", "mean_packets", "drops_queue_full"}
    assert {"flows", "queues", "stations", "drops"} <= set(run.series_names)
    with pytest.raises(KeyError, match="this run has the series"):
        run.series("nothing")
    assert run.meta["seed"] == 3
    assert 'kind = "access-point"' in run.scenario


def test_a_dict_is_the_same_scenario_as_its_text(tiny, reno):
    import tomllib

    table = tomllib.loads(tiny.read_text())
    made = fw.run(table, seed=3, set=reno)
    assert made.summary == fw.run(tiny, seed=3, set=reno).summary


def test_errors_have_the_words_of_the_command(tmp_path):
    file = tmp_path / "wrong.toml"
    file.write_text('[[node]]\nname = "ap"\nkindd = "access-point"\n')
    said = subprocess.run([fw.command(), "check", file], capture_output=True, text=True).stderr
    with pytest.raises(fw.ScenarioError) as wrong:
        fw.run(file)
    assert 'unknown key; did you mean "kind"?' in str(wrong.value)
    assert str(wrong.value) in said
    with pytest.raises(OSError, match="No such file"):
        fw.run(tmp_path / "none.toml")


def test_a_sweep_is_no_run(tiny):
    with pytest.raises(fw.ScenarioError, match="4 runs of 2 points"):
        fw.run(tiny)


def test_a_directory_without_a_run_says_where_there_is_one(run, tmp_path):
    run.save(tmp_path / "below/run")
    with pytest.raises(fw.RunError, match="such as .*below/run"):
        fw.load(tmp_path)
    with pytest.raises(FileExistsError):
        run.save(tmp_path / "below/run")


def test_an_exception_of_the_progress_ends_the_run(tiny, reno, tmp_path):
    def give_up(done: float) -> None:
        raise KeyboardInterrupt(f"at {done}")

    chosen = fw.Scenario(tiny, set=reno, seed=3)
    with pytest.raises(KeyboardInterrupt, match="at 0"):
        chosen.plan.run(0, 3, tmp_path / "run", give_up)
    assert not (tmp_path / "run/summary.json").exists()


def test_a_capture_is_analysed(tiny, reno, tmp_path):
    run = fw.run(tiny, seed=3, set={**reno, "record.taps": ["server"]})
    capture = next(run.directory.glob("*server*.pcapng"))
    trace = fw.trace(capture)
    assert "connections" in trace.names
    assert len(trace.connections) == 4
    assert trace.report
    sent, names, copied = pickle.dumps(trace), trace.names, copy.deepcopy(trace)
    del trace
    for again in (pickle.loads(sent), copied):
        assert again.names == names
        assert len(again.connections) == 4


def test_the_command_answers_like_the_module():
    line = [fw.command(), "list", "studies", "--json"]
    assert json.loads(subprocess.run(line, check=True, capture_output=True).stdout)
