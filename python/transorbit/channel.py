"""Radio channels of the last hop: attenuation over time, and its statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transorbit._ask import ask, ask_table

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
    path: Mapping[str, object] | None = None,
    base_dir: str | Path = ".",
) -> pl.DataFrame:
    """The series of one user's channel.

    Args:
        config: the `[channel]` table of a scenario, such as `{"kind": "lms", "elevation": "40 deg"}`.
        duration_s: the length of the series.
        step_s: time between rows; by default what the channel's speed asks for.
        seed: root of the random draws.
        path: the `[path]` table of a scenario, over a constellation, for a channel that follows the orbit.
        base_dir: the folder to which names of files are relative.

    Returns:
        Columns `time_s`, `attenuation_db`, `snr_db` (Es/N0), `mutual_information` (per coded bit, 0 to 1), `state`.
    """
    return ask_table(
        "channel.series",
        base_dir=base_dir,
        channel=config,
        path=path and dict(path),
        duration_s=duration_s,
        step_s=step_s,
        seed=seed,
    )


def stats(
    config: Mapping[str, object],
    *,
    duration_s: float,
    seed: int = 1,
    path: Mapping[str, object] | None = None,
    base_dir: str | Path = ".",
) -> dict[str, Any]:
    """Statistics of the channel over `duration_s`: attenuation quantiles, time in each state, mutual information.

    `crossings_per_s` and `duration_mean_s` of fades are those of the series at its `sampling_interval_s`; `warnings`
    tells which fades are too short for it. The arguments are those of `generate`.
    """
    channel_answer: dict[str, Any] = ask(
        "channel.statistics",
        base_dir=base_dir,
        channel=config,
        path=path and dict(path),
        duration_s=duration_s,
        seed=seed,
    )
    return channel_answer
