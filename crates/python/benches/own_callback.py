"""Cost of a callback: the same runs with Reno in Rust and Reno in Python.

    python crates/python/benches/own_callback.py

Needs the package `fairwave`. Prints the time of each, the calls, and the time a call. The sweep on
two threads shows what they lose to each other, as one thread at a time runs Python.
"""

import sys
import time
from pathlib import Path

import fairwave as fw

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from own_reno import Reno  # noqa: E402

SCENARIO = {
    "duration": "60 s",
    "node": [{"name": "a", "kind": "host"}, {"name": "b", "kind": "host"}],
    "link": [{"ends": ["a", "b"], "rate": "100 Mbps", "delay": "5 ms"}],
    "flow": [{"name": "up", "from": "a", "to": "b"}],
}
REPEATS = 3

calls = 0


class Counted(Reno):
    """Counts the ACKs, on which nearly all calls are."""

    def on_ack(self, ack):
        """Handles an ACK."""
        global calls
        calls += 1
        super().on_ack(ack)


def seconds(name, threads, runs, clock):
    """The shortest time of a sweep by a clock."""
    axes = {"tcp.congestion_control": name}
    times = []
    for _ in range(REPEATS):
        begin = clock()
        fw.sweep(SCENARIO, seeds=runs, set=axes, jobs=threads)
        times.append(clock() - begin)
    return min(times)


def main():
    """Measures, and prints."""
    for algorithm, name in ((Counted, "counted"), (Reno, "python")):
        fw.cc.register(algorithm, name=name)
    fw.run(SCENARIO, set={"tcp.congestion_control": "counted"})
    # The processor's time: other programs do not count.
    rust, python = (seconds(name, 1, 1, time.process_time) for name in ("reno", "python"))
    print(f"{calls} calls a run; processor: {rust:.2f} s in Rust, {python:.2f} s in Python")
    print(f"{(python - rust) / calls * 1e6:.2f} us a call")
    for name in ("reno", "python"):
        one, two = (seconds(name, threads, 4, time.perf_counter) for threads in (1, 2))
        print(f"four runs of {name}: {one:.2f} s on one thread, {two:.2f} s on two")


if __name__ == "__main__":
    main()
