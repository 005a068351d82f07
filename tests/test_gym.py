"""Environments for learned policies."""

from __future__ import annotations

from typing import Any

import pytest

import transorbit as to

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed: pip install 'transorbit[gym]'")

import numpy as np  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402

from transorbit.gym import BOTTLENECK, ControllerEnv, SchedulerEnv  # noqa: E402


def few() -> to.Scenario:
    """Ten calls."""
    return to.Scenario.load("voip").replace({"flows.0.count": 10, "duration": "4 s", "flows.0.start_spread": "0 s"})


def played(env: Any, action: Any, *, seed: int = 1) -> list[Any]:
    env.reset(seed=seed)
    seen, over = [], False
    while not over:
        observation, reward, _, over, _ = env.step(np.asarray(action, np.float32))
        seen.append((observation.tolist(), reward))
    return seen


@pytest.mark.parametrize("make", [ControllerEnv, lambda: ControllerEnv(steers="rate"), lambda: SchedulerEnv(few())])
def test_it_is_what_gymnasium_expects(make: Any) -> None:
    check_env(make(), skip_render_check=True)


@pytest.mark.parametrize(("steers", "action"), [("window", 0.02), ("rate", 0.01)])
def test_the_same_seed_and_actions_give_the_same_episode(steers: str, action: float) -> None:
    env = ControllerEnv("starlink", interval_s=0.1, steers=steers, most_window=300, most_rate_bps=20e6)
    first = played(env, [action])
    assert len(first) == 1200
    assert first == played(env, [action])
    assert first != played(env, [action], seed=2)


def test_a_window_fills_the_path_and_then_its_queue() -> None:
    env = ControllerEnv()

    def at(window: int) -> list[float]:
        env.reset(seed=1)
        env.step(np.array([np.log2(window / 10)], np.float32)) if window <= 20 else [
            env.step(np.array([np.log2(window / 10) / 4], np.float32)) for _ in range(4)
        ]
        for _ in range(300):
            observation, *_ = env.step(np.zeros(1, np.float32))
        return [float(value) for value in observation]

    # A round trip of 40 ms and 1.5 ms on the link at 6 Mbit/s; packets of 1,115 B hold 1,063 B of payload.
    small, large = at(8), at(60)
    assert small[0] == pytest.approx(0.0415, abs=0.001)
    assert small[0] - small[1] == pytest.approx(0, abs=0.002)
    assert large[0] == pytest.approx(60 * 1115 * 8 / 6e6, rel=0.03)
    assert large[2] == pytest.approx(6 * 1063 / 1115, rel=0.15)
    assert large[3] == pytest.approx(60, abs=2)
    summary = env.summary()
    assert summary["flows"][0]["congestion"] == "transorbit.gym"
    assert env.summary() == summary
    assert summary["flows"][0]["lost_overflow"] == 0


def test_a_rate_below_the_links_is_what_arrives() -> None:
    env = ControllerEnv(steers="rate", most_rate_bps=20e6)
    env.reset(seed=1)
    rates = [env.step(np.zeros(1, np.float32))[0][2] for _ in range(100)]
    # 1 Mbit/s of packets; the window of ten segments alone would let 2 Mbit/s through.
    assert 0.9 < np.mean(rates[20:]) < 1.01


def test_losses_are_seen_and_cost_reward() -> None:
    env = ControllerEnv(most_window=400)
    seen = played(env, [1.0])
    assert sum(observation[4] for observation, _ in seen) > 100
    assert min(reward for _, reward in seen) < 0
    assert max(observation[3] for observation, _ in seen) <= 401


def test_what_time_outs_take_for_lost_is_seen_too() -> None:
    env = ControllerEnv()
    env.reset(seed=3)
    env.action_space.seed(1)
    lost, over = 0.0, False
    while not over:
        observation, _, _, over, _ = env.step(env.action_space.sample())
        lost += float(observation[4])
    flow = env.summary()["flows"][0]
    assert flow["rto_events"] > 0
    assert lost == pytest.approx(flow["lost_overflow"], rel=0.2)


def test_who_has_the_greatest_weight_is_served_first() -> None:
    overloaded = few().replace({"last_hop.rate": "400 kbit/s", "flows.0.traffic.activity": "continuous"})
    env = SchedulerEnv(overloaded)
    weights = np.zeros(10)
    weights[7] = 1.0
    waits = (
        np.array([observation for observation, _ in played(env, weights)]).reshape(-1, 10, 4)[50:, :, 1].mean(axis=0)
    )
    assert waits[7] < 0.2 * np.delete(waits, 7).min()


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(to.ScenarioError, match="interval_s"):
        ControllerEnv(interval_s=0)
    with pytest.raises(to.ScenarioError, match="steers"):
        ControllerEnv(steers="delay")
    with pytest.raises(to.ScenarioError, match=r'^flows.0.transport: "udp" has no congestion controller'):
        ControllerEnv("voip")
    for name in ("most_window", "most_rate_bps", "delay_weight", "loss_weight"):
        with pytest.raises(to.ScenarioError, match=f"^{name}: nan was given, a finite number is expected"):
            ControllerEnv(**{name: float("nan")})
    with pytest.raises(to.ScenarioError, match=r"^wait_weight: inf was given"):
        SchedulerEnv(few(), wait_weight=float("inf"))
    for name in ("interval_s", "most_window", "most_rate_bps", "delay_weight", "loss_weight"):
        with pytest.raises(to.ScenarioError, match=f"^{name}: '1' was given, a number is expected"):
            ControllerEnv(**{name: "1"})
    for name in ("most_window", "most_rate_bps"):
        for value in (0, -1.5):
            with pytest.raises(to.ScenarioError, match=f"^{name}: {value} was given, a number above 0 is expected"):
                ControllerEnv(**{name: value})
    with pytest.raises(to.ScenarioError, match=r"^wait_weight: None was given, a number is expected"):
        SchedulerEnv(few(), wait_weight=None)  # type: ignore[arg-type]


def test_numbers_of_numpy_are_numbers() -> None:
    given: Any = {"interval_s": np.float32(0.5), "most_window": np.int64(20), "loss_weight": np.float64(1)}
    env = ControllerEnv(**given)
    env.reset(seed=np.int64(1))  # type: ignore[arg-type]
    env.step(np.zeros(1, np.float32))
    assert env.now_s == 0.5


@pytest.mark.parametrize("make", [ControllerEnv, lambda: SchedulerEnv(few())])
@pytest.mark.parametrize("seed", [2**64, 2**63, -1, 1.5, "x"])
def test_what_is_no_seed_is_refused_and_the_episode_goes_on(make: Any, seed: Any) -> None:
    env = make()
    env.reset(seed=1)
    with pytest.raises(to.ScenarioError, match=rf"^seed: {seed!r} was given, a whole number from 0 to {2**63 - 1} is"):
        env.reset(seed=seed)
    env.step(np.zeros(env.action_space.shape, np.float32))
    assert env.now_s > 0


def test_the_last_interval_ends_with_the_run() -> None:
    env = ControllerEnv(interval_s=7)
    steps = played(env, [0.0])
    assert env.now_s == 20.0
    rates = [float(observation[2]) for observation, _ in steps]
    assert rates[2] == pytest.approx(rates[1], rel=0.05), "of 6 s as of 7 s"
    short = ControllerEnv(to.Scenario.from_toml(BOTTLENECK).set("duration=7 s"), interval_s=0.001)
    assert len(played(short, [0.0])) == 7000, "rounding errors are no step"


@pytest.mark.parametrize("make", [ControllerEnv, SchedulerEnv])
def test_a_reward_that_is_none_is_refused_at_once(make: Any) -> None:
    with pytest.raises(to.ScenarioError, match=r"^reward: 3 was given, a function of the observation is expected$"):
        make(reward=3)


def test_a_reward_of_ones_own() -> None:
    env = ControllerEnv(reward=lambda observation: float(observation[2]))
    assert all(reward == pytest.approx(observation[2]) for observation, reward in played(env, [0.0]))


@pytest.mark.parametrize("make", [ControllerEnv, lambda: SchedulerEnv(few())])
def test_a_step_without_an_episode_or_with_what_is_no_action_says_so(make: Any) -> None:
    env = make()
    zero = np.zeros(env.action_space.shape, np.float32)
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"there is no episode yet: call reset\(\) first"):
        env.step(zero)
    env.reset(seed=1)
    with pytest.raises(to.ScenarioError, match=r"nan.* was given, finite numbers are expected"):
        env.step(zero + np.float32("nan"))
    with pytest.raises(to.ScenarioError, match=r"an array of shape \(99,\) was given"):
        env.step(np.zeros(99, np.float32))
    for action in ("x", {}, [0, [1]]):
        with pytest.raises(to.ScenarioError, match=r"^action: .* was given, numbers of shape \(\d+,\) are expected"):
            env.step(action)
    now = env.now_s
    env.step(zero)
    assert env.now_s > now == 0.0
    env.summary()
    with pytest.raises(gymnasium.error.ResetNeeded, match="the episode is at its end"):
        env.step(zero)
    env.reset(seed=1)
    env.step(zero)
