"""Rate controls of one's own: the rate of each attempt at a frame.

    @fw.rate_control.register
    class Mine(fw.rate_control.RateControl):
        ...

    fw.run(scenario, set={"node.sta.rate_control": "Mine"})

The interface is that of Rust's `fairwave_dot11::rate_control::RateControl`. Rates are indices into
`Setup.rates`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ._fairwave import Choice, Rate, Setup
from ._own import Registry

__all__ = ["Choice", "Rate", "RateControl", "Setup", "register", "registered", "unregister"]


class RateControl:
    """Base of rate controls: one object for each radio and receiver.

    `choose` and `on_attempt` are required.
    """

    #: Index of the preferred rate for frames now; read after each method.
    current: int

    def __init__(self, setup: Setup) -> None:
        self.current = setup.initial if setup.initial is not None else len(setup.rates) - 1

    def choose(self, now_ns: int, attempt: int) -> int | Choice:
        """Chooses the rate of an attempt at a frame; `attempt` is 0 for the first, counting up.

        `Choice(rate, is_sample=True)` is an attempt that only measures a rate.
        """
        raise NotImplementedError("choose")

    def on_attempt(self, now_ns: int, rate: int, sent: int, acknowledged: int) -> None:
        """Handles the end of an attempt: of `sent` MPDUs, `acknowledged` were."""
        raise NotImplementedError("on_attempt")


_registry = Registry("rate_control", RateControl)
A = TypeVar("A", bound=Callable[[Setup], RateControl])


def register(algorithm: A, name: str | None = None) -> A:
    """Registers a rate control for `rate_control = NAME` in scenarios; returns it.

    `algorithm` is a subclass of `RateControl`, or a function that makes one from `Setup`; `name` is
    by default its own. Scenarios that are read from now on know it.
    """
    _registry.register(algorithm, name)
    return algorithm


def unregister(name: str) -> None:
    """Removes a rate control of this name."""
    _registry.unregister(name)


def registered() -> list[str]:
    """Names of the registered rate controls."""
    return list(_registry.algorithms)
