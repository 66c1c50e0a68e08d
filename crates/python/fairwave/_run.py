"""Runs: simulated here, or read from a directory."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any

from ._carried import packed, unpacked
from ._fairwave import RunError, ScenarioError, read_table, series_of, summary_table
from ._progress import meter
from ._scenario import Scenario, ScenarioWarning, Settings, Source
from ._table import Table

#: Beginning of the names of temporary directories.
_PREFIX = "fairwave-"
#: File whose presence means that a run directory is complete.
_SUMMARY = "summary.json"


class Run:
    """Results of one run.

    A run of `fairwave.run` is in a temporary directory until it is collected; `save` keeps it.
    Copies and pickles of such a run contain its files; those of a saved run name its directory.
    """

    def __init__(
        self, directory: Path, temporary: tempfile.TemporaryDirectory[str] | None = None
    ) -> None:
        self._directory = directory
        self._temporary = temporary

    @property
    def directory(self) -> Path:
        """Its run directory."""
        return self._directory

    @property
    def flows(self) -> Table:
        """Results by flow."""
        return self._rows("flows")

    @property
    def queues(self) -> Table:
        """Results by queue."""
        return self._rows("queues")

    @property
    def stations(self) -> Table:
        """Results by radio."""
        return self._rows("stations")

    @property
    def pairs(self) -> Table:
        """Results by transmitter and receiver on the air."""
        return self._rows("pairs")

    def _rows(self, name: str) -> Table:
        return Table(summary_table(self._directory, name))

    @property
    def series_names(self) -> list[str]:
        """Names of its series, such as `flows`, `queues` and `drops`."""
        files = [Path(name) for name in series_of(self._directory)]
        return [file.stem for file in files if file.suffix == ".parquet"]

    def series(self, name: str) -> Table:
        """A series over the time of the run: `run.series("flows")`."""
        names = self.series_names
        if name not in names:
            raise KeyError(f"{name}: this run has the series {', '.join(names) or 'of none'}")
        return Table(read_table(self._directory / f"{name}.parquet"))

    @property
    def summary(self) -> dict[str, Any]:
        """The content of `summary.json`."""
        return self._json(_SUMMARY)

    @property
    def meta(self) -> dict[str, Any]:
        """Origin of the numbers: version, seed, axes."""
        return self._json("meta.json")

    def _json(self, name: str) -> dict[str, Any]:
        read: dict[str, Any] = json.loads((self._directory / name).read_text(encoding="utf-8"))
        return read

    @property
    def scenario(self) -> str:
        """The scenario with every default resolved, as TOML."""
        return (self._directory / "scenario.toml").read_text(encoding="utf-8")

    def save(self, directory: str | os.PathLike[str]) -> Run:
        """Copies the run directory, with the bytes that `fairwave run --out` writes.

        Its summary, which makes a run complete, is copied last.
        """
        to = Path(directory)
        if to.exists() and any(to.iterdir()):
            raise FileExistsError(f"{to}: not empty")
        others = shutil.ignore_patterns(_SUMMARY)
        shutil.copytree(self._directory, to, ignore=others, dirs_exist_ok=True)
        # It appears as a whole, whenever the process may end.
        unfinished = to / f"{_SUMMARY}.partial"
        shutil.copy2(self._directory / _SUMMARY, unfinished)
        unfinished.replace(to / _SUMMARY)
        return Run(to)

    def __getstate__(self) -> dict[str, Path | dict[str, bytes]]:
        """Its files if they are temporary, since they end with this process; else their path."""
        return {"results": packed(self._directory, self._temporary)}

    def __setstate__(self, state: dict[str, Path | dict[str, bytes]]) -> None:
        self._directory, self._temporary = unpacked(state["results"], _PREFIX)

    def __repr__(self) -> str:
        """Its directory and the number of flows."""
        return f"<fairwave.Run {self._directory}: {len(self.flows)} flows>"


def run(
    scenario: Source,
    *,
    seed: int | None = None,
    set: Settings = None,
    progress: bool = False,
) -> Run:
    """Simulates one scenario once.

    `set` and `seed` select a run of a scenario with a sweep. With `progress` a bar is shown (tqdm).
    Raises `ScenarioError` for a wrong scenario, `RunError` for a run that failed.
    """
    chosen = Scenario(scenario, set=set, seed=seed)
    jobs = chosen.plan.jobs
    if len(chosen.plan.points) > 1:
        raise ScenarioError(
            f"{chosen.name}: its sweep makes {len(jobs)} runs of {len(chosen.plan.points)} points; "
            "`set` chooses one of them, `fairwave.sweep` makes all"
        )
    chosen.warn()
    if len(jobs) > 1 and seed is None:
        warnings.warn(
            f"this is the run of seed {jobs[0][1]} alone; `fairwave.sweep` makes those of all "
            f"{len(jobs)} seeds",
            ScenarioWarning,
            stacklevel=2,
        )
    temporary = tempfile.TemporaryDirectory(prefix=_PREFIX)
    directory = Path(temporary.name) / "run"
    with meter(progress, "run") as done:
        chosen.plan.run(*jobs[0], directory, done)
    return Run(directory, temporary)


def load(directory: str | os.PathLike[str]) -> Run:
    """Reads a run directory of `fairwave run --out`, `fairwave sweep` or `Run.save`."""
    place = Path(directory)
    if not (place / _SUMMARY).is_file():
        runs = sorted(str(file.parent) for file in place.glob(f"**/{_SUMMARY}"))
        hint = f"; there are runs below it, such as {runs[0]}" if runs else ""
        raise RunError(f"{place}: no run directory: it has no {_SUMMARY}{hint}")
    return Run(place)
