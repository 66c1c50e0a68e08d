"""Gymnasium environments: an agent steers a simulated wireless LAN (extra `fairwave[gym]`).

    import gymnasium, fairwave.gym

    env = gymnasium.make("fairwave/Windows-v0")
    observation, info = env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())

    gymnasium.make_vec("fairwave/Weights-v0", num_envs=8, vectorization_mode="vector_entry_point")

An environment simulates a scenario in steps of virtual time. An episode lasts as long as the
scenario and ends truncated. `reset(seed=)` makes it reproducible: the same seed and the same
actions give the same observations on any machine. `python -m fairwave.gym` measures speed.
docs/gym.md describes the environments.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, TypeAlias

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ._fairwave import RunError, ScenarioError, Stepper
from ._scenario import Scenario, Settings, Source

__all__ = [
    "Paths",
    "PathsVector",
    "Stepped",
    "SteppedVector",
    "Weights",
    "WeightsVector",
    "Windows",
    "WindowsVector",
]

#: Observations and actions.
Floats: TypeAlias = NDArray[np.float32]
#: Numbers in the simulator's units.
Numbers: TypeAlias = NDArray[np.float64]
#: Rows of a step, by environment: of flows, of queues, and of the stations or paths that an action
#: sets.
Rows: TypeAlias = tuple[Numbers, Numbers, Numbers]
#: Observations, rewards and information of a step, by environment.
Seen: TypeAlias = tuple[Floats, Numbers, dict[str, Numbers]]

#: Greatest value of an observation; a round-trip time in seconds is the one that could exceed it.
HIGH = 10.0

UPLOADS = """
title = "Four uploads through one access point, which start at random in the first ten seconds"
duration = "20 s"
cell.standard = "802.11g"
node = [
    { name = "ap", kind = "access-point" },
    { name = "sta", kind = "station", count = 4, distance = "5 m" },
    { name = "server", kind = "host" },
]
link = [
    { ends = ["ap", "server"], rate = "20 Mbps", delay = "20 ms", queue = "200 packets" },
]
flow = [{ name = "up", from = "sta*", to = "server", start_spread = "10 s" }]

[tcp]
send_buffer = "1 MiB"
receive_buffer = "1 MiB"
"""

DOWNLOADS = """
title = "Four downloads from one access point, one of them to a station that walks away"
duration = "20 s"
cell.standard = "802.11g"
node = [
    { name = "server", kind = "host" },
    { name = "ap", kind = "access-point", queue = { discipline = "wfq" } },
    { name = "near", kind = "station", count = 2, distance = "5 m" },
    { name = "far", kind = "station", distance = "80 m" },
    { name = "walker", kind = "station", path = [
        { at = "0 s", position = ["5 m", "0 m"] },
        { at = "20 s", position = ["80 m", "0 m"] },
    ] },
]
link = [{ ends = ["server", "ap"], rate = "100 Mbps", delay = "5 ms", queue = "500 packets" }]
flow = [
    { name = "near", from = "server", to = "near*" },
    { name = "far", from = "server", to = "far" },
    { name = "walker", from = "server", to = "walker" },
]
"""

PATHS = """
title = "One upload over a router and two lent uplinks in one cell, the fastest of which slows down"
duration = "20 s"
cell.standard = "802.11ac"
node = [
    { name = "router", kind = "access-point" },
    { name = "laptop", kind = "station", ap = "router", distance = "4 m" },
    { name = "phone", kind = "station", ap = "router", distance = "3 m", count = 2 },
    { name = "server", kind = "host" },
]
link = [
    { ends = ["router", "server"], rate = "10 Mbps", delay = "10 ms", queue = "100 packets" },
    { ends = ["phone1", "server"], rate = "5 Mbps", delay = "50 ms", queue = "200 packets" },
    { ends = ["phone2", "server"], rate = "40 Mbps", delay = "30 ms", queue = "200 packets",
      changes = [{ at = "10 s", rate = "2 Mbps" }] },
]
[[flow]]
name = "up"
from = "laptop"
to = "server"
transport = "shake"
paths = [{ via = "router" }, { via = "phone1" }, { via = "phone2" }]
"""


def _utility(bits_per_second: Numbers) -> Numbers:
    """Logarithm to base 2 of one plus the rate in Mbit/s: 0 without any, 10 at 1 Gbit/s."""
    return np.log2(1.0 + bits_per_second / 1e6)


def _columns(rows: Numbers) -> Numbers:
    """The columns of rows by environment, each in memory as a whole: sums are the same then."""
    return np.ascontiguousarray(np.moveaxis(rows, -1, 0))


def _observation(parts: list[Numbers | Floats], whole: list[Numbers]) -> Floats:
    """Observations of values for each part, one part after the other, and of the whole."""
    by_part = np.stack(parts, axis=2).reshape(len(parts[0]), -1)
    joined = np.concatenate([by_part, np.stack(whole, axis=1)], axis=1)
    clipped: Floats = np.clip(joined, -1.0, HIGH).astype(np.float32)
    return clipped


def _rows(ends: list[tuple[list[float], list[float], list[float]]]) -> Rows:
    """Rows of a step of several environments."""
    count = len(ends)
    flows, queues, parts = (np.asarray(lists) for lists in zip(*ends, strict=True))
    return (
        flows.reshape(count, -1, 6),
        queues.reshape(count, -1, 3),
        parts.reshape(count, -1, 5),
    )


class Stepped(gymnasium.Env[Floats, Floats], ABC):
    """A scenario that is simulated step by step. Subclasses define actions and observations.

    `scenario` and `set` are those of `fairwave.run`; `step` is the time between two actions in
    seconds. Raises `ScenarioError` for a wrong scenario, and for one with nothing to steer.
    """

    metadata: dict[str, Any] = {"render_modes": []}
    #: Quantity that an action sets: `windows`, `rates`, `weights` or `shares`.
    sets: str
    #: The scenario without another.
    default: ClassVar[str]

    def __init__(self, scenario: Source | None, set: Settings, step: float) -> None:
        source = Scenario(text=self.default) if scenario is None else scenario
        self.scenario = Scenario(source, set=set)
        points = len(self.scenario.plan.points)
        if points > 1:
            raise ScenarioError(
                f"{self.scenario.name}: its sweep has {points} points; `set` chooses one of them"
            )
        self.step_s = step
        self._stepper: Stepper | None = None
        first = self._start(0)
        #: Names of the flows, stations or paths that an action sets, in the order of its values.
        self.steered: list[str] = first.steered
        #: Places in `flows` of the flows that it acts on; none for weights.
        self.places: list[int] = first.places
        #: Name, source and sink of each flow.
        self.flows: list[tuple[str, str, str]] = first.flows
        #: Names of the queues.
        self.queues: list[str] = first.queues
        #: Steps of an episode.
        self.steps: int = first.steps
        self._taken = 0
        count = len(self.steered)
        self.action_space = Box(-1.0, 1.0, (count,), np.float32)
        self._action: Floats = np.zeros(count, np.float32)

    def _start(self, seed: int) -> Stepper:
        return Stepper(self.scenario.plan, 0, seed, self.step_s, self.sets)

    @abstractmethod
    def values(self, action: Floats) -> Numbers:
        """Values of an action as the simulator takes them, each above zero."""

    @abstractmethod
    def observe(self, rows: Rows, actions: Floats) -> Seen:
        """Observations, rewards and information of a step, each with a row by environment."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Begins an episode, with a new seed of the simulation drawn from that of `seed`."""
        self.begin_reset(seed)
        observation, _, info = self._finish()
        return observation, info

    def step(self, action: Floats) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """Sets the values of `action`, clipped to its space, and simulates a step."""
        self.begin_step(action)
        observation, reward, info = self._finish()
        return observation, reward, False, self.is_over, info

    def begin_reset(self, seed: int | None = None) -> None:
        """Begins an episode and returns at once; `end` waits for its first observation."""
        super().reset(seed=seed)
        self._stepper = self._start(int(self.np_random.integers(1 << 32)))
        self._taken = 0
        self._action = np.zeros(len(self.steered), np.float32)

    def begin_step(self, action: Floats) -> None:
        """Sets the values of `action` and returns at once; `end` waits for the step."""
        self._begin(self._checked(action))

    def _checked(self, action: Floats) -> Floats:
        """The action, clipped to its space. Raises an error if no step can begin with it."""
        if self._stepper is None:
            raise RunError("there is no episode: call reset first")
        if self._taken >= self.steps:
            raise RunError("the episode is over: call reset")
        given = np.asarray(action, np.float32)
        if given.shape != self._action.shape:
            raise ValueError(
                f"an action of shape {given.shape}; it is {self._action.shape}, a value for each "
                f"of {', '.join(self.steered)}"
            )
        if not np.isfinite(given).all():
            raise ValueError(f"{given}: an action is finite")
        clipped: Floats = np.clip(given, -1.0, 1.0)
        return clipped

    def _begin(self, action: Floats) -> None:
        """The same for an action that is checked."""
        assert self._stepper is not None
        self._action = action
        self._stepper.begin(self.values(self._action).tolist())
        self._taken += 1

    def end(self) -> tuple[list[float], list[float], list[float]]:
        """Waits for the end of a step, while other threads go on; returns its rows in lists."""
        assert self._stepper is not None
        return self._stepper.end()

    @property
    def action(self) -> Floats:
        """The action of the last step; zeros before the first."""
        return self._action

    @property
    def is_over(self) -> bool:
        """Whether the episode is over."""
        return self._taken >= self.steps

    def _finish(self) -> tuple[Floats, float, dict[str, Any]]:
        observations, rewards, info = self.observe(_rows([self.end()]), self._action[None])
        own = {key: value[0] for key, value in info.items()}
        return observations[0], float(rewards[0]), own

    def close(self) -> None:
        """Ends the simulation."""
        self._stepper = None


class Windows(Stepped):
    """An agent sets the congestion window of each TCP flow, or its pacing rate.

    Action: a value from -1 to 1 for each TCP flow. With `control="window"` it is a window of
    `largest ** ((value + 1) / 2)` segments, from 1 to `largest` (1024); with `control="rate"` a
    pacing rate between 0.1 Mbit/s and `largest` Mbit/s, on the same kind of scale. It acts at the
    next ACK. Losses do not change it.

    Observation, each value at most 10: for each TCP flow, one after the other, its goodput in the
    last step as log2(1 + Mbit/s) / 10, its smoothed round-trip time in seconds (0 before the first
    sample), retransmissions as a share of segments sent, and the value of the action; then
    log2(1 + packets) / 10 of the longest queue.

    Reward of a step: the mean over TCP flows of log2(1 + goodput in Mbit/s), minus `delay_price` a
    second of the mean round-trip time.

    Information: `goodput_bps`, `rtt_s`, `retransmissions`, `timeouts` by TCP flow, and
    `queue_packets`, that of the longest queue.
    """

    default = UPLOADS

    def __init__(
        self,
        scenario: Source | None = None,
        *,
        set: Settings = None,
        step: float = 0.1,
        control: str = "window",
        largest: float = 1024.0,
        delay_price: float = 10.0,
    ) -> None:
        kinds = {"window": ("windows", 1.0, 1.0), "rate": ("rates", 0.1, 1e6)}
        if control not in kinds:
            raise ValueError(f"control={control!r}: it is one of {', '.join(kinds)}")
        self.sets, self._smallest, self._unit = kinds[control]
        if not largest > self._smallest:
            raise ValueError(f"largest={largest}: it is more than {self._smallest:g}")
        super().__init__(scenario, set, step)
        self._span = largest / self._smallest
        self._price = delay_price
        self.observation_space = Box(-1.0, HIGH, (4 * len(self.steered) + 1,), np.float32)

    def values(self, action: Floats) -> Numbers:
        """Windows in segments, or rates in bits per second."""
        power = (action.astype(np.float64) + 1.0) / 2.0
        scaled: NDArray[np.float64] = self._unit * self._smallest * self._span**power
        return scaled

    def observe(self, rows: Rows, actions: Floats) -> Seen:
        """Observations, rewards and information as the class describes them."""
        goodput, rtt, sent, again, timeouts, _ = _columns(rows[0][:, self.places])
        waiting = rows[1][:, :, 0].max(axis=1)
        utility, lost = _utility(goodput), again / np.maximum(sent, 1.0)
        observations = _observation(
            [utility / 10.0, rtt, lost, actions], [np.log2(1.0 + waiting) / 10.0]
        )
        info = {
            "goodput_bps": goodput,
            "rtt_s": rtt,
            "retransmissions": again,
            "timeouts": timeouts,
            "queue_packets": waiting,
        }
        return observations, utility.mean(axis=1) - self._price * rtt.mean(axis=1), info


class Weights(Stepped):
    """An agent sets the weights of an access point's scheduler for its stations.

    The scenario has one access point whose queue follows weights, such as
    `{ discipline = "wfq" }`, and no reports that set them (`soc`).

    Action: a value from -1 to 1 for each station of the access point: a weight of 16 ** value.

    Observation, each value at most 10: for each station, one after the other, the goodput of the
    flows to it in the last step as log2(1 + Mbit/s) / 10, the mean rate of its PPDUs in the same
    form, their airtime as a share of the step, failed PPDUs as a share of all to it, the SNR of
    the last frame that it received in dB / 50, and the value of the action; then
    log2(1 + packets) / 10 of the longest queue.

    Reward of a step: the mean over stations of log2(1 + goodput in Mbit/s).

    Information: `goodput_bps`, `rate_bps`, `airtime_s`, `snr_db` by station, and `queue_packets`,
    that of the longest queue.
    """

    default = DOWNLOADS
    sets = "weights"

    def __init__(
        self,
        scenario: Source | None = None,
        *,
        set: Settings = None,
        step: float = 0.1,
    ) -> None:
        super().__init__(scenario, set, step)
        # Rows are stations and columns are flows.
        sinks = [sink for _, _, sink in self.flows]
        to = [[float(sink == station) for sink in sinks] for station in self.steered]
        self._to = np.asarray(to).reshape(len(self.steered), len(sinks))
        self.observation_space = Box(-1.0, HIGH, (6 * len(self.steered) + 1,), np.float32)

    def values(self, action: Floats) -> Numbers:
        """Weights."""
        weights: NDArray[np.float64] = 16.0 ** action.astype(np.float64)
        return weights

    def observe(self, rows: Rows, actions: Floats) -> Seen:
        """Observations, rewards and information as the class describes them."""
        goodput = (rows[0][:, None, :, 0] * self._to).sum(axis=2)
        rate, airtime, ppdus, failures, snr = _columns(rows[2])
        waiting = rows[1][:, :, 0].max(axis=1)
        utility, failed = _utility(goodput), failures / np.maximum(ppdus, 1.0)
        share = airtime / self.step_s
        observations = _observation(
            [utility / 10.0, _utility(rate) / 10.0, share, failed, snr / 50.0, actions],
            [np.log2(1.0 + waiting) / 10.0],
        )
        info = {
            "goodput_bps": goodput,
            "rate_bps": rate,
            "airtime_s": airtime,
            "snr_db": snr,
            "queue_packets": waiting,
        }
        return observations, utility.mean(axis=1), info


class Paths(Stepped):
    """An agent divides the new data of a SHAKE connection among its paths.

    The scenario has one flow with `transport = "shake"`.

    Action: a value from -1 to 1 for each path; its share of new data is in proportion to
    16 ** value. A segment waits for room in the window of its path, so that a share above the
    path's rate holds up the others. Retransmissions take the path that SHAKE chooses.

    Observation, each value at most 10: for each path, one after the other, the rate of its data
    that arrived in the last step as log2(1 + Mbit/s) / 10, its smoothed round-trip time in seconds
    (0 before the first sample), retransmissions as a share of segments sent, 1 if it carries data,
    and the value of the action; then the goodput of the flow as log2(1 + Mbit/s) / 10, and
    log2(1 + packets) / 10 of the longest queue.

    Reward of a step: log2(1 + goodput in Mbit/s).

    Information: `goodput_bps` of the flow; `arrived_bps`, `rtt_s`, `retransmissions` by path, and
    `queue_packets`, that of the longest queue.
    """

    default = PATHS
    sets = "shares"

    def __init__(
        self,
        scenario: Source | None = None,
        *,
        set: Settings = None,
        step: float = 0.1,
    ) -> None:
        super().__init__(scenario, set, step)
        self.observation_space = Box(-1.0, HIGH, (5 * len(self.steered) + 2,), np.float32)

    def values(self, action: Floats) -> Numbers:
        """Shares, relative to each other."""
        shares: NDArray[np.float64] = 16.0 ** action.astype(np.float64)
        return shares

    def observe(self, rows: Rows, actions: Floats) -> Seen:
        """Observations, rewards and information as the class describes them."""
        goodput = rows[0][:, self.places[0], 0]
        arrived, rtt, sent, again, is_up = _columns(rows[2])
        waiting = rows[1][:, :, 0].max(axis=1)
        lost, utility = again / np.maximum(sent, 1.0), _utility(goodput)
        observations = _observation(
            [_utility(arrived) / 10.0, rtt, lost, is_up, actions],
            [utility / 10.0, np.log2(1.0 + waiting) / 10.0],
        )
        info = {
            "goodput_bps": goodput,
            "arrived_bps": arrived,
            "rtt_s": rtt,
            "retransmissions": again,
            "queue_packets": waiting,
        }
        return observations, utility, info


class SteppedVector(VectorEnv[Floats, Floats, NDArray[Any]]):
    """Several environments of a kind in one process, whose steps are simulated at the same time.

    Each has a thread, and the GIL is released while they work, so that all cores are used.
    Keyword arguments are those of the environment. An episode that is over begins again with the
    next step (`AutoresetMode.NEXT_STEP`).
    """

    #: The environment.
    kind: ClassVar[type[Stepped]]

    def __init__(self, num_envs: int = 1, **settings: Any) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs={num_envs}: it is at least 1")
        self.metadata = {**self.kind.metadata, "autoreset_mode": AutoresetMode.NEXT_STEP}
        # Read when it is collected, also if an environment cannot be made.
        self.envs: list[Stepped] = []
        self.envs += [self.kind(**settings) for _ in range(num_envs)]
        self.num_envs = num_envs
        self.single_observation_space = self.envs[0].observation_space
        self.single_action_space = self.envs[0].action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._over = np.zeros(num_envs, np.bool_)

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Floats, dict[str, Any]]:
        """Begins an episode in each; a single seed is that of the first, the next has the next."""
        if seed is None or isinstance(seed, int):
            seeds = [None if seed is None else seed + place for place in range(self.num_envs)]
        else:
            seeds = list(seed)
        if len(seeds) != self.num_envs:
            raise ValueError(f"{len(seeds)} seeds for {self.num_envs} environments")
        super().reset(seed=seeds[0])
        for env, own in zip(self.envs, seeds, strict=True):
            env.begin_reset(own)
        self._over[:] = False
        observations, _, _, _, infos = self._finish()
        return observations, infos

    def step(
        self, actions: Floats
    ) -> tuple[Floats, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Simulates a step of each at the same time."""
        if len(actions) != self.num_envs:
            raise ValueError(f"{len(actions)} actions for {self.num_envs} environments")
        # All of them are checked before a step begins: after an error none is under way.
        checked = [
            None if over else env._checked(action)
            for env, action, over in zip(self.envs, actions, self._over, strict=True)
        ]
        for env, action in zip(self.envs, checked, strict=True):
            if action is None:
                env.begin_reset()
            else:
                env._begin(action)
        return self._finish()

    def _finish(
        self,
    ) -> tuple[Floats, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        rows = _rows([env.end() for env in self.envs])
        actions = np.stack([env.action for env in self.envs])
        observations, rewards, info = self.envs[0].observe(rows, actions)
        # The observation that begins an episode rewards no action.
        rewards = np.where(self._over, 0.0, rewards)
        self._over = np.asarray([env.is_over for env in self.envs])
        # Gymnasium has a mask of the environments that report a key.
        reported = np.ones(self.num_envs, np.bool_)
        infos = {**info, **{f"_{key}": reported for key in info}}
        return observations, rewards, np.zeros_like(self._over), self._over.copy(), infos

    def close_extras(self, **kwargs: Any) -> None:
        """Ends the simulations."""
        for env in self.envs:
            env.close()


class WindowsVector(SteppedVector):
    """Several environments `Windows`."""

    kind = Windows


class WeightsVector(SteppedVector):
    """Several environments `Weights`."""

    kind = Weights


class PathsVector(SteppedVector):
    """Several environments `Paths`."""

    kind = Paths


if __name__ == "__main__":
    from ._gym_speed import main

    main()
else:
    for _name in ["Windows", "Weights", "Paths"]:
        gymnasium.register(
            id=f"fairwave/{_name}-v0",
            entry_point=f"fairwave.gym:{_name}",
            vector_entry_point=f"fairwave.gym:{_name}Vector",
        )
