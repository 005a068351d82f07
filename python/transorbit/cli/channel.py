"""The commands of radio channels: `transorbit channel generate`, `stats`, `rain`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

import transorbit as to
from transorbit.cli import parse, show
from transorbit.cli.common import Csv, Plot, Settings, Title, Width, check_plot, examples, write_csv, write_plot
from transorbit.cli.errors import UsageError

channel = App(
    name="channel",
    help="The radio channel of the last hop: its series, its statistics, rain.",
    help_epilogue=examples(
        'transorbit channel generate --duration "5 s" --csv fading.csv',
        'transorbit channel stats --speed "60 km/h" --elevation "40 deg"',
    ),
)

_ChannelOption = Annotated[str | None, Parameter(help="As in the scenario's [channel].")]


@channel.command(
    help_epilogue=examples(
        'transorbit channel generate --environment suburban --speed "30 km/h" --duration "60 s" --csv fading.csv',
    )
)
def generate(
    *,
    scenario: Path | None = None,
    kind: str | None = None,
    environment: _ChannelOption = None,
    elevation: _ChannelOption = None,
    speed: _ChannelOption = None,
    reference_snr: _ChannelOption = None,
    set_: Settings = None,
    duration: str = "60 s",
    step: str | None = None,
    seed: str = "1",
    csv: Csv = None,
    plot: Plot = None,
    width: Width = "double",
    title: Title = None,
) -> None:
    """Generate the series of one user's channel: attenuation, SNR and mutual information over time.

    Args:
        scenario: Take the channel of this scenario, and its path if the channel follows the orbit.
        kind: A channel of `transorbit list channels`; by default that of the scenario, else lms.
        duration: The length of the series.
        step: Time between samples; by default what the channel's speed asks for.
        seed: Root of the random draws.
    """
    look = check_plot(plot, width, title)
    config, path, base_dir = _channel(
        scenario,
        kind,
        environment=environment,
        elevation=elevation,
        speed=speed,
        reference_snr=reference_snr,
        set_=set_,
    )
    series = to.channel.generate(
        config,
        duration_s=parse.seconds("--duration", duration),
        step_s=None if step is None else parse.seconds("--step", step),
        seed=parse.seed(seed),
        path=path,
        base_dir=base_dir,
    )
    write_csv(series, csv if csv or plot else Path("-"))
    if plot:
        from transorbit import plots

        plain = [str(value) for key, value in config.items() if key != "kind" and not isinstance(value, dict)]
        usual = {"title": ", ".join(plain) or str(config["kind"])}
        write_plot(plots.channel(series, **usual | look), plot)


@channel.command(
    help_epilogue=examples(
        'transorbit channel stats --environment suburban --elevation "40 deg"',
    )
)
def stats(
    *,
    scenario: Path | None = None,
    kind: str | None = None,
    environment: _ChannelOption = None,
    elevation: _ChannelOption = None,
    speed: _ChannelOption = None,
    reference_snr: _ChannelOption = None,
    set_: Settings = None,
    duration: str = "600 s",
    seed: str = "1",
    json_: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """Print the statistics of a channel: quantiles of attenuation, time in each state, mutual information.

    Args:
        scenario: Take the channel of this scenario, and its path if the channel follows the orbit.
        kind: A channel of `transorbit list channels`; by default that of the scenario, else lms.
        duration: The length of the series.
        seed: Root of the random draws.
        json_: Print JSON.
    """
    config, path, base_dir = _channel(
        scenario,
        kind,
        environment=environment,
        elevation=elevation,
        speed=speed,
        reference_snr=reference_snr,
        set_=set_,
    )
    numbers = to.channel.stats(
        config,
        duration_s=parse.seconds("--duration", duration),
        seed=parse.seed(seed),
        path=path,
        base_dir=base_dir,
    )
    if json_:
        print(json.dumps(numbers, indent=2))
        return
    warnings = numbers.pop("warnings")
    print("\n".join([show.tree(numbers), *(f"warning: {warning}" for warning in warnings)]))


@channel.command(
    help_epilogue=examples(
        'transorbit channel rain --at 43.6,1.4 --carrier "20 GHz" --exceeded "0.1 %" --csv rain.csv',
        'transorbit channel rain --at 3.1,101.7 --carrier "12 GHz" --exceeded "0.01 %" --polarisation vertical '
        "--elevations 10,20,30,60,90 --plot rain.svg",
    )
)
def rain(
    *,
    at: str,
    carrier: str,
    exceeded: str,
    polarisation: str = "circular",
    elevations: str = "5:90:5",
    csv: Csv = None,
    plot: Plot = None,
    width: Width = "double",
    title: Title = None,
) -> None:
    """Attenuation by rain that is exceeded for a share of an average year, by elevation: ITU-R P.618-13.

    Its CSV file is what a scenario names as `link_budget.rain = { kind = "by-elevation", file = "rain.csv" }`.

    Args:
        at: Latitude,longitude of the user in degrees, north and east positive.
        carrier: Carrier frequency, 1 to 55 GHz.
        exceeded: Share of an average year in which it rains harder, 0.001 to 5 %.
        polarisation: circular, horizontal, vertical, or the tilt from the horizontal as "30 deg".
        elevations: Whole degrees and ranges FIRST:LAST:STEP.
    """
    from transorbit import rain as model

    look = check_plot(plot, width, title)
    place = parse.place("--at", at)
    try:
        table = model.attenuation(
            at=place,
            carrier_hz=parse.hertz("--carrier", carrier),
            exceeded=parse.share("--exceeded", exceeded),
            tilt_deg=_tilt(polarisation),
            elevations_deg=parse.ranges("--elevations", elevations),
        )
    except model.MissingMapsError as error:
        raise UsageError(f"channel rain: {error}") from None
    except ValueError as error:
        option, _, message = str(error).partition(": ")
        raise UsageError(f"--{_OF_MODEL[option]}: {message}") from None
    write_csv(table, csv if csv or plot else Path("-"))
    if csv and csv != Path("-"):
        print(f"Attenuation: {csv}")
    if plot:
        from transorbit.plots.rain import rain as draw

        usual = {"title": f"Rain at {at}: {carrier}, exceeded {exceeded} of the time"}
        write_plot(draw(table, **usual | look), plot)


# The command line's names of the model's arguments.
_OF_MODEL = {
    "carrier_hz": "carrier",
    "exceeded": "exceeded",
    "tilt_deg": "polarisation",
    "elevations_deg": "elevations",
}
_TILTS = {"circular": 45.0, "horizontal": 0.0, "vertical": 90.0}


def _tilt(polarisation: str) -> float:
    if polarisation in _TILTS:
        return _TILTS[polarisation]
    try:
        return parse.degrees("--polarisation", polarisation)
    except UsageError:
        named = ", ".join(_TILTS)
        raise UsageError(f'--polarisation: "{polarisation}" is none of {named}, nor a tilt as in "30 deg"') from None


# Only the scenario's channel is used, and its path where the channel follows the orbit.
_ANY = """
duration = "1 s"
path     = { kind = "fixed", delay = "0 ms" }
last_hop = { rate = "1 Mbit/s", delay = "10 ms" }
flows    = [{ transport = "tcp", traffic = "bulk" }]
"""


def _channel(
    path: Path | None, kind: str | None, *, set_: list[str] | None, **options: str | None
) -> tuple[dict[str, Any], dict[str, Any] | None, Path]:
    """The channel table that the options describe, the path of the scenario, and the folder of their files."""
    given = {key: value for key, value in options.items() if value is not None}
    scenario = to.Scenario.from_toml(_ANY) if path is None else to.Scenario.load(path)
    if kind is not None or path is None:
        scenario = scenario.replace({"channel": {"kind": kind or "lms"}})
    scenario = scenario.replace({f"channel.{key}": value for key, value in given.items()}).set(*(set_ or []))
    scenario.check()
    tables = scenario.to_dict()
    return tables["channel"], None if path is None else tables["path"], Path() if path is None else path.parent
