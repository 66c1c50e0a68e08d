"""Scenarios: files, texts and dicts, with settings."""

from __future__ import annotations

import json
import operator
import os
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from ._fairwave import Plan
from ._own import Own, merged, registered

#: A scenario: the path of a file, a dict of its tables, or a `Scenario`.
Source: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any] | Scenario"
#: Settings: `{"node.sta.count": 8}`, or `["node.sta.count=8"]`, as after `--set`.
Settings: TypeAlias = "Mapping[str, Any] | Iterable[str] | None"


class ScenarioWarning(UserWarning):
    """A valid scenario that is likely to give meaningless results."""


class Scenario:
    """A scenario, checked: `Scenario("file.toml")`, `Scenario({...})` or `Scenario(text="...")`.

    `set` changes keys as the command's `--set` does: `{"sweep.node.sta.count": [2, 4]}` makes an
    axis of a sweep.
    Raises `ScenarioError`, with every mistake, its place and its remedy.
    """

    def __init__(
        self,
        source: Source | None = None,
        *,
        text: str | None = None,
        set: Settings = None,
        seed: int | None = None,
        seeds: int | None = None,
    ) -> None:
        base = source if isinstance(source, Scenario) else None
        if (source is None) == (text is None):
            raise TypeError("a scenario is either a file or dict, or a text")
        given = settings(set, seed, seeds)
        self.settings: list[str] = [*(base.settings if base else []), *given]
        self.path: Path | None = base.path if base else None
        self.text: str
        if text is not None:
            self.text = text
        elif base is not None:
            self.text = base.text
        elif isinstance(source, Mapping):
            self.text = Plan.toml_of(dict(source))
        else:
            self.path = Path(source)  # type: ignore[arg-type]
            self.text = Plan.read(self.path)
        self.own: list[Own] = merged(base.own if base else [], registered())
        self.plan: Plan
        if base is not None and not given:
            # Files that the scenario names may have changed since, or be on another machine.
            self.plan = Plan.restored(base.plan.carried, self.own)
        else:
            self.plan = Plan.parse(self.name, self.text, self.settings, self.own)

    @property
    def name(self) -> str:
        """Its name in messages."""
        return str(self.path) if self.path else "scenario"

    @property
    def points(self) -> list[dict[str, str]]:
        """Keys and values of each point of its sweep."""
        return [dict(point) for point in self.plan.points]

    def warn(self) -> None:
        """Warns of settings that are likely to give meaningless results."""
        for text in self.plan.warnings:
            warnings.warn(text, ScenarioWarning, stacklevel=3)

    def __getstate__(self) -> dict[str, Any]:
        """All from which another process can make it anew, without the files that it names."""
        own = self.own if self.plan.has_own_algorithms else []
        path = self.path.absolute() if self.path else None
        return {**self.__dict__, "path": path, "own": own, "plan": self.plan.carried}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.plan = Plan.restored(state["plan"], self.own)

    def __repr__(self) -> str:
        """Its name and its size."""
        runs, points = len(self.plan.jobs), len(self.plan.points)
        return f"<fairwave.Scenario {self.name}: {points} points, {runs} runs>"


def settings(set: Settings, seed: int | None = None, seeds: int | None = None) -> list[str]:
    """Settings as the command takes them, in its order."""
    if set is None:
        given = []
    elif isinstance(set, str):
        raise TypeError(f"set={set!r}: settings are a dict or a list")
    elif isinstance(set, Mapping):
        given = [f"{key}={_text(value)}" for key, value in set.items()]
    else:
        given = list(set)
    if seeds is not None:
        given.append(f"sweep.seeds={seeds}")
    if seed is not None:
        given.append(f"seed={seed}")
    return given


def axes(set: Settings) -> Settings:
    """The same settings, of which each list makes an axis of a sweep."""
    if not isinstance(set, Mapping):
        return set
    found: dict[str, Any] = {}
    for key, value in set.items():
        is_axis = isinstance(value, (list, tuple)) and not key.startswith("sweep.")
        found[f"sweep.{key}" if is_axis else key] = value
    return found


def _text(value: Any) -> str:
    # A text is taken as it is, so that "54 Mbps" needs no quotes of its own.
    return value if isinstance(value, str) else _toml(value)


def _toml(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_toml(one) for one in value)}]"
    if isinstance(value, (bool, int, float, str)):
        # JSON writes these as TOML does.
        return json.dumps(value)
    if getattr(value, "ndim", None) == 0:
        # Most of NumPy's scalars are no numbers of Python's; they have the same value as one.
        return _toml(value.item())
    try:
        return str(operator.index(value))
    except TypeError:
        pass
    raise TypeError(f"{value!r}: a setting is a text, a number, a truth value, or a list of them")
