"""A sweep as one Parquet dataset with hive partitions, in any storage that fsspec reaches."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import os
import uuid
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ._fairwave import code_version
from ._scenario import Scenario

if TYPE_CHECKING:
    import pyarrow

#: Digits of a file's name: the beginning of a hash over everything that determines its content.
_DIGITS = 16
#: Conversions of an axis's values, by the type of its column.
_READ = {"int64": int, "float64": float, "utf8": str}


class Dataset:
    """Files `AXIS=VALUE/.../seed=N/KEY.parquet`, one for each run of a sweep.

    The key is a hash over the resolved scenario, the version of the code and the table's name. A
    file appears as a whole, so that a run whose file is there is complete. With algorithms of one's
    own, which the scenario's text has not, no run is taken from its file.
    """

    def __init__(self, url: str | os.PathLike[str], scenario: Scenario, rows: str) -> None:
        for library in ("fsspec", "pyarrow"):
            if importlib.util.find_spec(library) is None:
                message = f"a dataset needs {library}, which the extra `dataset` of fairwave has"
                raise ModuleNotFoundError(message, name=library)
        from fsspec.implementations.local import LocalFileSystem

        plan = scenario.plan
        self._jobs, self._points = plan.jobs, plan.points
        self._axes = plan.axis_types
        self._has_own_algorithms = plan.has_own_algorithms
        self._plan = plan
        self._rows = rows
        self._root: str
        self._url = os.fspath(url)
        storage, self._root = self._located()
        # Directories of this machine have no such names for fsspec.
        if set(self._root) & set("*?[") and not isinstance(storage, LocalFileSystem):
            raise ValueError(f"{self._url}: a storage takes *, ? and [ in names for patterns")

    def _located(self) -> tuple[Any, str]:
        """The storage and the root in it."""
        import fsspec

        # Each thread has an object of its own: not every storage bears several.
        storage, root = fsspec.core.url_to_fs(self._url)
        # Other processes write, too.
        storage.invalidate_cache()
        return storage, root

    def check(self) -> None:
        """Raises `ValueError` if files of another sweep are where this one's files belong."""
        storage, _ = self._located()
        if not storage.exists(self._root):
            return
        own = {self._path(number) for number in range(len(self._jobs))}
        places = {path.rpartition("/")[0] for path in own}
        for path in storage.find(self._root):
            place, _, name = path.rpartition("/")
            if name.endswith(".parquet") and place in places and path not in own:
                raise ValueError(
                    f"{path}: a run of another scenario, of other rows or of another version of "
                    "Fairwave; choose another dataset or remove it"
                )

    def read(self, number: int) -> pyarrow.Table | None:
        """The rows of a run, with its axes and its seed; `None` if the run is not complete."""
        import pyarrow
        import pyarrow.parquet

        if self._has_own_algorithms:
            return None
        path, (storage, _) = self._path(number), self._located()
        if not storage.exists(path):
            return None
        rows = pyarrow.parquet.read_table(io.BytesIO(storage.cat_file(path)))
        columns, fields = list(rows.columns), list(rows.schema)
        for at, (name, kind, value) in enumerate(self._partitions(number)):
            # As in the native module's table, the seed is never null.
            field = pyarrow.field(name, kind, nullable=kind != "uint64")
            fields.insert(at, field)
            columns.insert(at, pyarrow.array([value] * len(rows), kind))
        return pyarrow.table(columns, pyarrow.schema(fields, rows.schema.metadata))

    def write(self, number: int, table: pyarrow.Table) -> None:
        """Writes the rows of a run, without the columns that are partitions of its path."""
        import pyarrow.parquet

        content = io.BytesIO()
        partitions = [name for name, _, _ in self._partitions(number)]
        pyarrow.parquet.write_table(table.drop_columns(partitions), content)
        path, (storage, _) = self._path(number), self._located()
        place, _, name = path.rpartition("/")
        storage.makedirs(place, exist_ok=True)
        # A worker may be killed while it writes. Readers ignore names that begin with a point.
        unfinished = f"{place}/.{name}.{uuid.uuid4().hex}"
        storage.pipe_file(unfinished, content.getvalue())
        storage.mv(unfinished, path)

    def _partitions(self, number: int) -> list[tuple[str, str, Any]]:
        """Name, type and value of each partition of a run."""
        point, seed = self._jobs[number]
        values = dict(self._points[point])
        axes = [(key, kind, _READ[kind](values[key].strip('"'))) for key, kind in self._axes]
        return [*axes, ("seed", "uint64", seed)]

    def _path(self, number: int) -> str:
        point, seed = self._jobs[number]
        values = {**dict(self._points[point]), "seed": str(seed)}
        keys = [*(key for key, _ in self._axes), "seed"]
        parts = [f"{key}={quote(values[key].strip(chr(34)), safe='')}" for key in keys]
        determines = f"{self._rows}\n{self._plan.resolved(point, seed)}".encode()
        key = hashlib.sha256(code_version() + determines).hexdigest()[:_DIGITS]
        return "/".join([self._root, *parts, f"{key}.parquet"])
