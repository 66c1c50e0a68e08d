"""Sweeps as tasks of Ray."""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path
from typing import Any

from ._progress import meter
from ._scenario import Scenario
from ._table import Table

#: Tasks for each processor of the cluster: enough to even out runs of unequal length.
_TASKS_A_PROCESSOR = 8
#: Times that a task is repeated whose worker died.
_RETRIES = 3


def sweep(
    scenario: Scenario, *, rows: str, out: Path | None, address: str | None, progress: bool
) -> Table:
    """Makes the runs of a scenario on a cluster, and joins their rows in the order of the sweep."""
    import pyarrow

    ray: Any = importlib.import_module("ray")

    from ._sweep import SweepWarning

    if not ray.is_initialized():
        ray.init(address=address, log_to_driver=False, include_dashboard=False)
    numbers = list(range(len(scenario.plan.jobs)))
    tasks = max(1, int(ray.cluster_resources().get("CPU", 1)) * _TASKS_A_PROCESSOR)
    chunks = [numbers[at::tasks] for at in range(min(tasks, len(numbers)))]
    one = ray.remote(max_retries=_RETRIES)(_runs)
    shared = ray.put(scenario)
    waiting = [one.remote(shared, chunk, rows, out) for chunk in chunks]
    made: dict[int, Any] = {}
    with meter(progress, "sweep") as done:
        while waiting:
            ready, waiting = ray.wait(waiting)
            for number, table, why in ray.get(ready[0]):
                if why is None:
                    made[number] = table
                else:
                    warnings.warn(why, SweepWarning, stacklevel=3)
            if done:
                done(len(made) / len(numbers))
    tables = [made[number] for number in sorted(made)]
    return Table(pyarrow.concat_tables(tables) if tables else pyarrow.table({}))


def _runs(
    scenario: Scenario, numbers: list[int], rows: str, out: Path | None
) -> list[tuple[int, Any, str | None]]:
    """Rows of some runs, each with its number and, in place of rows, the reason of a failure."""
    import pyarrow

    from ._fairwave import RunError

    jobs = scenario.plan.jobs
    results: list[tuple[int, Any, str | None]] = []
    for number in numbers:
        try:
            table = scenario.plan.rows(*jobs[number], rows, out)
            results.append((number, pyarrow.table(table), None))
        except RunError as error:
            results.append((number, None, str(error)))
    return results
