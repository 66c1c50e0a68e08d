"""Sweeps: every point of a scenario for every seed."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ._fairwave import Stop
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
    force: bool = False,
    address: str | None = None,
    progress: bool = False,
) -> Table:
    """Simulates every point of a scenario's sweep for every seed; a list in `set` makes an axis.

    Returns one table: a row for each of the `rows` (`flows`, `queues`, `stations`, `pairs`) of each
    run, with a column for each axis, named after its key, and the column `seed`. The order is that
    of the sweep, whatever the backend and the number of `jobs` (threads; all cores by default).

    With `out` each run leaves its run directory there. With `dataset`, a path or a URL of fsspec,
    the rows of each run are a file of a Parquet dataset with hive partitions, and a run that fails
    is a warning. Runs that are complete in either place are not made again. Those of another sweep
    in the same places of `out` are refused; `force` removes all runs of other sweeps there.

    `backend="ray"` makes the runs as tasks of Ray, of the cluster at `address` or of one on this
    machine, at most `jobs` of them at the same time (by default 1,024, or two for each
    processor if that is more). A run that fails, or kills its workers, is a warning.
    """
    if out is not None and "://" in os.fspath(out):
        raise ValueError(f"out={out!r}: it is a directory; `dataset` takes a URL")
    chosen = Scenario(scenario, set=axes(set), seeds=seeds)
    chosen.warn()
    # Workers of a cluster have other working directories.
    place = Path(out).absolute() if out is not None else None
    if dataset is not None and "://" not in os.fspath(dataset):
        dataset = os.path.abspath(dataset)
    if backend not in ("threads", "ray"):
        raise ValueError(f"backend={backend!r}: there are 'threads' and 'ray'")
    task = Task(chosen, rows, place, dataset)
    if dataset is not None:
        task.opened.check()
    with chosen.plan.claim(place, force) if place else nullcontext():
        if backend == "ray":
            from ._ray import sweep as on_ray

            return on_ray(task, address=address, jobs=jobs, progress=progress)
        workers = jobs or len(os.sched_getaffinity(0))
        if dataset is not None:
            return _on_threads(task, workers, progress)
        with meter(progress, "sweep") as done:
            return Table(chosen.plan.sweep(rows, workers, place, done))


class Made(NamedTuple):
    """Some runs of a sweep."""

    table: pyarrow.Table
    """The rows of those that succeeded, in the order of `outcomes`, with the columns of the sweep.
    """
    outcomes: list[tuple[int, int | str]]
    """Each run's place in the sweep, with its number of rows or the reason of its failure."""


@dataclass
class Task:
    """The runs of a sweep that one call makes, on threads or in other processes."""

    scenario: Scenario
    rows: str
    out: Path | None
    dataset: str | os.PathLike[str] | None

    @cached_property
    def jobs(self) -> list[tuple[int, int]]:
        """Point and seed of each run."""
        return self.scenario.plan.jobs

    @cached_property
    def opened(self) -> Dataset:
        """The dataset."""
        from ._dataset import Dataset

        assert self.dataset is not None
        return Dataset(self.dataset, self.scenario, self.rows)

    def made(self, numbers: Sequence[int], stop: Stop | None = None) -> Made:
        """Makes these runs, or reads those that are complete; `stop` ends them early."""
        import pyarrow

        plan = self.scenario.plan
        jobs = [self.jobs[number] for number in numbers]
        if self.dataset is None:
            stream, outcomes = plan.rows(jobs, self.rows, self.out, stop)
            return Made(pyarrow.table(stream), list(zip(numbers, outcomes, strict=True)))
        dataset = self.opened
        tables: list[pyarrow.Table] = []
        kept: list[tuple[int, int | str]] = []
        for number, job in zip(numbers, jobs, strict=True):
            table = dataset.read(number)
            if table is None:
                stream, [outcome] = plan.rows([job], self.rows, self.out, stop)
                if isinstance(outcome, str):
                    kept.append((number, outcome))
                    continue
                table = pyarrow.table(stream)
                dataset.write(number, table)
            tables.append(table)
            kept.append((number, len(table)))
        return Made(pyarrow.concat_tables(tables) if tables else pyarrow.table({}), kept)

    def __getstate__(self) -> dict[str, Any]:
        """Its fields, without the dataset that this process opened."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def joined(batches: Iterable[Made], runs: int, progress: bool) -> Table:
    """Rows of all runs in the order of the sweep. A run that failed is a warning."""
    import pyarrow

    tables: list[pyarrow.Table] = []
    # Where the rows of each run begin among those of all tables, and how many there are.
    places: dict[int, range] = {}
    failed: dict[int, str] = {}
    at = 0
    with meter(progress, "sweep") as done:
        for batch in batches:
            for number, outcome in batch.outcomes:
                if isinstance(outcome, str):
                    failed[number] = outcome
                    continue
                places[number] = range(at, at + outcome)
                at += outcome
            if batch.table.num_columns:
                tables.append(batch.table)
            if done:
                done((len(places) + len(failed)) / runs)
    for _, why in sorted(failed.items()):
        warnings.warn(why, SweepWarning, stacklevel=4)
    if not tables:
        return Table(pyarrow.table({}))
    order = [row for _, rows in sorted(places.items()) for row in rows]
    return Table(pyarrow.concat_tables(tables).take(pyarrow.array(order, "int64")))


def _on_threads(task: Task, workers: int, progress: bool) -> Table:
    """The runs of a sweep on threads of Python, which wait while the module simulates."""
    runs = len(task.jobs)
    pool = ThreadPoolExecutor(workers)
    stop = Stop()
    try:
        futures = [pool.submit(task.made, [number], stop) for number in range(runs)]
        return joined((future.result() for future in as_completed(futures)), runs, progress)
    finally:
        # After Ctrl-C or a failed write no further run begins, and those under way end.
        pool.shutdown(wait=False, cancel_futures=True)
        stop.set()
        pool.shutdown()
