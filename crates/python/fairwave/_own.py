"""Registered algorithms of one's own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

from ._fairwave import check_own

T = TypeVar("T")

#: An algorithm: its kind, its name in scenarios, and what makes its state.
Own: TypeAlias = "tuple[str, str, Callable[..., Any]]"

_registries: list[Registry[Any]] = []


class Registry(Generic[T]):
    """Algorithms of one kind by their names. Each is an object of the class `base`."""

    def __init__(self, kind: str, base: type[T]) -> None:
        self.kind = kind
        self.base = base
        self.algorithms: dict[str, Callable[..., T]] = {}
        _registries.append(self)

    def register(self, algorithm: Callable[..., T], name: str | None) -> None:
        """Adds an algorithm; an earlier one of this name is replaced."""
        if isinstance(algorithm, type) and not issubclass(algorithm, self.base):
            raise TypeError(f"{algorithm.__name__} is no subclass of {_path(self.base)}")
        if not callable(algorithm):
            raise TypeError(f"{algorithm!r} is neither a class nor a function that makes an object")
        name = name if name is not None else getattr(algorithm, "__name__", None)
        if name is None:
            raise TypeError(f'{algorithm!r} has no name of its own: write name="..."')
        check_own((self.kind, name, algorithm))
        self.algorithms[name] = algorithm

    def unregister(self, name: str) -> None:
        """Removes an algorithm."""
        if self.algorithms.pop(name, None) is None:
            known = ", ".join(self.algorithms) or "none"
            raise KeyError(f"{name}: there are {known}")

    def own(self) -> list[Own]:
        """The algorithms, as the native module takes them."""
        return [(self.kind, name, self._checked(make)) for name, make in self.algorithms.items()]

    def _checked(self, make: Callable[..., T]) -> Callable[..., T]:
        return make if isinstance(make, type) else partial(_made, make, self.base)


def _made(make: Callable[..., T], base: type[T], *inputs: Any) -> T:
    made = make(*inputs)
    if not isinstance(made, base):
        raise TypeError(f"{make!r} made {made!r}, which is no {_path(base)}")
    return made


def registered() -> list[Own]:
    """All registered algorithms."""
    return [one for registry in _registries for one in registry.own()]


def merged(first: list[Own], second: list[Own]) -> list[Own]:
    """The algorithms of both. Where they share a name, it means that of the first."""
    found = {(kind, name): make for kind, name, make in [*second, *first]}
    return [(kind, name, make) for (kind, name), make in found.items()]


def _path(base: type[Any]) -> str:
    return f"{base.__module__}.{base.__name__}"
