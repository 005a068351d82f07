"""Calls of section 6.3: figures 6.6 to 6.17 and table 6.3."""

import itertools
import statistics
from collections.abc import Sequence

from common import Row, cell, mean, published, table
from many_users import (
    BLOCK_BYTES,
    HEADERS_AND_SPEECH,
    IN_BYTES,
    Effort,
    lines_by_policy,
    panels,
    point,
    policies,
    sweep,
    voice,
)

from transorbit.plots import style

POLICIES = policies(IN_BYTES)
LOADS = (25, 50, 75, 90, 100, 125, 150, 200)
SEEDS = 3
MAIN = ("DT_S", "DT_H", "RR", "PF", "CoDeS 100 ms")
Ours = dict[tuple[str, int], list[Row]]

COLUMNS = [
    ("useful, Mbit/s", "useful_mbps", 2),
    ("lost, %", "loss_pct", 1),
    ("by overflow", "overflow_pct", 1),
    ("by time limit", "timeout_pct", 1),
    ("by HARQ", "harq_pct", 2),
    ("late, %", "late_pct", 1),
    ("delay, ms", "delay_ms", 0),
    ("95 % below, ms", "p95_ms", 0),
    ("jitter, ms", "jitter_ms", 1),
    ("decoded at first, %", "retx0", 1),
    ("bits per packet", "bits_per_packet", 0),
    ("MOS", "mos", 2),
    ("calls with MOS of 3 or more, %", "good_pct", 0),
]


def by_load(much: Effort) -> Ours:
    """Every policy at every load."""
    cases = itertools.product(POLICIES, much.some(LOADS))
    return sweep(cases, much.seeds(SEEDS), lambda case, seed: voice(case[1], POLICIES[case[0]], {}, much, seed))


def tables(ours: Ours) -> list[str]:
    """A table for each policy, and where each loses 3 %."""
    lines = ["# Voice", ""]
    loads = sorted({users for _, users in ours})
    for name in POLICIES:
        rows = [[users, *(cell(ours[name, users], key, digits) for _, key, digits in COLUMNS)] for users in loads]
        lines += [f"## Figures 6.6 to 6.17: {name}", "", *table(["users", *(title for title, *_ in COLUMNS)], rows)]
    rows = [[name, *_crossing(name, loads, ours)] for name in POLICIES]
    header = ["policy", "3 %", "10 %", "20 %"]
    lines += ["## Figure 6.8: users at which so much is lost, between the loads on a straight line", ""]
    return lines + table(header, rows) + coded(ours, loads)


def _crossing(name: str, loads: Sequence[int], ours: Ours) -> list[str]:
    """The loads at which the curves of the seeds cross 3, 10 and 20 %."""
    cells = []
    seeds = range(len(ours[name, loads[0]]))
    for limit in (3, 10, 20):
        found = []
        for seed in seeds:
            curve = [(users, ours[name, users][seed]["loss_pct"]) for users in loads]
            for (a, low), (b, high) in itertools.pairwise(curve):
                if low <= limit < high:
                    found.append(a + (b - a) * (limit - low) / (high - low))
                    break
        cells.append(f"{statistics.mean(found):.0f} ± {statistics.stdev(found):.0f}" if len(found) > 1 else "")
    return cells


def coded(ours: Ours, loads: Sequence[int]) -> list[str]:
    """Figure 6.9: coded load in the thesis' scale, where 50 Mbit/s are 9.4."""
    scale = HEADERS_AND_SPEECH / BLOCK_BYTES
    rows = []
    for users in loads:
        cells: list[object] = [users]
        for name in MAIN:
            run = ours[name, users]
            load = scale * mean(run, "coded_mbps")
            cells.append(f"{mean(run, 'useful_mbps'):.2f} / {load:.2f} = {mean(run, 'useful_mbps') / load:.2f}")
        rows.append(cells)
    header = ["users", *MAIN]
    return ["## Figure 6.9: useful load / coded load scaled by 210/1115, both Mbit/s", "", *table(header, rows)]


SHARES = [*((f"retx{i}", 2) for i in range(4)), ("drop", 2)]


def decoding(much: Effort) -> list[str]:
    """Table 6.3 of the thesis, and that of the article with 300 users."""
    theirs = {(line["source"], line["policy"]): line for line in published("harq_by_policy.csv")}
    slow = {"flows.0.traffic.rate": "16 kbit/s"}
    kinds = {
        "75 users (table 6.3)": ("thesis", 75, {}),
        "300 users": ("ijscn", 300, {}),
        "300 users with calls of 16 kbit/s": ("ijscn", 300, slow),
    }
    cases = itertools.product(kinds, MAIN[:4])
    seeds = much.seeds(SEEDS)
    ours = sweep(cases, seeds, lambda c, seed: voice(kinds[c[0]][1], POLICIES[c[1]], kinds[c[0]][2], much, seed))
    lines = []
    header = ["policy", *(f"{i} again, %: {who}" for i in range(4) for who in ("published", "ours"))]
    header += ["not decoded, %: published", "ours", "lost in all, %"]
    for title, (source, _, _) in kinds.items():
        rows = []
        for name in MAIN[:4]:
            cells: list[object] = [name]
            for key, digits in SHARES:
                cells += [theirs[source, name][key], f"**{cell(ours[title, name], key, digits)}**"]
            rows.append([*cells, cell(ours[title, name], "loss_pct", 1)])
        lines += [f"## Shares of packets decoded: {title}", "", *table(header, rows)]
    return lines


def draw(ours: Ours, much: Effort) -> None:
    """Figures 6.6 to 6.12 in one, and what the limit of CoDeS does."""
    loads = sorted({users for _, users in ours})
    shown = [
        ("useful_mbps", "Useful load (Mbit/s)"),
        ("loss_pct", "Lost (%)"),
        ("retx0", "Decoded at first (%)"),
        ("delay_ms", "Delay (ms)"),
        ("jitter_ms", "Jitter (ms)"),
        ("mos", "MOS"),
    ]
    with panels(2, 3, 4.4) as (figure, axes):
        for ax, (key, label) in zip(axes, shown, strict=True):
            lines_by_policy(ax, {name: [point(n, ours[name, n], key) for n in loads] for name in MAIN})
            ax.set_ylabel(label)
        for ax in axes[3:]:
            ax.set_xlabel("Calls")
        axes[1].axhline(3, color=style.GREY, linewidth=0.8, linestyle=":")
        axes[5].axhline(3, color=style.GREY, linewidth=0.8, linestyle=":")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(MAIN))
        much.save(figure, "chapter-6-voice.png")
    names = ("PF", "CoDeS 200 ms", "CoDeS 100 ms", "CoDeS 50 ms", "DT_S")
    with panels(1, 3, 2.6) as (figure, axes):
        for ax, key, label in zip(
            axes, ("jitter_ms", "loss_pct", "mos"), ("Jitter (ms)", "Lost (%)", "MOS"), strict=True
        ):
            lines_by_policy(ax, {name: [point(n, ours[name, n], key) for n in loads] for name in names})
            ax.set_ylabel(label)
            ax.set_xlabel("Calls")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(names))
        much.save(figure, "chapter-6-codes.png")
