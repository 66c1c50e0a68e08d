"""Scenarios: files, texts and dicts, with settings."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from ._fairwave import Plan
from ._own import Own, registered

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
        own = settings(set, seed, seeds)
        self.settings: list[str] = [*(base.settings if base else []), *own]
        self.path: Path | None = base.path if base else None
        self.text: str | None = base.text if base else text
        if isinstance(source, Mapping):
            self.text = Plan.toml_of(dict(source))
        elif source is not None and base is None:
            self.path = Path(source)  # type: ignore[arg-type]
        if (self.path is None) == (self.text is None):
            raise TypeError("a scenario is either a file or dict, or a text")
        self.own: list[Own] = registered()
        self.plan = self._planned()

    @property
    def name(self) -> str:
        """Its name in messages."""
        return str(self.path) if self.path else "scenario"

    def _planned(self) -> Plan:
        if self.text is not None:
            return Plan.parse(self.name, self.text, self.settings, self.own)
        assert self.path is not None
        return Plan.load(self.path, self.settings, self.own)

    @property
    def points(self) -> list[dict[str, str]]:
        """Keys and values of each point of its sweep."""
        return [dict(point) for point in self.plan.points]

    def warn(self) -> None:
        """Warns of settings that are likely to give meaningless results."""
        for text in self.plan.warnings:
            warnings.warn(text, ScenarioWarning, stacklevel=3)

    def __getstate__(self) -> dict[str, Any]:
        """Its text, settings and algorithms, from which another process can make it anew."""
        text = self.text
        if text is None:
            assert self.path is not None
            text = self.path.read_text(encoding="utf-8")
        own = self.own if self.plan.has_own_algorithms else []
        return {"settings": self.settings, "path": None, "text": text, "own": own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.plan = self._planned()

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
    raise TypeError(f"{value!r}: a setting is a text, a number, a truth value, or a list of them")
