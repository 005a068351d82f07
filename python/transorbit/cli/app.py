"""The commands. Each parses, calls the library, and shows; heavy imports wait until they are needed."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

import transorbit as to
from transorbit import _figures, _folder, _interrupt
from transorbit._capacity import DEFAULT_USERS
from transorbit._names import hint
from transorbit.cli import parse, show
from transorbit.cli.access import access
from transorbit.cli.channel import channel
from transorbit.cli.common import (
    Force,
    Outside,
    Plugins,
    Settings,
    Title,
    Width,
    check_out,
    check_plot,
    examples,
    load,
    records_packets,
    run_plugins,
    told_and_drawn,
    warn,
    written,
)
from transorbit.cli.compare import HELP as COMPARE_HELP
from transorbit.cli.compare import compare, comparison
from transorbit.cli.constellation import constellation
from transorbit.cli.emulate import HELP as EMULATE_HELP
from transorbit.cli.emulate import REPLAY_HELP, emulate, replay
from transorbit.cli.errors import UsageError
from transorbit.cli.plot import HELP as PLOT_HELP
from transorbit.cli.plot import plot
from transorbit.cli.report import HELP as REPORT_HELP
from transorbit.cli.report import report
from transorbit.cli.reproduce import HELP as REPRODUCE_HELP
from transorbit.cli.reproduce import reproduce
from transorbit.cli.start import INIT_HELP, SCENARIOS_HELP, init, scenarios
from transorbit.cli.sweep import HELP as SWEEP_HELP
from transorbit.cli.sweep import sweep
from transorbit.cli.trace import CALIBRATE_HELP, calibrate, trace
from transorbit.cli.view import HELP as VIEW_HELP
from transorbit.cli.view import view

if TYPE_CHECKING:
    from collections.abc import Mapping

    from transorbit.result import Result


app = App(
    name="transorbit",
    version=to.__version__,
    help="What TCP and its users experience over a satellite path.",
    help_epilogue=examples(
        "transorbit demo",
        "transorbit scenarios",
        "transorbit init leo-tcp",
        'transorbit run leo-tcp.toml --set channel.reference_snr="7 dB"',
        "transorbit report results/leo-tcp",
        "transorbit check leo-tcp.toml",
        'transorbit capacity tcp-users --duration "2 s"',
        "transorbit access plr --method crdsa --method musca --bursts 1e4",
        "transorbit list channels",
        "transorbit constellation delay leo-66 --from 43.6,1.4 --to -36.9,174.8",
    ),
    help_format="plaintext",
    version_flags=["--version"],
    # `main` says what was stopped and what is kept.
    suppress_keyboard_interrupt=False,
)
app.register_install_completion_command()
app.command(constellation)
app.command(channel)
app.command(access)
app.command(trace)
app.command(calibrate, help_epilogue=CALIBRATE_HELP)
app.command(init, help_epilogue=INIT_HELP)
app.command(scenarios, help_epilogue=SCENARIOS_HELP)
app.command(compare, help_epilogue=COMPARE_HELP)
app.command(report, help_epilogue=REPORT_HELP)
app.command(plot, help_epilogue=PLOT_HELP)
app.command(reproduce, help_epilogue=REPRODUCE_HELP)
app.command(sweep, help_epilogue=SWEEP_HELP)
app.command(view, help_epilogue=VIEW_HELP)
app.command(emulate, help_epilogue=EMULATE_HELP)
app.command(replay, help_epilogue=REPLAY_HELP)


@app.command(
    help_epilogue=examples(
        "transorbit run leo-tcp --out results/first",
        "transorbit run leo-tcp --set flows.0.count=3 --json",
    )
)
def run(
    scenario: Path,
    /,
    *,
    set_: Settings = None,
    outside: Outside = False,
    plugin: Plugins = None,
    seed: str | None = None,
    out: Path | None = None,
    force: Force = False,
    json_: Annotated[bool, Parameter(name="--json", negative="")] = False,
    quiet: Annotated[bool, Parameter(negative="")] = False,
    plots: bool | None = None,
) -> int:
    """Simulate a scenario, print its summary and write a result folder.

    Args:
        scenario: A scenario file.
        seed: Replaces the scenario's seed: a whole number, zero or more.
        out: The result folder; by default results/NAME, or results/NAME-2 and so on where there is that of another
            scenario or seed. An earlier result of the same is replaced.
        json_: Print the summary as JSON and nothing else; keeps a folder only with --out.
        quiet: Print nothing.
        plots: Draw every plot into the result folder, or none; by default one picture, the overview.
    """
    run_plugins(plugin)
    ready = load(scenario, set_, outside=outside)
    root = None if seed is None else parse.seed(seed)
    place, identity = out or Path("results") / scenario.stem, ready.identity(root)
    if out:
        check_out(out, same=_folder.is_of(out, identity), force=force)
    directory = None if json_ and not out else _free(place, identity, force=force)
    if directory:
        _folder.check_replaceable(directory)
    elif records_packets(ready):
        print("transorbit: without --out there is no folder for the packets; none are written", file=sys.stderr)
        ready = ready.set("record.packets=none")
    above = directory.absolute().parent if directory else None
    # From the end of the run until it is written Ctrl-C waits.
    with _interrupt.held() as interrupted:
        with _figures.imported_meanwhile(wanted=directory is not None and plots is not False):
            result, stopped = _run(ready, root, bar=not quiet, scratch=above)
        if directory:
            # Another run may have written into it meanwhile.
            directory = written(result, directory, partial(_free, place, identity, force=force, part=result.partial))
    late = interrupted.is_set() and not result.partial

    def tell() -> None:
        if json_:
            result.write_summary(sys.stdout)
            sys.stdout.flush()
        elif not quiet:
            print(show.summary(result), flush=True)

    if directory:
        told_and_drawn(result, directory, plots=plots, tell=tell, stop=late)
        if not (quiet or json_):
            print(f"Result: {directory}")
    else:
        tell()
    if stopped or late:
        told = f"{stopped}; the result is partial" if result.partial else "stopped; the result is whole"
        print(f"transorbit: {told}", file=sys.stderr)
        return 130
    return 0


@app.command(
    help_epilogue=examples(
        "transorbit capacity tcp-users --duration '2 s' --out results/capacity",
        "transorbit capacity tcp-users --users 1,10 --duration '2 s' --scheduler pf --scheduler codes --json",
    )
)
def capacity(
    scenario: Path,
    /,
    *,
    set_: Settings = None,
    outside: Outside = False,
    plugin: Plugins = None,
    users: str = ",".join(map(str, DEFAULT_USERS)),
    schedulers: Annotated[list[str] | None, Parameter(name="--scheduler", negative="")] = None,
    duration: str = "60 s",
    seed: str | None = None,
    out: Path | None = None,
    force: Force = False,
    json_: Annotated[bool, Parameter(name="--json", negative="")] = False,
    quiet: Annotated[bool, Parameter(negative="")] = False,
    plots: bool = True,
    width: Width = "double",
    title: Title = None,
) -> int:
    """The capacity of the last hop if every user always has packets waiting, without path and transport.

    Users chosen at random and max-rate, always the best channel, are part of every study, and so are the limits that
    follow from the channel's law.

    Args:
        scenario: A scenario file.
        users: Numbers of users.
        schedulers: A scheduler beside these two, by name; by default that of the scenario. Repeatable.
        duration: Simulated time for each scheduler and number of users.
        seed: Replaces the scenario's seed: a whole number, zero or more.
        out: Keep the study in this folder: report, table and plot. An earlier one of the same scenario
            is replaced.
        json_: Print the report as JSON and nothing else.
        quiet: Print nothing.
        plots: Draw the plot into the folder.
    """
    look = check_plot(None, width, title)
    run_plugins(plugin)
    ready = load(scenario, set_, outside=outside)
    counts = parse.counts("--users", users)
    root = None if seed is None else parse.seed(seed)
    if out:
        check_out(out, same=_folder.is_of(out, ready.identity(root)), force=force, kind=_folder.CAPACITY)
    stopped = None
    # From the end of the study until it is written Ctrl-C waits.
    with _interrupt.held() as interrupted:
        with show.progress(enabled=not quiet) as progress:
            try:
                study = to.capacity(
                    ready, users=counts, schedulers=schedulers, duration=duration, seed=root, progress=progress
                )
            except to.ScenarioError as error:
                raise _of_options(error) from None
            except to.CapacityInterrupted as stop:
                study, stopped = stop.study, str(stop)
        if out:
            study.save(out, plots=plots, **look)
    if interrupted.is_set() and stopped is None:
        stopped = "stopped; the study is whole"
    if json_:
        print(json.dumps(study.report, indent=2, ensure_ascii=False), flush=True)
    elif not quiet:
        print(show.capacity(study), flush=True)
        if out:
            print(f"Study: {out}")
    if stopped:
        print(f"transorbit: {stopped}", file=sys.stderr)
        return 130
    return 0


@app.command(
    help_epilogue=examples(
        "transorbit check leo-tcp",
        'transorbit check leo-tcp --set channel.reference_snr="7 dB" --set last_hop.scheduler=pf',
    )
)
def check(scenario: Path, /, *, set_: Settings = None, outside: Outside = False, plugin: Plugins = None) -> None:
    """Validate a scenario and print it with every default filled in.

    What to check before trusting its results is told as warnings.

    Args:
        scenario: A scenario file.
    """
    run_plugins(plugin)
    ready = load(scenario, set_, outside=outside)
    print(ready.to_toml(), end="", flush=True)
    warn(ready.warnings())


@app.command(
    name="list", help_epilogue=examples("transorbit list", "transorbit list schedulers", "transorbit list --json")
)
def list_(
    registry: str | None = None, /, *, json_: Annotated[bool, Parameter(name="--json", negative="")] = False
) -> None:
    """List what a scenario can choose from: schedulers, congestion, channels and the rest.

    Args:
        registry: One of them, to see each entry's options; all of them by default.
        json_: Print JSON.
    """
    registries = to.registries()
    if registry is not None:
        names = [entry["name"] for entry in registries]
        if registry not in names:
            raise UsageError(f"list: no registry {registry!r}{hint(registry, names)} (one of {', '.join(names)})")
        registries = [entry for entry in registries if entry["name"] == registry]
    if json_:
        print(json.dumps(registries, indent=2, ensure_ascii=False))
    else:
        print(show.registries(registries, options=registry is not None))


@app.command(help_epilogue=examples("transorbit schema"))
def schema() -> None:
    """Print the JSON Schema of a scenario, for completion in editors."""
    print(json.dumps(to.schema(), indent=2, ensure_ascii=False))


@app.command(help_epilogue=examples("transorbit demo", "transorbit demo leo-tcp --out results/buffer"))
def demo(scenario: Path = Path("leo-tcp"), /, *, out: Path | None = None, force: Force = False) -> int:
    """Run a scenario with and without the reordering buffer, compare and draw them.

    Args:
        scenario: A scenario file whose last hop has HARQ.
        out: The folder for both results and the comparison; by default results/demo, or results/demo-2 and so on where
            there is that of another scenario.
    """
    variants = {"with the reordering buffer": ("with-reordering", "true"), "without": ("without-reordering", "false")}
    results: dict[str, Result] = {}
    ready = {name: load(scenario, [f"last_hop.reordering.enabled={on}"]) for name, on in variants.values()}
    identities = {name: one.identity() for name, one in ready.items()}

    def is_free(folder: Path) -> bool:
        return force or all(_folder.is_of(folder / name, identity) for name, identity in identities.items())

    if out:
        check_out(out, same=is_free(out), force=force, kind=None)
    else:
        out = _folder.numbered(Path("results/demo"), is_free)
    ours = {name for name, _ in variants.values()} | {"goodput.svg", "goodput.png"}
    if out.is_dir() and (foreign := sorted({entry.name for entry in out.iterdir()} - ours)):
        raise FileExistsError(f"{out}: holds {foreign[0]}, which is no part of a demo; choose another folder")
    for label, (name, _) in variants.items():
        _folder.check_replaceable(out / name)
        with _interrupt.held() as interrupted:
            results[label], stopped = _run(ready[name], None, bar=True, scratch=out)
            folder, part = out / name, results[label].partial
            keeps = part and _is_whole(folder)
            if not keeps:
                written(results[label], folder)
        if stopped or interrupted.is_set():
            what = "keeps its result" if keeps else f"has the {'partial ' if part else ''}result, without its plots"
            raise KeyboardInterrupt(f"{stopped or 'stopped'}; {folder} {what}")
    print(comparison(results))
    print(f"Results: {', '.join(str(out / name) for name, _ in variants.values())}", flush=True)
    from transorbit import plots

    try:
        plots.write(plots.compare_goodput(results), out / "goodput")
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"stopped; {out} has both results, without their plots") from None
    for label, (name, _) in variants.items():
        told_and_drawn(results[label], out / name, plots=True)
    print(f"Plots:   {out / 'goodput.png'} and the plots folder of each result (SVG and PNG)")
    return 0


def _of_options(error: to.ScenarioError) -> Exception:
    """The error with the option of a study that it is about; the scenario itself has been checked before."""
    names = {"users": "--users", "schedulers": "--scheduler", "duration": "--duration"}
    path, _, message = str(error).partition(": ")
    option = names.get(path.split(".")[0])
    return UsageError(f"{option}: {message}") if option else error


def _free(place: Path, identity: Mapping[str, object], *, force: bool, part: bool = False) -> Path:
    """Where a result goes: never over that of another scenario or seed, unless that is said, nor a part over the whole.

    `place`, or the first of `place`-2, -3, ... that is free.
    """

    def is_free(folder: Path) -> bool:
        same = _folder.is_of(folder, identity) or (force and folder == place)
        if part and _is_whole(folder):
            return False
        # A folder of another kind that is no result is somebody's.
        return same and (folder == place or not folder.exists() or (folder / "provenance.json").is_file())

    return _folder.numbered(place, is_free)


def _is_whole(folder: Path) -> bool:
    """Whether a folder has the result of a whole run, which a part does not replace."""
    return (folder / "summary.json").is_file() and not (folder / "PARTIAL").is_file()


def _run(scenario: to.Scenario, seed: int | None, *, bar: bool, scratch: Path | None) -> tuple[Result, str | None]:
    """The result and, if Ctrl-C ended it early, how far it came."""
    with show.progress(enabled=bar) as progress:
        try:
            return scenario.run(seed=seed, progress=progress, scratch=scratch), None
        except to.Interrupted as stop:
            return stop.result, str(stop)
