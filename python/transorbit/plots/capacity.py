"""Plots of studies of capacity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter

from transorbit.plots import heading, scales, style

if TYPE_CHECKING:
    from typing import Unpack

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from transorbit.plots.given import Capacity

_DASHED = (0, (5, 3))
_DOTTED = (0, (1, 2))
# The two policies that each study has beside those that were asked for, in words.
_LABELS = {"random": "at random", "max-rate": "best channel (max-rate)"}


def capacity(study: Capacity, **look: Unpack[style.Look]) -> Figure:
    """Packets per second against the number of users, as figure 6.3 of Tauran's thesis.

    A line for each policy, one for a single user, and the limits dashed: the mean capacity of the channels, and that of
    the best.
    """
    table = study.table
    counts = sorted(table["users"].unique())
    until = float(counts[-1])
    title = f"Capacity of the last hop, {study.report['packet_bytes']} B packets"
    with style.plain(title=title, height=3.6, look=look) as (fig, [ax]):
        policies = list(dict.fromkeys(table["policy"]))
        for i, policy in enumerate(policies):
            own = table.filter(pl.col("policy") == policy).sort("users")
            # Earlier lines are broader, so that one beneath another shows.
            above = 2.0 * (len(policies) - 1 - i) / max(len(policies) - 1, 1)
            ax.plot(
                own["users"],
                own["decoded_pps"],
                linewidth=1.2 + 0.8 * above,
                marker="o",
                markersize=3 + above,
                label=_LABELS.get(policy, policy),
            )
        limits = table.unique("users").sort("users")
        for column, label in (("best_limit_pps", "limit, best of n"), ("mean_limit_pps", "limit, mean")):
            ax.plot(limits["users"], limits[column], color=style.GREY, linestyle=_DASHED, linewidth=0.9)
            _name(ax, label, float(limits[column][-1]), "bottom")
        one = study.report["one_user"]["decoded_pps"]
        ax.axhline(one, color=style.GREY, linestyle=_DOTTED, linewidth=0.9)
        _name(ax, "one user", one, "top")
        ax.set_xscale("log")
        ax.set_xlim(min(counts[0], until / 2), until * 1.02)
        ax.xaxis.set_major_locator(FixedLocator(_apart(counts)))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(ScalarFormatter())
        ax.set_xlabel("Users, all with packets waiting")
        ax.set_ylabel("Packets decoded per second")
        highest: list[Any] = [table[name].max() for name in ("best_limit_pps", "decoded_pps")]
        scales.from_zero(ax, max(float(value or 0.0) for value in highest))
        heading.above(ax)
    return fig


def _name(ax: Axes, text: str, value: float, side: str) -> None:
    """Write what a line is at its right end, above or below it."""
    ax.annotate(
        text,
        (1.0, value),
        xycoords=("axes fraction", "data"),
        xytext=(-3, 2 if side == "bottom" else -2),
        textcoords="offset points",
        ha="right",
        va=side,
        fontsize=heading.text_size("legend.fontsize"),
        color=style.GREY,
    )


def _apart(counts: list[int]) -> list[int]:
    """Returns the numbers that can be written side by side on a logarithmic axis."""
    labelled: list[int] = []
    for count in counts:
        if not labelled or count >= 1.3 * labelled[-1]:
            labelled.append(count)
    return labelled
