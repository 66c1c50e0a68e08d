"""Environments: spaces, seeds, wrong input, and several at a time."""

import os
import signal

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from own_still import Still

import fairwave as fw
import fairwave.gym
from fairwave._fairwave import Stepper

KINDS = [fairwave.gym.Windows, fairwave.gym.Weights, fairwave.gym.Paths]
#: A scenario without TCP.
DATAGRAMS = {
    "duration": "1 s",
    "cell": {"standard": "802.11g"},
    "node": [{"name": "ap", "kind": "access-point"}, {"name": "sta", "kind": "station"}],
    "flow": [{"name": "up", "from": "sta", "to": "ap", "transport": "udp", "traffic": "saturate"}],
}
#: Uploads begin soon enough for a short episode.
SPREAD = {"flow.up.start_spread": "0.2 s"}
#: Settings of a short episode.
OTHERS = {fairwave.gym.Windows: SPREAD}


def short(kind, duration="0.5 s"):
    """Settings that make a short episode: five steps."""
    return {"duration": duration, **OTHERS.get(kind, {})}


def episode(env, seed, value):
    """Observations and rewards of an episode of equal actions."""
    seen, rewards = [env.reset(seed=seed)[0]], []
    over = False
    while not over:
        action = np.broadcast_to(np.float32(value), env.action_space.shape)
        observation, reward, terminated, over, _ = env.step(action)
        assert not terminated
        seen.append(observation)
        rewards.append(reward)
    return np.stack(seen), rewards


@pytest.mark.filterwarnings("error::UserWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_gymnasium_finds_no_fault(kind):
    env = gymnasium.make(f"fairwave/{kind.__name__}-v0", set=short(kind, "2 s"))
    check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_and_actions_decide_what_is_observed(kind):
    env = kind(set=short(kind, "3 s"))
    one, again, other = (episode(env, seed, 0.0) for seed in (1, 1, 2))
    assert len(one[1]) == env.steps == 30
    assert np.array_equal(one[0], again[0]) and one[1] == again[1]
    assert not np.array_equal(one[0], other[0])
    moved, _ = episode(env, 1, 0.5)
    assert not np.array_equal(one[0][:, :-1], moved[:, :-1])
    assert all(env.observation_space.contains(seen) for seen in [*one[0], *moved])


def test_a_window_bounds_the_goodput():
    env = fairwave.gym.Windows(set={"duration": "5 s", "node.sta.count": 1, **SPREAD})
    env.reset(seed=1)
    for _ in range(50):
        # Sixteen segments of 1460 bytes in a round-trip time of at least 40 ms.
        *_, info = env.step(np.full(1, 2 * np.log2(16) / 10 - 1, np.float32))
    assert info["rtt_s"][0] >= 0.04
    most = 16 * 1460 * 8 / 0.04
    assert 0.8 * most < info["goodput_bps"][0] <= 1.05 * most


def test_a_pacing_rate_is_the_goodput():
    env = fairwave.gym.Windows(
        set={"duration": "5 s", "node.sta.count": 2, **SPREAD}, control="rate", largest=10.0
    )
    env.reset(seed=1)
    rates = []
    for _ in range(50):
        # 1 Mbit/s and 10 Mbit/s, headers included.
        *_, info = env.step(np.array([0.0, 1.0], np.float32))
        rates.append(info["goodput_bps"])
    slow, fast = np.mean(rates[30:], axis=0)
    assert 0.9e6 < slow < 1.1e6 and 8.5e6 < fast < 10.5e6


def test_weights_divide_the_access_point():
    env = fairwave.gym.Weights(set={"duration": "5 s"})
    shares = []
    for value in (0.0, 0.5):
        env.reset(seed=1)
        action = np.zeros(4, np.float32)
        action[0] = value
        total = np.zeros(4)
        for _ in range(50):
            *_, info = env.step(action)
            total += info["goodput_bps"]
        shares.append(total[0] / total.sum())
    # Weights of one to one, and of four to one.
    assert 0.2 < shares[0] < 0.3 and shares[1] > 0.45


def test_shares_divide_new_data_among_paths():
    env = fairwave.gym.Paths(set={"duration": "5 s"})
    assert env.steered == ["router", "phone1", "phone2"]
    env.reset(seed=1)
    arrived = np.zeros(3)
    for step in range(50):
        # Shares of 1, 1 and 4.
        *_, info = env.step(np.array([0.0, 0.0, 0.5], np.float32))
        arrived += info["arrived_bps"] * (step >= 20)
    assert arrived / arrived[0] == pytest.approx([1.0, 1.0, 4.0], rel=0.1)


@pytest.mark.parametrize(
    ("kind", "better", "worse"),
    [
        # Windows of 19 segments, against 2 and against 512.
        (fairwave.gym.Windows, [-0.15] * 4, [-0.8] * 4),
        (fairwave.gym.Windows, [-0.15] * 4, [0.8] * 4),
        # The near stations weigh more than the far one, or all the same.
        (fairwave.gym.Weights, [0.3, 0.3, -0.3, 0.0], [0.0] * 4),
        # Shares in proportion to the links' first rates, or all the same.
        (fairwave.gym.Paths, [0.0, -0.25, 0.5], [0.0] * 3),
    ],
)
def test_rewards_prefer_what_is_better(kind, better, worse):
    env = kind(set=short(kind, "8 s"))
    sums = [np.sum(episode(env, 1, np.array(action))[1]) for action in (better, worse)]
    assert sums[0] > sums[1] + 1.0


@pytest.mark.parametrize("kind", KINDS[:2])
def test_wrong_actions_are_exceptions(kind):
    env = kind(set=short(kind))
    with pytest.raises(fw.RunError, match="call reset first"):
        env.step(np.zeros(4, np.float32))
    env.reset(seed=1)
    with pytest.raises(ValueError, match=r"an action of shape \(3,\); it is \(4,\)"):
        env.step(np.zeros(3, np.float32))
    with pytest.raises(ValueError, match="finite"):
        env.step(np.full(4, np.nan, np.float32))
    for _ in range(5):
        *_, over, _ = env.step(np.full(4, 7.0, np.float32))
    assert over
    with pytest.raises(fw.RunError, match="the episode is over"):
        env.step(np.zeros(4, np.float32))


def test_scenarios_with_nothing_to_steer_are_errors():
    uploads = fw.Scenario(text=fairwave.gym.UPLOADS)
    with pytest.raises(fw.ScenarioError, match="0 have a queue that follows weights"):
        fairwave.gym.Weights(uploads)
    with pytest.raises(fw.ScenarioError, match="windows of TCP flows"):
        fairwave.gym.Windows(DATAGRAMS)
    with pytest.raises(fw.ScenarioError, match="paths of one SHAKE flow; 0 have"):
        fairwave.gym.Paths(uploads)
    with pytest.raises(fw.ScenarioError, match="its sweep has 2 points"):
        fairwave.gym.Windows(set={"sweep.node.sta.count": [1, 2]})
    with pytest.raises(fw.ScenarioError, match="a step of 0.0001 s"):
        fairwave.gym.Windows(step=0.0001)
    with pytest.raises(fw.ScenarioError, match="to the duration of the scenario"):
        fairwave.gym.Windows(set=short(fairwave.gym.Windows), step=float("nan"))
    with pytest.raises(ValueError, match="it is one of window, rate"):
        fairwave.gym.Windows(control="both")


def test_the_native_stepper_refuses_wrong_calls():
    plan = fw.Scenario(text=fairwave.gym.UPLOADS, set=short(fairwave.gym.Windows)).plan
    with pytest.raises(fw.ScenarioError, match="sets windows, rates, weights or shares"):
        Stepper(plan, 0, 1, 0.1, "colours")
    stepper = Stepper(plan, 0, 1, 0.1, "windows")
    with pytest.raises(fw.RunError, match="a step is under way"):
        stepper.begin([1.0] * 4)
    stepper.end()
    with pytest.raises(fw.RunError, match="no step is under way"):
        stepper.end()
    with pytest.raises(ValueError, match="3 values; it sets 4"):
        stepper.begin([1.0] * 3)
    with pytest.raises(ValueError, match="a value is above zero"):
        stepper.begin([0.0] * 4)
    for _ in range(stepper.steps):
        stepper.begin([1e30] * 4)
        stepper.end()
    paced = Stepper(plan, 0, 1, 0.1, "rates")
    paced.end()
    for value in (1e-30, 1e30, 1e-30, 1e30):
        paced.begin([value] * 4)
        assert len(paced.end()[0]) == 4 * 6
    with pytest.raises(fw.RunError, match="the run is over"):
        stepper.begin([1.0] * 4)
        stepper.end()


def test_ctrl_c_ends_a_step():
    acks_ns = []

    @fw.cc.register
    class Interrupting(Still):
        def on_ack(self, ack):
            if not acks_ns:
                os.kill(os.getpid(), signal.SIGINT)
            acks_ns.append(ack.now_ns)

    lasts_s = 86400.0
    uploads = {"duration": f"{lasts_s} s", "tcp.congestion_control": "Interrupting"}
    env = fairwave.gym.Weights(set=uploads, step=lasts_s)
    env.reset(seed=1)
    with pytest.raises(KeyboardInterrupt):
        env.step(np.zeros(4, np.float32))
    with pytest.raises(fw.RunError, match="the run is over"):
        env.end()
    fw.cc.unregister("Interrupting")
    assert acks_ns[-1] < lasts_s * 1e9


def test_environments_work_in_processes_of_their_own():
    options = {"num_envs": 2, "set": short(fairwave.gym.Windows)}
    name = "fairwave/Windows-v0"
    seen = []
    for mode in ("async", "vector_entry_point"):
        envs = gymnasium.make_vec(name, vectorization_mode=mode, **options)
        envs.reset(seed=3)
        seen.append(envs.step(np.full((2, 4), 0.1, np.float32))[0])
        envs.close()
    assert np.array_equal(*seen)


@pytest.mark.parametrize("kind", KINDS)
def test_a_vector_observes_as_its_parts_do(kind):
    envs = gymnasium.make_vec(
        f"fairwave/{kind.__name__}-v0",
        num_envs=3,
        vectorization_mode="vector_entry_point",
        set=short(kind),
    )
    assert envs.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    observations, _ = envs.reset(seed=5)
    alone = [kind(set=short(kind)) for _ in range(3)]
    firsts = [env.reset(seed=5 + place)[0] for place, env in enumerate(alone)]
    assert np.array_equal(observations, np.stack(firsts))
    actions = envs.action_space.sample()
    for step in range(5):
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        steps = [env.step(action) for env, action in zip(alone, actions, strict=True)]
        assert np.array_equal(observations, np.stack([part[0] for part in steps]))
        assert rewards.tolist() == [part[1] for part in steps]
        assert not terminated.any() and truncated.all() == (step == 4)
        assert set(infos) > {"goodput_bps", "queue_packets"}
    # The next step begins new episodes and ignores its actions.
    observations, rewards, _, truncated, _ = envs.step(actions)
    firsts = [env.reset()[0] for env in alone]
    assert np.array_equal(observations, np.stack(firsts))
    assert not rewards.any() and not truncated.any()
    with pytest.raises(ValueError, match="2 actions for 3 environments"):
        envs.step(actions[:2])
    with pytest.raises(ValueError, match="2 seeds for 3 environments"):
        envs.reset(seed=[1, 2])
    # A bad action leaves no step under way, whichever environment it is for.
    bad = actions.copy()
    bad[2] = np.nan
    with pytest.raises(ValueError, match="an action is finite"):
        envs.step(bad)
    observations = envs.step(actions)[0]
    steps = [env.step(action)[0] for env, action in zip(alone, actions, strict=True)]
    assert np.array_equal(observations, np.stack(steps))
    envs.close()


@pytest.fixture
def broken():
    """A rate control that raises after a quarter of a second."""

    class Broken(fw.rate_control.RateControl):
        def choose(self, now_ns, attempt):
            if now_ns > 250_000_000:
                raise ArithmeticError(f"at {now_ns}")
            return 0

        def on_attempt(self, now_ns, rate, sent, acknowledged):
            pass

    yield fw.rate_control.register(Broken)
    fw.rate_control.unregister("Broken")


def test_an_exception_of_an_algorithm_ends_the_episode(broken):
    env = fairwave.gym.Weights(set=short(fairwave.gym.Weights) | {"node.ap.rate_control": "Broken"})
    action = np.zeros(env.action_space.shape, np.float32)
    for _ in range(2):
        env.reset(seed=1)
        env.step(action)
        env.step(action)
        with pytest.raises(ArithmeticError, match="at 2[0-9]+"):
            env.step(action)
        with pytest.raises(fw.RunError, match="the run is over"):
            env.step(action)


def test_an_exception_before_the_first_step():
    fw.scheduler.register(lambda: 1 / 0, name="Broken")
    settings = {"node.ap.queue": "{ discipline = 'Broken' }"}
    env = fairwave.gym.Weights(set=short(fairwave.gym.Weights) | settings)
    fw.scheduler.unregister("Broken")
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            env.reset(seed=1)
