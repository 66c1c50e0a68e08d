"""Time of one sweep by the command, by Python's threads and on Ray of this machine.

    python benches/src/sweep_backends.py 2000

Needs the wheel with the extra `ray`, and an idle machine. Each way makes the same runs of a second
and a half of a small cell, and leaves their directories; the tables have to be equal. The best of
three rounds counts.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import fairwave as fw

SCENARIO = Path(__file__).resolve().parents[2] / "crates/cli/tests/data/tiny.toml"
ROUNDS = 3


def by_command(seeds, place):
    """The command's sweep."""
    line = [fw.command(), "sweep", SCENARIO, "--set", f"sweep.seeds={seeds}", "--quiet"]
    subprocess.run([*line, "--out", place], check=True, capture_output=True)


def main(runs):
    """Prints a line for each way: seconds, and those above the command's for each run."""
    # The scenario has two points.
    seeds = runs // 2
    fw.sweep(SCENARIO, seeds=2, backend="ray")
    ways = {
        "command": lambda place: by_command(seeds, place),
        "threads": lambda place: fw.sweep(SCENARIO, seeds=seeds, out=place).to_arrow(),
        "ray": lambda place: fw.sweep(SCENARIO, seeds=seeds, out=place, backend="ray").to_arrow(),
    }
    best, tables = dict.fromkeys(ways, float("inf")), {}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            with tempfile.TemporaryDirectory() as place:
                begun = time.perf_counter()
                tables[name] = way(f"{place}/out")
                best[name] = min(best[name], time.perf_counter() - begun)
    assert tables["ray"].equals(tables["threads"]), "the tables differ"
    for name, took in best.items():
        more = took - best["command"]
        share, each = more / best["command"], 1e3 * more / (2 * seeds)
        print(f"{name:8} {took:8.2f} s  {share:+7.1%}  {each:+8.3f} ms a run")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
