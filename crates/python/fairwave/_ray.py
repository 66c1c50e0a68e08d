"""Sweeps and studies as tasks of Ray."""

from __future__ import annotations

import importlib
import json
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ._fairwave import RunError, code_version, make_run
from ._fairwave import reproduce as reproduce_with
from ._sweep import Made, SweepWarning, Task, joined
from ._table import Table

#: Tasks for each processor of the cluster: enough to even out runs of unequal length.
_TASKS_A_PROCESSOR = 8
#: Times that a task is repeated whose worker died.
_RETRIES = 3
#: Runs of a study at the same time, for each processor of the cluster, and at most:
#: each has a thread of the driver.
_RUNS_A_PROCESSOR = 2
_MOST_RUNS = 1024


def sweep(task: Task, *, address: str | None, progress: bool) -> Table:
    """Makes the runs of a sweep on a cluster, and joins their rows in the order of the sweep."""
    ray = _connected(address)
    runs = len(task.scenario.plan.jobs)
    tasks = min(runs, _processors(ray) * _TASKS_A_PROCESSOR)
    one = ray.remote(max_retries=_RETRIES)(_runs)
    shared = ray.put(task)
    waiting = [one.remote(shared, range(at, runs, tasks)) for at in range(tasks)]

    def batches() -> Iterator[Made]:
        nonlocal waiting
        while waiting:
            ready, waiting = ray.wait(waiting)
            yield ray.get(ready[0])

    return joined(batches(), runs, progress)


def _runs(task: Task, numbers: range) -> Made:
    return task.made(numbers)


def reproduce(words: list[str], *, address: str | None, progress: bool) -> dict[str, Any]:
    """Reruns a study with `words` of the command line, each run a task; returns its summary.

    The study asks for results that its store lacks. A run that fails on the cluster, or kills its
    workers, is reported and made once more on this machine, whose failure ends the study when the
    other runs are complete and stored.
    """
    ray = _connected(address)
    version = code_version()
    task = ray.remote(max_retries=_RETRIES)(_parts)

    def source(part: str, scenario: str) -> list[tuple[str, bytes]]:
        try:
            made: list[tuple[str, bytes]] = ray.get(task.remote(version, part, scenario))
            return made
        except (RunError, ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError) as error:
            why = getattr(error, "cause", None) or error
            warnings.warn(f"{why}; this machine makes the run", SweepWarning, stacklevel=2)
            return []

    jobs = min(_MOST_RUNS, _RUNS_A_PROCESSOR * _processors(ray))
    options = ["--jobs", str(jobs), *([] if progress else ["--quiet"])]
    summary: dict[str, Any] = json.loads(reproduce_with(["fairwave", *words, *options], source))
    return summary


def _parts(version: bytes, part: str, scenario: str) -> list[tuple[str, bytes]]:
    """The parts of the result of one run."""
    with tempfile.TemporaryDirectory(prefix="fairwave-run-") as place:
        return make_run(version, part, scenario, Path(place))


def _connected(address: str | None) -> Any:
    """Ray, connected to the cluster at `address` or to one on this machine."""
    ray: Any = importlib.import_module("ray")
    if not ray.is_initialized():
        ray.init(address=address, log_to_driver=False, include_dashboard=False)
    return ray


def _processors(ray: Any) -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))
