"""The kind of a flow, by the columns that have a value in its row of a summary, and the flows that are transfers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import polars as pl

# What only flows of a kind have: a congestion controller, a listener to a call, a viewer of stored or live video.
CONTROLLED = "congestion"
VOICE = "lost_late"
VIDEO = "rebuffers"


def is_controlled(flow: Mapping[str, Any]) -> bool:
    """Whether a congestion controller sends the flow."""
    return flow.get(CONTROLLED) is not None


def of_transport(flow: Mapping[str, Any]) -> str:
    """The congestion controller of a flow, with its transport if that is not TCP; of a flow without one its transport.

    "cubic", "quic cubic" or "udp".
    """
    congestion, transport = flow.get(CONTROLLED), str(flow["transport"])
    if congestion is None:
        return transport
    return str(congestion) if transport == "tcp" else f"{transport} {congestion}"


def transports(flows: pl.DataFrame) -> pl.Series:
    """As `of_transport`, of each flow."""
    import polars as pl

    transport, congestion = pl.col("transport"), pl.col(CONTROLLED)
    over = pl.when(transport == "tcp").then(pl.lit("")).otherwise(transport + " ")
    return flows.select(pl.when(congestion.is_null()).then(transport).otherwise(over + congestion)).to_series()


def what_it_runs(flow: Mapping[str, Any]) -> str:
    """The congestion controller of a flow, as `of_transport` names it; of a flow without one its traffic."""
    return of_transport(flow) if is_controlled(flow) else str(flow["traffic"])


def named(flow: Mapping[str, Any]) -> str:
    """The name of a flow where several are shown: "flow 3 (voice)"."""
    return f"flow {flow['id']} ({what_it_runs(flow)})"


def is_voice(flow: Mapping[str, Any]) -> bool:
    """Whether somebody listens to a call."""
    return flow.get(VOICE) is not None


def is_video(flow: Mapping[str, Any]) -> bool:
    """Whether somebody watches, stored or live."""
    return flow.get(VIDEO) is not None


def begun_like(done: Sequence[Mapping[str, Any]], flows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The flows that began and run what the transfers do that are `done`, these included; with a size if these have."""
    like = {_alike(flow) for flow in done}
    return [flow for flow in flows if flow["opened_s"] is not None and _alike(flow) in like]


def transfers(flows: pl.DataFrame) -> Iterator[tuple[int | None, pl.Series]]:
    """Yields how many transfers began and the times in seconds of those that ended: with a size, then without one.

    None stands for how many began without a size: only that they ended tells that these are transfers.
    """
    import polars as pl

    if "size_bytes" not in flows.columns:  # a result of an earlier version
        flows = flows.with_columns(pl.lit(None, pl.Float64).alias("size_bytes"))
    sized_transfers = flows.drop_nulls(["size_bytes", "opened_s"])
    if len(sized_transfers):
        yield len(sized_transfers), sized_transfers["completion_s"].drop_nulls()
    unsized_ends = flows.filter(pl.col("size_bytes").is_null())["completion_s"].drop_nulls()
    if len(unsized_ends):
        yield None, unsized_ends


def _alike(flow: Mapping[str, Any]) -> tuple[object, ...]:
    return what_it_runs(flow), flow["traffic"], flow["direction"], flow.get("size_bytes") is None
