"""Speed of the environments: `python -m fairwave.gym`."""

import os
import time

from ._fairwave import Stepper
from ._scenario import Scenario
from .gym import PathsVector, SteppedVector, WeightsVector, WindowsVector

#: Steps of each environment in a measurement.
STEPS = 1000
#: Steps of the measurement without simulation, of 10 ms each.
IDLE_STEPS = 9000
#: A cell in which nothing happens for so long.
QUIET = """
duration = "100 s"
cell = { standard = "802.11g", beacon_interval = "off" }
node = [{ name = "ap", kind = "access-point" }, { name = "sta", kind = "station" }]
flow = [{ name = "up", from = "sta", to = "ap", start = "99 s" }]
"""


def measure(envs: SteppedVector) -> tuple[float, float]:
    """Steps a second of all environments together under random actions, and processors used."""
    envs.action_space.seed(1)
    envs.reset(seed=1)
    begin, used = time.perf_counter(), time.process_time()
    for _ in range(STEPS):
        envs.step(envs.action_space.sample())
    took = time.perf_counter() - begin
    return envs.num_envs * STEPS / took, (time.process_time() - used) / took


def interface() -> tuple[float, float]:
    """Seconds from an action to its observation where nothing is simulated, and processor time."""
    stepper = Stepper(Scenario(text=QUIET).plan, 0, 1, 0.01, "windows")
    stepper.end()
    begin, used = time.perf_counter(), time.process_time()
    for _ in range(IDLE_STEPS):
        stepper.begin([10.0])
        stepper.end()
    took, used = time.perf_counter() - begin, time.process_time() - used
    return took / IDLE_STEPS, used / IDLE_STEPS


def main() -> None:
    """Prints a table: one environment, and eight for each processor."""
    several = 8 * (os.cpu_count() or 1)
    print(f"{'environment':12} {'envs':>4} {'steps/s':>8} {'simulated s/s':>13} {'processors':>10}")
    for kind in (WindowsVector, WeightsVector, PathsVector):
        for count in (1, several):
            envs = kind(count)
            rate, processors = measure(envs)
            simulated = rate * envs.envs[0].step_s
            name = kind.kind.__name__
            print(f"{name:12} {count:4} {rate:8.0f} {simulated:13.0f} {processors:10.2f}")
            envs.close()
    took, used = (1e6 * seconds for seconds in interface())
    print(f"a step without simulation: {took:.1f} us, {used:.1f} us of processor time")
