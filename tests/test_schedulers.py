"""Schedulers written in Python: the house's own rules hold for them too."""
# ruff: noqa: ARG002 - a scheduler need not use all that it is shown

from __future__ import annotations

import os
import random
import signal
from pathlib import Path
from typing import Any

import pytest

import transorbit as to

VOIP = Path(__file__).parents[1] / "scenarios/voip.toml"
# Never idle while packets wait: of 4 s all but the 80 ms until the first arrives.
BUSY = 1 - 0.08 / 4


def overloaded(name: str, **changes: Any) -> to.Scenario:
    """Ten users who offer about twice what the last hop can carry."""
    base: dict[str, Any] = {
        "duration": "4 s",
        "record.series": False,
        "flows.0.count": 10,
        "flows.0.start_spread": "0 s",
        "flows.0.traffic.activity": "continuous",
        "last_hop.rate": "4 Mbit/s",
        "last_hop.scheduler": {"kind": "external", "name": name},
    }
    return to.Scenario.load(VOIP).replace(base | changes)


def test_one_that_serves_the_longest_queue_is_fair_to_equal_users() -> None:
    seen: list[float] = []

    @to.scheduler("test-longest")
    class LongestQueue:
        def select(self, queues: list[to.Queue], now: float) -> int:
            assert queues
            assert all(queue.packets > 0 and queue.bytes >= queue.head_bytes for queue in queues)
            assert [queue.user for queue in queues] == sorted({queue.user for queue in queues})
            assert all(0 <= queue.information <= 1 and queue.head_wait_s >= 0 for queue in queues)
            seen.append(now)
            return max(queues, key=lambda queue: (queue.packets, queue.head_wait_s)).user

    summary = overloaded("test-longest").run().summary
    assert seen == sorted(seen)
    assert len(seen) > 500
    assert summary["users"]["jain"] > 0.99
    assert sum(summary["conservation"]["dropped_by_reason"].values()) == summary["conservation"]["dropped"]
    assert summary["last_hop"]["utilisation"] == pytest.approx(BUSY)


def test_each_run_makes_an_object_of_its_own_and_repeats() -> None:
    @to.scheduler("test-chance")
    class Chance:
        def __init__(self) -> None:
            self.random = random.Random(7)

        def select(self, queues: list[to.Queue], now: float) -> int:
            return self.random.choice(queues).user

    scenario = overloaded("test-chance")
    assert scenario.run().summary["digest"] == scenario.run().summary["digest"]


def test_the_first_user_always_is_served_and_the_last_starves() -> None:
    @to.scheduler("test-first")
    class First:
        def select(self, queues: list[to.Queue], now: float) -> int:
            return queues[0].user

    delivered = [flow["delivered_bytes"] for flow in overloaded("test-first").run().summary["flows"]]
    assert delivered[0] > 10 * max(1, delivered[-1])


def test_an_answer_that_is_nobody_counts_as_the_first_and_is_told() -> None:
    @to.scheduler("test-nobody")
    class Nobody:
        def select(self, queues: list[to.Queue], now: float) -> int:
            return 4711

    summary = overloaded("test-nobody").run().summary
    assert summary["last_hop"]["utilisation"] == pytest.approx(BUSY)
    assert any("scheduler" in warning for warning in summary["warnings"]), summary["warnings"]


def test_what_it_raises_ends_the_run() -> None:
    @to.scheduler("test-broken")
    class Broken:
        def select(self, queues: list[to.Queue], now: float) -> int:
            raise ZeroDivisionError("an idea that did not work")

    with pytest.raises(ZeroDivisionError, match="did not work"):
        overloaded("test-broken").run()


@pytest.mark.parametrize("answer", [lambda queues: queues[0], lambda _: "x", lambda _: 10**30, lambda _: -1])
def test_an_answer_that_is_no_number_of_a_user_is_told_to_its_author(answer: Any) -> None:
    @to.scheduler("test-wrong")
    class Wrong:
        def select(self, queues: list[to.Queue], now: float) -> Any:
            return answer(queues)

    with pytest.raises(TypeError, match=r"Wrong.select answered .*: the number of a user is expected"):
        overloaded("test-wrong").run()


def test_what_it_raises_at_the_very_end_is_raised_too() -> None:
    @to.scheduler("test-late")
    class Late:
        def select(self, queues: list[to.Queue], now: float) -> int:
            if now > 0.054:
                raise ZeroDivisionError("at the end")
            return queues[0].user

    # Nothing wakes the last hop after 53.5 ms, when the third packets come: what it chooses then is asked at the end.
    rare = {"duration": "60 ms", "path.delay": "1 ms", "last_hop.delay": "100 ms"}
    with pytest.raises(ZeroDivisionError, match="at the end"):
        overloaded("test-late", **rare).run()


def test_ctrl_c_within_it_leaves_a_partial_result_that_is_right() -> None:
    @to.scheduler("test-interrupted")
    class Interrupted:
        def __init__(self) -> None:
            self.calls = 0

        def select(self, queues: list[to.Queue], now: float) -> int:
            self.calls += 1
            if self.calls == 200:
                os.kill(os.getpid(), signal.SIGINT)
            asked.append((now, self.calls))
            return max(queues, key=lambda queue: queue.head_wait_s).user

    asked: list[tuple[float, int]] = []
    with pytest.raises(to.Interrupted) as stopped:
        overloaded("test-interrupted").run()
    summary = stopped.value.result.summary
    assert summary["partial"]
    assert "overruled_choices" not in summary["last_hop"]
    assert [calls for _, calls in asked] == list(range(1, len(asked) + 1)), "no call is repeated or cut off"

    begun, asked = asked, []
    with pytest.raises(to.Interrupted):
        overloaded("test-interrupted").run()
    assert begun == asked[: len(begun)] or asked == begun[: len(asked)]


def test_a_second_ctrl_c_within_it_ends_at_once() -> None:
    @to.scheduler("test-stuck")
    class Stuck:
        def select(self, queues: list[to.Queue], now: float) -> int:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
            pytest.fail("it goes on")

    with pytest.raises(KeyboardInterrupt) as stopped:
        overloaded("test-stuck").run()
    assert not isinstance(stopped.value, to.Interrupted), "a choice that was cut off has no result"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_name_that_nobody_has_registered_is_refused() -> None:
    message = r"^last_hop.scheduler.name: \"nobody\" given, and no script has registered .*"
    with pytest.raises(to.ScenarioError, match=message):
        overloaded("nobody").check()
    with pytest.raises(to.ScenarioError, match=message):
        overloaded("nobody").run()

    @to.scheduler("test-somebody")
    class First:
        def select(self, queues: list[to.Queue], now: float) -> int:
            return queues[0].user

    with pytest.raises(to.ScenarioError, match=message + "test-somebody"):
        overloaded("nobody").check()
    overloaded("test-somebody").check()


def test_a_class_of_service_asks_for_a_registered_name() -> None:
    classes = [{"name": "gold", "scheduler": {"kind": "external", "name": "nobody"}}]
    with pytest.raises(to.ScenarioError, match=r"^last_hop.classes.0.scheduler.name: \"nobody\" given"):
        to.Scenario.load(VOIP).replace({"last_hop.classes": classes}).check()


def test_one_without_select_is_refused() -> None:
    class Empty: ...

    to.scheduler("test-empty")(Empty)  # type: ignore[type-var]
    with pytest.raises(TypeError, match="select"):
        overloaded("test-empty").run()
