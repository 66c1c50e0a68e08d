"""Sweeps: every point of a scenario for every seed."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from ._fairwave import RunError
from ._progress import meter
from ._scenario import Scenario, Settings, Source, axes
from ._table import Table

if TYPE_CHECKING:
    import pyarrow

    from ._dataset import Dataset

Backend = Literal["threads", "ray"]


class SweepWarning(UserWarning):
    """A run of a sweep failed; the others are complete."""


def sweep(
    scenario: Source,
    *,
    seeds: int | None = None,
    set: Settings = None,
    backend: Backend = "threads",
    rows: str = "flows",
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    dataset: str | os.PathLike[str] | None = None,
    address: str | None = None,
    progress: bool = False,
) -> Table:
    """Simulates every point of a scenario's sweep for every seed; a list in `set` makes an axis.

    Returns one table: a row for each of the `rows` (`flows`, `queues`, `stations`, `pairs`) of each
    run, with a column for each axis, named after its key, and the column `seed`. The order is that
    of the sweep, whatever the backend and the number of `jobs` (threads; all cores by default).

    With `out` each run leaves its run directory there. With `dataset`, a path or a URL of fsspec,
    the rows of each run are a file of a Parquet dataset with hive partitions, and a run that fails
    is a warning. Runs that are complete in either place are not made again.

    `backend="ray"` makes the runs as tasks of Ray, of the cluster at `address` or of one on this
    machine. A run that fails is a warning, too.
    """
    chosen = Scenario(scenario, set=axes(set), seeds=seeds)
    chosen.warn()
    place = Path(out) if out is not None else None
    if backend not in ("threads", "ray"):
        raise ValueError(f"backend={backend!r}: there are 'threads' and 'ray'")
    task = Task(chosen, rows, place, dataset)
    if dataset is not None:
        task.opened().check()
    if backend == "ray":
        from ._ray import sweep as on_ray

        return on_ray(task, address=address, progress=progress)
    workers = jobs or len(os.sched_getaffinity(0))
    if dataset is not None:
        return _on_threads(task, workers, progress)
    with meter(progress, "sweep") as done:
        return Table(chosen.plan.sweep(rows, workers, place, done))


class Made(NamedTuple):
    """A run of a sweep."""

    number: int
    """Its place in the sweep."""
    table: pyarrow.Table | None
    """Its rows, with the columns of the sweep."""
    why: str | None
    """The reason of a failure, in place of rows."""


class Task(NamedTuple):
    """The runs of a sweep that one call makes, on a thread or in another process."""

    scenario: Scenario
    rows: str
    out: Path | None
    dataset: str | os.PathLike[str] | None

    def opened(self) -> Dataset:
        """The dataset."""
        from ._dataset import Dataset

        assert self.dataset is not None
        return Dataset(self.dataset, self.scenario, self.rows)

    def made(self, numbers: Iterable[int]) -> list[Made]:
        """Makes these runs, or reads those that are complete."""
        import pyarrow

        dataset = None if self.dataset is None else self.opened()
        plan = self.scenario.plan
        jobs = plan.jobs
        results: list[Made] = []
        for number in numbers:
            there = dataset.read(number) if dataset else None
            if there is not None:
                results.append(Made(number, there, None))
                continue
            try:
                table = pyarrow.table(plan.rows(*jobs[number], self.rows, self.out))
            except RunError as error:
                results.append(Made(number, None, str(error)))
                continue
            if dataset:
                dataset.write(number, table)
            results.append(Made(number, table, None))
        return results


def joined(batches: Iterable[list[Made]], runs: int, progress: bool) -> Table:
    """Rows of all runs in the order of the sweep. A run that failed is a warning."""
    import pyarrow

    made: dict[int, Made] = {}
    with meter(progress, "sweep") as done:
        for batch in batches:
            made.update((one.number, one) for one in batch)
            if done:
                done(len(made) / runs)
    failed = [one.why for _, one in sorted(made.items()) if one.why is not None]
    for why in failed:
        warnings.warn(why, SweepWarning, stacklevel=4)
    tables = [one.table for _, one in sorted(made.items()) if one.table is not None]
    return Table(pyarrow.concat_tables(tables) if tables else pyarrow.table({}))


def _on_threads(task: Task, workers: int, progress: bool) -> Table:
    """The runs of a sweep on threads of Python, which wait while the module simulates."""
    runs = len(task.scenario.plan.jobs)
    pool = ThreadPoolExecutor(workers)
    try:
        futures = [pool.submit(task.made, [number]) for number in range(runs)]
        return joined((future.result() for future in as_completed(futures)), runs, progress)
    finally:
        # After Ctrl-C or a failed write no further run begins.
        pool.shutdown(cancel_futures=True)
