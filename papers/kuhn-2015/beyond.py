"""Beyond the paper: which method or switch wins where, capacity categories, and acknowledgments of what users get.

Writes docs/validation/dvb-rcs2-tables.md and the picture docs/images/dvb-rcs2-map.png; what it means is in
docs/validation/dvb-rcs2.md.
"""

import itertools
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from common import UP, Method, median, percentile, scenario, short, switch
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch
from pages import ROOT, Effort, Row, average, cell, effort, mean, panels, sweep, table

import transorbit as to
from transorbit.plots import style


def main() -> None:
    """Run everything, write the tables, draw."""
    much = effort(__doc__, "two seeds and few loads")
    lines = [
        "# Beyond the paper",
        "",
        *the_map(much),
        *carriers(much),
        *rare(much),
        *categories(much),
        *forward(much),
        *pages(much),
    ]
    lines = [line.replace("| inf ", "| unfinished ") for line in lines]
    much.write("dvb-rcs2-tables.md", lines, "kuhn-2015/beyond.py")


BY_LOAD: dict[str, object] = {"access.division": {"kind": "by-load"}}
Case = TypeVar("Case")
Kinds = dict[str, tuple[Method, dict[str, object]]]


def kinds() -> Kinds:
    """What can be chosen, the simplest first; with two kinds of carriers, half of them are for random access."""
    return {
        "dedicated": ("dedicated", {}),
        "CRDSA-3": ("crdsa", {}),
        "MuSCA-3": ("musca", {}),
        "sequence": (switch(kind="sequence"), {}),
        "sequence, asks at once": (switch(kind="sequence", ask_after=0), {}),
        "granted": (switch(kind="granted"), {}),
        "queue": (switch(kind="queue"), {}),
        "load": (switch(kind="load"), {}),
        "sequence, carriers by load": (switch(kind="sequence"), BY_LOAD),
        "granted, carriers by load": (switch(kind="granted"), BY_LOAD),
        "granted, MuSCA-3": (switch("musca", kind="granted"), {}),
    }


LOOKS = dict(
    zip(
        kinds(),
        (
            style.BLUE,
            style.RED,
            style.GREEN,
            "#f7d08a",
            style.ORANGE,
            style.PURPLE,
            style.BLACK,
            style.SKY,
            "#c9a227",
            "#8a4f7d",
            "#7fc8a9",
        ),
        strict=True,
    )
)
USERS = (50, 100, 200, 300, 400)
UPLOADS = (0, 5, 10, 25, 50, 75)
"""Of the users, in percent, who upload without end."""


def mixture(users: int, uploads_pct: int, interval_s: int = 20) -> dict[str, object]:
    """Uploads, and transfers that come at random to the other users: 4 kB in the median, seldom two in a row."""
    bulk = round(users * uploads_pct / 100)
    size = {"kind": "lognormal", "median": "4 kB", "sigma": 1.0, "max": "100 kB"}
    law = {"kind": "short-flows", "start": "2 s", "stop": "15 s", "interval": f"{interval_s} s", "size": size}
    flows: list[dict[str, object]] = [{**UP, "count": users - bulk, "traffic": law}]
    if bulk:
        flows.append({**UP, "count": bulk, "start_spread": "1 s", "traffic": "bulk"})
    return {"flows": flows}


Mixed = dict[str, float]


def mixed(
    cases: Iterable[Case], job: Callable[[Case], tuple[Method, dict[str, object]]], seeds: Iterable[int]
) -> dict[Case, Mixed]:
    """Runs of mixtures: short flows of all seeds together, means over the seeds of all else."""
    times: dict[tuple[Case, int], list[float | None]] = {}

    def one(case: Case, seed: int) -> Row:
        method, changes = job(case)
        summary = scenario("dvbrcs2-transfer.toml", method, changes).run(seed=seed).summary
        flows, access = summary["flows"], summary["access"]
        times[case, seed] = [flow["completion_s"] for flow in flows if flow["traffic"] == "short-flows"]
        return {
            "bulk_mbps": sum(flow["goodput_bps"] for flow in flows if flow["traffic"] == "bulk") / 1e6,
            "plr_pct": 100 * (access["plr"] or 0),
            "load": 100 * (access["normalized_load"] or 0),
            "used_pct": 100 * access["dedicated_slots_used"] / (access["dedicated_slots_granted"] or math.inf),
            "carriers": access["random_carriers"],
        }

    found = {}
    seeds = list(seeds)
    for case, rows in sweep(cases, seeds, one).items():
        all_times = list(itertools.chain(*(times[case, seed] for seed in seeds)))
        found[case] = {key: mean(rows, key) for key in rows[0]} | {
            "median": median(all_times),
            # What did not come to an end counts as the whole run.
            "mean": statistics.mean(20.0 if time is None else time for time in all_times),
            "p95": percentile(all_times, 95),
            "flows": len(all_times),
            "unfinished_pct": 100 * sum(time is None for time in all_times) / len(all_times),
        }
    return found


At = tuple[str, int, int]
Map = Mapping[At, Mixed]


def best(names: Iterable[str], values: Mapping[str, float], *, most: bool) -> str:
    """The best; of those within 2 % of it, the first."""
    top = (max if most else min)(values[name] for name in names)
    good = [name for name in names if (values[name] >= 0.98 * top if most else values[name] <= 1.02 * top)]
    return good[0] if good else next(iter(names))


def the_map(much: Effort) -> list[str]:
    """Which method wins where, and by how much."""
    every = kinds()
    users, uploads = much.some(USERS), much.some(UPLOADS)
    cases = list(itertools.product(every, users, uploads))

    def job(case: At) -> tuple[Method, dict[str, object]]:
        method, changes = every[case[0]]
        return method, {**mixture(*case[1:]), **changes}

    ours = mixed(cases, job, much.seeds(4))
    wins: dict[str, dict[tuple[int, int], str]] = {"median": {}, "mean": {}, "bulk_mbps": {}, "both": {}}
    for at in itertools.product(users, uploads):
        value = {key: {name: ours[name, *at][key] for name in every} for key in ("median", "mean", "bulk_mbps")}
        for key in ("median", "mean"):
            wins[key][at] = best(every, value[key], most=False)
        wins["bulk_mbps"][at] = best(every, value["bulk_mbps"], most=True) if at[1] else ""
        carried = max(value["bulk_mbps"].values())
        enough = [name for name in every if value["bulk_mbps"][name] >= 0.95 * carried]
        wins["both"][at] = best(enough, value["mean"], most=False)
    lines = ["## Map: which method wins", "", *map_tables(ours, wins, users, uploads)]
    draw_map(ours, wins, users, uploads, much)
    return lines


TITLES = {
    "median": "Median completion of short flows, s",
    "mean": "Mean completion of short flows, s",
    "bulk_mbps": "Goodput of all uploads, Mbit/s",
    "both": "Mean completion of short flows, s, among those whose uploads carry 95 % of the most",
}


def map_tables(
    ours: Map,
    wins: Mapping[str, Mapping[tuple[int, int], str]],
    users: Sequence[int],
    uploads: Sequence[int],
) -> list[str]:
    """Winners, and all values."""
    lines = []
    for key, title in TITLES.items():
        of = "mean" if key == "both" else key
        digits = 1 if key == "bulk_mbps" else 2
        rows = []
        for n in users:
            won = [(wins[key][n, share], share) for share in uploads]
            rows.append(
                [n, *(f"{name}: {ours[name, n, share][of]:.{digits}f}" if name else "-" for name, share in won)]
            )
        lines += [f"### {title}: the best by users and share of them who upload", ""]
        lines += table(["users", *(f"{share} % upload" for share in uploads)], rows)
    columns = [
        ("short flows, median, s", "median", 2),
        ("mean, s", "mean", 2),
        ("95 % within, s", "p95", 2),
        ("unfinished, %", "unfinished_pct", 1),
        ("uploads, all, Mbit/s", "bulk_mbps", 2),
        ("packets lost, %", "plr_pct", 2),
        ("packets per block", "load", 1),
        ("random carriers at the end", "carriers", 0),
        ("granted slots used, %", "used_pct", 0),
        ("short flows", "flows", 0),
    ]
    rows = [[*case, *(f"{found[key]:.{digits}f}" for _, key, digits in columns)] for case, found in ours.items()]
    rows.sort(key=lambda row: (row[1], row[2]))
    lines += ["### Every point of the map", ""]
    return lines + table(["method", "users", "% upload", *(title for title, *_ in columns)], rows)


def draw_map(
    ours: Map,
    wins: Mapping[str, Mapping[tuple[int, int], str]],
    users: Sequence[int],
    uploads: Sequence[int],
    much: Effort,
) -> None:
    """A field for each number of users and share of uploads, coloured by the winner, with its value."""
    names = list(LOOKS)
    shown = {
        "median": "Short flows: median (s)",
        "mean": "Short flows: mean (s)",
        "bulk_mbps": "Uploads: all (Mbit/s)",
        "both": "Short flows: mean (s),\nif uploads carry 95 % of the most",
    }
    with panels(2, 2, 5.6) as (figure, axes):
        for ax, (key, title) in zip(axes, shown.items(), strict=True):
            of = "mean" if key == "both" else key
            field = [
                [names.index(wins[key][n, share]) if wins[key][n, share] else math.nan for n in users]
                for share in uploads
            ]
            ax.imshow(
                field,
                cmap=ListedColormap(list(LOOKS.values())),
                vmin=-0.5,
                vmax=len(names) - 0.5,
                aspect="auto",
                origin="lower",
            )
            for (x, n), (y, share) in itertools.product(enumerate(users), enumerate(uploads)):
                if name := wins[key][n, share]:
                    value = ours[name, n, share][of]
                    dark = name in ("dedicated", "CRDSA-3", "MuSCA-3", "queue", "granted, carriers by load")
                    ax.text(
                        x, y, f"{value:.3g}", ha="center", va="center", fontsize=7, color="white" if dark else "black"
                    )
            ax.set_xticks(range(len(users)), map(str, users))
            ax.set_yticks(range(len(uploads)), [f"{share} %" for share in uploads])
            ax.set_title(title, fontsize=9)
            ax.grid(visible=False)
            ax.set_xlabel("Users")
            ax.set_ylabel("Users who upload")
        there = {name for won in wins.values() for name in won.values() if name}
        keys = [Patch(color=color, label=name) for name, color in LOOKS.items() if name in there]
        figure.legend(handles=keys, loc="outside upper center", ncols=3)
        much.save(figure, "dvb-rcs2-map.png")


def carriers(much: Effort) -> list[str]:
    """How many carriers random access should have."""
    shares = much.some((5, 10, 20, 30, 50, 70, 90))
    divisions: dict[str, dict[str, object]] = {f"{n}": {"access.frame.random_carriers": n} for n in shares}
    divisions["by load, from 50"] = BY_LOAD
    policies = {"sequence": switch(kind="sequence"), "granted": switch(kind="granted")}
    cases = list(itertools.product(policies, divisions, much.some((100, 200, 400)), (5, 25)))

    def job(case: tuple[str, str, int, int]) -> tuple[Method, dict[str, object]]:
        policy, division, users, share = case
        return policies[policy], {**mixture(users, share), **divisions[division]}

    ours = mixed(cases, job, much.seeds(3))
    columns = [
        ("median, s", "median", 2),
        ("mean, s", "mean", 2),
        ("95 % within, s", "p95", 2),
        ("uploads, all, Mbit/s", "bulk_mbps", 2),
    ]
    columns += [("packets lost, %", "plr_pct", 2), ("random carriers at the end", "carriers", 0)]
    rows = [[*case, *(f"{found[key]:.{digits}f}" for _, key, digits in columns)] for case, found in ours.items()]
    rows.sort(key=lambda row: (row[0], row[2], row[3]))
    header = ["policy", "random carriers", "users", "% upload", *(title for title, *_ in columns)]
    return ["## Carriers for random access", "", *table(header, rows)]


INTERVALS = (2, 5, 10, 20)


def rare(much: Effort) -> list[str]:
    """How much depends on whether a terminal is still connected from its last flow."""
    every = kinds()
    users = much.some((50, 200, 400))
    cases = list(itertools.product(every, users, INTERVALS))

    def job(case: tuple[str, int, int]) -> tuple[Method, dict[str, object]]:
        method, changes = every[case[0]]
        return method, {**mixture(case[1], 10, case[2]), **changes}

    ours = mixed(cases, job, much.seeds(3))
    lines = []
    for n in users:
        rows = []
        for name in every:
            found = [ours[name, n, interval] for interval in INTERVALS]
            rows.append([name, *(f"{value['median']:.2f}, {value['mean']:.2f}" for value in found)])
        lines += [f"## Short flows by how often they come to a user: median, mean, s; {n} users, 10 % upload", ""]
        lines += table(["method", *(f"every {interval} s" for interval in INTERVALS)], rows)
    return lines


def categories(much: Effort) -> list[str]:
    """Capacity categories beside each other."""
    capacities: dict[str, object] = {
        "CRA, equal share": "cra",
        "CRA of 64 kbit/s": {"kind": "cra", "rate": "64 kbit/s"},
        "RBDC": "rbdc",
        "VBDC": "vbdc",
        "AVBDC": "avbdc",
        "RBDC over CRA of 64 kbit/s": {"kind": "rbdc", "cra": "64 kbit/s"},
        "VBDC over CRA of 64 kbit/s": {"kind": "vbdc", "cra": "64 kbit/s"},
    }
    cases = list(itertools.product(capacities, (False, True), much.some((25, 150))))

    def job(case: tuple[str, bool, int], seed: int) -> Row:
        name, fca, users = case
        wanted = {"access.dedicated.capacity": capacities[name], "access.dedicated.fca": fca}
        changes = {**short(users, ("30 kB",)), **wanted}
        summary = scenario("dvbrcs2-transfer.toml", "dedicated", changes).run(seed=seed).summary
        flows, access = summary["flows"], summary["access"]
        web = scenario("dvbrcs2-web.toml", "dedicated", wanted).run(seed=seed).summary
        requests = [flow["web"]["request_mean_s"] for flow in web["flows"] if flow["web"]["requests"]]
        return {
            "first": average(flow["first_packet_s"] for flow in flows[users:]),
            "done": average(flow["completion_s"] for flow in flows[users:]),
            "bulk_mbps": sum(flow["goodput_bps"] for flow in flows[:users]) / 1e6,
            "rtt_s": average(flow["rtt_mean_s"] for flow in flows[:users]),
            "used_pct": 100 * access["dedicated_slots_used"] / access["dedicated_slots_granted"],
            "request_s": median(requests),
            "web_used_pct": 100 * web["access"]["dedicated_slots_used"] / web["access"]["dedicated_slots_granted"],
        }

    ours = sweep(cases, much.seeds(3), job)
    columns = [
        ("30 kB: first packet, s", "first", 2),
        ("30 kB: all, s", "done", 2),
        ("uploads, all, Mbit/s", "bulk_mbps", 1),
        ("RTT of uploads, s", "rtt_s", 2),
        ("granted slots used, %", "used_pct", 0),
        ("web request, median, s", "request_s", 3),
        ("web: granted slots used, %", "web_used_pct", 1),
    ]
    rows = [
        [name, "yes" if fca else "no", users, *(cell(found, key, digits) for _, key, digits in columns)]
        for (name, fca, users), found in ours.items()
    ]
    rows.sort(key=lambda row: row[2])
    header = ["capacity", "FCA", "users who upload", *(title for title, *_ in columns)]
    return ["## Capacity categories of dedicated access", "", *table(header, rows)]


PATHS: dict[str, dict[str, object]] = {
    "GEO": {"path": {"kind": "fixed", "delay": "125 ms"}, "last_hop.delay": "125 ms"},
    "LEO": {
        "path": {
            "kind": "constellation",
            "constellation": "leo-66",
            "source": {"latitude": "43.6 deg", "longitude": "1.4 deg"},
            "user": {"latitude": "-36.9 deg", "longitude": "174.8 deg"},
        },
        "last_hop.delay": "10 ms",
    },
}
RETURNS: dict[str, Method | None] = {
    "only delay": None,
    "dedicated, CRA": "dedicated",
    "dedicated, RBDC": "dedicated",
    "CRDSA-3": "crdsa",
    "MuSCA-3": "musca",
    "sequence": switch(kind="sequence"),
    "granted": switch(kind="granted"),
}


def both_ways(path: str, back: str, flows: Sequence[Mapping[str, object]], uploads: int) -> to.Scenario:
    """Users who get data over `path` on 20 Mbit/s, with a return link, and others who upload."""
    entries = [dict(flow) for flow in flows]
    if uploads:
        entries.append({**UP, "count": uploads, "start_spread": "1 s", "traffic": "bulk"})
    changes: dict[str, object] = {
        **PATHS[path],
        "flows": entries,
        "duration": "60 s",
        "last_hop.rate": "20 Mbit/s",
        "last_hop.scheduler": {"kind": "droptail", "buffer": "1 bdp"},
    }
    if back == "dedicated, RBDC":
        changes["access.dedicated.capacity"] = "rbdc"
    method = RETURNS[back]
    return scenario("dvbrcs2-transfer.toml", method or "dedicated", changes)


def down(congestion: str, traffic: object, count: int) -> dict[str, object]:
    """What so many users get."""
    transport = {"kind": "tcp", "congestion": congestion, "profile": "linux", "mss": "1448 B"}
    return {"count": count, "start_spread": "1 s", "transport": transport, "traffic": traffic}


def without_return(it: to.Scenario) -> to.Scenario:
    """The same without a return link: what users send is only delayed."""
    head, _, tail = it.to_toml().partition("[access]")
    kept = [part for part in ("[" + tail).split("\n[") if not part.startswith(("access", "[access"))]
    return to.Scenario.from_toml(head + "\n[".join(["", *kept[1:]]), base_dir=ROOT / "scenarios")


def forward(much: Effort) -> list[str]:
    """Downloads whose acknowledgments come over the return link."""
    cases = list(itertools.product(PATHS, ("cubic", "bbr"), RETURNS, (0, 100)))
    cases = [case for case in cases if not (case[3] and RETURNS[case[2]] is None)]

    def job(case: tuple[str, str, str, int], seed: int) -> Row:
        path, congestion, back, uploads = case
        it = both_ways(path, back, [down(congestion, "bulk", 5)], uploads)
        if RETURNS[back] is None:
            it = without_return(it)
        summary = it.run(seed=seed).summary
        flows = summary["flows"][:5]
        access: Mapping[str, Any] = summary.get("access") or {}
        return {
            "mbps": sum(flow["goodput_bps"] for flow in flows) / 1e6,
            "largest": max(flow["goodput_bps"] for flow in flows) / 1e6,
            "rtt_s": average(flow["rtt_mean_s"] for flow in flows),
            "again_pct": 100 * sum(f["retransmitted_packets"] for f in flows) / sum(f["sent_packets"] for f in flows),
            "rto": sum(flow["rto_events"] for flow in flows),
            "plr_pct": 100 * (access.get("plr") or 0),
            "up_mbps": sum(flow["goodput_bps"] for flow in summary["flows"][5:]) / 1e6,
        }

    ours = sweep(cases, much.seeds(3), job)
    columns = [
        ("downloads, all, Mbit/s", "mbps", 2),
        ("the largest", "largest", 2),
        ("RTT, s", "rtt_s", 2),
        ("retransmitted, %", "again_pct", 2),
        ("time-outs", "rto", 1),
        ("packets of random access lost, %", "plr_pct", 3),
        ("uploads, all, Mbit/s", "up_mbps", 1),
    ]
    rows = [[*case, *(cell(found, key, digits) for _, key, digits in columns)] for case, found in ours.items()]
    header = ["path", "congestion", "return link", "uploads beside", *(title for title, *_ in columns)]
    title = "## Forward transfers: five downloads on 20 Mbit/s for 60 s, acknowledged over the return link"
    return [title, "", *table(header, rows)]


def pages(much: Effort) -> list[str]:
    """Web pages over one and six connections."""
    back = [name for name in RETURNS if RETURNS[name] is not None]
    cases = list(itertools.product(("GEO", "LEO"), (1, 6), back, (0, 100)))

    def job(case: tuple[str, int, str, int], seed: int) -> Row:
        path, connections, name, uploads = case
        web = {"kind": "web", "connections": connections, "requests": "sequential", "reading": "10 s"}
        summary = both_ways(path, name, [down("cubic", web, 40)], uploads).run(seed=seed).summary
        loads = [flow["web"] for flow in summary["flows"] if flow.get("web") and flow["web"]["pages"]]
        return {
            "mean": average(load["load_mean_s"] for load in loads),
            "median": median([load["load_median_s"] for load in loads]),
            "p95": average(load["load_p95_s"] for load in loads),
            "pages": sum(load["pages"] for load in loads),
            "plr_pct": 100 * (summary["access"]["plr"] or 0),
        }

    ours = sweep(cases, much.seeds(3), job)
    columns = [
        ("page, mean, s", "mean", 2),
        ("median of users' medians", "median", 2),
        ("users' 95 %, mean", "p95", 2),
        ("pages", "pages", 0),
        ("packets of random access lost, %", "plr_pct", 3),
    ]
    rows = [[*case, *(cell(found, key, digits) for _, key, digits in columns)] for case, found in ours.items()]
    header = ["path", "connections", "return link", "uploads beside", *(title for title, *_ in columns)]
    return ["## Web pages: 40 readers on 20 Mbit/s for 60 s, one object after the other", "", *table(header, rows)]


if __name__ == "__main__":
    main()
