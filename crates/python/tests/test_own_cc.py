"""Congestion control algorithms in Python."""

import filecmp
import functools
import pickle
import subprocess
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor

import pytest
from own_reno import Reno

import fairwave as fw

MINE = {"tcp.congestion_control": "mine"}


@pytest.fixture
def mine():
    """Registers algorithms as `mine`, for a test."""
    yield lambda algorithm: fw.cc.register(algorithm, name="mine")
    if "mine" in fw.cc.registered():
        fw.cc.unregister("mine")


def files(run):
    """Names of the files of a run whose bytes depend on its results alone."""
    names = {file.name for file in run.directory.iterdir()}
    return sorted(names - {"meta.json", "scenario.toml"})


def test_reno_in_python_gives_the_bytes_of_the_built_in_one(tiny, reno, mine):
    mine(Reno)
    ours, theirs = fw.run(tiny, seed=3, set=MINE), fw.run(tiny, seed=3, set=reno)
    names = files(theirs)
    assert {"flows.parquet", "summary.json"} <= set(names)
    same = filecmp.cmpfiles(ours.directory, theirs.directory, names, shallow=False)
    assert same == (names, [], [])
    assert 'congestion_control = "mine"' in ours.scenario


def test_an_algorithm_acts(tiny, mine):
    @mine
    class Fixed(fw.cc.Controller):
        def on_ack(self, ack):
            self.cwnd = 3 * 1460

        def on_loss(self, loss):
            pass

        def on_rto(self, rto):
            pass

    cwnd = fw.run(tiny, seed=3, set=MINE).series("flows").to_pandas()["cwnd_bytes"]
    assert cwnd.iloc[-1] == 3 * 1460


def test_another_process_makes_the_scenario_anew_with_its_algorithms(tiny, mine):
    mine(functools.partial(Reno))
    sent = pickle.dumps(fw.Scenario(tiny, set=MINE))
    fw.cc.unregister("mine")
    again = pickle.loads(sent)
    assert [(kind, name) for kind, name, _ in again.own] == [("congestion_control", "mine")]
    assert again.plan.has_own_algorithms


def test_the_number_of_threads_changes_nothing(tiny, mine):
    mine(Reno)
    axes = {"tcp.congestion_control": ["mine", "reno"]}
    one, two = (fw.sweep(tiny, seeds=3, set=axes, jobs=jobs).to_pandas() for jobs in (1, 2))
    assert one.equals(two)
    of = {
        name: rows.drop(columns="tcp.congestion_control").reset_index(drop=True)
        for name, rows in one.groupby("tcp.congestion_control")
    }
    assert of["mine"].equals(of["reno"])


WIRED = {
    "duration": "10 s",
    "node": [{"name": "a", "kind": "host"}, {"name": "b", "kind": "host"}],
    "link": [{"ends": ["a", "b"], "rate": "100 Mbps", "delay": "5 ms"}],
    "flow": [{"name": "up", "from": "a", "to": "b"}],
}


def test_a_thread_keeps_python_over_many_callbacks(mine):
    # Python makes a thread's variables anew when a thread that it does not know comes again.
    here = threading.local()
    calls, begun = [], []

    @mine
    class Counted(Reno):
        def on_ack(self, ack):
            super().on_ack(ack)
            calls.append(ack)
            if not hasattr(here, "is_known"):
                here.is_known = True
                begun.append(ack)

    fw.sweep(WIRED, seeds=1, set=MINE)
    assert len(calls) > 10_000
    assert len(begun) < len(calls) / 4


class Broken(Reno):
    """Raises at its first loss."""

    def on_loss(self, loss):
        raise ZeroDivisionError(f"at {loss.now_ns}")


@pytest.mark.parametrize("make", [fw.run, fw.sweep], ids=["run", "sweep"])
def test_an_exception_of_a_callback_is_that_of_the_run(make, tiny, mine):
    mine(Broken)
    with pytest.raises(ZeroDivisionError, match="at [0-9]") as raised:
        make(tiny, set={**MINE, "sweep.seeds": 1})
    assert "in on_loss" in "".join(traceback.format_exception(raised.value))
    # A plan whose run has failed can run again.
    plan = fw.Scenario(tiny, set={**MINE, "sweep.seeds": 1}).plan
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            plan.rows(plan.jobs[:1], "flows")


def test_a_run_under_way_does_not_outlive_the_exception_of_another(tiny, mine):
    begun, over = threading.Event(), threading.Event()

    @mine
    class Waiting(Reno):
        def on_ack(self, ack):
            if threading.current_thread() is threading.main_thread():
                begun.wait()
                raise ZeroDivisionError
            begun.set()
            over.wait()

    plan = fw.Scenario(tiny, set={**MINE, "sweep.seeds": 2}).plan
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(plan.rows, plan.jobs[1:], "flows")
        with pytest.raises(ZeroDivisionError):
            plan.rows(plan.jobs[:1], "flows")
        over.set()
        _, [outcome] = other.result()
    assert outcome.startswith("run with seed 2") and "an algorithm from outside failed" in outcome


@pytest.mark.parametrize(
    ("attribute", "value", "words"),
    [
        ("cwnd", 1.5, "cwnd = 1.5: 'float' object cannot be interpreted as an integer"),
        ("cwnd", -1, "cwnd = -1: "),
        ("ssthresh", 1 << 32, "ssthresh = 4294967296: out of range"),
        ("pacing_rate_bps", "fast", "pacing_rate_bps = fast: "),
    ],
)
def test_a_value_that_is_no_window_is_named(attribute, value, words, tiny, mine):
    class Wrong(Reno):
        def on_ack(self, ack):
            setattr(self, attribute, value)

    mine(Wrong)
    with pytest.raises(TypeError, match=words):
        fw.run(tiny, seed=3, set=MINE)


def test_an_algorithm_that_cannot_be_made(tiny, mine):
    mine(lambda initial: initial.nothing)
    with pytest.raises(AttributeError, match="nothing"):
        fw.run(tiny, seed=3, set=MINE)
    mine(lambda initial: 7)
    with pytest.raises(TypeError, match=r"made 7, which is no fairwave\.cc\.Controller"):
        fw.run(tiny, seed=3, set=MINE)

    @mine
    class Third(Reno):
        recovery = "third"

    with pytest.raises(ValueError, match='there are "newreno" and "reno"'):
        fw.run(tiny, seed=3, set=MINE)


def test_a_function_with_parameters_makes_algorithms(tiny, mine):
    def halving(initial, part):
        made = Reno(initial)
        made.cwnd //= part
        return made

    mine(functools.partial(halving, part=2))
    half = fw.run(tiny, seed=3, set=MINE).summary
    mine(Reno)
    assert half != fw.run(tiny, seed=3, set=MINE).summary


def test_names_are_checked(tiny, mine):
    assert fw.cc.register(Reno) is Reno
    assert "Reno" in fw.cc.registered()
    fw.cc.unregister("Reno")
    for name in ("reno", "ack-loss+reno"):
        with pytest.raises(ValueError, match="choose another name|is no name"):
            fw.cc.register(Reno, name=name)
    with pytest.raises(TypeError, match=r"int is no subclass of fairwave\.cc\.Controller"):
        fw.cc.register(int)
    with pytest.raises(TypeError, match="has no name of its own"):
        fw.cc.register(functools.partial(Reno))
    with pytest.raises(KeyError, match="there are"):
        fw.cc.unregister("theirs")
    mine(Reno)
    with pytest.raises(fw.ScenarioError, match=r'(?s)called "mein".*accepted here: reno.*, mine'):
        fw.run(tiny, seed=3, set={"tcp.congestion_control": "mein"})


def test_the_command_knows_none(tiny, mine):
    mine(Reno)
    line = [fw.command(), "check", tiny, "--set", "tcp.congestion_control=mine"]
    said = subprocess.run(line, capture_output=True, text=True).stderr
    assert 'there is no congestion control called "mine"' in said


def test_runs_of_an_algorithm_are_made_again(tiny, mine, tmp_path):
    mine(Reno)
    settings = {"seeds": 1, "set": MINE, "out": tmp_path}
    first = fw.sweep(tiny, **settings).to_pandas()

    @mine
    class Small(Reno):
        def on_ack(self, ack):
            self.cwnd = self.mss

    assert not fw.sweep(tiny, **settings).to_pandas().equals(first)
