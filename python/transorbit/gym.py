"""Environments of Gymnasium, for learned policies: a congestion controller and a scheduler.

A step is an interval of simulated time. All that happens in it, happens in the core: the agent's action holds for the
interval, and what was seen in it comes back at its end. An episode is a run of the scenario, ended by `truncated` at
its duration; `reset(seed=…)` is the seed of the run, so that the same seed and actions give the same episode.
"""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, Any

from transorbit import _core, _values, plugins
from transorbit._values import above_zero, number
from transorbit.scenario import Scenario, opened

try:
    import gymnasium
    import numpy as np
except ImportError:
    raise ImportError('transorbit.gym needs gymnasium; it comes with: pip install "transorbit[gym]"') from None

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["ControllerEnv", "SchedulerEnv"]

_NAME = "transorbit.gym"
_MOST_SEEDS = 2**31
_LEAST_BPS = 10_000.0
# The share of an interval that rounding errors may leave at the end of a run.
_REST = 1e-6
# The largest observation.
_MOST = np.float32(1e9)

# One download over a bottleneck: as little as there can be to control.
BOTTLENECK = """
title    = "One download over a bottleneck"
duration = "20 s"
[path]
kind  = "fixed"
delay = "20 ms"
[channel]
kind = "clear"
[last_hop]
rate      = "6 Mbit/s"
delay     = "0 ms"
scheduler = { kind = "droptail", buffer = "100 ms" }
harq      = { kind = "none" }
[[flows]]
transport = "tcp"
traffic   = "bulk"
[record]
series = false
"""


class _Env(gymnasium.Env["NDArray[np.float32]", "NDArray[np.float32]"]):
    """The common part of both environments: a run that goes on by intervals."""

    def __init__(
        self,
        scenario: Scenario,
        interval_s: float,
        key: str,
        kind: str,
        reward: Callable[[NDArray[np.float32]], float] | None,
    ) -> None:
        if not (reward is None or callable(reward)):
            raise _core.ScenarioError(f"reward: {reward!r} was given, a function of the observation is expected")
        self._reward = reward
        interval = number("interval_s", interval_s)
        if not 1e-6 <= interval <= 1e6:
            raise _core.ScenarioError(f"interval_s: {interval_s!r} was given, seconds from 1e-6 to 1e6 are expected")
        choice = {"kind": plugins.KINDS[kind].choice, "name": _NAME}
        self._scenario = scenario.replace({key: choice, "record.series": False})
        self._interval = interval
        self._kind = kind
        self._names = plugins.REGISTRY.names()
        self._names[kind] = [*self._names[kind], _NAME]
        self._scenario._core.check(self._names)
        self._simulation: _core.Simulation | None = None
        self._summary: dict[str, Any] | None = None
        # Before the first episode as after one.
        self._now, self._end, self._steps = 0.0, 0.0, 0

    def _begin(self, seed: int | None, policy: object) -> None:
        """A run of its own; `policy` takes the agent's actions in it."""
        root = int(self.np_random.integers(_MOST_SEEDS)) if seed is None else seed

        def find(kind: str, name: str) -> object | None:
            return policy if (kind, name) == (self._kind, _NAME) else plugins.REGISTRY.find(kind, name)

        self._simulation = self._scenario._core.simulation(root, find, self._scenario._plans, self._names)
        self._summary = None
        self._end = self._simulation.duration_s
        self._now, self._steps = 0.0, 0

    def _checked(self, action: object) -> list[float]:
        """The numbers of an action, for a run that goes on."""
        if self._now >= self._end:
            told = "the episode is at its end" if self._simulation else "there is no episode yet"
            raise gymnasium.error.ResetNeeded(f"step: {told}: call reset() first")
        wanted = self.action_space.shape
        try:
            numbers = np.asarray(action, np.float64)
        except (TypeError, ValueError):
            told = f"{reprlib.repr(action)} was given, numbers of shape {wanted} are expected"
            raise _core.ScenarioError(f"action: {told}") from None
        if numbers.shape != wanted:
            raise _core.ScenarioError(f"action: an array of shape {numbers.shape} was given, {wanted} is expected")
        if not np.isfinite(numbers).all():
            raise _core.ScenarioError(f"action: {numbers.tolist()} was given, finite numbers are expected")
        return [float(value) for value in numbers]

    def _pass(self) -> float:
        """Moves on by an interval, or to the end of the run. Returns the seconds that pass."""
        self._steps += 1
        now = self._steps * self._interval
        # A rest that rounding errors may be is no step of its own.
        if now > self._end - _REST * self._interval:
            now = self._end
        before, self._now = self._now, now
        return now - before

    @property
    def now_s(self) -> float:
        """The simulated time in seconds."""
        return self._now

    def summary(self) -> dict[str, Any]:
        """The numbers of the run up to now, as `Result.summary` has them; ends the episode."""
        import json

        if self._simulation is None:
            raise gymnasium.error.ResetNeeded("summary: there is no episode yet: call reset() first")
        if self._summary is None:
            self._summary = json.loads(self._simulation.finish(self._now < self._end).summary_json())
            self._now = self._simulation.duration_s
        return self._summary


class ControllerEnv(_Env):
    """A congestion controller: how much may be in flight.

    Observation, of the interval that has passed: mean round-trip time (s; the last one known, where none was measured),
    shortest round-trip time so far (s), delivered rate (Mbit/s of payload), segments in flight, segments lost.

    Action: a number, cut to -1 to 1, by which window or rate change: to 2^action times what they were.

    Reward: delivered rate in Mbit/s, less `delay_weight` times the queueing delay in seconds (round-trip time less the
    shortest), less `loss_weight` times the lost share of segments; or what `reward(observation)` says.

    All flows of the first entry of the scenario are steered alike; other entries run what the scenario says.
    """

    def __init__(
        self,
        scenario: Scenario | str | Path | None = None,
        *,
        interval_s: float = 0.01,
        steers: str = "window",
        most_window: float = 1000.0,
        most_rate_bps: float = 100e6,
        delay_weight: float = 10.0,
        loss_weight: float = 10.0,
        reward: Callable[[NDArray[np.float32]], float] | None = None,
    ) -> None:
        """Make the environment.

        Args:
            scenario: a scenario, or the name or path of one; by default one download over 6 Mbit/s and 40 ms.
            interval_s: the time of a step in simulated seconds.
            steers: "window", or "rate": the sender spaces segments at the agent's rate, with a window of two round
                trips of it.
            most_window: the window stays below it, in segments: what is far beyond the path costs time.
            most_rate_bps: so does the rate.
            delay_weight: of the reward.
            loss_weight: of the reward.
            reward: a reward of one's own.

        Raises:
            ScenarioError: the scenario is wrong, or an argument.
        """
        if steers not in ("window", "rate"):
            raise _core.ScenarioError(f'steers: {steers!r} was given, "window" or "rate" is expected')
        most = above_zero("most_window", most_window), above_zero("most_rate_bps", most_rate_bps)
        weights = number("delay_weight", delay_weight), number("loss_weight", loss_weight)
        controlled = _scenario(scenario)
        transport = controlled.to_dict()["flows"][0]["transport"]
        if "congestion" not in transport:
            told = f'"{transport["kind"]}" has no congestion controller: a flow over tcp or quic is expected'
            raise _core.ScenarioError(f"flows.0.transport: {told}")
        super().__init__(controlled, interval_s, "flows.0.transport.congestion", "controller", reward)
        self._paced = steers == "rate"
        self._weights = weights
        self._most = max(most[0], 1.0), max(most[1], _LEAST_BPS)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.observation_space = gymnasium.spaces.Box(0.0, _MOST, (5,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin a run; the window is 10 segments, the rate 1 Mbit/s.

        Raises:
            ScenarioError: the seed is none.
        """
        super().reset(seed=_values.seed(seed), options=options)
        self._steering = _core.Steering(self._paced)
        self._begin(seed, self._steering)
        self._window, self._rate = 10.0, 1e6
        return np.zeros(5, np.float32), {}

    def step(self, action: NDArray[np.float32]) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Let an interval pass with another window or rate."""
        factor = 2.0 ** min(max(self._checked(action)[0], -1.0), 1.0)
        if self._paced:
            self._rate = min(max(self._rate * factor, _LEAST_BPS), self._most[1])
        else:
            self._window = min(max(self._window * factor, 1.0), self._most[0])
        passed = self._pass()
        assert self._simulation
        rtt, least, bytes_, in_flight, delivered, lost = self._steering.step(
            self._simulation, self._now, self._window, self._rate
        )
        if self._paced:
            # Two round trips at the rate; 12 kbit is about a segment.
            self._window = min(max(2.0 * self._rate * rtt / 12_000.0, 10.0), self._most[0])
        rate = bytes_ * 8e-6 / passed
        observation = np.array((rtt, least, rate, in_flight, lost), np.float32)
        if self._reward:
            reward = float(self._reward(observation))
        else:
            share = lost / (delivered + lost) if lost else 0.0
            reward = rate - self._weights[0] * (rtt - least) - self._weights[1] * share
        return observation, reward, False, self._now >= self._end, {}


class SchedulerEnv(_Env):
    """A scheduler of the last hop: who is served.

    Observation, four numbers for each user: packets waiting, the wait of the first one (s) and mutual information of a
    coded bit (0 to 1), as at the last choice of the interval and 0 where nothing waited; Mbit/s begun in the interval.

    Action: a weight for each user, -1 to 1. While it holds, the waiting user of the greatest weight is served first; of
    equal ones, who has waited longest.

    Reward: Mbit/s begun of all users, less `wait_weight` times the mean wait of the users' first packets in seconds; or
    what `reward(observation)` says.
    """

    def __init__(
        self,
        scenario: Scenario | str | Path = "voip",
        *,
        interval_s: float = 0.02,
        wait_weight: float = 10.0,
        reward: Callable[[NDArray[np.float32]], float] | None = None,
    ) -> None:
        """Make the environment.

        Args:
            scenario: a scenario, or the name or path of one.
            interval_s: the time of a step in simulated seconds.
            wait_weight: of the reward.
            reward: a reward of one's own.

        Raises:
            ScenarioError: the scenario is wrong, or an argument.
        """
        weight = number("wait_weight", wait_weight)
        super().__init__(_scenario(scenario), interval_s, "last_hop.scheduler", "scheduler", reward)
        self.users = _users(self._scenario)
        self._weight = weight
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (self.users,), np.float32)
        self.observation_space = gymnasium.spaces.Box(0.0, _MOST, (4 * self.users,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin a run.

        Raises:
            ScenarioError: the seed is none.
        """
        super().reset(seed=_values.seed(seed), options=options)
        self._queues = _core.Weights(self.users)
        self._begin(seed, self._queues)
        return np.zeros(4 * self.users, np.float32), {}

    def step(self, action: NDArray[np.float32]) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Let an interval pass with these weights."""
        weights = self._checked(action)
        passed = self._pass()
        assert self._simulation
        users = np.array(self._queues.step(self._simulation, self._now, weights), np.float64)
        users[:, 3] *= 8e-6 / passed
        observation = users.astype(np.float32).reshape(-1)
        if self._reward:
            reward = float(self._reward(observation))
        else:
            reward = float(users[:, 3].sum() - self._weight * users[:, 1].mean())
        return observation, reward, False, self._now >= self._end, {}


def _scenario(given: Scenario | str | Path | None) -> Scenario:
    return Scenario.from_toml(BOTTLENECK) if given is None else opened(given)


def _users(scenario: Scenario) -> int:
    users = 0
    for flow in scenario.to_dict()["flows"]:
        users = max(users, flow.get("first_user", users) + flow.get("count", 1))
    return users
