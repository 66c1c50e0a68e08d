"""Tables of results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class ArrowStream(Protocol):
    """An object with Arrow's C stream interface."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


class Table:
    """A table of results, which others read by Arrow's C stream interface.

    `pyarrow.table(t)`, `polars.DataFrame(t)` and DuckDB's `from_arrow` take it as it is; the
    methods do the same for those who like them shorter.
    """

    def __init__(self, stream: ArrowStream) -> None:
        self._stream = stream

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as a capsule of Arrow's C stream interface."""
        return self._stream.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        """The number of rows."""
        counted: Any = self._stream
        return len(counted)

    @property
    def column_names(self) -> list[str]:
        """Names of the columns; those of quantities end in their unit, such as `_bps`."""
        named: Any = self._stream
        return list(named.column_names)

    @property
    def descriptions(self) -> dict[str, str]:
        """Meaning of each column that has a description, by its name."""
        stream: Any = self._stream
        if hasattr(stream, "descriptions"):
            return dict(stream.descriptions)
        # A table of pyarrow, which was joined from those of the native module.
        metadata = stream.schema.metadata or {}
        found = {name: metadata.get(f"{name}.description".encode()) for name in self.column_names}
        return {name: text.decode() for name, text in found.items() if text is not None}

    def to_arrow(self) -> pyarrow.Table:
        """The table as pyarrow's."""
        import pyarrow

        return pyarrow.table(self)

    def to_polars(self) -> polars.DataFrame:
        """The table as a DataFrame of polars."""
        import polars

        return polars.DataFrame(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a DataFrame of pandas; pyarrow has to be installed, too."""
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame

    def __repr__(self) -> str:
        """Size and columns."""
        names = self.column_names
        return f"<fairwave.Table: {len(self)} rows, {len(names)} columns: {', '.join(names)}>"

    def _repr_html_(self) -> str | None:
        """The rows, for notebooks, if pandas is installed."""
        try:
            frame: Any = self.to_pandas()
        except ImportError:
            return None
        html: str = frame._repr_html_()
        return html
