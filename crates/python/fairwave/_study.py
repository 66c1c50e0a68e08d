"""Studies: a paper's experiment, claim by claim."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._carried import packed, unpacked
from ._fairwave import reproduce as reproduce_with
from ._progress import meter
from ._sweep import Backend

#: Beginning of the names of temporary directories.
_PREFIX = "fairwave-study-"


@dataclass(frozen=True)
class Claim:
    """A claim of a paper, judged."""

    id: str
    """Its number, such as `ACK-1`."""
    verdict: str
    """The verdict in a word or two, over all set-ups."""
    statement: str
    """What the paper, or we, claim."""
    holds: bool | None
    """Whether it holds at the paper's own set-up; `None` if that cannot be decided."""
    ours: bool
    """Whether it is a claim of Fairwave's, not of the paper's."""
    criterion: str
    """The condition that was tested."""
    measured: Any
    """Every number that the verdict rests on."""
    reason: str | None
    """The reason why it could not be decided."""
    raw: dict[str, Any]
    """All that `fairwave reproduce --json` says of it."""

    @classmethod
    def _of(cls, entry: dict[str, Any]) -> Claim:
        names = ["id", "verdict", "statement", "holds", "ours", "criterion", "measured", "reason"]
        found: dict[str, Any] = {name: entry.get(name) for name in names}
        return cls(**found, raw=entry)


class Reproduction:
    """The results of a study."""

    def __init__(
        self,
        summary: dict[str, Any],
        directory: Path,
        temporary: tempfile.TemporaryDirectory[str] | None,
    ) -> None:
        self.summary = summary
        self.directory = directory
        self._temporary = temporary

    @property
    def claims(self) -> list[Claim]:
        """The claims, in the order of the paper."""
        return [Claim._of(entry) for entry in self.summary["claims"]]

    @property
    def figures(self) -> list[Path]:
        """Files of its figures, as SVG."""
        return sorted((self.directory / "figures").glob("*.svg"))

    @property
    def report(self) -> Path:
        """Its page."""
        return self.directory / "report.html"

    def _repr_html_(self) -> str:
        """Claims and figures, for notebooks."""
        rows = (f"<tr><td>{c.id}<td>{c.verdict}<td>{c.statement}" for c in self.claims)
        figures = (figure.read_text(encoding="utf-8") for figure in self.figures)
        table = f"<table><tr><th>claim<th>verdict<th>statement{''.join(rows)}</table>"
        return table + "".join(f"<div>{figure}</div>" for figure in figures)

    def __getstate__(self) -> tuple[dict[str, Any], Path | dict[str, bytes]]:
        """Its summary, and its files if they are temporary; else the path of its directory."""
        return self.summary, packed(self.directory, self._temporary)

    def __setstate__(self, state: tuple[dict[str, Any], Path | dict[str, bytes]]) -> None:
        self.summary, files = state
        self.directory, self._temporary = unpacked(files, _PREFIX)

    def __repr__(self) -> str:
        """The verdicts."""
        verdicts = ", ".join(f"{c.id} {c.verdict}" for c in self.claims)
        return f"<fairwave.Reproduction {self.summary['study']}: {verdicts}>"


def reproduce(
    study: str,
    *,
    full: bool = False,
    quick: bool | None = None,
    backend: Backend = "threads",
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    address: str | None = None,
    progress: bool = False,
) -> Reproduction:
    """Reruns a paper's experiment and judges its claims; quickly, unless `full` is set.

    Study names are those of `fairwave list studies`. With `out` its report and its runs stay there.
    `jobs` is the number of runs at the same time, by default that of the cores.
    `backend="ray"` makes the runs as tasks of Ray, of the cluster at `address` or of one on this
    machine, by default two for each of its present processors; their results go into this machine's
    store, and the report is that of any machine.
    """
    if quick is not None and quick == full:
        raise ValueError("a reproduction is either quick or full")
    if backend not in ("threads", "ray"):
        raise ValueError(f"backend={backend!r}: there are 'threads' and 'ray'")
    temporary = None if out is not None else tempfile.TemporaryDirectory(prefix=_PREFIX)
    place = Path(out if temporary is None else temporary.name)  # type: ignore[arg-type]
    extent = "--full" if full else "--quick"
    words = ["reproduce", study, extent, "--out", str(place)]
    if jobs is not None:
        words += ["--jobs", str(jobs)]
    if backend == "ray":
        from ._ray import reproduce as on_ray

        return Reproduction(on_ray(words, address=address, progress=progress), place, temporary)
    return Reproduction(reproduced(words, None, progress), place, temporary)


def reproduced(
    words: list[str], source: Callable[[str, str], list[tuple[str, bytes]]] | None, progress: bool
) -> dict[str, Any]:
    """The summary of a study; `source` makes the runs that the store lacks, or else this machine.

    A bar begins anew with each part of the study: its own set-up, and each pass over its maps.
    """
    with meter(progress, "reproduce") as done:
        line = ["fairwave", *words, "--quiet"]
        summary: dict[str, Any] = json.loads(reproduce_with(line, source, done))
        return summary
