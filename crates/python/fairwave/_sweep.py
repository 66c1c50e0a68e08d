"""Sweeps: every point of a scenario for every seed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from ._progress import meter
from ._scenario import Scenario, Settings, Source, axes
from ._table import Table

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
    address: str | None = None,
    progress: bool = False,
) -> Table:
    """Simulates every point of a scenario's sweep for every seed; a list in `set` makes an axis.

    Returns one table: a row for each of the `rows` (`flows`, `queues`, `stations`, `pairs`) of each
    run, with a column for each axis, named after its key, and the column `seed`. The order is that
    of the sweep, whatever the backend and the number of `jobs` (threads; all cores by default).

    With `out` each run leaves its run directory there, and runs that are complete there are not
    made again. `backend="ray"` makes the runs as tasks of Ray, of the cluster at `address` or of
    one on this machine.
    """
    chosen = Scenario(scenario, set=axes(set), seeds=seeds)
    chosen.warn()
    place = Path(out) if out is not None else None
    if backend == "ray":
        from ._ray import sweep as on_ray

        return on_ray(chosen, rows=rows, out=place, address=address, progress=progress)
    if backend != "threads":
        raise ValueError(f"backend={backend!r}: there are 'threads' and 'ray'")
    workers = jobs or len(os.sched_getaffinity(0))
    with meter(progress, "sweep") as done:
        return Table(chosen.plan.sweep(rows, workers, place, done))
