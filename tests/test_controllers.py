"""Congestion controllers written in Python: they are the core's equals in all but speed."""

from __future__ import annotations

import json
import linecache
import math
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

import transorbit as to
from conftest import ROOT, Outcome
from transorbit import _source, plugins, report

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LEO = ROOT / "scenarios/leo-tcp.toml"
NUMBER = r"a window in segments is expected, a number from 0 to 1e9"


def over(name: str, **changes: Any) -> to.Scenario:
    """A download whose controller is the one registered under the name."""
    base: dict[str, Any] = {"duration": "20 s", "record.series": False}
    own = {"flows.0.transport.congestion": {"kind": "external", "name": name}, "flows.0.transport.profile": "classic"}
    return to.Scenario.load(LEO).replace(base | own | changes)


@to.controller("test-newreno")
class NewReno:
    """RFC 5681 in whole segments, as the core counts them."""

    def on_start(self, connection: to.Connection) -> None:
        self.limit = connection.counting_limit
        self.counted = 0
        self.after_timeout = False

    def on_ack(self, ack: to.Ack) -> float | None:
        if not ack.may_grow or not ack.window_limited:
            return None
        window, acked = int(ack.window), ack.delivered
        if window < ack.threshold:
            most = acked if self.limit is None else min(acked, 1 if self.after_timeout else self.limit)
            growth = int(min(most, ack.threshold - window))
            window += growth
            if window < ack.threshold:
                return window
            self.after_timeout = False
            acked -= growth
        return self._avoid(window, acked) if acked else window

    def _avoid(self, window: int, acked: int) -> int:
        if self.counted >= window:
            self.counted = 0
            acked_window, window = window, window + 1
            self.counted += acked
            if self.counted >= acked_window:
                window, self.counted = window + self.counted // acked_window, self.counted % acked_window
            return window
        self.counted += acked
        grown, self.counted = divmod(self.counted, window)
        return window + grown

    def on_congestion(self, event: to.Event) -> float:
        assert event.reduce_from is not None
        if event.cause != "timeout":
            self.counted = 0
        return max(int(event.reduce_from * 0.5), 2)

    def on_event(self, event: to.Event) -> None:
        if event.kind == "timed-out":
            self.counted, self.after_timeout = 0, True


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"channel": {"kind": "bernoulli", "loss": "1 %"}, "last_hop.harq": {"kind": "none"}, "duration": "60 s"},
        {"flows.0.transport.profile": "linux", "duration": "40 s"},
        {"last_hop.scheduler": {"kind": "droptail", "buffer": "20 packets"}, "flows.0.count": 3},
    ],
    ids=["as it is", "many losses", "linux", "a short queue"],
)
def test_newreno_in_python_is_that_of_the_core(changes: dict[str, Any]) -> None:
    own = over("test-newreno", **changes)
    ours, core = own.run().summary, own.replace({"flows.0.transport.congestion": "newreno"}).run().summary
    assert ours["digest"] == core["digest"]
    assert [flow["retransmitted_packets"] for flow in ours["flows"]] == [
        flow["retransmitted_packets"] for flow in core["flows"]
    ]
    assert sum(flow["delivered_bytes"] for flow in ours["flows"]) > 1e6


def test_the_same_twice_and_over_any_number_of_threads(tmp_path: Path) -> None:
    sweep = to.Sweep.from_dict(
        {
            "scenario": str(LEO),
            "replications": 4,
            "set": {
                "duration": "5 s",
                "flows.0.transport.congestion": {"kind": "external", "name": "test-newreno"},
            },
            "axes": [],
        }
    )
    runs = [sweep.run(jobs=jobs, store=tmp_path / f"{jobs}.sqlite").runs["digest"].to_list() for jobs in (1, 2)]
    assert runs[0] == runs[1]
    assert len(set(runs[0])) == 4


class Says:
    """Answers what a test says."""

    answer: Any = None

    def on_ack(self, ack: to.Ack) -> Any:  # noqa: ARG002
        return type(self).answer


@pytest.mark.parametrize("answer", [math.nan, -1, -math.inf, math.inf, "10", [3], (1, 2, 3), 1e10, object()])
def test_a_window_that_is_none_is_refused_with_class_and_method(answer: Any) -> None:
    class Wrong(Says):
        pass

    Wrong.answer = answer
    to.controller("test-wrong")(Wrong)
    with pytest.raises(TypeError, match=rf"^\S*Wrong.on_ack answered .*: {NUMBER}"):
        over("test-wrong").run()


@pytest.mark.parametrize(
    ("method", "answer", "message"),
    [
        ("on_congestion", math.nan, "a slow start threshold in segments is expected"),
        ("on_event", -3, NUMBER),
        ("pacing_rate", 0, "a rate in bit/s is expected, a number above 0"),
        ("pacing_rate", "fast", "a rate in bit/s is expected"),
        ("poll_timeout", 0.0, "a time after now is expected"),
        ("poll_timeout", math.nan, "a time after now is expected"),
    ],
)
def test_every_answer_is_checked(method: str, answer: Any, message: str) -> None:
    members = {method: lambda *_: answer}
    if method == "poll_timeout":
        members["on_event"] = lambda *_: None
    to.controller("test-wrong")(type("Wrong", (Says,), members))
    with pytest.raises(TypeError, match=rf"^Wrong.{method} answered .*: {message}"):
        over("test-wrong", **{"last_hop.scheduler": {"kind": "droptail", "buffer": "5 packets"}}).run()


@pytest.mark.parametrize(
    ("line", "told"),
    [("1 / (ack.acked - ack.acked)", "ZeroDivisionError: division by zero"), ("raise SystemExit", "SystemExit")],
)
def test_what_it_raises_ends_the_run_with_its_own_traceback(
    command: Callable[..., Outcome], tmp_path: Path, line: str, told: str
) -> None:
    file = tmp_path / "broken.py"
    file.write_text(
        "import transorbit as to\n@to.controller('test-broken')\nclass Broken:\n    def on_ack(self, ack):\n"
        f"        {line}\n"
    )
    own = "flows.0.transport.congestion={ kind = 'external', name = 'test-broken' }"
    done = command("run", str(LEO), "--plugin", str(file), "--set", own, "--json")
    assert (done.code, done.out) == (2, "")
    lines = done.err.splitlines()
    assert lines[0] == f'  File "{file}", line 5, in on_ack'
    assert lines[-1] == f"transorbit: {told}"
    assert "scenario.py" not in done.err


def test_an_exit_in_it_fails_a_run_of_a_sweep() -> None:
    class Leaves:
        def on_ack(self, ack: to.Ack) -> None:  # noqa: ARG002
            raise SystemExit

    to.controller("test-leaves")(Leaves)
    own = {"flows.0.transport.congestion": {"kind": "external", "name": "test-leaves"}}
    sweep = to.Sweep.from_dict({"scenario": str(LEO), "set": own, "replications": 2, "axes": []})
    assert sweep.run(jobs=1).failed["error"].to_list() == ["SystemExit"] * 2


def test_what_a_plugin_raises_at_its_import_is_told_likewise(command: Callable[..., Outcome], tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    for text, line, told in (
        ("import transorbit as to\n\n\n1 / 0\n", 4, "ZeroDivisionError: division by zero"),
        ("import no_such_module\n", 1, "ModuleNotFoundError: No module named 'no_such_module'"),
        ("import transorbit as to\n@to.controller\nclass A: pass\n", 2, "TypeError: controller: A was given, a name"),
    ):
        file.write_text(text)
        done = command("run", str(LEO), "--plugin", str(file), "--json")
        assert (done.code, done.out) == (2, "")
        lines = done.err.splitlines()
        assert lines[0] == f'  File "{file}", line {line}, in <module>'
        assert lines[-1].startswith(f"transorbit: {told}")
        assert done.err.count("File ") == 1, "frames of the user alone"


def test_a_plugin_is_one_file(command: Callable[..., Outcome], tmp_path: Path) -> None:
    (tmp_path / "no_such_base.py").write_text("class Base: pass\n")
    file = tmp_path / "own.py"
    file.write_text("from no_such_base import Base\n")
    done = command("run", str(LEO), "--plugin", str(file), "--json")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"transorbit: --plugin {file}: imports no_such_base, which stands beside it")
    assert f"PYTHONPATH={tmp_path}" in done.err
    assert done.err.count("\n") == 1
    done = command("run", str(LEO), "--plugin", str(tmp_path), "--json")
    assert (done.code, done.err) == (2, f"transorbit: --plugin {tmp_path}: is a folder, a Python file is expected\n")


def test_two_plugins_do_not_share_a_name(command: Callable[..., Outcome], tmp_path: Path) -> None:
    first, second = tmp_path / "first.py", tmp_path / "second.py"
    for file in (first, second):
        file.write_text(f"import transorbit\n\n@transorbit.controller('twice')\nclass Of{file.stem}:\n    pass\n")
    done = command("check", str(LEO), "--plugin", str(first), "--plugin", str(second))
    told = f'registers the controller "twice", as {first} does: one of them needs another name'
    assert (done.code, done.err) == (2, f"transorbit: --plugin {second}: {told}\n")
    assert command("check", str(LEO), "--plugin", str(first), "--plugin", str(first)).code == 0, "one file, run once"


@pytest.mark.parametrize(("made", "message"), [(object, r"on_ack\(ack\)"), (lambda: 1 / 0, "division")])
def test_what_is_no_controller_ends_the_run(made: Any, message: str) -> None:
    to.controller("test-none")(made)
    with pytest.raises((TypeError, ZeroDivisionError), match=message):
        over("test-none").run()


def test_a_method_that_nobody_would_call_is_refused() -> None:
    def none(*_: object) -> None:
        """Answers nothing."""

    called = {
        "controller": ("on_ack", "on_ack, on_congestion, on_event, on_start, pacing_rate, poll_timeout"),
        "source": ("on_timeout", "on_timeout, on_delivered"),
        "scheduler": ("select", "select"),
    }
    changes: dict[str, dict[str, Any]] = {
        "controller": {"flows.0.transport.congestion": {"kind": "external", "name": "test-slip"}},
        "source": {"flows.0.traffic": {"kind": "script", "name": "test-slip"}},
        "scheduler": {"last_hop.scheduler": {"kind": "external", "name": "test-slip"}},
    }
    for kind, (needed, methods) in called.items():
        slip = type("Slip", (), {needed: none, "on_congestoin": none, "helper": none, "once": none})
        getattr(to, kind)("test-slip")(slip)
        told = rf"^Slip.on_congestoin would not be called: the methods of a {kind} are {methods}\n"
        with pytest.raises(TypeError, match=told):
            to.Scenario.load(LEO).replace({"duration": "1 s", **changes[kind]}).run()


@pytest.mark.parametrize("register", [to.controller, to.scheduler, to.source])
def test_a_decorator_needs_a_name(register: Any) -> None:
    kind = register.__name__
    with pytest.raises(TypeError, match=rf'^{kind}: Says was given, a name is expected, as in @transorbit.{kind}\("'):
        register(Says)
    with pytest.raises(TypeError, match=f"^{kind}: 5 was given"):
        register(5)
    with pytest.raises(ValueError, match=f"^{kind}: '' was given"):
        register("")
    with pytest.raises(TypeError, match=rf"^{kind}: 3 was given, a class is expected"):
        getattr(to, kind)("three")(3)


def test_a_name_that_nobody_has_registered_is_found_by_check() -> None:
    message = r'^flows.0.transport.congestion.name: "nobody" given, and no script has registered a controller'
    with pytest.raises(to.ScenarioError, match=message + r".*, but .*test-newreno"):
        over("nobody").check()
    with pytest.raises(to.ScenarioError, match=r"congestion.name: is missing"):
        over("").check()
    proxy = {"flows.0.transport.congestion": "cubic", "flows.0.pep.delay": "10 ms"}
    own = {"flows.0.pep.transport": {"kind": "tcp", "congestion": {"kind": "external", "name": "nobody"}}}
    with pytest.raises(to.ScenarioError, match=r"^flows.0.pep.transport.congestion.name"):
        over("nobody", **proxy).replace(own).check()


def test_samples_and_events_are_those_of_the_sender() -> None:
    kinds: set[str] = set()
    acks: list[float] = []

    class Watches:
        rates = True
        sent = True

        def on_ack(self, ack: to.Ack) -> float | None:
            assert ack.mss > 0
            assert ack.in_flight_before + ack.lost >= ack.in_flight
            assert ack.state in {"open", "disorder", "cwr", "recovery", "loss"}
            if ack.min_rtt is not None and ack.rtt is not None:
                assert 0 < ack.min_rtt <= ack.rtt + 1e-9
            if ack.delivery_rate is not None:
                assert 0 < ack.delivery_rate < 1e9
            acks.append(ack.now)
            return ack.window + ack.delivered / ack.window if ack.may_grow else None

        def on_congestion(self, event: to.Event) -> float:
            kinds.add(event.kind)
            assert event.cause in {"loss", "timeout"}
            return (event.reduce_from or 0) * 0.8

        def on_event(self, event: to.Event) -> None:
            kinds.add(event.kind)
            assert (event.in_flight is not None) == (event.kind in {"sent", "timeout"})

    to.controller("test-watches")(Watches)
    short = {"last_hop.scheduler": {"kind": "droptail", "buffer": "20 packets"}}
    over("test-watches", **short).run()
    assert acks == sorted(acks)
    assert kinds >= {"established", "starts", "sent", "lost", "congestion", "recovered"}


def test_a_rate_paces_and_a_timer_comes_when_it_was_asked_for() -> None:
    told: list[float] = []

    class Steady:
        drives = True
        due = 2.0

        def on_ack(self, ack: to.Ack) -> float:  # noqa: ARG002
            return 1000

        def on_event(self, event: to.Event) -> None:
            if event.kind == "timeout":
                told.append(event.now)
                self.due += 2.0

        def poll_timeout(self) -> float:
            return self.due

        def pacing_rate(self) -> float:
            return 400_000

    to.controller("test-steady")(Steady)
    clear = {"channel": {"kind": "clear"}, "last_hop.harq": {"kind": "none"}, "last_hop.rate": "5 Mbit/s"}
    flow = over("test-steady", **clear).run().summary["flows"][0]
    # Of 400 kbit/s of packets some 5 % are headers.
    assert 0.90 * 400_000 < flow["goodput_bps"] < 400_000
    assert told[:4] == pytest.approx([2, 4, 6, 8]) or told[:8:2] == pytest.approx([2, 4, 6, 8])


def test_a_source_is_kept_with_its_hash_and_never_run(tmp_path: Path, command: Callable[..., Outcome]) -> None:
    file = tmp_path / "own.py"
    file.write_text(
        "import transorbit as to\n@to.controller('test-kept')\nclass Kept:\n    def on_ack(self, ack):\n"
        "        return ack.window + 1 / ack.window if ack.may_grow else None\n"
    )
    own = "flows.0.transport.congestion={ kind = 'external', name = 'test-kept' }"
    out = tmp_path / "result"
    done = command("run", str(LEO), "--set", "duration=3 s", "--plugin", str(file), "--set", own, "--out", str(out))
    assert done.code == 0, done.err
    result = to.Result.load(out)
    assert [each.contents for each in result.plugins] == [file.read_bytes()]
    listed = json.loads((out / "provenance.json").read_text())["plugins"]
    assert (listed[0]["kept"], listed[0]["sha256"]) == ("plugins/controller-test-kept.py", result.plugins[0].sha256)
    assert result.summary["flows"][0]["congestion"] == "test-kept"
    assert "--seed 1 --plugin plugins/controller-test-kept.py" in report.of_result(result)
    again = command("run", str(LEO), "--set", "duration=3 s", "--plugin", str(file), "--set", own, "--out", str(out))
    assert again.code == 0, again.err
    file.write_text(file.read_text().replace("1 /", "2 /"))
    other = command("run", str(LEO), "--set", "duration=3 s", "--plugin", str(file), "--set", own, "--out", str(out))
    assert other.code == 2, "it is the result of other code"
    assert to.Result.load(out).provenance["plugins"] == listed
    plugins.REGISTRY._plugins.pop(("controller", "test-kept"))
    refused = command("run", str(out / "scenario.toml"), "--json")
    assert refused.code == 2
    assert "no script has registered a controller" in refused.err
    assert "--plugin FILE" in refused.err
    again = command("run", str(out / "scenario.toml"), "--plugin", str(out / listed[0]["kept"]), "--json")
    assert json.loads(again.out)["digest"] == result.summary["digest"]


def test_a_class_of_a_notebook_cell_works_and_its_source_stands_for_itself() -> None:
    first = (
        "import math\nimport transorbit as to\nSTEP = 2.0\n"
        "def grow(window):\n    return window + math.sqrt(STEP) / window\n"
    )
    second = (
        "@to.controller('test-cell')\nclass Cell:\n    def on_ack(self, ack):\n"
        "        return grow(ack.window) if ack.may_grow else None\n"
    )
    space: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate((first, second)):
        name = f"<ipython-input-{number}>"
        linecache.cache[name] = (len(cell), None, cell.splitlines(keepends=True), name)
        exec(compile(cell, name, "exec"), space)  # noqa: S102 - written above
    result = over("test-cell").run()
    text = result.plugins[0].contents.decode()
    assert text.startswith("import math\nimport transorbit as to\n")
    assert "STEP = 2.0" in text
    sent = plugins.shipped(result.scenario_toml)
    assert [each.text for each in sent] == [text]
    elsewhere = plugins.loaded(sent)
    assert elsewhere.find("controller", "test-cell") is not space["Cell"]
    with pytest.raises(AttributeError) as error:
        elsewhere.find("controller", "test-cell")().on_ack(None)
    assert traceback.extract_tb(error.tb)[-1].line == "return grow(ack.window) if ack.may_grow else None"
    plugins.REGISTRY.add(plugins.Plugin("controller", "test-cell", elsewhere.find("controller", "test-cell")))
    assert over("test-cell").run().summary["digest"] == result.summary["digest"]


def test_what_a_function_names_itself_is_not_looked_up_around_it() -> None:
    cell = (
        "table = object()\nSTEP = 2.0\n"
        "class Own:\n    def on_ack(self, ack):\n        table = STEP\n        return ack.window + table\n"
    )
    linecache.cache["<own>"] = (len(cell), None, cell.splitlines(keepends=True), "<own>")
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(cell, "<own>", "exec"), space)  # noqa: S102 - written above

    text = _source.text_of(space["Own"], kind="controller", name="own")

    assert "STEP = 2.0" in text
    assert "object" not in text


class Changed:
    """What a test changes, and what it does not."""

    gain, other = 1.0, 2
    step = 2.0
    computed = 2 * 3.0
    name: str = "x"

    def __init__(self) -> None:
        self.known = 0

    def on_ack(self, ack: to.Ack) -> float | None:
        return ack.window + self.step

    @property
    def rate(self) -> float:
        return self.step


@dataclass
class Data:
    step: float = 2.0

    def on_ack(self, ack: to.Ack) -> float | None:
        return ack.window + self.step


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("step", 3.0),
        ("name", "y"),
        ("added", 1),
        ("__init__", lambda _self: None),
        ("on_ack", lambda _self, ack: ack.window),
        ("poll", lambda _self: 3),
    ],
)
def test_the_text_of_a_class_that_was_changed_is_not_kept(
    monkeypatch: pytest.MonkeyPatch, name: str, value: object
) -> None:
    assert "return ack.window + self.step" in _source.text_of(Changed, kind="controller", name="x")
    monkeypatch.setattr(Changed, name, value, raising=False)
    with pytest.raises(_source.SourceError, match=rf"^Changed\.{name} was set after the definition of Changed$"):
        _source.text_of(Changed, kind="controller", name="x")


def test_the_text_of_a_dataclass_is_its_definition() -> None:
    text = _source.text_of(Data, kind="controller", name="x")
    assert text.startswith("import transorbit\nfrom dataclasses import dataclass\n")
    assert "@dataclass\nclass Data:\n    step: float = 2.0\n" in text


def test_a_source_that_cannot_be_had_says_why() -> None:
    step = object()

    class Closure:
        def on_ack(self, ack: to.Ack) -> float | None:
            return ack.window if step else None

    with pytest.raises(_source.SourceError, match="variables of the function around it"):
        _source.text_of(Closure, kind="controller", name="x")
    to.controller("test-closure")(Closure)
    kept = over("test-closure", duration="1 s").run().plugins[0].contents.decode()
    assert kept.startswith("# The source of this controller could not be kept: ")
    given = "import transorbit\n"
    to.controller("test-closure", source=given)(Closure)
    assert over("test-closure", duration="1 s").run().plugins[0].contents.decode() == given


def test_the_example_holds_its_window_where_the_path_changes() -> None:
    space: dict[str, Any] = {"__name__": "leo_cubic"}
    exec(compile((ROOT / "scenarios/leo_cubic.py").read_text(), "leo_cubic.py", "exec"), space)  # noqa: S102 - ours
    held = [second / 10 for second in range(600) if space["is_held"](second / 10)]
    assert {int(second + 0.1) for second in held} == {12, 27, 42, 57}
    scenario = to.Scenario.load(ROOT / "scenarios/starlink.toml").replace({"duration": "60 s"})
    scenario = scenario.replace({"flows.0.transport.congestion": {"kind": "external", "name": "leo-cubic"}})
    result = scenario.run()
    assert result.summary["flows"][0]["goodput_bps"] > 20e6
    windows = {
        round(row["time_s"], 1): row["cwnd_packets"]
        for row in result.series.iter_rows(named=True)
        if row["cwnd_packets"] is not None
    }
    for instant in (27.0, 42.0):
        assert windows[instant] == windows[round(instant + 0.4, 1)]


class Scalable:
    """Prague's idea in a few lines: the window falls by half the fraction of marks, once a round trip."""

    marked = marked_bytes = 0

    def on_start(self, connection: to.Connection) -> None:  # noqa: ARG002
        self.alpha, self.seen, self.of, self.until = 1.0, 0, 0, 0

    def on_ack(self, ack: to.Ack) -> float | tuple[float, float] | None:
        cls = type(self)
        cls.marked, cls.marked_bytes = cls.marked + ack.marked, cls.marked_bytes + ack.marked_bytes
        self.seen, self.of = self.seen + ack.marked, self.of + ack.delivered
        if ack.una >= self.until and self.of:
            self.alpha += (self.seen / self.of - self.alpha) / 16
            reduced = ack.window * (1 - self.alpha / 2) if self.seen else None
            self.seen, self.of, self.until = 0, 0, ack.nxt
            if reduced is not None:
                return reduced, reduced
        if not ack.may_grow:
            return None
        return ack.window + ack.delivered * (1 if ack.window < ack.threshold else 1 / ack.window)


@pytest.mark.parametrize("marks", ["ect1", "ect0", None])
def test_a_controller_that_takes_the_count_of_marks_decides_on_reductions(marks: str | None) -> None:
    class Counts(Scalable):
        pass

    to.controller("test-scalable")(Counts)
    own = {"kind": "external", "name": "test-scalable"} | ({"marks": marks} if marks else {})
    scenario = to.Scenario.load("l4s").replace({"duration": "20 s", "flows.0.transport.congestion": own})
    flow = scenario.run().summary["flows"][0]
    # What reached the receiver with a mark is told to the sender, but for the last round trip; without `marks` the
    # connection does not ask for accurate feedback, and its data may not be marked.
    assert (flow["marked_packets"] > 100) == (marks is not None)
    assert 0 <= flow["marked_packets"] - Counts.marked <= 200
    assert (Counts.marked_bytes > 1000 * Counts.marked) == (marks is not None)


def test_a_codepoint_that_is_none_is_refused() -> None:
    own = {"kind": "external", "name": "test-newreno", "marks": "ce"}
    scenario = to.Scenario.load("l4s").replace({"flows.0.transport.congestion": own})
    with pytest.raises(to.ScenarioError, match="ect0"):
        scenario.check()
