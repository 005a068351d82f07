"""The kind of a flow, by the columns that have a value in its row of a summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# What only flows of a kind have: a congestion controller, a listener to a call, a viewer of stored or live video.
CONTROLLED = "congestion"
VOICE = "lost_late"
VIDEO = "rebuffers"


def is_controlled(flow: Mapping[str, Any]) -> bool:
    """Whether a congestion controller sends the flow."""
    return flow.get(CONTROLLED) is not None


def what_it_runs(flow: Mapping[str, Any]) -> str:
    """The congestion controller of a flow; of a flow without one its traffic."""
    return str(flow.get(CONTROLLED) or flow["traffic"])


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


def _alike(flow: Mapping[str, Any]) -> tuple[object, ...]:
    return what_it_runs(flow), flow["traffic"], flow["direction"], flow["size_bytes"] is None
