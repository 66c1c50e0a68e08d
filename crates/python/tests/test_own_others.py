"""Schedulers and rate controls in Python."""

from collections import deque

import pytest

import fairwave as fw

CELL = {
    "duration": "3 s",
    "cell": {"standard": "802.11g"},
    "node": [
        {"name": "ap", "kind": "access-point"},
        {"name": "near", "kind": "station", "distance": "5 m"},
        {"name": "far", "kind": "station", "distance": "60 m"},
        {"name": "server", "kind": "host"},
    ],
    "link": [{"ends": ["ap", "server"], "delay": "5 ms"}],
    "flow": [{"name": name, "from": "server", "to": name} for name in ("near", "far")],
}


def queue(name):
    """The setting that chooses a discipline."""
    return {"node.ap.queue": f"{{ discipline = '{name}', limit = '40 packets' }}"}


def control(name):
    """The setting that chooses a rate control."""
    return {"node.ap.rate_control": name}


class Turns(fw.scheduler.Scheduler):
    """A packet to each host by turns: the order of `csdps` where no link is called bad."""

    def __init__(self):
        self.hosts = deque()

    def joined(self, now_ns, backlog, bytes):
        if backlog.packets == 1:
            self.list(backlog)

    def next(self, now_ns):
        return self.hosts[0] if self.hosts else None

    def taken(self, now_ns, backlog, bytes):
        self.list(backlog)

    def shed(self, backlog, bytes):
        if backlog.packets == 0:
            self.list(backlog)

    def weighed(self, now_ns, backlog, old_weight_65536ths):
        self.list(backlog)

    def list(self, backlog):
        if backlog.host in self.hosts:
            self.hosts.remove(backlog.host)
        if backlog.packets and backlog.weight_65536ths:
            self.hosts.append(backlog.host)


class Arf(fw.rate_control.RateControl):
    """Automatic rate fallback for rates of one group."""

    def __init__(self, setup):
        super().__init__(setup)
        self.fastest = len(setup.rates) - 1
        self.go_to(self.current)

    def choose(self, now_ns, attempt):
        return self.current

    def on_attempt(self, now_ns, rate, sent, acknowledged):
        self.attempts += 1
        if acknowledged and 2 * acknowledged >= sent:
            self.successes += 1
            self.failures, self.probes = 0, False
            if (self.successes >= 10 or self.attempts >= 15) and self.current < self.fastest:
                self.go_to(self.current + 1)
                self.probes = True
            return
        self.failures += 1
        self.successes = 0
        if self.probes or self.failures >= 2:
            self.go_to(max(self.current - 1, 0))

    def go_to(self, rate):
        self.current = rate
        self.successes = self.failures = self.attempts = 0
        self.probes = False


@pytest.fixture(autouse=True)
def nothing_stays():
    """Removes what a test registers."""
    yield
    for kind in (fw.scheduler, fw.rate_control):
        for name in kind.registered():
            kind.unregister(name)


@pytest.mark.parametrize(
    ("register", "algorithm", "setting", "listed"),
    [
        (fw.scheduler.register, Turns, queue, "csdps"),
        (fw.rate_control.register, Arf, control, "arf"),
    ],
    ids=["scheduler", "rate control"],
)
def test_an_algorithm_in_python_gives_the_results_of_the_built_in_one(
    register, algorithm, setting, listed
):
    register(algorithm, name="mine")
    ours, theirs = (fw.run(CELL, seed=2, set=setting(name)) for name in ("mine", listed))
    assert ours.summary == theirs.summary
    for name in theirs.series_names:
        assert ours.series(name).to_arrow().equals(theirs.series(name).to_arrow())
    assert ours.summary != fw.run(CELL, seed=2).summary


def test_a_choice_may_be_a_sample():
    seeds = set()

    @fw.rate_control.register
    class Sampling(fw.rate_control.RateControl):
        def __init__(self, setup):
            super().__init__(setup)
            seeds.add(setup.seed)
            self.rates = setup.rates

        def choose(self, now_ns, attempt):
            if attempt == 0 and now_ns % 10 == 0:
                return fw.rate_control.Choice(0, is_sample=True)
            return self.current

        def on_attempt(self, now_ns, rate, sent, acknowledged):
            assert self.rates[rate].mpdu_ns > 0

    goodput = fw.run(CELL, seed=2, set=control("Sampling")).flows.to_pandas()["goodput_bps"]
    assert (goodput > 0).all()
    assert len(seeds) == 2, "a stream of its own for each receiver"


@pytest.mark.parametrize(
    ("chosen", "error", "words"),
    [
        (99, ValueError, r"choose\(\) = 99: there are [0-9]+ rates, from 0 on"),
        ("fast", TypeError, r"choose\(\) = fast: "),
    ],
)
def test_a_rate_that_does_not_exist(chosen, error, words):
    class Wrong(Arf):
        def choose(self, now_ns, attempt):
            return chosen

    fw.rate_control.register(Wrong)
    with pytest.raises(error, match=words):
        fw.run(CELL, seed=2, set=control("Wrong"))


@pytest.mark.parametrize(
    ("chosen", "error", "words"),
    [
        (99, ValueError, r"next\(\) = 99: this host has no packet to send"),
        (-1, TypeError, r"next\(\) = -1: "),
    ],
)
def test_a_host_without_packets(chosen, error, words):
    class Wrong(Turns):
        def next(self, now_ns):
            return chosen

    fw.scheduler.register(Wrong)
    with pytest.raises(error, match=words):
        fw.run(CELL, seed=2, set=queue("Wrong"))


#: Two hosts that share a link, whose queue a scheduler serves.
WIRED = {
    "duration": "1 s",
    "node": [{"name": "a", "kind": "host"}, {"name": "b", "kind": "host"}],
    "link": [{"ends": ["a", "b"], "rate": "10 Mbps", "delay": "5 ms"}],
    "flow": [
        {"name": "up", "from": "a", "to": "b", "transport": "udp"}
        | {"traffic": "cbr", "rate": "1 Mbps", "payload": "1000 B"}
    ],
}


class Slots(fw.scheduler.Scheduler):
    """Sends what waits in every other slot of 100 ms."""

    waiting = 0

    def joined(self, now_ns, backlog, bytes):
        self.waiting = backlog.packets

    def next(self, now_ns):
        is_open = now_ns // 100_000_000 % 2 == 1
        return 0 if self.waiting and is_open else None

    def taken(self, now_ns, backlog, bytes):
        self.waiting = backlog.packets


def on_link(name):
    """The setting that chooses the discipline of the link."""
    return {"link.a-b.queue": f"{{ discipline = '{name}' }}"}


@pytest.mark.parametrize("has_deadline", [False, True])
def test_a_scheduler_may_leave_a_link_idle(has_deadline):
    class Mine(Slots):
        def next(self, now_ns):
            chosen = super().next(now_ns)
            if has_deadline:
                self.deadline_ns = None if chosen == 0 else now_ns + 1_000_000
            return chosen

    fw.scheduler.register(Mine)
    run = fw.run(WIRED, seed=1, set=on_link("Mine"))
    # The packets of 100 ms wait, one every 8 ms. The last slot is open.
    assert run.flows.to_pandas()["goodput_bps"][0] == 1e6
    assert run.queues.to_pandas()["peak_packets"][0] in (12, 13, 14)


def test_a_scheduler_may_never_send():
    class Never(Slots):
        def next(self, now_ns):
            return None

    fw.scheduler.register(Never)
    assert fw.run(WIRED, seed=1, set=on_link("Never")).flows.to_pandas()["goodput_bps"][0] == 0


@pytest.mark.parametrize(("setting", "scenario"), [(queue, CELL), (on_link, WIRED)])
def test_a_deadline_that_has_passed(setting, scenario):
    class Late(Slots):
        deadline_ns = 5

        def next(self, now_ns):
            return None

    fw.scheduler.register(Late)
    with pytest.raises(ValueError, match=r"next\(\) = None at [0-9]+ with deadline_ns = 5: set"):
        fw.run(scenario, seed=1, set=setting("Late"))


def test_names_are_those_of_scenarios():
    fw.scheduler.register(Turns)
    fw.rate_control.register(Arf)
    with pytest.raises(fw.ScenarioError, match='discipline called "Turn"; did you mean "Turns"'):
        fw.run(CELL, set=queue("Turn"))
    with pytest.raises(fw.ScenarioError, match=r'no rate control called "arg"'):
        fw.run(CELL, set=control("arg"))
    with pytest.raises(ValueError, match='"wfq" is one of Fairwave'):
        fw.scheduler.register(Turns, name="wfq")
    with pytest.raises(TypeError, match=r"no subclass of fairwave\.rate_control\.RateControl"):
        fw.rate_control.register(Turns)
    # The keys of a scheduler's hosts exist, and no others.
    with pytest.raises(fw.ScenarioError, match='"Turns" does not have it'):
        fw.run(CELL, set={"node.ap.queue": "{ discipline = 'Turns', quantum = '1514 B' }"})
