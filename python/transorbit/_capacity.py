"""The capacity of the last hop when every user always has packets waiting."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from transorbit import _folder, _inputs, _interrupt, _values
from transorbit.plugins import REGISTRY
from transorbit.result import provenance
from transorbit.scenario import opened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import Unpack

    import polars as pl
    from matplotlib.figure import Figure

    from transorbit.plots.style import Look
    from transorbit.scenario import Scenario

DEFAULT_USERS = (1, 2, 5, 10, 20, 50, 100)
# The range of the core's integer type; the core checks the actual limits.
_MOST_USERS = 2**32 - 1


class Capacity:
    """The result of a study of capacity.

    Attributes:
        report: the numbers; keys and units are in `docs/capacity.md`.
        scenario_toml: the scenario with every default filled in.
        provenance: version, seed, scenario hash, machine and wall time.
    """

    def __init__(
        self,
        *,
        report: dict[str, Any],
        scenario_toml: str,
        provenance: dict[str, Any],
        inputs: Sequence[_inputs.Input] = (),
    ) -> None:
        self.report = report
        self.scenario_toml = scenario_toml
        self.inputs = tuple(inputs)
        self.provenance = provenance

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row for each policy and number of users."""
        return list(self.report["rows"])

    @property
    def table(self) -> pl.DataFrame:
        """The rows of the study as a table."""
        import polars as pl

        return pl.DataFrame(self.rows, infer_schema_length=None)

    def plot(self, **look: Unpack[Look]) -> Figure:
        """Packets per second against the number of users: a line for each policy, the limits dashed.

        Args:
            look: `width` in inches, and `title`: "" is none.
        """
        from transorbit import plots

        return plots.capacity(self, **look)

    def save(self, directory: str | Path, *, plots: bool = True, **look: Unpack[Look]) -> Path:
        """Write a folder: scenario, report, table, provenance and, if wanted, the plot as SVG and PNG.

        The folder appears whole or not at all, and replaces an earlier study. The plot's look is as for `plot`.

        Raises:
            FileExistsError: `directory` holds something that is not a study of capacity.
            OSError: it cannot be written.
        """
        return _folder.save_study(
            directory,
            _folder.CAPACITY,
            "capacity",
            report=self.report,
            provenance=self.provenance,
            table=self.table,
            draw=(lambda: self.plot(**look)) if plots else None,
            scenario_toml=self.scenario_toml,
            inputs=self.inputs,
        )

    def __repr__(self) -> str:
        policies = dict.fromkeys(row["policy"] for row in self.rows)
        users = sorted({row["users"] for row in self.rows})
        return f"Capacity({self.report['title']!r}, policies={[*policies]}, users={users})"


class CapacityInterrupted(KeyboardInterrupt):
    """A study was stopped with Ctrl-C; `study` holds the rows that were done, and its report says `partial`."""

    def __init__(self, study: Capacity) -> None:
        super().__init__(f"the study was stopped; {len(study.rows)} of its rows are there")
        self.study = study


def capacity(
    scenario: Scenario | str | Path,
    *,
    users: Sequence[int] = DEFAULT_USERS,
    schedulers: Sequence[str] | None = None,
    duration: str | float = "60 s",
    seed: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Capacity:
    """What the last hop of a scenario can carry, by who is sent next, if every user always has packets waiting.

    Neither path nor transport play a part. Users chosen at random and `max-rate`, always the best channel, are part of
    every study.

    Args:
        scenario: a scenario or its file.
        users: numbers of users.
        schedulers: names beside these two, with the scenario's options if it is the scenario's own, else with their
            defaults. By default that of the scenario.
        duration: simulated time for each scheduler and number of users: seconds, or text with a unit.
        seed: replaces the scenario's own.
        progress: called repeatedly with the share that is done, 0 to 1.

    Raises:
        ScenarioError: the scenario is wrong, or an option: `users.0`, `schedulers.0`, `duration`.
        CapacityInterrupted: Ctrl-C; its `study` has the rows that were done.
    """
    scenario = opened(scenario)
    capacity_began = time.perf_counter()
    counts = _values.wholes("users", users, _MOST_USERS)
    span = duration if isinstance(duration, str) else f"{duration} s"
    names = None if schedulers is None else _values.listed("schedulers", schedulers)
    study = scenario._core.capacity(counts, span, names, _values.seed(seed), REGISTRY.find, REGISTRY.names())
    stopped = False
    try:
        with _interrupt.between_steps() as check:
            while study.share < 1:
                study.advance()
                check()
                if progress:
                    progress(study.share)
    except KeyboardInterrupt:
        stopped = True
    text = study.report_json()
    if text is None or (stopped and not json.loads(text)["rows"]):
        raise KeyboardInterrupt("the study was stopped before its first row, and nothing of it is kept")
    report: dict[str, Any] = json.loads(text)
    toml, kept = scenario._core.kept(report["seed"])
    inputs = _inputs.of_core(kept)
    origin = provenance(toml, report["seed"], time.perf_counter() - capacity_began, inputs)
    measured = Capacity(report=report, scenario_toml=toml, provenance=origin, inputs=inputs)
    if stopped:
        raise CapacityInterrupted(measured)
    return measured
