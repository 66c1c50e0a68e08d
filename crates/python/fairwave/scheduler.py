"""Schedulers of one's own: the order in which an access point or a link serves its hosts.

    @fw.scheduler.register
    class Mine(fw.scheduler.Scheduler):
        ...

    fw.run(scenario, set={"node.ap.queue": "{ discipline = 'Mine' }"})

The interface is that of Rust's `fairwave_queue::Scheduler`: a method for each change of the packets
that wait, and `next`. The queue itself holds the packets, and has the keys `limit`, `host_limit`
and `idle_serve`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ._fairwave import Backlog
from ._own import Registry

__all__ = ["Backlog", "Scheduler", "register", "registered", "unregister"]


class Scheduler:
    """Base of schedulers: one object for each queue.

    `joined`, `next`, `taken`, `shed` and `weighed` are required. Every change of a host's packets
    is reported with the `Backlog` that it leaves. A host without weight is not to be served: its
    packets are not reported until `weighed` reports that it has weight again.
    """

    #: Time at which a packet may be sent though none may now; read after each method. When `next`
    #: returns `None`, it is later than `now_ns`, or `None`.
    deadline_ns: int | None = None

    def joined(self, now_ns: int, backlog: Backlog, bytes: int) -> None:
        """Handles a packet of `bytes` that joined the end of a host's queue."""
        raise NotImplementedError("joined")

    def next(self, now_ns: int) -> int | None:
        """Chooses the host whose oldest packet is sent next; `None` leaves the link idle."""
        raise NotImplementedError("next")

    def taken(self, now_ns: int, backlog: Backlog, bytes: int) -> None:
        """Handles that the oldest packet of a host was sent, in its turn or in another's frame."""
        raise NotImplementedError("taken")

    def shed(self, backlog: Backlog, bytes: int) -> None:
        """Handles that a packet of a host left unsent.

        Its newest was dropped, as the queue was full, or its oldest went with the host to another
        access point.
        """
        raise NotImplementedError("shed")

    def weighed(self, now_ns: int, backlog: Backlog, old_weight_65536ths: int) -> None:
        """Handles a new weight of a host."""
        raise NotImplementedError("weighed")

    def link(self, now_ns: int, host: int, is_good: bool) -> None:
        """Handles that the link to a host became good or bad, by the cell's `link_monitor`."""

    def idle(self) -> None:
        """Handles that the link is free and nothing waits that may be sent."""


_registry = Registry("scheduler", Scheduler)
A = TypeVar("A", bound=Callable[[], Scheduler])


def register(scheduler: A, name: str | None = None) -> A:
    """Registers a scheduler for `queue = { discipline = NAME }` in scenarios; returns it.

    `scheduler` is a subclass of `Scheduler`, or a function that makes one; `name` is by default its
    own. Scenarios that are read from now on know it.
    """
    _registry.register(scheduler, name)
    return scheduler


def unregister(name: str) -> None:
    """Removes a scheduler of this name."""
    _registry.unregister(name)


def registered() -> list[str]:
    """Names of the registered schedulers."""
    return list(_registry.algorithms)
