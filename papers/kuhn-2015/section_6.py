"""Section 6: short flows. Tables 3 to 5, figures 8 to 10, and transfers that lose datagrams (case C)."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from common import (
    IN_STEP,
    LOOK,
    NAMES,
    SPREAD,
    THREE,
    TWENTY,
    Effort,
    Method,
    Row,
    average,
    cell,
    interval,
    mean,
    median,
    panels,
    percentile,
    probes,
    published,
    scenario,
    sessions,
    short,
    sweep,
    switch,
    table,
)

from transorbit import access
from transorbit.plots import style

STARTS = {"in step": IN_STEP, "within 1 s": SPREAD}


def tables(much: Effort) -> list[str]:
    """Everything of section 6."""
    return [
        "# Section 6: short flows",
        "",
        *table_3(much),
        *table_4(much),
        *table_5(much),
        *figure_8(much),
        *figure_9(much),
        *figure_10(much),
        *case_c(much),
    ]


def table_3(much: Effort) -> list[str]:
    """30 kB beside uploads without end."""
    seeds = much.seeds(20)

    def job(case: tuple[str, str, str], seed: int) -> Row:
        method, users, start = case
        changes = {**STARTS[start], "flows.0.count": int(users)}
        flow = scenario("dvbrcs2-transfer.toml", method, changes).run(seed=seed).summary["flows"][-1]
        return {"first": 10 + flow["first_packet_s"], "last": 10 + (flow["completion_s"] or math.inf)} | {
            "lost": flow["lost_collision"]
        }

    theirs = published("transmission_times.csv")
    cases = [(row["access"], row["competing_flows"], start) for row in theirs for start in STARTS]
    ours = sweep(cases, seeds, job)
    rows = []
    for row in theirs:
        line: list[object] = [row["competing_flows"], NAMES[row["access"]], row["first_s"], row["last_s"]]
        for start in STARTS:
            found = ours[row["access"], row["competing_flows"], start]
            clean = [case for case in found if not case["lost"]]
            line += [f"{found[0]['first']:.3f}, {found[0]['last']:.3f}"]
            lasts = [f"{case['last']:.3f}" for case in clean]
            usual = Counter(lasts).most_common(1)[0] if lasts else ("-", 0)
            line += [f"{len(clean)} of {len(found)}", f"{usual[0]} in {usual[1]}"]
            line += [f"{median([case['last'] for case in found]):.3f}"]
        rows.append(line)
    header = ["users", "method", "published first, s", "last, s"]
    for start in STARTS:
        header += [
            f"starts {start}: seed 1, first and last",
            "runs without loss",
            "their usual last packet",
            "median of all",
        ]
    title = f"## Table 3: reception of 30 kB from t = 10 s; {len(seeds)} seeds"
    return [title, "", *table(header, rows), *table_3_depends()]


def table_3_depends() -> list[str]:
    """Seed 1 with other values of what the paper does not say."""
    kinds: dict[str, dict[str, object]] = {
        "as it is": {},
        "20 datagrams (28,960 B)": {"flows.1.traffic.size": TWENTY},
        "a handshake": {"flows.1.transport.handshake": True},
        "initial window 1": {"flows.1.transport.initial_window": 1},
        "initial window 3": {"flows.1.transport.initial_window": 3},
        "profile classic": {"flows.1.transport.profile": "classic"},
        "profile linux": {"flows.1.transport.profile": "linux"},
        "no packing": {"access.encapsulation.packing": False},
        "RLE headers": {"access.encapsulation": {}},
        "datagrams leave with their slot": {"access.whole_frames": False},
        "request heeded 45 ms sooner": {"access.dedicated.round_trip": "455 ms"},
    }
    rows = []
    for name, changes in kinds.items():
        times = []
        for method in ("dedicated", "crdsa"):
            flow = scenario("dvbrcs2-transfer.toml", method, IN_STEP | changes).run(seed=1).summary["flows"][-1]
            lost = f" ({flow['lost_collision']} lost)" if flow["lost_collision"] else ""
            times.append(f"{10 + flow['first_packet_s']:.3f}, {10 + flow['completion_s']:.3f}{lost}")
        rows.append([name, *times])
    header = ["tried", "dedicated: first and last, s", "CRDSA-3: first and last, s"]
    lines = [
        "### What table 3 depends on: 150 users, starts in step, seed 1 (published: 10.825, 12.715; 10.375, 12.67)",
        "",
    ]
    return lines + table(header, rows)


def table_4(much: Effort) -> list[str]:
    """Web requests."""
    kinds: dict[str, dict[str, object]] = {
        "as published": {},
        "500 terminals": {"flows.0.count": 500},
        "100 terminals": {"flows.0.count": 100},
        "10 terminals": {"flows.0.count": 10},
        "rate 1,000": {"flows.0.traffic.rate": 1000, "flows.0.traffic.requests": 4000, "flows.0.count": 4000},
        "rate 2,000": {"flows.0.traffic.rate": 2000, "flows.0.traffic.requests": 8000, "flows.0.count": 8000},
        "rate 4,000": {"flows.0.traffic.rate": 4000, "flows.0.traffic.requests": 16000, "flows.0.count": 16000},
        "datagrams leave with their slot": {"access.whole_frames": False},
        "request for slots heeded 45 ms sooner": {"access.dedicated.round_trip": "455 ms"},
    }
    cases = list(itertools.product(kinds, ("dedicated", "crdsa", "musca")))

    def job(case: tuple[str, str], seed: int) -> Row:
        summary = scenario("dvbrcs2-web.toml", case[1], kinds[case[0]]).run(seed=seed).summary
        times = [flow["web"]["request_mean_s"] for flow in summary["flows"] if flow["web"]["requests"]]
        active_s = requests_last_s(kinds[case[0]])
        return {
            "min": min(times),
            "median": median(times),
            "p99": percentile(times, 99),
            "max": max(times),
            "plr_pct": 100 * (summary["access"]["plr"] or 0),
            "load": 100 * (summary["access"]["normalized_load"] or 0) * 20 / active_s,
        }

    ours = sweep(cases, much.seeds(5), job)
    theirs = {row["access"]: row for row in published("http.csv")}
    rows = []
    for (name, method), found in ours.items():
        row = theirs["dedicated" if method == "dedicated" else "random"] if name == "as published" else None
        printed = [row[key] for key in ("min_s", "median_s", "max_s")] if row else ["", "", ""]
        values = [("min", 3), ("median", 3), ("p99", 3), ("max", 3), ("plr_pct", 3), ("load", 1)]
        rows.append([name, NAMES[method], *printed, *(cell(found, key, digits) for key, digits in values)])
    header = ["", "method", "published min, s", "median", "max", "ours min, s", "median", "99 % within", "max"]
    header += ["packets lost, %", "packets per block while requests come"]
    return ["## Table 4: web requests, connection included; five seeds", "", *table(header, rows)]


def requests_last_s(changes: Mapping[str, object]) -> float:
    """In what part of the 20 s requests come."""
    rate, count = (changes.get(f"flows.0.traffic.{key}", usual) for key, usual in (("rate", 500), ("requests", 2000)))
    return float(str(count)) / float(str(rate))


def table_5(much: Effort) -> list[str]:
    """Retransmissions: by the equations from losses as measured, published, and counted."""
    theirs = published("retransmission_probability.csv")
    cases = list(itertools.product(("crdsa", "musca"), (200, 300, 400)))
    seeds = much.seeds(15)
    counted: dict[tuple[str, int], list[Mapping[str, Any]]] = {case: [] for case in cases}

    def job(case: tuple[str, int], seed: int) -> Row:
        method, users = case
        summary = scenario("dvbrcs2-transfer.toml", method, short(users, [THREE])).run(seed=seed).summary
        counted[case] += probes(summary, users)
        return sessions(summary, users)

    ours = sweep(cases, seeds, job)
    losses = {case: mean(rows, "loss") for case, rows in ours.items()}
    rows = []
    for row, method in itertools.product(theirs, ("crdsa", "musca")):
        users, times = int(row["users"]), int(row["retransmissions"])
        printed = float(row[method])
        implied = access.loss_from_retransmissions(printed, times, datagrams=3) if printed else 0.0
        formula = access.retransmission_probability(losses[method, users], times, datagrams=3)
        rows.append(
            [
                users,
                times,
                NAMES[method],
                row[method],
                f"{100 * implied:.2f}",
                f"{formula:.5f}",
                f"{100 * losses[method, users]:.2f}",
            ]
        )
    rows.sort(key=lambda row: (row[2], row[0], row[1]))
    header = ["users", "retransmissions", "method", "published P", "loss it implies, %"]
    header += ["P by equation 6 with our loss", "our loss, %"]
    lines = ["## Table 5: retransmissions of the most unlucky of three datagrams", "", *table(header, rows)]
    return lines + independence(counted, losses)


def independence(
    flows: Mapping[tuple[str, int], list[Mapping[str, Any]]], losses: Mapping[tuple[str, int], float]
) -> list[str]:
    """How often short flows lose datagrams, against the equations with the uploads' loss and with their own."""
    rows = []
    for (method, users), found in flows.items():
        lost = [flow["lost_collision"] for flow in found]
        own = sum(lost) / (sum(lost) + sum(flow["received_packets"] for flow in found))
        for k in range(1, 4):
            share = sum(n >= k for n in lost)
            low, high = interval(share, len(lost))

            def of(p: float, k: int = k) -> float:
                """At least k losses before three datagrams have arrived, if independent: negative binomial."""
                return 1 - sum(math.comb(i + 2, 2) * p**i * (1 - p) ** 3 for i in range(k))

            rows.append(
                [
                    NAMES[method],
                    users,
                    f"{100 * losses[method, users]:.2f}",
                    f"{100 * own:.2f}",
                    k,
                    f"{share / len(lost):.3f} ({max(low, 0):.3f} to {high:.3f})",
                    f"{of(losses[method, users]):.3f}",
                    f"{of(own):.3f}",
                    len(lost),
                ]
            )
    header = ["method", "users", "loss of uploads, %", "of the short flows", "losses, at least"]
    header += ["share of flows (95 %)", "if independent, uploads' loss", "with their own loss", "flows"]
    return ["### Losses of short flows of three datagrams: are they independent?", "", *table(header, rows)]


def figure_8(much: Effort) -> list[str]:
    """Sequence numbers of the transfer of 30 kB at the gateway, its window and round trip."""
    methods: dict[str, Method] = {
        "dedicated": "dedicated",
        "crdsa": "crdsa",
        "switch": switch(kind="sequence", after=3, ask_after=0),
    }
    curves = {}
    for name, method in methods.items():
        changes = {**IN_STEP, "record.series": True, "record.interval": "5 ms", "duration": "14 s"}
        if name != "dedicated":
            changes["flows.0.count"] = 150
        result = scenario("dvbrcs2-transfer.toml", method, changes).run(seed=1)
        curves[name] = result.series.filter(result.series["flow"] == 150)
    look = {**LOOK, "switch": (style.PURPLE, "D")}
    titles = {**NAMES, "switch": "switch after 3, CRDSA-3"}
    with panels(1, 3, 2.9) as (figure, axes):
        for name, series in curves.items():
            color, _ = look[name]
            times = series["time_s"].to_list()
            sequence = list(itertools.accumulate(bps * 0.005 / 8 / 1448 for bps in series["goodput_bps"].to_list()))
            axes[0].plot(times, sequence, color=color, drawstyle="steps-post", label=titles[name])
            for ax, column in ((axes[1], "cwnd_packets"), (axes[2], "srtt_s")):
                ax.plot(times, series[column].to_list(), color=color, label=titles[name])
        for ax, title in zip(axes, ("Datagrams at the gateway", "Window (datagrams)", "Smoothed RTT (s)"), strict=True):
            ax.set_title(title)
            ax.set_xlabel("Time (s)")
            ax.set_xlim(10, 13)
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, handlelength=2.8)
        much.save(figure, "dvb-rcs2-sequence.png")
    arrivals = {name: arrived(series) for name, series in curves.items()}
    rows = [
        [n, *(f"{times[n - 1]:.3f}" if n <= len(times) else "-" for times in arrivals.values())] for n in range(1, 22)
    ]
    header = ["datagram", *(titles[name] for name in curves)]
    return ["## Figure 8: datagrams of 30 kB at the gateway, s; 150 users in step, seed 1", "", *table(header, rows)]


def arrived(series: Any) -> list[float]:
    """When each datagram was complete and in order at the gateway, to 5 ms."""
    times: list[float] = []
    total = 0.0
    for time, bps in zip(series["time_s"], series["goodput_bps"], strict=True):
        total += bps * 0.005 / 8 / 1448
        while len(times) + 1 <= total + 0.3:  # the last one carries less than 1,448 B
            times.append(time)
    return times


LOADS = (25, 50, 100, 150, 175, 200, 225, 250, 300, 350, 400)


def figure_9(much: Effort) -> list[str]:
    """Completion of short flows against load: where collisions cancel the gain."""
    loads = much.some(LOADS)
    cases = list(itertools.product(NAMES, loads))
    found: dict[tuple[str, int, str], list[float | None]] = {}

    def job(case: tuple[str, int], seed: int) -> Row:
        method, users = case
        flows = probes(
            scenario("dvbrcs2-transfer.toml", method, short(users, (THREE, TWENTY))).run(seed=seed).summary, users
        )
        for i, size in enumerate((THREE, TWENTY)):
            times = [flow["completion_s"] for flow in flows[20 * i : 20 * i + 20]]
            found.setdefault((method, users, size), []).extend(times)
        return {}

    sweep(cases, much.seeds(8), job)
    measures: dict[str, Callable[[Sequence[float | None]], float]] = {
        "mean": lambda times: average([9.0 if t is None else t for t in times]),
        "median": median,
        "95 % within": lambda times: percentile(times, 95),
    }
    lines = []
    for size, title in ((THREE, "three datagrams"), (TWENTY, "20 datagrams")):
        rows = [
            [
                users,
                *(
                    f"{measure(found[method, users, size]):.2f}"
                    for measure, method in itertools.product(measures.values(), NAMES)
                ),
            ]
            for users in loads
        ]
        header = ["users", *(f"{NAMES[method]}, {name}" for name, method in itertools.product(measures, NAMES))]
        lines += [
            f"## Figure 9: completion of {title}, s; {20 * len(much.seeds(8))} flows each",
            "",
            *table(header, rows),
        ]
        rows = []
        for method in ("crdsa", "musca"):
            gains = {
                name: [measure(found["dedicated", n, size]) - measure(found[method, n, size]) for n in loads]
                for name, measure in measures.items()
            }
            rows.append([NAMES[method], *(_vanishes(loads, gain) for gain in gains.values())])
        lines += [f"Users at which the gain of {title} is gone, between the points by a straight line:", ""]
        lines += table(["method", *measures], rows)
    with panels(1, 2, 2.9) as (figure, axes):
        for ax, (size, title) in zip(axes, ((THREE, "Three datagrams"), (TWENTY, "20 datagrams")), strict=True):
            for method in NAMES:
                color, marker = LOOK[method]
                for (name, measure), dashes in zip(list(measures.items())[1:], ("-", "--"), strict=True):
                    values = [measure(found[method, n, size]) for n in loads]
                    ax.plot(
                        loads,
                        values,
                        color=color,
                        marker=marker,
                        ls=dashes,
                        markersize=3.5,
                        label=f"{NAMES[method]}, {name}",
                    )
            ax.set_title(title)
            ax.set_xlabel("Users with uploads")
            ax.set_ylabel("Completion (s)")
            ax.set_yscale("log")
            ax.set_ylim(0.8, 10)
            ax.set_yticks([1, 2, 3, 5, 10], ["1", "2", "3", "5", "10"])
            ax.minorticks_off()
            ax.margins(x=0.04)
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, handlelength=2.8)
        much.save(figure, "dvb-rcs2-short.png")
    return lines


def _vanishes(loads: Sequence[int], gains: Sequence[float]) -> str:
    for (a, before), (b, after) in itertools.pairwise(zip(loads, gains, strict=True)):
        if before > 0 >= after:
            return f"{a + (b - a) * before / (before - after):.0f}" if math.isfinite(after) else f"{a} to {b}"
    return "never" if gains[0] > 0 else "there is none"


SIZES = (1, 2, 3, 5, 8, 12, 20, 40, 80)


def figure_10(much: Effort) -> list[str]:
    """Completion by size, where dedicated access overtakes, and with a switch in between."""
    methods: dict[str, Method] = {
        "Dedicated": "dedicated",
        "CRDSA-3": "crdsa",
        "switch after 2": switch(kind="sequence", after=2),
        "switch after 3": switch(kind="sequence", after=3),
        "switch after 3, asks at once": switch(kind="sequence", after=3, ask_after=0),
        "switch after 10, asks at once": switch(kind="sequence", after=10, ask_after=0),
        "switch when granted": switch(kind="granted"),
    }
    sizes = much.some(SIZES)
    loads = (50, 150)
    found: dict[tuple[str, int, int], list[float | None]] = {}

    def job(case: tuple[str, int], seed: int) -> Row:
        name, users = case
        changes = short(users, [f"{n * 1448} B" for n in sizes])
        flows = probes(scenario("dvbrcs2-transfer.toml", methods[name], changes).run(seed=seed).summary, users)
        for i, n in enumerate(sizes):
            found.setdefault((name, users, n), []).extend(f["completion_s"] for f in flows[20 * i : 20 * i + 20])
        return {}

    sweep(list(itertools.product(methods, loads)), much.seeds(3), job)
    lines = []
    draw_gains({key: median(times) for key, times in found.items()}, loads, sizes, much)
    for users in loads:
        rows = [[name, *(f"{median(found[name, users, n]):.2f}" for n in sizes)] for name in methods]
        lines += [f"## Figure 10: median completion by size, s; {users} users with uploads", ""]
        lines += table(["method", *(f"{n} datagram{'s' if n > 1 else ''}" for n in sizes)], rows)
    return lines


def draw_gains(
    medians: Mapping[tuple[str, int, int], float], loads: Sequence[int], sizes: Sequence[int], much: Effort
) -> None:
    """How much earlier than with dedicated access a flow of so many datagrams is complete."""
    looks = {
        "CRDSA-3": (style.RED, "o"),
        "switch after 3": (style.ORANGE, "v"),
        "switch after 3, asks at once": (style.PURPLE, "D"),
        "switch when granted": (style.BLACK, "x"),
    }
    with panels(1, len(loads), 2.9) as (figure, axes):
        for ax, users in zip(axes, loads, strict=True):
            for name, (color, marker) in looks.items():
                gains = [medians["Dedicated", users, n] - medians[name, users, n] for n in sizes]
                ax.plot(sizes, gains, color=color, marker=marker, markersize=3.5, label=name)
            ax.axhline(0, color=style.BLUE, lw=1)
            ax.set_xscale("log")
            ax.set_xticks(sizes, map(str, sizes))
            ax.minorticks_off()
            ax.set_ylim(-1.5, 0.8)
            ax.set_xlabel("Datagrams of the flow")
            ax.set_title(f"{users} users with uploads")
            ax.margins(x=0.04)
        axes[0].set_ylabel("Earlier than dedicated (s)")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
        much.save(figure, "dvb-rcs2-switch.png")


def case_c(much: Effort) -> list[str]:
    """Transfers of 4.5 kB from t = 2 s: the longest of 250."""
    cases = [("crdsa", 200, 4.325), ("musca", 300, 4.145)]
    kinds: dict[str, dict[str, object]] = {f"starts {start}": changes for start, changes in STARTS.items()}
    per_run = 5
    lines_of: dict[tuple[str, str, int], list[float | None]] = {}

    def job(case: tuple[str, tuple[str, int, float]], seed: int) -> Row:
        name, (method, users, _) = case
        changes = {
            **kinds[name],
            "duration": "12 s",
            "flows.0.count": users,
            "flows.1.count": per_run,
            "flows.1.traffic": {"kind": "bulk", "start": "2 s", "size": THREE},
        }
        flows = probes(scenario("dvbrcs2-transfer.toml", method, changes).run(seed=seed).summary, users)
        lines_of.setdefault((name, method, users), []).extend(flow["completion_s"] for flow in flows)
        return {}

    sweep(list(itertools.product(kinds, cases)), much.seeds(50), job)
    rows = []
    for name, (method, users, theirs) in itertools.product(kinds, cases):
        times = lines_of[name, method, users]
        shown = [f"{percentile(times, percent):.3f}" for percent in (50, 90, 99, 100)]
        rows.append([NAMES[method], users, name, theirs, *shown, len(times)])
    header = [
        "method",
        "users",
        "uploads",
        "published maximum, s",
        "ours: median, s",
        "90 % within",
        "99 % within",
        "maximum",
        "flows",
    ]
    return ["## Case C: three datagrams from t = 2 s, time from the start", "", *table(header, rows)]
