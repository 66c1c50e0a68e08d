"""Results in directories, which travel with their objects to another process."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

#: Maximum size of files that travel within an object, in bytes: all are in memory at once.
_MAX_BYTES = 1 << 30


def packed(place: Path, temporary: TemporaryDirectory[str] | None) -> Path | dict[str, bytes]:
    """The files of a temporary directory by name; of another directory, its absolute path."""
    if temporary is None:
        return place.absolute()
    files = [file for file in sorted(place.glob("**/*")) if file.is_file()]
    size = sum(file.stat().st_size for file in files)
    if size > _MAX_BYTES:
        raise ValueError(
            f"{place}: its {size:,} bytes are too many for a copy in memory, of which the maximum "
            f"is {_MAX_BYTES:,}; results in a directory that stays travel as its path"
        )
    return {file.relative_to(place).as_posix(): file.read_bytes() for file in files}


def unpacked(
    sent: Path | dict[str, bytes], prefix: str
) -> tuple[Path, TemporaryDirectory[str] | None]:
    """The directory of these results; files are in a new temporary one, which is returned too."""
    if isinstance(sent, Path):
        return sent, None
    temporary = TemporaryDirectory(prefix=prefix)
    place = Path(temporary.name)
    for name, content in sent.items():
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return place, temporary
