"""Radio channels of the last hop: attenuation over time, and its statistics."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from transorbit import _core
from transorbit._frame import frame

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import polars as pl


def generate(
    config: Mapping[str, object],
    *,
    duration_s: float,
    step_s: float | None = None,
    seed: int = 1,
    base_dir: str | Path = ".",
) -> pl.DataFrame:
    """The channel that one user meets.

    Args:
        config: the `[channel]` table of a scenario, such as `{"kind": "lms", "elevation": "40 deg"}`.
        duration_s: how long.
        step_s: time between rows; by default what the channel's speed asks for.
        seed: root of the random draws.
        base_dir: where a trace file is looked for.

    Returns:
        Columns `time_s`, `attenuation_db`, `snr_db` (Es/N0), `mutual_information` (per coded bit, 0 to 1), `state`.
    """
    return frame(_core.channel_generate(json.dumps(config), str(base_dir), duration_s, step_s, seed))


def stats(
    config: Mapping[str, object], *, duration_s: float, seed: int = 1, base_dir: str | Path = "."
) -> dict[str, Any]:
    """Statistics of the channel over `duration_s`: attenuation quantiles, time in each state, mutual information."""
    stats: dict[str, Any] = json.loads(_core.channel_stats(json.dumps(config), str(base_dir), duration_s, seed))
    return stats
