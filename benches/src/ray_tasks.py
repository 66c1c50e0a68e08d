"""Overheads of Ray: time a task costs the driver, and bytes of what is sent, kept and returned.

    python benches/src/ray_tasks.py

Needs the wheel with the extra `ray`, and an idle machine. docs/python.md computes with the figures
what a cluster of a thousand nodes needs.
"""

import pickle
import sys
import time
from pathlib import Path

import fairwave as fw
import ray
from fairwave._scenario import Scenario
from fairwave._sweep import Task

SCENARIO = Path(__file__).resolve().parents[2] / "scenarios/ack-loss.toml"
TASKS = 4096
AT_ONCE = 1024
RUNS = 32


@ray.remote
def nothing(shared, numbers):
    """A task without work, with the arguments and the result of an empty one of a sweep."""
    return numbers


def seconds(shared):
    """Time of a task at the driver, which sends, awaits and reads so many."""
    begun, waiting, sent = time.perf_counter(), [], 0
    while sent < TASKS or waiting:
        while sent < TASKS and len(waiting) < AT_ONCE:
            waiting.append(nothing.remote([shared], range(RUNS)))
            sent += 1
        [ready], waiting = ray.wait(waiting)
        ray.get(ready)
    return (time.perf_counter() - begun) / TASKS


def main():
    """Prints a line for each figure."""
    ray.init(log_to_driver=False, include_dashboard=False)
    task = Task(Scenario(SCENARIO, set={}, seeds=RUNS), "flows", None, None)
    shared = ray.put(task)
    seconds(shared)
    cost = min(seconds(shared) for _ in range(3))
    print(f"task {1e3 * cost:.2f} ms of the driver, {1 / cost:.0f} a second")
    print(f"scenario and plan in the object store, once a node: {len(pickle.dumps(task))} bytes")
    made = task.made(range(RUNS))
    flows = len(made.table) / RUNS
    print(f"rows of a run of {flows:.0f} flows: {made.table.nbytes / RUNS:.0f} bytes")
    print(f"result of {RUNS} runs: {len(pickle.dumps(made))} bytes")


if __name__ == "__main__":
    sys.exit(main())
