"""Sweeps and studies as tasks of Ray."""

from __future__ import annotations

import importlib
import tempfile
import warnings
from collections import deque
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

from ._fairwave import RunError, check_version, code_version, make_run
from ._study import reproduced
from ._sweep import Made, SweepWarning, Task, joined
from ._table import Table

#: Size of a sweep's tasks. A task costs some milliseconds, and a processor without one is idle
#: while others end theirs: a task for each 32 runs, but 64, and eight a processor, at least. A
#: driver sends some hundred tasks a second: no more than 4,096, or two a processor.
_RUNS_A_TASK = 32
_LEAST_TASKS = 64
_TASKS_A_PROCESSOR = 8
_MOST_TASKS = 4096
#: Times that a task is repeated whose worker died.
_RETRIES = 3
#: Tasks of a sweep at the same time, unless the caller says otherwise, or the cluster has more than
#: half as many processors. One with fewer may add nodes while tasks wait.
_AT_ONCE = 1024
#: Tasks that wait or run for each processor of the cluster. Those of a study have a thread of the
#: driver each, for which Ctrl-C waits.
_AHEAD = 2


def sweep(task: Task, *, address: str | None, jobs: int | None, progress: bool) -> Table:
    """Makes the runs of a sweep on a cluster, and joins their rows in the order of the sweep.

    Of a task whose workers die each run is a task once more, so that the run that kills them is
    found: it is a warning.
    """
    ray = _connected(address)
    runs = len(task.jobs)
    at_once = jobs or max(_AT_ONCE, _AHEAD * _processors(ray))
    with closing(_batches(ray, task, runs, at_once)) as batches:
        return joined(batches, runs, progress)


def _batches(ray: Any, task: Task, runs: int, at_once: int) -> Generator[Made]:
    """Runs as the cluster completes them. Tasks that are not awaited to the end are cancelled."""
    import pyarrow

    one = ray.remote(max_retries=_RETRIES)(_runs)
    # In a list: Ray passes it on as it is, and a worker of another version cannot read the task.
    inputs = (code_version(), [ray.put(task)])
    processors = _processors(ray)
    wanted = max(_LEAST_TASKS, -(-runs // _RUNS_A_TASK), _TASKS_A_PROCESSOR * processors)
    size = -(-runs // min(wanted, max(_MOST_TASKS, _AHEAD * processors)))
    ahead = deque(range(at, min(at + size, runs)) for at in range(0, runs, size))
    waiting: dict[Any, range] = {}
    try:
        while ahead or waiting:
            while ahead and len(waiting) < at_once:
                numbers = ahead.popleft()
                waiting[one.remote(*inputs, numbers)] = numbers
            [ready], _ = ray.wait(list(waiting))
            numbers = waiting.pop(ready)
            try:
                made = ray.get(ready)
            except _deaths(ray) as error:
                if len(numbers) > 1:
                    ahead.extend(range(number, number + 1) for number in numbers)
                    continue
                made = Made(pyarrow.table({}), [(numbers[0], _died(task, numbers[0], error))])
            yield made
    finally:
        for task_left in waiting:
            ray.cancel(task_left, force=True)


#: The task of the latest sweep whose runs this worker made, by the name of Ray's object.
_kept: dict[str, Task] = {}


def _runs(version: bytes, shared: list[Any], numbers: range) -> Made:
    """Makes runs in a worker, which reads the task of a sweep once."""
    check_version(version)
    [task] = shared
    name = task.hex()
    if name not in _kept:
        _kept.clear()
        _kept[name] = importlib.import_module("ray").get(task)
    return _kept[name].made(numbers)


def _deaths(ray: Any) -> tuple[type[Exception], ...]:
    """Errors of tasks whose workers died each time."""
    errors = ray.exceptions
    return errors.WorkerCrashedError, errors.NodeDiedError, errors.OutOfMemoryError


def _died(task: Task, number: int, error: Exception) -> str:
    """The reason why there is no such run, in the words of other runs that fail."""
    plan = task.scenario.plan
    point, seed = task.jobs[number]
    at = ", ".join(f"{key} = {value}" for key, value in plan.points[point])
    return f"run with seed {seed}{f' at {at}' if at else ''}: {error}"


def reproduce(words: list[str], *, address: str | None, progress: bool) -> dict[str, Any]:
    """Reruns a study with `words` of the command line, each run a task; returns its summary.

    The study asks for results that its store lacks. A run that fails on the cluster, or kills its
    workers, is reported and made once more on this machine, whose failure ends the study when the
    other runs are complete and stored.
    """
    ray = _connected(address)
    version = code_version()
    task = ray.remote(max_retries=_RETRIES)(_parts)
    failures: tuple[type[Exception], ...] = (RunError, *_deaths(ray))

    def source(part: str, scenario: str) -> list[tuple[str, bytes]]:
        try:
            made: list[tuple[str, bytes]] = ray.get(task.remote(version, part, scenario))
            return made
        except failures as error:
            why = getattr(error, "cause", None) or error
            warnings.warn(f"{why}; this machine makes the run", SweepWarning, stacklevel=2)
            return []

    if "--jobs" not in words:
        # A cluster that has no nodes yet knows no processors.
        processors = _processors(ray) or _AT_ONCE
        words = [*words, "--jobs", str(min(_AT_ONCE, _AHEAD * processors))]
    return reproduced(words, source, progress)


def _parts(version: bytes, part: str, scenario: str) -> list[tuple[str, bytes]]:
    """The parts of the result of one run."""
    with tempfile.TemporaryDirectory(prefix="fairwave-run-") as place:
        return make_run(version, part, scenario, Path(place))


#: The address at which Ray was connected here, and its cluster.
_chosen: tuple[str, str] | None = None


def _connected(address: str | None) -> Any:
    """Ray, connected to the cluster at `address` or to one on this machine."""
    global _chosen
    ray: Any = importlib.import_module("ray")
    if not ray.is_initialized():
        ray.init(address=address, log_to_driver=False, include_dashboard=False)
        _chosen = (address, _cluster(ray)) if address else None
    elif address not in (None, "auto"):
        cluster = _cluster(ray)
        if address != cluster and (address, cluster) != _chosen:
            raise ValueError(
                f"address={address!r}: Ray is connected to {cluster}; leave out `address`, or "
                "call ray.shutdown() first"
            )
    return ray


def _processors(ray: Any) -> int:
    """Processors that the cluster has now: none yet, perhaps."""
    return int(ray.cluster_resources().get("CPU", 0))


def _cluster(ray: Any) -> str:
    """The address of the cluster that Ray is connected to."""
    return str(getattr(ray.get_runtime_context(), "gcs_address", "a cluster by its client"))
