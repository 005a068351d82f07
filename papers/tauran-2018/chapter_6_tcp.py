"""Downloads of section 6.4: figures 6.18 to 6.34, tables 6.4 and 6.5, equations 6.6 to 6.9."""

import itertools
import math
import statistics

from common import BUFFER, VARIANTS, Row, cell, mean, published, table
from many_users import (
    IN_BYTES,
    IN_PACKETS,
    LOOK,
    Effort,
    Point,
    lines_by_policy,
    panels,
    point,
    policies,
    run,
    sweep,
    tcp,
)

LOADS = (5, 10, 20, 30, 40, 60, 80, 100)
MAIN = ("DT_S", "DT_H", "RR", "PF", "CoDeS 100 ms")
READINGS = {"packets of 210 B": IN_PACKETS, "bytes": IN_BYTES}
COUNTED = "packets of 210 B"
Case = tuple[str, str, bool, str, int]
Ours = dict[Case, list[Row]]
SEEDS = 3

COLUMNS = [
    ("goodput of a user, Mbit/s", "mean", 3),
    ("of all", "total", 1),
    ("one-way delay, ms", "delay_ms", 0),
    ("sent again, %", "again_pct", 2),
    ("spurious, %", "spurious_pct", 2),
    ("RTO, %", "rto_pct", 3),
    ("DUPACK, %", "dupack_pct", 2),
    ("lost by overflow, %", "overflow_pct", 2),
    ("by time limit", "timeout_pct", 2),
    ("decoded at first, %", "retx0", 1),
    ("bits per packet", "bits_per_packet", 0),
]


def by_load(much: Effort) -> Ours:
    """By (reading of the buffer, variant, reordering, policy, users)."""
    loads = much.some(LOADS)
    cases = list(itertools.product([COUNTED], ("cubic", "newreno"), (False, True), MAIN, loads))
    cases += itertools.product(["bytes"], ("cubic",), (False, True), MAIN, [n for n in loads if n not in (5, 30)])

    def job(case: Case, seed: int) -> Row:
        reading, variant, reordering, name, users = case
        changes = {"last_hop.reordering.enabled": reordering, "flows.0.transport.congestion": variant}
        return tcp(users, policies(READINGS[reading])[name], changes, much, seed)

    return sweep(cases, much.seeds(SEEDS), job)


def tables(ours: Ours) -> list[str]:
    """A table for each variant, use of the buffer and policy, and the gains over DT_H."""
    lines = ["# TCP", ""]
    kinds = list(dict.fromkeys(case[:3] for case in ours))
    for kind in kinds:
        loads = sorted({case[4] for case in ours if case[:3] == kind})
        reading, variant, reordering = kind
        title = f"{VARIANTS[variant]}, {BUFFER[reordering]}, B in {reading}"
        rows = [[name, *(_gain(ours, kind, name, users) for users in loads)] for name in MAIN if name != "DT_H"]
        lines += [f"## Figures 6.18, 6.19, 6.26, 6.27: goodput gain over DT_H, %: {title}", ""]
        lines += table(["policy", *(f"{users} users" for users in loads)], rows)
        rows = [
            [name, f"{users}", *(cell(ours[*kind, name, users], key, digits) for _, key, digits in COLUMNS)]
            for name, users in itertools.product(MAIN, loads)
        ]
        lines += [f"## Figures 6.20 to 6.23 and 6.28 to 6.32: {title}", ""]
        lines += table(["policy", "users", *(title for title, *_ in COLUMNS)], rows)
    return lines + inflection(ours) + equations(ours)


def gains(ours: Ours, kind: tuple[str, str, bool], name: str, users: int) -> list[float]:
    """Gain of goodput over DT_H in percent, seed by seed."""
    pairs = zip(ours[*kind, "DT_H", users], ours[*kind, name, users], strict=True)
    return [100 * (row["mean"] / base["mean"] - 1) for base, row in pairs]


def _gain(ours: Ours, kind: tuple[str, str, bool], name: str, users: int) -> str:
    gain = gains(ours, kind, name, users)
    return f"{statistics.mean(gain):+.0f} ± {statistics.stdev(gain):.0f}"


def inflection(ours: Ours) -> list[str]:
    """Figure 6.25, and the same for the other policies."""
    loads = sorted({case[4] for case in ours if case[0] == COUNTED})
    rows = []
    for variant, name in itertools.product(("cubic", "newreno"), MAIN):
        cells = []
        for users in loads:
            off, on = (mean(ours[COUNTED, variant, reordering, name, users], "mean") for reordering in (False, True))
            cells.append(f"{off / on:.2f}")
        rows.append([VARIANTS[variant], name, *cells])
    header = ["TCP", "policy", *(f"{users} users" for users in loads)]
    return ["## Figure 6.25: goodput without reordering over that with it", "", *table(header, rows)]


def equations(ours: Ours) -> list[str]:
    """Equations 6.6 to 6.9 with the bits that our packets took, RR without reordering."""
    loads = sorted({case[4] for case in ours if case[0] == COUNTED})
    rows: list[list[object]] = [["thesis", "16890", "0.34", "15 to 19"]]
    for users in loads:
        bits = mean(ours[COUNTED, "cubic", False, "RR", users], "bits_per_packet")
        time_ms = bits / 50e3
        rows.append(
            [
                f"ours, {users} users",
                f"{bits:.0f}",
                f"{time_ms:.2f}",
                f"{15 / 3 / time_ms:.0f} to {20 / 3 / time_ms:.0f}",
            ]
        )
    header = [
        "",
        "bits per packet (6.6)",
        "time of a packet, ms (6.7)",
        "users up to whom HARQ brings DUPACK (6.9)",
    ]
    return ["## Equations 6.6 to 6.9", "", *table(header, rows)]


def fairness(ours: Ours) -> list[str]:
    """Tables 6.4 and 6.5, each cell beside ours."""
    lines = []
    keys = (("min", 2), ("max", 2), ("mean", 2), ("sd", 3))
    header = ["users", "policy", *(f"{key}: {who}" for key, _ in keys for who in ("thesis", "ours", "B in bytes"))]
    for number, reordering in (("6.4", False), ("6.5", True)):
        rows = []
        for line in published("fairness.csv"):
            case = (reordering, line["policy"], int(line["users"]))
            counted = ours.get((COUNTED, "cubic", *case))
            if line["reordering"] != ("on" if reordering else "off") or counted is None:
                continue
            cells: list[object] = [line["users"], line["policy"]]
            for key, digits in keys:
                cells += [
                    line[key],
                    f"**{cell(counted, key, digits)}**",
                    f"{mean(ours['bytes', 'cubic', *case], key):.{digits}f}",
                ]
            rows.append(cells)
        lines += [
            f"## Table {number}: goodput of a user, Mbit/s, CUBIC, {BUFFER[reordering]}",
            "",
            *table(header, rows),
        ]
    return lines


def distribution(much: Effort) -> dict[tuple[bool, str], list[float]]:
    """Figures 6.33 and 6.34: the goodput of each of 40 users, in order, mean over the seeds of each rank."""
    cases = list(itertools.product((False, True), MAIN))

    def job(case: tuple[bool, str], seed: int) -> Row:
        changes = {"last_hop.reordering.enabled": case[0], "last_hop.scheduler": policies(IN_PACKETS)[case[1]]}
        flows = run("tcp-users.toml", {**changes, "flows.0.count": 40}, much, seed).summary["flows"]
        return {f"{rank}": value for rank, value in enumerate(sorted(flow["goodput_bps"] / 1e6 for flow in flows))}

    ours = sweep(cases, much.seeds(SEEDS), job)
    return {case: [mean(rows, f"{rank}") for rank in range(40)] for case, rows in ours.items()}


def draw(ours: Ours, curves: dict[tuple[bool, str], list[float]], much: Effort) -> None:
    """Gains over DT_H, the inflection, other metrics, and the distribution among users."""
    loads = sorted({case[4] for case in ours if case[0] == COUNTED})
    shown = [name for name in MAIN if name != "DT_H"]
    with panels(2, 2, 4.6) as (figure, axes):
        for ax, (variant, reordering) in zip(axes, itertools.product(("newreno", "cubic"), (False, True)), strict=True):
            kind = (COUNTED, variant, reordering)
            by_policy: dict[str, list[Point]] = {}
            for name in shown:
                values = [gains(ours, kind, name, users) for users in loads]
                by_policy[name] = [
                    (users, statistics.mean(value), statistics.stdev(value))
                    for users, value in zip(loads, values, strict=True)
                ]
            lines_by_policy(ax, by_policy)
            ax.set_title(f"{VARIANTS[variant]}, {BUFFER[reordering]}")
            ax.axhline(0, color="#999999", linewidth=0.8)
        for ax in axes[::2]:
            ax.set_ylabel("Goodput gain over DT_H (%)")
        for ax in axes[2:]:
            ax.set_xlabel("Downloads")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(shown))
        much.save(figure, "chapter-6-tcp.png")
    metrics = (
        ("total", "Goodput of all (Mbit/s)"),
        ("delay_ms", "Delay (ms)"),
        ("again_pct", "Sent again (%)"),
    )
    with panels(2, 3, 4.4) as (figure, axes):
        for ax, (reordering, (key, label)) in zip(axes, itertools.product((False, True), metrics), strict=True):
            kind = (COUNTED, "cubic", reordering)
            lines_by_policy(ax, {name: [point(n, ours[*kind, name, n], key) for n in loads] for name in MAIN})
            ax.set_ylabel(label)
        axes[0].set_title("CUBIC, without reordering")
        axes[3].set_title("CUBIC, with the reordering buffer")
        for ax in axes[3:]:
            ax.set_xlabel("Downloads")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(MAIN))
        much.save(figure, "chapter-6-tcp-metrics.png")
    with panels(1, 2, 2.7) as (figure, axes):
        for ax, reordering in zip(axes, (False, True), strict=True):
            for name in MAIN:
                goodputs = curves[reordering, name]
                shares = [(rank + 1) / len(goodputs) for rank in range(len(goodputs))]
                ax.step(goodputs, shares, where="post", color=LOOK[name][0], label=name)
            ax.set_title(f"40 downloads, {'with' if reordering else 'without'} reordering")
            ax.set_xlabel("Goodput (Mbit/s)")
            ax.margins(x=0.03)
        axes[0].set_ylabel("Share of users")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(MAIN))
        much.save(figure, "chapter-6-fairness.png")


def worst_against_best(ours: Ours) -> list[str]:
    """Whether PF's worst flow has more than the best of the others."""
    rows = []
    for reading, reordering in itertools.product(READINGS, (False, True)):
        for users in sorted({case[4] for case in ours if case[0] == reading}):
            kind = (reading, "cubic", reordering)
            worst = mean(ours[*kind, "PF", users], "min")
            best = {name: mean(ours[*kind, name, users], "max") for name in ("DT_S", "RR", "DT_H")}
            spread = mean(ours[*kind, "PF", users], "max") / worst - 1 if worst else math.nan
            marks = [f"{value:.3f}{' (more)' if value > worst else ''}" for value in best.values()]
            rows.append([reading, BUFFER[reordering], users, f"{worst:.3f}", *marks, f"{100 * spread:.0f}"])
    header = [
        "B in",
        "",
        "users",
        "PF's worst",
        "best of DT_S",
        "RR",
        "DT_H",
        "PF's best over its worst, %",
    ]
    return ["## Worst flow of PF and best of the others, Mbit/s, CUBIC", "", *table(header, rows)]
