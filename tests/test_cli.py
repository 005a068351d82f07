"""The command line: what it prints where, what it writes, how it ends."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import tomllib
from collections.abc import Callable
from typing import TYPE_CHECKING

import polars as pl
import pytest

import transorbit as to
from conftest import PROGRAM, Outcome
from transorbit.cli import tables

if TYPE_CHECKING:
    from pathlib import Path

Command = Callable[..., Outcome]

LEO = "scenarios/leo-tcp.toml"
SHORT = ("--set", "duration=20 s")

SUMMARY_KEYS = {
    "title",
    "seed",
    "simulated_s",
    "digest",
    "warnings",
    "flows",
    "last_hop",
    "path",
    "events",
    "conservation",
}
FLOW_KEYS = {
    "id", "user", "transport", "congestion", "goodput_bps", "sent_packets", "received_packets",
    "retransmitted_packets", "dupack_events", "rto_events", "spurious_retransmissions", "rtt_mean_s",
    "one_way_delay_mean_s", "one_way_delay_p95_s", "jitter_s", "loss_ratio", "cwnd_mean_packets",
}  # fmt: skip
LAST_HOP_KEYS = {
    "offered_packets", "dropped_overflow", "dropped_timeout", "coded_bps", "useful_bps", "utilisation", "harq",
    "reordering",
}  # fmt: skip
HARQ_KEYS = {"decoded_after", "failed", "bits_per_packet_mean"}
REORDERING_KEYS = {"held_packets", "wait_mean_s", "flushed_full", "flushed_failed"}
PATH_KEYS = {"one_way_delay_min_s", "one_way_delay_mean_s", "one_way_delay_max_s", "handovers"}
CONSERVATION_KEYS = {"created", "delivered", "dropped", "in_flight"}
RESULT_FILES = {"scenario.toml", "summary.json", "provenance.json", "flows.parquet", "series.parquet", "plots"}
PLOTS = {
    f"{name}.{suffix}"
    for name in ("overview", "goodput", "window", "path-delay", "satellite", "harq", "queue")
    for suffix in ("svg", "png")
}


def test_run_shows_a_summary_and_keeps_a_result_folder(command: Command, here: Path) -> None:
    done = command("run", LEO, *SHORT)

    assert (done.code, done.err) == (0, "")
    assert "Goodput" in done.out
    assert "1 handovers" not in done.out
    assert "Result: results/leo-tcp" in done.out
    folder = here / "results/leo-tcp"
    assert {path.name for path in folder.iterdir()} == RESULT_FILES
    assert [path.name for path in (folder / "plots").iterdir()] == ["overview.png"]
    assert (folder / "plots/overview.png").stat().st_size > 1000
    assert [path.name for path in (here / "results").iterdir()] == ["leo-tcp"], "work folders are gone"


@pytest.mark.parametrize("series", ["true", "false"])
def test_a_run_of_many_flows_makes_no_dictionaries_of_them(
    command: Command, here: Path, monkeypatch: pytest.MonkeyPatch, series: str
) -> None:
    def parse_without_flows(text: str | bytes, **options: object) -> object:
        assert '"dupack_events":' not in str(text), "a flow is parsed"
        return parse(text, **options)

    parse = json.loads
    monkeypatch.setattr(json, "loads", parse_without_flows)
    many = ("--set", "flows.0.count=150", "--set", "duration=1 s", "--set", f"record.series={series}", "--out", "kept")
    shown = command("run", "scenarios/lab-fixed.toml", *many)
    assert (shown.code, "150" in shown.out) == (0, True)
    assert (here / "kept/plots/overview.png").stat().st_size > 1000
    printed = command("run", "scenarios/lab-fixed.toml", *many, "--json")
    assert printed.out == (here / "kept/summary.json").read_text("utf-8")
    with pytest.raises(AssertionError, match="a flow is parsed"):
        to.Result.load("kept")


def test_all_plots_are_drawn_on_request(command: Command, here: Path) -> None:
    assert command("run", LEO, *SHORT, "--plots", "--quiet").code == 0

    folder = here / "results/leo-tcp/plots"
    assert {path.name for path in folder.iterdir()} == PLOTS
    assert all(path.stat().st_size > 1000 for path in folder.iterdir())


def test_without_plots_matplotlib_is_not_imported(here: Path) -> None:
    code = (
        "import sys; from transorbit.cli import main; code = main.run(sys.argv[1:]); "
        "print([name for name in sys.modules if name.split('.')[0] == 'matplotlib']); sys.exit(code)"
    )
    arguments = [PROGRAM.with_name("python"), "-c", code, "run", LEO, *SHORT, "--no-plots", "--quiet", "--out", "kept"]
    for _ in ("a new folder", "one that is replaced"):
        done = subprocess.run(arguments, cwd=here, capture_output=True, text=True, check=True, timeout=120)
        assert done.stdout == "[]\n"


def test_the_kept_scenario_runs_to_the_same_digest(command: Command) -> None:
    command("run", LEO, *SHORT, "--seed", "5", "--no-plots", "--quiet", "--out", "first")
    done = command("run", "first/scenario.toml", "--seed", "5", "--json")

    assert json.loads(done.out)["digest"] == to.Result.load("first").summary["digest"]


def test_json_is_the_summary_and_nothing_else(program: Command, here: Path) -> None:
    done = program("run", LEO, *SHORT, "--json")

    assert (done.code, done.err) == (0, "")
    json.loads(done.out)
    assert not (here / "results").exists(), "a folder only with --out"


def test_json_with_a_folder(command: Command, here: Path) -> None:
    done = command("run", LEO, *SHORT, "--json", "--no-plots", "--out", "kept")

    assert json.loads(done.out) == json.loads((here / "kept/summary.json").read_text())
    assert not (here / "kept/plots").exists()


def test_the_summary_has_every_documented_key(command: Command) -> None:
    summary = json.loads(command("run", LEO, *SHORT, "--json").out)

    assert set(summary) >= SUMMARY_KEYS
    assert all(set(flow) >= FLOW_KEYS for flow in summary["flows"])
    assert set(summary["last_hop"]) >= LAST_HOP_KEYS
    assert set(summary["last_hop"]["harq"]) >= HARQ_KEYS
    assert len(summary["last_hop"]["harq"]["decoded_after"]) == 4
    assert set(summary["last_hop"]["reordering"]) >= REORDERING_KEYS
    assert set(summary["path"]) >= PATH_KEYS
    assert set(summary["conservation"]) >= CONSERVATION_KEYS


def test_every_packet_is_accounted_for(command: Command) -> None:
    balance = json.loads(command("run", LEO, *SHORT, "--json").out)["conservation"]

    dropped = balance["dropped"]
    dropped = sum(dropped.values()) if isinstance(dropped, dict) else dropped
    assert balance["created"] == balance["delivered"] + dropped + balance["in_flight"] > 0


def test_quiet_prints_nothing(command: Command, here: Path) -> None:
    done = command("run", LEO, *SHORT, "--quiet", "--no-plots")

    assert (done.code, done.out, done.err) == (0, "", "")
    assert (here / "results/leo-tcp/summary.json").exists()


def test_a_result_is_replaced_whole(command: Command, here: Path) -> None:
    command("run", LEO, *SHORT, "--quiet", "--out", "kept")
    done = command("run", LEO, *SHORT, "--seed", "2", "--quiet", "--no-plots", "--out", "kept", "--force")

    assert done.code == 0
    assert to.Result.load("kept").summary["seed"] == 2
    assert not (here / "kept/plots").exists(), "nothing of the earlier result is left"


@pytest.mark.parametrize(
    "name",
    ["a file", "a folder of other things", "a result with somebody's notes", "a result with somebody's plot"],
)
def test_what_is_not_ours_is_left_alone(command: Command, here: Path, name: str) -> None:
    target = here / "target"
    if name == "a file":
        target.write_text("mine")
    elif name == "a folder of other things":
        target.mkdir()
        (target / "summary.json").write_text("{}")
    else:
        command("run", LEO, *SHORT, "--quiet", "--no-plots", "--out", "target")
        mine = target / ("notes.md" if name.endswith("notes") else "plots/mine.png")
        mine.parent.mkdir(exist_ok=True)
        mine.write_text("mine")
    before = _everything(here)

    done = command("run", LEO, *SHORT, "--out", "target")

    assert done.code == 2
    assert done.err.startswith("transorbit: target: ")
    assert _everything(here) == before


def test_demo_leaves_what_is_not_its_own_alone(command: Command, here: Path) -> None:
    (here / "target").mkdir()
    (here / "target/mine.png").write_text("mine")

    done = command("demo", LEO, "--out", "target")

    assert done.code == 2
    assert done.err.startswith("transorbit: target: holds mine.png")


def test_any_channel_can_be_looked_at(command: Command) -> None:
    noise = command("channel", "generate", "--kind", "bernoulli", "--set", "channel.loss=10 %", "--csv", "-")
    clear = command("channel", "generate", "--scenario", LEO, "--kind", "clear", "--duration", "1 s", "--csv", "-")

    assert noise.code == clear.code == 0
    assert noise.out.startswith("time_s,attenuation_db,snr_db")
    assert "-300" in noise.out, "some bursts are erased"
    assert {line.split(",")[1] for line in clear.out.splitlines()[1:]} == {"0.0"}


def test_a_folder_of_somebodys_plots_is_left_alone(command: Command, here: Path) -> None:
    (here / "plots").mkdir()
    (here / "plots/mine.png").write_text("mine")

    assert command("run", LEO, *SHORT, "--out", "plots").code == 2
    assert (here / "plots/mine.png").read_text() == "mine"


def test_what_check_prints_is_a_scenario_also_with_files(command: Command, here: Path) -> None:
    assert command("init", "quic-outage").code == 0
    (here / "again.toml").write_text(command("check", "quic-outage.toml").out)
    again = command("check", "again.toml")
    assert again.code == 0, again.err
    assert again.out == (here / "again.toml").read_text()


def test_check_prints_a_scenario_with_every_default(command: Command, here: Path) -> None:
    done = command("check", LEO, "--set", "channel.reference_snr=7 dB")

    assert (done.code, done.err) == (0, "")
    resolved = tomllib.loads(done.out)
    assert resolved["channel"]["reference_snr"] == "7 dB"
    (here / "resolved.toml").write_text(done.out)
    assert command("check", "resolved.toml").out == done.out, "a resolved scenario resolves to itself"


def test_check_warns_of_what_a_run_would_warn_of(command: Command) -> None:
    changes = ("--set", "flows.0.weight=2", "--set", "record.qlog=true")
    done = command("check", LEO, *changes)

    weight = "flows.0.weight: there is no return link, [access], whose capacity it divides: it changes nothing"
    warnings = [weight, "record.qlog: no flow's transport is quic: no log is written"]
    assert (done.code, done.err) == (0, "".join(f"transorbit: warning: {told}\n" for told in warnings))
    assert tomllib.loads(done.out)["record"]["qlog"] is True
    scenario = to.Scenario.load(LEO).replace({"flows.0.weight": 2, "record.qlog": True})
    assert scenario.warnings() == warnings
    assert warnings == scenario.replace({"duration": "1 s"}).run().summary["warnings"]


def test_list_knows_every_registry(command: Command) -> None:
    registries = to.registries()
    everything = command("list").out

    assert {registry["name"] for registry in registries} >= {"schedulers", "congestion", "channels"}
    for registry in registries:
        one = command("list", registry["name"])
        assert one.code == 0
        for entry in registry["entries"]:
            assert entry["name"] in everything
            assert entry["name"] in one.out
            assert entry["summary"].strip(), f"{registry['name']}: {entry['name']} says what it is"


def test_schema_describes_the_scenario(command: Command) -> None:
    schema = json.loads(command("schema").out)

    assert {"path", "channel", "last_hop", "flows"} <= set(schema["properties"])


def test_constellation_delay(command: Command, here: Path) -> None:
    places = ("--from", "43.6,1.4", "--to", "-36.9,174.8")
    done = command(
        "constellation", "delay", "leo-66", *places, "--duration", "10 min", "--step", "10 s",
        "--csv", "trace/delay.csv", "--plot", "delay.svg",
    )  # fmt: skip

    assert (done.code, done.err) == (0, "")
    assert "one-way delay" in done.out
    trace = pl.read_csv(here / "trace/delay.csv")
    assert len(trace) in (60, 61)
    assert trace["one_way_delay_s"].drop_nulls().is_between(0.04, 0.15).all()
    assert "<svg" in (here / "delay.svg").read_text()[:1000]


def test_channel_generate_writes_a_series_that_a_scenario_can_replay(command: Command, here: Path) -> None:
    done = command(
        "channel", "generate", "--duration", "5 s", "--seed", "3", "--csv", "fading.csv", "--plot", "fading.png"
    )
    assert (done.code, done.err) == (0, "")
    assert (here / "fading.png").stat().st_size > 1000

    series = pl.read_csv(here / "fading.csv")
    assert {"time_s", "attenuation_db", "snr_db", "mutual_information"} <= set(series.columns)
    series.select("time_s", "attenuation_db").write_csv(here / "trace.csv")
    leo = (here / LEO).read_text()
    (here / "replay.toml").write_text(leo.replace('"600 s"', '"4 s"'))
    replay = '--set=channel={ kind = "trace", file = "trace.csv", reference_snr = "10 dB" }'
    done = command("run", "replay.toml", replay, "--json")
    assert (done.code, done.err) == (0, "")


def test_channel_series_depends_on_its_seed_alone(command: Command) -> None:
    first = command("channel", "generate", "--duration", "1 s", "--seed", "3").out

    assert command("channel", "generate", "--duration", "1 s", "--seed", "3").out == first
    assert command("channel", "generate", "--duration", "1 s", "--seed", "4").out != first


def test_channel_stats(command: Command) -> None:
    from_options = command("channel", "stats", "--speed", "60 km/h", "--elevation", "40 deg", "--json")
    from_scenario = command("channel", "stats", "--scenario", LEO, "--json")

    assert from_options.code == from_scenario.code == 0
    assert json.loads(from_options.out) == json.loads(from_scenario.out)
    assert "\nwarning: fades deeper than 15, 20, 30 dB last less than 3 samples" in command("channel", "stats").out


def test_a_channel_that_follows_the_orbit_takes_the_path_of_its_scenario(command: Command) -> None:
    train = LEO.replace("leo-tcp", "leo-train")
    series = command("channel", "generate", "--scenario", train, "--duration", "2 s")
    assert (series.code, series.err) == (0, "")
    stats = command("channel", "stats", "--scenario", train, "--duration", "2 s", "--json")
    assert json.loads(stats.out)["reference_snr_db"] < 20

    refused = command("channel", "stats", "--elevation", "orbit")
    assert refused.code == 2
    assert "channel.elevation: follows the orbit, and there is no path over a constellation" in refused.err


def test_demo_compares_and_says_where(command: Command, here: Path) -> None:
    text = (here / LEO).read_text().replace('"600 s"', '"30 s"')
    (here / "short.toml").write_text(text)
    done = command("demo", "short.toml", "--out", "demo")

    assert (done.code, done.err) == (0, "")
    assert "with the reordering buffer" in done.out
    assert "demo/goodput.png" in done.out
    assert {path.name for path in (here / "demo").iterdir()} == {
        "goodput.png", "goodput.svg", "with-reordering", "without-reordering",
    }  # fmt: skip
    for name in ("with-reordering", "without-reordering"):
        drawn = {path.name for path in (here / "demo" / name / "plots").iterdir()}
        assert {"goodput.svg", "window.svg", "window.png", "path-delay.svg", "harq.svg"} <= drawn


def test_version_and_help(program: Command) -> None:
    assert program("--version").out.strip() == to.__version__
    assert "transorbit run" in program("--help").out
    assert "transorbit run" in program("run", "--help").out


def test_start_up_imports_nothing_heavy() -> None:
    heavy = "{'polars', 'matplotlib', 'numpy', 'rich', 'cyclopts'}"
    start = "import sys; from transorbit.cli.main import run; assert run(['--version']) == 0"
    script = f"{start}; print({heavy} & set(sys.modules))"
    done = subprocess.run([PROGRAM.with_name("python"), "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "set()"


@pytest.mark.parametrize("arguments", [["check", "lab-fixed"], ["list"], ["scenarios"], ["init", "lab-fixed"]])
def test_what_needs_no_table_imports_no_library_of_tables(arguments: list[str], here: Path) -> None:
    heavy = "{'polars', 'matplotlib', 'numpy', 'scipy', 'duckdb', 'asyncio'}"
    start = f"import sys; from transorbit.cli.main import run; assert run({arguments}) == 0"
    script = f"{start}; print({heavy} & set(sys.modules))"
    python = PROGRAM.with_name("python")
    done = subprocess.run([python, "-c", script], capture_output=True, text=True, check=True, cwd=here)

    assert done.stdout.splitlines()[-1] == "set()"


def test_tables_are_plain_and_whole_in_a_pipe_and_fit_a_terminal(here: Path) -> None:
    """No colours where nobody sees them, whatever is wished; no number is cut where there is little room."""
    command = [PROGRAM, "run", "lab-fixed", "--set", "duration=1 s", "--no-plots", "--out", "r"]
    environment = {**os.environ, "COLUMNS": "40", "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    piped = subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True, check=True).stdout
    assert "\x1b" not in piped
    facts = [line for line in piped.splitlines() if line.startswith("last hop")]
    assert facts[0].endswith("useful bits per coded bit"), "a line for each fact"
    row = next(line for line in piped.splitlines() if line.startswith("0 cubic")).split()

    for colour in ("", "1"):
        ours, theirs = pty.openpty()
        environment = {**os.environ, "COLUMNS": "40", "NO_COLOR": colour, "TERM": "xterm-256color"}
        environment.pop("FORCE_COLOR", None)
        shown = b""
        with subprocess.Popen(command, cwd=here, env=environment, stdout=theirs, stderr=subprocess.DEVNULL) as process:
            os.close(theirs)
            try:
                while part := os.read(ours, 4096):
                    shown += part
            except OSError:
                os.close(ours)
        assert process.returncode == 0
        text = shown.decode()
        assert ("\x1b[1m" in text) == (not colour)
        assert all(cell in text for cell in row), "numbers are whole"
        assert "…" not in text


def test_a_table_is_no_broader_than_its_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    heads = [tables.Column("Policy", words=True), *(f"Column {number}" for number in range(12))]
    rows = [["max-rate", *("12.5 Mbit/s" for _ in range(12))], ["pf", *(str(number) for number in range(12))]]
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    assert max(map(len, tables.table(heads, rows))) > 120, "nobody looks"
    monkeypatch.setattr(tables, "_is_terminal", lambda: True)

    lines = tables.table(heads, rows)

    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("max-rate") for line in lines) == lines.count("") + 1 > 1
    cells = " ".join(line.removeprefix("pf") for line in lines if line.startswith("pf")).split()
    assert cells == [str(number) for number in range(12)]


def test_a_reader_that_leaves_early_is_no_error(here: Path) -> None:
    script = f"'{PROGRAM}' channel generate --duration '60 s' | head -n 1"
    done = subprocess.run(
        ["/bin/bash", "-o", "pipefail", "-c", script], capture_output=True, text=True, check=False, cwd=here
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_ctrl_c_leaves_a_marked_partial_result(here: Path) -> None:
    out = _stopped(here, "run", LEO, "--set", "duration=50 h", "--out", "stopped", "--no-plots")

    assert {path.name for path in (here / "stopped").iterdir()} == RESULT_FILES - {"plots"} | {"PARTIAL"}
    result = to.Result.load(here / "stopped")
    assert result.partial
    assert result.summary["warnings"]
    assert 0 < result.summary["simulated_s"] < 180_000
    assert result.series["time_s"].max() <= result.summary["simulated_s"]
    assert "Result: stopped" in out


def test_a_folder_hides_no_scenario_of_its_name(command: Command) -> None:
    assert command("run", "lab-fixed", "--set", "duration=1 s", "--no-plots", "--quiet", "--out", "lab-fixed").code == 0
    assert command("check", "lab-fixed").code == 0


def test_ctrl_c_in_a_demo_leaves_what_was_run(here: Path) -> None:
    (here / "long.toml").write_text((here / LEO).read_text().replace('"600 s"', '"50 h"'))
    _stopped(here, "demo", "long.toml", "--out", "stopped")

    assert [path.name for path in (here / "stopped").iterdir()] == ["with-reordering"]
    assert to.Result.load(here / "stopped/with-reordering").partial


def _stopped(here: Path, *arguments: str) -> str:
    """Sends Ctrl-C when the bar has moved; what was printed."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([PROGRAM, *arguments], cwd=here, stdout=subprocess.PIPE, stderr=theirs, text=True)
    os.close(theirs)
    shown = b""
    while not re.search(rb"[1-9][0-9]?%", shown):
        shown += os.read(ours, 1024)
    process.send_signal(signal.SIGINT)
    _drain(ours)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    return out


def _drain(terminal: int) -> None:
    """Reads until the other end has closed, so that it never waits for us."""
    try:
        while os.read(terminal, 1024):
            pass
    except OSError:
        os.close(terminal)


def _everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
