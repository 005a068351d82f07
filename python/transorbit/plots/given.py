"""The input of figures: the tables and numbers that they take from a result, and nothing of how it came about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from transorbit.sweep.axes import Axis
    from transorbit.sweep.metrics import Metric


class Result(Protocol):
    """A run, as `transorbit.Result`."""

    captures: dict[str, Path]
    scenario_toml: str

    @property
    def summary(self) -> dict[str, Any]:
        """The numbers of the run and its flows, a dictionary each."""
        ...

    @property
    def numbers(self) -> dict[str, Any]:
        """The summary without its flows."""
        ...

    @property
    def flows(self) -> pl.DataFrame:
        """The flows of the summary as a table."""
        ...

    def reports(self, report: str) -> pl.DataFrame:
        """The numbers of one kind of report, for each flow that has it."""
        ...

    @property
    def series(self) -> pl.DataFrame:
        """Samples of the flows, by time."""
        ...

    @property
    def goodput_bps(self) -> float:
        """The goodput of all flows together."""
        ...

    @property
    def title(self) -> str:
        """The title of the result, or a name."""
        ...

    @property
    def partial(self) -> bool:
        """Whether it was stopped early."""
        ...


class SweepResult(Protocol):
    """A sweep, as `transorbit.sweep.SweepResult`."""

    runs: pl.DataFrame
    flows: pl.DataFrame

    @property
    def axes(self) -> Sequence[Axis]:
        """The axes that were varied."""
        ...

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """The metrics that are shown, by name."""
        ...


class Capacity(Protocol):
    """A study of the last hop, as `transorbit.Capacity`."""

    report: dict[str, Any]

    @property
    def table(self) -> pl.DataFrame:
        """A row for each policy and number of users."""
        ...


class PlrCurves(Protocol):
    """A study of packet loss, as `transorbit.access.PlrCurves`."""

    report: dict[str, Any]
    table: pl.DataFrame

    @property
    def methods(self) -> list[str]:
        """The labels of the curves."""
        ...


class Map(Protocol):
    """A map of a constellation, as `transorbit.constellation.Map`."""

    @property
    def satellites(self) -> pl.DataFrame:
        """The points below the satellites."""
        ...

    @property
    def footprints(self) -> pl.DataFrame:
        """The edges of the footprints."""
        ...

    @property
    def links(self) -> pl.DataFrame:
        """Satellites that are linked."""
        ...

    @property
    def tracks(self) -> pl.DataFrame:
        """The points below over the following time."""
        ...

    @property
    def stations(self) -> pl.DataFrame | None:
        """Places, if there are any."""
        ...

    @property
    def route(self) -> pl.DataFrame | None:
        """The stations and satellites of a route in their order."""
        ...
