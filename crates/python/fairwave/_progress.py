"""Progress bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def meter(wanted: bool, what: str) -> Iterator[Callable[[float], None] | None]:
    """A function that takes the share that is done, and shows it if that is wanted."""
    if not wanted:
        yield None
        return
    from tqdm.auto import tqdm

    with tqdm(total=100, desc=what, unit="%", bar_format="{l_bar}{bar}| {elapsed}") as bar:

        def done(share: float) -> None:
            bar.update(100 * share - bar.n)

        yield done
