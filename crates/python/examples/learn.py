"""Trains an agent of stable-baselines3 for a minute, and compares it with its beginning.

pip install "fairwave[gym]" stable-baselines3
python learn.py [ENVIRONMENT [SECONDS]]
"""

import sys
import time
from functools import partial

import gymnasium
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import SubprocVecEnv

#: Seeds of the episodes of an evaluation; training uses others.
SEEDS = range(1000, 1010)


class Deadline(BaseCallback):
    """Ends the training after some seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.end = time.monotonic() + seconds

    def _on_step(self) -> bool:
        return time.monotonic() < self.end


def evaluate(model: PPO, name: str) -> float:
    """Mean reward of a step, without exploration."""
    env = gymnasium.make(name)
    rewards = []
    for seed in SEEDS:
        observation, _ = env.reset(seed=seed)
        over = False
        while not over:
            action, _ = model.predict(observation, deterministic=True)
            observation, reward, _, over, _ = env.step(action)
            rewards.append(reward)
    return float(np.mean(rewards))


def main(kind: str = "Windows", seconds: str = "60") -> None:
    """Trains with a process for each of four environments."""
    torch.set_num_threads(1)
    name = f"fairwave.gym:fairwave/{kind}-v0"
    # Of a name alone, make_vec_env would make an environment that draws pictures.
    make = partial(gymnasium.make, name)
    envs = make_vec_env(make, n_envs=4, seed=1, vec_env_cls=SubprocVecEnv)
    model = PPO(
        "MlpPolicy",
        envs,
        n_steps=128,
        batch_size=128,
        gamma=0.9,
        learning_rate=1e-3,
        policy_kwargs={"log_std_init": -1.0},
        seed=1,
        device="cpu",
    )
    print(f"before: {evaluate(model, name):.3f} a step")
    model.learn(10**9, callback=Deadline(float(seconds)))
    print(f"after {model.num_timesteps} steps: {evaluate(model, name):.3f} a step")
    envs.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
