"""Congestion control algorithms of one's own.

    @fw.cc.register
    class Mine(fw.cc.Controller):
        ...

    fw.run(scenario, set={"tcp.congestion_control": "Mine"})

The interface is that of Rust's `fairwave_cc::Controller`: a method for each kind of event of the
connection, which sets the window `cwnd`. Detection of losses, recovery, timers and pacing stay with
the connection. Amounts of data are integers in bytes; other units are in the names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ._fairwave import AckEvent, Initial, LossEvent, RateSample, RtoEvent
from ._own import Registry

__all__ = [
    "AckEvent",
    "Controller",
    "Initial",
    "LossEvent",
    "RateSample",
    "RtoEvent",
    "register",
    "registered",
    "unregister",
]


class Controller:
    """Base of congestion control algorithms: one object for each end of each connection.

    `on_ack`, `on_loss` and `on_rto` are required. `cwnd`, `ssthresh` and `pacing_rate_bps` may be
    properties; the connection reads them after each method. `recovery` and `governs_recovery` are
    read once.
    """

    #: Congestion window in bytes: how much may be in flight.
    cwnd: int
    #: Slow start threshold in bytes; 4294967295 while none is set.
    ssthresh: int
    #: The rate to pace at; `None` sends as the window opens.
    pacing_rate_bps: int | None = None
    #: End of recovery without SACK: "reno" at the first ACK that advances, "newreno" when
    #: everything outstanding at its start is acknowledged.
    recovery: str = "newreno"
    #: Whether `cwnd` is the amount in flight during recovery, too; otherwise proportional rate
    #: reduction (RFC 6937) leads to `ssthresh`.
    governs_recovery: bool = False

    def __init__(self, initial: Initial) -> None:
        self.cwnd = initial.cwnd
        self.ssthresh = initial.ssthresh

    def on_ack(self, ack: AckEvent) -> None:
        """Handles an ACK of new data, also in recovery."""
        raise NotImplementedError("on_ack")

    def on_loss(self, loss: LossEvent) -> None:
        """Handles a loss: recovery begins. `cwnd` becomes the window for recovery."""
        raise NotImplementedError("on_loss")

    def on_rto(self, rto: RtoEvent) -> None:
        """Handles an expiry of the retransmission timer."""
        raise NotImplementedError("on_rto")

    def on_recovery_end(self, now_ns: int) -> None:
        """Handles the end of recovery."""

    def on_ecn(self, loss: LossEvent) -> None:
        """Handles the echo of a congestion mark: by default as a loss."""
        self.on_loss(loss)

    def on_spurious(self, now_ns: int) -> None:
        """Handles the finding that the last loss or expiry was spurious."""

    def on_idle_restart(self, idle_ns: int) -> None:
        """Handles the restart of sending after `idle_ns` without anything in flight."""

    def on_path_change(self, now_ns: int) -> None:
        """Handles a change of the path under the connection."""


_registry = Registry("congestion_control", Controller)
A = TypeVar("A", bound=Callable[[Initial], Controller])


def register(algorithm: A, name: str | None = None) -> A:
    """Registers an algorithm for `congestion_control = NAME` in scenarios; returns it.

    `algorithm` is a subclass of `Controller`, or a function that makes one from `Initial`; `name`
    is by default its own. Scenarios that are read from now on know it. Its state has to follow from
    what the connection reports alone, or runs differ from each other.
    """
    _registry.register(algorithm, name)
    return algorithm


def unregister(name: str) -> None:
    """Removes an algorithm of this name."""
    _registry.unregister(name)


def registered() -> list[str]:
    """Names of the registered algorithms."""
    return list(_registry.algorithms)
