"""Traffic sources written in Python."""

from __future__ import annotations

import random
from typing import Any

import pytest

import transorbit as to
from conftest import ROOT
from transorbit import plugins

LEO = ROOT / "scenarios/leo-tcp.toml"


def carrying(name: str, traffic: dict[str, Any] | None = None, **changes: Any) -> to.Scenario:
    """Two users with what is registered under the name."""
    base: dict[str, Any] = {"duration": "10 s", "flows.0.count": 2, "flows.0.start_spread": "100 ms"}
    own = {"flows.0.traffic": {"kind": "script", "name": name, **(traffic or {})}}
    clear = {"channel": {"kind": "clear"}, "last_hop.harq": {"kind": "none"}}
    return to.Scenario.load(LEO).replace(base | clear | own | changes)


@to.source("test-transfer")
class Transfer:
    """One transfer of 100 kB."""

    def on_timeout(self, app: to.App, now: float) -> None:
        assert now == pytest.approx(app.start)
        app.open()
        app.write(100_000)
        app.close()


def test_a_transfer_in_python_is_that_of_the_core() -> None:
    ours = carrying("test-transfer").run().summary
    core = carrying("x").replace({"flows.0.traffic": {"kind": "bulk", "size": "100 kB"}}).run().summary
    assert ours["digest"] == core["digest"]
    assert [flow["delivered_bytes"] for flow in ours["flows"]] == [100_000, 100_000]
    assert ours["flows"][0]["traffic"] == "script"


@to.source("test-chance")
class Chance:
    """Writes of random sizes at random times."""

    def on_timeout(self, app: to.App, now: float) -> float | None:
        if now == app.start:
            self.random = random.Random(app.seed)
            app.open()
        app.write(self.random.randrange(1, 5_000))
        return now + self.random.expovariate(10)


def test_chance_is_the_seeds_and_differs_between_users() -> None:
    runs = [carrying("test-chance").run(seed=seed).summary for seed in (1, 1, 2)]
    assert runs[0]["digest"] == runs[1]["digest"] != runs[2]["digest"]
    first, second = (flow["delivered_bytes"] for flow in runs[0]["flows"])
    assert first != second
    assert min(first, second) > 0


@pytest.mark.parametrize("closes", [False, True])
def test_a_server_may_speak_before_the_gateway_has_called_it(closes: bool) -> None:
    class Greets:
        def on_timeout(self, app: to.App, now: float) -> None:  # noqa: ARG002
            app.open()
            app.write(400)
            app.write(20_000, end="user")
            if closes:
                app.close()
                app.close(end="user")

    to.source("test-greets")(Greets)
    split = {"flows.0.count": 1, "flows.0.pep": {"delay": "20 ms", "buffer": "3 kB"}}
    flow = carrying("test-greets", {"service": "exchange"}, **split).run().summary["flows"][0]
    assert flow["delivered_bytes"] == 400
    assert (flow["pep"]["relayed_bytes"], flow["pep"]["returned_bytes"]) == (400, 20_000)


def test_an_exchange_answers_what_has_arrived() -> None:
    told: list[tuple[float, str, int]] = []

    class Asks:
        def on_timeout(self, app: to.App, now: float) -> None:  # noqa: ARG002
            app.open()
            app.write(300, end="user")

        def on_delivered(self, app: to.App, now: float, connection: int, end: str, size: int) -> float | None:
            told.append((now, end, size))
            if (end, size) == ("server", 300):
                app.write(20_000)
            return now + 1 if (end, size) == ("user", 20_000) and connection == 1 else None

    to.source("test-asks")(Asks)
    summary = carrying("test-asks", {"service": "exchange"}, **{"flows.0.count": 1}).run().summary
    assert summary["flows"][0]["delivered_bytes"] == 20_000
    assert [(end, size) for _, end, size in told if end == "server"] == [("server", 300)]
    assert told[-1][1:] == ("user", 20_000)
    assert [at for at, *_ in told] == sorted(at for at, *_ in told)


def test_datagrams_and_several_connections() -> None:
    class Ticks:
        def on_timeout(self, app: to.App, now: float) -> float:
            for connection in range(2):
                if now == app.start:
                    app.open(connection)
                app.write(172, connection)
            return now + 0.02

    to.source("test-ticks")(Ticks)
    traffic = {"service": "datagrams", "connections": 2, "packet": "200 B"}
    flows = carrying("test-ticks", traffic, **{"flows.0.transport": "udp"}).run().summary["flows"]
    assert [flow["sent_packets"] for flow in flows] == pytest.approx([500] * 4, abs=6)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda app: app.write(1), "connection 0 is not open yet"),
        (lambda app: (app.open(), app.open()), "connection 0 is open"),
        (lambda app: app.open(1), "connection 1 of 1"),
        (lambda app: (app.open(), app.write(0)), "0 B are not from 1"),
        (lambda app: (app.open(), app.write(-4)), "write: -4 was given, a whole number of bytes is expected"),
        (lambda app: (app.open(), app.write(1.5)), "write: 1.5 was given, a whole number of bytes is expected"),
        (lambda app: (app.open(), app.write(1, end="sender")), '"server" or "user" is expected'),
        (lambda app: (app.open(), app.write(1, end="user")), "exchange"),
    ],
)
def test_what_an_application_cannot_do_is_raised_where_it_is_tried(act: Any, message: str) -> None:
    class Tries:
        def on_timeout(self, app: to.App, now: float) -> None:  # noqa: ARG002
            act(app)

    to.source("test-tries")(Tries)
    with pytest.raises((ValueError, TypeError), match=message):
        carrying("test-tries").run()


def test_an_app_acts_for_its_own_source_only() -> None:
    apps: dict[int, to.App] = {}

    class Meddles:
        def on_timeout(self, app: to.App, now: float) -> float | None:
            if app.user not in apps:
                apps[app.user] = app
                app.open()
                return now + 1
            if app.user == 0:
                apps[1].write(1)
            return None

    to.source("test-meddles")(Meddles)
    with pytest.raises(RuntimeError, match="acts only while its own source's method is called"):
        carrying("test-meddles").run()
    with pytest.raises(RuntimeError, match="acts only while"):
        apps[0].write(1)


@pytest.mark.parametrize("answer", ["soon", float("nan"), -1.0, 0.0, float("inf")])
def test_a_time_that_is_none_or_past_is_refused_with_class_and_method(answer: Any) -> None:
    class Wrong:
        def on_timeout(self, app: to.App, now: float) -> Any:  # noqa: ARG002
            return answer

    to.source("test-wrong")(Wrong)
    with pytest.raises(TypeError, match=r"Wrong.on_timeout answered .*: the time of the next call is expected"):
        carrying("test-wrong").run()


def test_what_cannot_be_is_found_by_check() -> None:
    with pytest.raises(to.ScenarioError, match=r'^flows.0.traffic.name: "nobody" given, and no script .* a source'):
        carrying("nobody").check()
    with pytest.raises(to.ScenarioError, match=r"^flows.0.traffic.connections: 65 was given"):
        carrying("test-transfer", {"connections": 65}).check()
    with pytest.raises(to.ScenarioError, match=r"^flows.0.traffic.packet: "):
        carrying("test-transfer", {"packet": "28 B"}).check()
    to.source("test-none")(object)  # type: ignore[type-var]
    with pytest.raises(TypeError, match=r"on_timeout\(app, now\)"):
        carrying("test-none").run()


def test_its_source_is_kept() -> None:
    (kept,) = carrying("test-chance").run().plugins
    assert kept.kept == "plugins/source-test-chance.py"
    assert b"random.Random(app.seed)" in kept.contents
    assert plugins.loaded(plugins.shipped(carrying("test-chance").to_toml())).names()["source"] == ["test-chance"]
