"""The commands of random access by itself: `transorbit access plr` and `transorbit access analysis`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

import transorbit as to
from transorbit import _folder
from transorbit.access import DEFAULT_LOSSES, DEFAULT_USERS, FOLDER
from transorbit.cli import parse, show, tables
from transorbit.cli.common import Csv, Plot, Settings, Title, Width, check_plot, examples, write_csv, write_plot
from transorbit.cli.errors import UsageError

if TYPE_CHECKING:
    from transorbit.access import PlrCurves

access = App(
    name="access",
    help="The DVB-RCS2 return link: random access by itself, and beside dedicated access.",
    help_epilogue=examples("transorbit access plr --method crdsa --bursts 1e4", "transorbit access analysis"),
)

Methods = Annotated[
    list[str] | None,
    Parameter(
        name="--method",
        negative="",
        help="A method by name, or as a table with options in TOML. By default that of the scenario, else crdsa and "
        "musca. Repeatable.",
    ),
]


@access.command(
    help_epilogue=examples(
        "transorbit access plr --bursts 2e4 --plot plr.svg",
        "transorbit access plr --method crdsa --method '{kind=\"crdsa\", replicas=2}' --packets 10:100:10 --bursts 1e4",
        "transorbit access plr dvbrcs2-transfer --method musca --es-n0 '3 dB' --bursts 1e4 --csv -",
    )
)
def plr(
    scenario: Path | None = None,
    /,
    *,
    set_: Settings = None,
    methods: Methods = None,
    packets: str = "5:160:5",
    bursts: str = "1e6",
    es_n0: Annotated[str | None, Parameter(name="--es-n0")] = None,
    power_spread: str | None = None,
    slots: str | None = None,
    seed: str | None = None,
    csv: Csv = None,
    plot: Plot = None,
    width: Width = "double",
    title: Title = None,
    out: Path | None = None,
    json_: Annotated[bool, Parameter(name="--json", negative="")] = False,
    quiet: Annotated[bool, Parameter(negative="")] = False,
    plots: bool = True,
) -> None:
    """Packet loss rate and throughput of random access against the packets of a block, by simulation.

    Each packet comes from a terminal of its own; there is no path and no transport.

    Args:
        scenario: Take the return link of this scenario; by default one with every default.
        packets: Packets of a block: numbers, and ranges FIRST:LAST:STEP.
        bursts: Bursts to simulate at each point of a curve, at least.
        es_n0: Short for --set access.random.es_n0=...
        power_spread: Short for --set access.random.power_spread=...
        slots: Slots of a block: short for --set access.frame.block_slots=...
        seed: Replaces the scenario's seed: a whole number, zero or more.
        out: Keep the study in this folder: report, table and plot. An earlier one there is replaced.
        json_: Print the report as JSON and nothing else.
        quiet: Print nothing.
        plots: Draw the plot into the folder.
    """
    look = check_plot(plot, width, title)
    if out:
        _folder.check_replaceable(out, FOLDER)
    changes = {"random.es_n0": es_n0, "random.power_spread": power_spread, "frame.block_slots": slots}
    short = [f"access.{key}={value}" for key, value in changes.items() if value is not None]
    with show.progress(enabled=not quiet) as progress:
        try:
            study = to.access.plr(
                _return_link(scenario, [*(set_ or []), *short]),
                methods=methods,
                packets=parse.ranges("--packets", packets),
                bursts=parse.count("--bursts", bursts),
                seed=None if seed is None else parse.seed(seed),
                progress=progress,
            )
        except to.ScenarioError as error:
            raise _of_options(error, methods) from None
        except KeyboardInterrupt:
            raise KeyboardInterrupt("the study was stopped, and nothing of it is kept") from None
    # Files that are written stay, also where the reader of the output has gone.
    if out:
        study.save(out, plots=plots, **look)
    if plot:
        write_plot(study.plot(**look), plot)
    write_csv(study.table, csv)
    if json_:
        print(json.dumps(study.report, indent=2, ensure_ascii=False), flush=True)
    elif not quiet and csv != Path("-"):
        print(_curves(study), flush=True)
        if out:
            print(f"Study: {out}")


@access.command(
    help_epilogue=examples(
        "transorbit access analysis",
        "transorbit access analysis dvbrcs2-transfer --method musca --users 477 --loss 0.04,0.28 --json",
    )
)
def analysis(
    scenario: Path | None = None,
    /,
    *,
    set_: Settings = None,
    methods: Methods = None,
    users: str = ",".join(map(str, DEFAULT_USERS)),
    loss: str = ",".join(map(str, DEFAULT_LOSSES)),
    datagrams: str = "3",
    retransmissions: str = "4",
    round_trip: str = "500 ms",
    json_: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """The equations of random and dedicated access: bits of a frame, break-even, retransmissions.

    Args:
        scenario: Take the return link of this scenario; by default one with every default.
        users: Numbers of users.
        loss: Probabilities that a datagram is lost.
        datagrams: Datagrams of a short flow.
        retransmissions: Retransmissions of a datagram, up to this many.
        round_trip: The least time that a retransmission takes.
        json_: Print JSON.
    """
    try:
        report = to.access.analysis(
            _return_link(scenario, set_ or []),
            methods=methods,
            users=parse.counts("--users", users),
            losses=parse.numbers("--loss", loss),
            datagrams=parse.count("--datagrams", datagrams),
            retransmissions=parse.count("--retransmissions", retransmissions),
            round_trip=round_trip,
        )
    except to.ScenarioError as error:
        raise _of_options(error, methods) from None
    print(json.dumps(report, indent=2, ensure_ascii=False) if json_ else _equations(report))


def _return_link(path: Path | None, settings: list[str]) -> to.Scenario:
    """A scenario with a return link. Only that is looked at, so nothing else of it is checked."""
    return to.access.return_link(path).set(*settings)


_OPTIONS = {
    "packets": "--packets",
    "bursts": "--bursts",
    "users": "--users",
    "losses": "--loss",
    "datagrams": "--datagrams",
    "retransmissions": "--retransmissions",
    "round_trip": "--round-trip",
}


def _of_options(error: to.ScenarioError, methods: list[str] | None) -> Exception:
    """The error with the option that it is about."""
    path, _, message = str(error).partition(": ")
    if match := re.fullmatch(r"methods\.(\d+)(?:\.(.*))?", path):
        key = f"{match[2]}: " if match[2] else ""
        return UsageError(f"--method {(methods or [])[int(match[1])]}: {key}{message}")
    option = _OPTIONS.get(path.split(".")[0])
    return UsageError(f"{option}: {message}") if option else error


# Below this, losses have no effect on a transport.
_HARDLY_ANY = 1e-3


def _curves(study: PlrCurves) -> str:
    """A line for each number of packets, with the loss and the throughput of each method."""
    report = study.report
    lines_of: dict[int, list[dict[str, Any]]] = {}
    for row in study.rows:
        lines_of.setdefault(row["packets_per_block"], []).append(row)
    header = ["packets", "load", *(name for method in study.methods for name in (f"{method}: lost", "throughput"))]
    rows = [
        [
            str(packets),
            f"{own[0]['load']:g}",
            *(cell for row in own for cell in (_lost(row), f"{row['throughput']:.3f}")),
        ]
        for packets, own in lines_of.items()
    ]
    spread = f", powers spread by {report['power_spread_db']:g} dB" if report["power_spread_db"] else ""
    wall_s = study.provenance["wall_s"]
    return "\n".join(
        [
            f"Random access on blocks of {report['block_slots']} slots at Es/N0 = {report['es_n0_db']:g} dB{spread}",
            f"seed {report['seed']}, {report['bursts_per_point']} bursts for each point at least, in {wall_s:.2f} s",
            "",
            *tables.table(header, rows),
            "",
            *(_best(method, [row for row in study.rows if row["method"] == method]) for method in study.methods),
            *(f"warning: {warning}" for warning in report["warnings"]),
        ]
    )


def _lost(row: dict[str, Any]) -> str:
    return f"{row['plr']:.2e}" if row["lost_packets"] else f"< {row['plr_high']:.1e}"


def _best(method: str, rows: list[dict[str, Any]]) -> str:
    """The load with a method's largest throughput, and the largest load with a negligible loss."""
    peak = max(rows, key=lambda row: row["throughput"])
    most = f"at most {peak['throughput']:.3f} packets per slot, with {peak['packets_per_block']} packets"
    clean = [row for row in rows if row["plr_high"] < _HARDLY_ANY]
    first_lossy = next((row["packets_per_block"] for row in rows if row["plr_high"] >= _HARDLY_ANY), None)
    below = [row["packets_per_block"] for row in clean if first_lossy is None or row["packets_per_block"] < first_lossy]
    until = f"; less than {_HARDLY_ANY:.1%} lost up to {below[-1]}" if below else ""
    return f"{method}: {most}{until}"


def _equations(report: dict[str, Any]) -> str:
    """The tables of a report on the equations."""
    shares = [
        [
            row["method"],
            str(row["users"]),
            f"{row['dedicated_slots']:.2f}",
            f"{row['dedicated_frame_bits']:.0f}",
            str(row["random_frame_bits"]),
            f"{row['packets_per_block']:.1f}",
        ]
        for row in report["users"]
    ]
    names = ["method", "users", "dedicated slots", "bits", "random bits", "packets per block"]
    again = [
        [f"{row['loss']:g}", str(row["retransmissions"]), _small(row["probability"]), f"{row['added_delay_s']:g} s"]
        for row in report["retransmissions"]
    ]
    return "\n".join(
        [
            f"Frames of {report['frame_s'] * 1e3:g} ms, {report['carriers']} carriers of {report['timeslots']} "
            f"timeslots, blocks of {report['block_slots']} slots; {report['dedicated_bits']} bits in a dedicated slot",
            "",
            "A user in a frame, all users having data (section 5.1)",
            *tables.table(names, shares),
            "",
            *map(_break_even, report["methods"]),
            "",
            f"The most retransmissions among {report['datagrams']} datagrams (equations 3 to 6)",
            *tables.table(["loss", "retransmissions", "probability", "added delay"], again),
            *(f"warning: {warning}" for warning in report["warnings"]),
        ]
    )


def _small(probability: float) -> str:
    """Returns a probability as table 5 of the paper prints it."""
    return f"{probability:.5f}" if probability >= 1e-4 or not probability else f"{probability:.2e}"


def _break_even(share: dict[str, Any]) -> str:
    return (
        f"{share['method']}: {share['packets_per_frame']} packets of {share['random_bits']} bits in a frame; from "
        f"{share['break_even_users']} users on more than dedicated access, if it decodes "
        f"{share['break_even_packets_per_block']:.1f} packets per block (equations 1 and 2)"
    )
