"""Captures, analysed by `fairwave trace`."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from ._carried import packed, unpacked
from ._command import answer
from ._fairwave import read_table
from ._table import Table

#: Beginning of the names of temporary directories.
_PREFIX = "fairwave-trace-"


class Trace:
    """The analysis of a capture: the limit of each connection."""

    def __init__(self, report: dict[str, Any], place: tempfile.TemporaryDirectory[str]) -> None:
        self.report = report
        self._directory = Path(place.name)
        self._temporary: tempfile.TemporaryDirectory[str] | None = place

    @property
    def names(self) -> list[str]:
        """Names of its tables."""
        return sorted(file.stem for file in self._directory.glob("**/*.parquet"))

    @property
    def connections(self) -> Table:
        """Data sent by each end of each TCP connection and UDP stream."""
        return self.table("connections")

    def table(self, name: str) -> Table:
        """A table of docs/trace-tables.md."""
        found = list(self._directory.glob(f"**/{name}.parquet"))
        if not found:
            raise KeyError(f"{name}: this capture has the tables {', '.join(self.names)}")
        return Table(read_table(found[0]))

    def __getstate__(self) -> tuple[dict[str, Any], Path | dict[str, bytes]]:
        """Its report, and the files of its tables, which end with this process."""
        return self.report, packed(self._directory, self._temporary)

    def __setstate__(self, state: tuple[dict[str, Any], Path | dict[str, bytes]]) -> None:
        self.report, files = state
        self._directory, self._temporary = unpacked(files, _PREFIX)

    def __repr__(self) -> str:
        """The number of its tables."""
        return f"<fairwave.Trace: tables {', '.join(self.names)}>"


def trace(
    capture: str | os.PathLike[str], other: str | os.PathLike[str] | None = None, *words: str
) -> Trace:
    """Analyses a capture of tcpdump, Wireshark or Fairwave; `words` are options of the command.

    With `other`, a second capture of the same traffic, what happened between the two.
    """
    place = tempfile.TemporaryDirectory(prefix=_PREFIX)
    files = [os.fspath(file) for file in (capture, other) if file is not None]
    report = answer("trace", *files, "--out", place.name, *words)
    return Trace(report, place)
