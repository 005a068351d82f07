"""The kind of a flow, by the reports that its row of a summary has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def is_controlled(flow: Mapping[str, Any]) -> bool:
    """Whether a congestion controller sends the flow."""
    return flow.get("congestion") is not None


def is_voice(flow: Mapping[str, Any]) -> bool:
    """Whether somebody listens to a call."""
    return flow.get("lost_late") is not None


def is_video(flow: Mapping[str, Any]) -> bool:
    """Whether somebody watches, stored or live."""
    return flow.get("rebuffers") is not None
