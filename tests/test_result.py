"""Results: tables that agree with the summary, folders that read back, plots that draw."""

from __future__ import annotations

import io
import json
import re
from typing import TYPE_CHECKING, Any

import matplotlib.figure
import polars as pl
import pytest

import transorbit as to
from transorbit import _columns, plots
from transorbit._frame import signed
from transorbit.cli import show

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def result() -> to.Result:
    from conftest import ROOT

    return to.Scenario.load(ROOT / "scenarios/leo-tcp.toml").replace({"duration": "60 s"}).run(seed=1)


def rows(result: to.Result) -> list[tuple[dict[str, object], dict[str, object]]]:
    """Each flow in the table and in the summary."""
    return list(zip(result.flows.to_dicts(), result.summary["flows"], strict=True))


def test_flows_are_the_summary_as_a_table(result: to.Result) -> None:
    # The summary leaves out what only another transport has.
    assert [{name: row[name] for name in flow} for row, flow in rows(result)] == result.summary["flows"]
    assert {row[name] for row, flow in rows(result) for name in row.keys() - flow.keys()} == {None}


@pytest.mark.parametrize("broken", ["summary.json", "provenance.json", "flows.parquet", "series.parquet"])
def test_a_damaged_file_is_named(result: to.Result, tmp_path: Path, broken: str) -> None:
    file = result.save(tmp_path / "r", plots=False) / broken
    file.write_bytes(file.read_bytes()[:100])

    def read() -> object:
        loaded = to.Result.load(tmp_path / "r")
        return loaded.flows, loaded.series

    with pytest.raises(to.ScenarioError, match=rf"{re.escape(str(file))}: is damaged: "):
        read()


def test_series_cover_the_run(result: to.Result) -> None:
    series = result.series

    assert {
        "time_s", "flow", "cwnd_packets", "ssthresh_packets", "srtt_s", "rto_s", "goodput_bps", "in_flight_packets",
        "queue_packets", "reordering_packets", "coded_bps", "attenuation_db", "path_delay_s", "decoded_after_1",
        "decoded_after_2", "decoded_after_3", "decoded_after_4", "harq_failed",
    } <= set(series.columns)  # fmt: skip
    assert series["time_s"].is_sorted()
    assert series["time_s"].max() == pytest.approx(60, abs=1)
    assert series["flow"].unique().to_list() == [0]


def test_series_and_summary_tell_the_same(result: to.Result) -> None:
    harq = result.summary["last_hop"]["harq"]
    counted = [result.series[f"decoded_after_{n}"].sum() for n in range(1, 5)]
    mean = result.series["goodput_bps"].mean()

    assert counted == harq["decoded_after"]
    assert result.series["harq_failed"].sum() == harq["failed"]
    assert mean == pytest.approx(result.summary["flows"][0]["goodput_bps"], rel=0.03)


def test_a_result_reads_back(result: to.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "kept", plots=False)

    again = to.Result.load(tmp_path / "kept")

    assert again.summary == result.summary
    assert again.scenario_toml == result.scenario_toml
    assert again.provenance == result.provenance
    assert again.flows.equals(result.flows)
    assert again.series.equals(result.series)


def test_whole_numbers_have_a_sign(result: to.Result, tmp_path: Path) -> None:
    watched = to.Scenario.of(result).replace({"duration": "2 s"}).run(watch=(0, 1))
    lost = watched.flows["received_packets"] - watched.flows["sent_packets"]
    assert lost.to_list() == [watched.flows["received_packets"][0] - watched.flows["sent_packets"][0]]
    assert lost[0] < 0

    watched.save(tmp_path / "kept", plots=False)
    files = [pl.read_parquet(tmp_path / "kept" / f"{name}.parquet") for name in ("flows", "series")]
    # A folder of an earlier version has counts without a sign.
    files[0].cast({pl.Int64: pl.UInt64}).write_parquet(tmp_path / "kept/flows.parquet")
    loaded = to.Result.load(tmp_path / "kept").flows
    passes = to.constellation.passes("leo-66", at=(43.6, 1.4))
    for table in (watched.flows, watched.series, watched.events, watched.packets, *files, loaded, passes):
        assert {kind for kind in table.dtypes if kind.is_integer()} == {pl.Int64}
    assert watched.to_pandas("flows")["sent_packets"].dtype == "int64"
    assert signed(pl.DataFrame({"flow": [1, None]}, {"flow": pl.UInt32}))["flow"].to_list() == [1, None]


def test_provenance_says_where_it_comes_from(result: to.Result) -> None:
    assert result.provenance["transorbit"] == to.__version__
    assert result.provenance["seed"] == 1
    assert len(result.provenance["scenario_sha256"]) == 64
    assert result.provenance["wall_s"] > 0


def test_summary_json_is_plain_json(result: to.Result, tmp_path: Path) -> None:
    text = (result.save(tmp_path / "kept", plots=False) / "summary.json").read_text()

    def refuse(constant: str) -> float:
        raise AssertionError(f"{constant} is no JSON")

    assert json.loads(text, parse_constant=refuse) == result.summary
    assert text.startswith('{\n  "title"')


def test_a_summary_of_many_flows_has_a_line_for_each(result: to.Result) -> None:
    def written(flows: int) -> str:
        file = io.StringIO()
        result.summary = summary | {"title": '"flows": []\n  "flows": []', "flows": summary["flows"] * flows}
        result.write_summary(file)
        assert json.loads(file.getvalue()) == result.summary
        return file.getvalue()

    summary = result.summary
    try:
        few, many = written(100), written(101)
    finally:
        result.summary = summary
    row = f"    {json.dumps(summary['flows'][0], ensure_ascii=False)}"
    assert row not in few
    assert f'  "flows": [\n{row},\n' in many
    assert many.count(row) == 101
    before, after = (part.splitlines() for part in (few, many))
    first = before.index('  "flows": [')
    assert after[:first] == before[:first]
    assert after[first + 102 :] == before[before.index("  ],", first) :]


def many(scenario: to.Scenario) -> to.Result:
    """A run of more flows than are indented, with a title that is hard to write."""
    title = 'Übung: "flows": []\n  "flows": []'
    return scenario.replace({"title": title, "flows.0.count": 120, "duration": "2 s"}).run()


@pytest.mark.parametrize("flows", [1, 100, 101, 1200])
def test_the_file_of_a_summary_holds_the_summary(lab: to.Scenario, tmp_path: Path, flows: int) -> None:
    result = lab.replace({"flows.0.count": flows, "duration": "1 s", "record.series": False}).run()
    kept = json.loads((result.save(tmp_path / "kept", plots=False) / "summary.json").read_text("utf-8"))

    assert kept == result.summary
    assert len(kept["flows"]) == flows
    assert [list(kept), *map(list, kept["flows"])] == [list(result.summary), *map(list, result.summary["flows"])]


def test_a_summary_is_written_alike_by_the_core_and_from_dictionaries(lab: to.Scenario) -> None:
    def text() -> str:
        file = io.StringIO()
        result.write_summary(file)
        return file.getvalue()

    result = many(lab)
    of_core = text()
    assert list(result.summary).index("flows") == list(result.summary).index("users") - 1
    # Python has two digits in every exponent.
    assert re.sub(r"(?<=\de-)(?=\d\b)", "0", of_core) == text()
    assert "Übung" in of_core


def test_what_is_changed_in_a_summary_is_saved(lab: to.Scenario, tmp_path: Path) -> None:
    result = many(lab)
    result.summary["emulation"] = {"late_max_s": 0.5}
    result.summary["warnings"].append("changed")
    result.summary["flows"][7]["note"] = "seven"

    again = to.Result.load(result.save(tmp_path / "kept", plots=False))

    assert again.summary == result.summary
    assert again.summary["flows"][7]["note"] == "seven"
    assert again.numbers == result.numbers == {key: value for key, value in again.summary.items() if key != "flows"}
    assert again.numbers["warnings"][-1] == "changed"


def test_reports_are_those_of_the_summary(mixed: to.Result, tmp_path: Path) -> None:
    run = to.Scenario.from_toml(MIXED).run()
    again = to.Result.load(run.save(tmp_path / "kept", plots=False))
    for name in ("voice", "web", "video", "live", "game", "pep"):
        table = run.reports(name)
        told = [{"flow": flow["id"], **flow[name]} for flow in mixed.summary["flows"] if name in flow]
        assert table.to_dicts() == told
        assert again.reports(name).equals(table)
        assert len(table) == {"voice": 5, "web": 1}.get(name, 0)
    with pytest.raises(ValueError, match="'bulk' was given, one of voice, web"):
        run.reports("bulk")


def test_what_is_no_result_is_told(tmp_path: Path) -> None:
    for folder, why in ((tmp_path, "has no summary.json"), (tmp_path / "none", "no such folder")):
        with pytest.raises(FileNotFoundError, match=f"{why}: the folder of a result is expected"):
            to.Result.load(folder)


def test_a_plot_that_nobody_draws_is_told(leo: to.Scenario) -> None:
    with pytest.raises(KeyError, match="godput: no such plot, one of overview, goodput, "):
        leo.run().plot("godput")


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("goodput", {"width": 3, "titel": ""}, "titel: goodput has no such option (width, title); did you mean title?"),
        ("goodput", {"width": "wide"}, "width: 'wide' was given, a number is expected"),
        ("goodput", {"width": 0}, "width: 0 was given, a number above 0 is expected"),
        ("goodput", {"title": 3}, "title: 3 was given, a text is expected"),
        ("timeline", {"from_s": "1 s"}, "from_s: '1 s' was given, a number is expected"),
        ("overview", {"flow": 0}, "flow: overview has no such option (width, title)"),
        ("harq", {"widht": 3.0}, "widht: harq has no such option (width, title); did you mean width?"),
        ("timeline", {"flwo": 0}, "flwo: timeline has no such option (flow, from_s, until_s, width, title); did"),
        ("sequence", {"places": "x"}, "places: sequence has no such option (flow, place, "),
    ],
)
def test_an_option_that_a_plot_does_not_have_is_told(leo: to.Scenario, name: str, options: Any, says: str) -> None:
    with pytest.raises(to.ScenarioError, match=f"^{re.escape(says)}"):
        leo.run().plot(name, **options)


def test_a_run_is_told_alike_when_it_is_loaded(tmp_path: Path) -> None:
    run = to.Scenario.from_toml(MIXED).run()
    told = show.summary(run)
    assert show.summary(to.Result.load(run.save(tmp_path / "kept", plots=False))) == told
    assert run.summary
    assert show.summary(run) == told


def check_plot(result: to.Result, name: str) -> None:
    figure = result.plot(name)
    assert isinstance(figure, matplotlib.figure.Figure)
    for axes in figure.axes:
        assert axes.get_ylabel(), f"{name}: an axis without a label"
        assert axes.has_data(), f"{name}: an empty panel"
    assert figure.axes[-1].get_xlabel(), f"{name}: an axis without a label"


def test_every_plot_of_the_series_draws(result: to.Result, tmp_path: Path) -> None:
    drawn = {*plots.OF_SERIES} - {"video", "queue-delay"}
    for name in drawn:
        check_plot(result, name)
    assert {path.stem for path in result.save_plots(tmp_path / "plots").iterdir()} == drawn


MIXED = """
duration = "20 s"
path     = { kind = "fixed", delay = "20 ms" }
last_hop = { rate = "10 Mbit/s", delay = "10 ms", scheduler = "pf" }
record   = { series = false }
flows    = [
    { count = 5, transport = "udp", traffic = "voice" },
    { count = 4, transport = "tcp", traffic = "short-flows" },
    { count = 1, transport = "tcp", traffic = "web" },
    { count = 1, transport = { kind = "tcp", congestion = "reno" }, traffic = "bulk" },
]
"""


@pytest.fixture(scope="module")
def mixed() -> to.Result:
    return to.Scenario.from_toml(MIXED).run()


def test_every_plot_of_users_draws_even_without_series(mixed: to.Result, tmp_path: Path) -> None:
    drawn = {*plots.OF_USERS} - {"game"}
    for name in drawn:
        check_plot(mixed, name)
    assert {path.stem for path in mixed.save_plots(tmp_path / "plots").iterdir()} == {"overview", *drawn}
    assert {path.name for path in (mixed.save(tmp_path / "kept") / "plots").iterdir()} == {"overview.png"}


def test_many_flows_are_shown_by_kind(mixed: to.Result) -> None:
    lines = show.summary(mixed).splitlines()
    heads = next(place for place, line in enumerate(lines) if line.startswith("Kind"))
    kinds = [line.split("  ")[0] for line in lines[heads + 1 : heads + 5]]

    assert len(mixed.summary["flows"]) > 11
    assert kinds == ["udp voice", "cubic", "cubic web", "reno"]
    assert "MOS" in " ".join(lines[3 : heads + 1])
    assert {line.split("  ")[0] for line in lines} >= {"users", "transfers", "last hop", "path"}
    assert len(lines) < 22


def test_columns_are_those_of_the_flows_there_are(result: to.Result) -> None:
    heading = "\n".join(show.summary(result).splitlines()[3:6])
    assert "Timeouts" in heading
    assert "MOS" not in heading
    voice = (
        to.Scenario.from_toml(MIXED).replace({"flows": [{"count": 2, "transport": "udp", "traffic": "voice"}]}).run()
    )
    heading = "\n".join(show.summary(voice).splitlines()[3:6])
    assert "Timeouts" not in heading
    assert "MOS" in heading


def test_the_same_result_gives_the_same_plot_files(result: to.Result, tmp_path: Path) -> None:
    for name in ("first", "second"):
        plots.write(plots.harq(result), tmp_path / name)  # type: ignore[arg-type]

    for suffix in ("svg", "png"):
        assert (tmp_path / f"first.{suffix}").read_bytes() == (tmp_path / f"second.{suffix}").read_bytes()


def test_plots_that_have_nothing_to_show_are_left_out(lab: to.Scenario, tmp_path: Path) -> None:
    result = lab.run()

    drawn = {path.stem for path in result.save_plots(tmp_path / "plots").iterdir()}

    assert {"goodput", "window", "queue"} <= drawn
    assert "harq" not in drawn
    with pytest.raises(ValueError, match="nothing to show"):
        result.plot("harq")


def test_without_series_there_are_no_plots(lab: to.Scenario, tmp_path: Path) -> None:
    result = lab.replace({"record.series": False}).run()

    folder = result.save(tmp_path / "kept")

    assert result.series.is_empty()
    assert not (tmp_path / "kept/plots").exists()
    assert to.Result.load(folder).flows.equals(result.flows)


def test_many_flows_draw_as_a_band(lab: to.Scenario) -> None:
    result = lab.replace({"flows.0.count": 12}).run()

    assert len(result.flows) == 12
    panels = result.plot("goodput").axes
    labels = [{text.get_text() for text in ax.get_legend().get_texts()} for ax in panels]
    assert "all 12 flows" in labels[0]
    assert "median flow" in labels[1], "which the sum would press onto the axis"


def test_numbers_lie_within_the_scales_of_their_columns(mixed: to.Result) -> None:
    seen = set()

    def walk(path: str, value: object) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                walk(f"{path}.{key}" if path else key, item)
        elif isinstance(value, list):
            for item in value:
                walk(path, item)
        elif isinstance(value, int | float) and path in scales:
            low, high = scales[path]
            assert low is None or low <= value, f"{path}: {value}"
            assert high is None or value <= high, f"{path}: {value}"
            seen.update({path} if low is not None else ())

    scales = _columns.table().scales
    walk("", mixed.summary)
    assert len(seen) > 60


def test_a_short_partial_result_still_draws(leo: to.Scenario, tmp_path: Path) -> None:
    def stop(_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(to.Interrupted) as caught:
        leo.replace({"duration": "1 s"}).run(progress=stop)

    caught.value.result.save(tmp_path / "stopped")
    assert (tmp_path / "stopped/PARTIAL").exists()


def test_a_clear_fixed_path_is_filled(lab: to.Scenario) -> None:
    summary = lab.replace({"duration": "60 s"}).run().summary

    assert summary["last_hop"]["utilisation"] > 0.95
    assert summary["flows"][0]["loss_ratio"] < 0.01


def test_constellation_delay_is_a_table() -> None:
    trace = to.constellation.delay("leo-66", source=(43.6, 1.4), user=(-36.9, 174.8), duration_s=60, step_s=1)

    columns = ["time_s", "one_way_delay_s", "hops", "gateway", "source_satellite", "user_satellite"]
    assert trace.columns == [*columns, "elevation_deg", "range_m", "range_rate_mps", "event"]
    assert isinstance(trace, pl.DataFrame)


def test_a_watched_run_has_its_events_and_packets() -> None:
    from conftest import ROOT

    scenario = to.Scenario.load(ROOT / "scenarios/lab-fixed.toml").replace({"duration": "6 s"})
    plain, watched = scenario.run(), scenario.run(watch=(3, 4))

    assert watched.summary == plain.summary
    lost = watched.events.filter(pl.col("event") == "lost")
    assert lost.height == sum(watched.summary["conservation"]["dropped_by_reason"].values())
    packets = watched.packets
    assert packets["sent_s"].is_between(3, 4, closed="left").all()
    data = packets.filter((pl.col("way") == "forward") & (pl.col("fate") == "delivered"))
    assert (data["sent_s"] < data["satellite_s"]).all()
    assert (data["satellite_s"] <= data["ended_s"]).all()
    assert set(packets["fate"].unique()) <= {"delivered", "in flight", "overflow"}
    with pytest.raises(ValueError, match="watch"):
        _ = plain.events
    with pytest.raises(ValueError, match="watch"):
        scenario.run(watch=(4, 3))
    for wrong in (5, (1,), ("a", "b"), "12"):
        with pytest.raises(ValueError, match=r"^watch: .* was given, two times are expected"):
            scenario.run(watch=wrong)


def test_events_join_with_packets() -> None:
    from conftest import ROOT

    watched = to.Scenario.load(ROOT / "scenarios/leo-tcp.toml").replace({"duration": "600 s"}).run(watch=(0, 20))
    events = watched.events
    joined = events.join(watched.packets, on=["flow", "number"])

    assert joined["cause"].to_list() == joined["fate"].to_list()
    assert joined.height > 50
    assert events["number"].null_count() == events.filter(pl.col("event") != "lost").height > 0


def test_the_reordering_buffers_are_told_over_time(result: to.Result) -> None:
    held = result.series["reordering_packets"]
    buffers = result.summary["last_hop"]["reordering"]

    assert 0 < held.max() <= buffers["stored_max"]  # type: ignore[operator]
