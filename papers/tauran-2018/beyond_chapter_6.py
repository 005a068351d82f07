"""Beyond chapter 6 of the thesis, its future work: other schedulers, mixed traffic, short flows, queue managers.

Every cell is the mean over seeds 1 to 3 of runs of 100 s, and their standard deviation. Writes
docs/validation/beyond-chapter-6-tables.md and the pictures docs/images/beyond-chapter-6-*.png; what it means is in
docs/validation/beyond-chapter-6.md. Two processors take some three minutes; `--quick` takes less than one.
"""

import itertools
import math
from collections.abc import Mapping, Sequence

import beyond_pictures as pictures
from many_users import IN_BYTES, IN_PACKETS, Policy, of_calls, of_downloads, of_link, voice
from pages import ROOT, Effort, Row, average, cell, effort, sweep, table

import transorbit as to

SEEDS = 3
ADAPTIVE: dict[str, object] = {"flows.0.traffic.playout": {"kind": "adaptive"}}
CALLS = (50, 75, 90, 100, 125, 150)


def schedulers(buffer: str) -> dict[str, Policy]:
    """Every scheduler, with `buffer` over all queues."""
    names = (
        "droptail",
        "round-robin",
        "drr",
        "fq-codel",
        "pf",
        "codes",
        "max-rate",
        "m-lwdf",
        "exp-pf",
        "ubmt",
        "bbs",
        "bps",
    )
    return {name: {"kind": name, "buffer": buffer} for name in names}


def calls(much: Effort) -> list[str]:
    """Every scheduler with calls only, by load."""
    kinds = schedulers(IN_BYTES)
    kinds |= {f"{name}, limit 100 ms": {**kinds[name], "limit": "100 ms"} for name in ("m-lwdf", "exp-pf", "ubmt")}
    loads = much.some(CALLS)
    cases = list(itertools.product(kinds, loads))
    ours = sweep(cases, much.seeds(SEEDS), lambda case, seed: voice(case[1], kinds[case[0]], ADAPTIVE, much, seed))
    columns = [
        ("useful, Mbit/s", "useful_mbps", 2),
        ("lost, %", "loss_pct", 1),
        ("late, %", "late_pct", 1),
        ("delay, ms", "delay_ms", 0),
        ("95 % below, ms", "p95_ms", 0),
        ("jitter, ms", "jitter_ms", 1),
        ("MOS", "mos", 2),
        ("worst call's MOS", "mos_min", 2),
        ("calls with MOS of 3 or more, %", "good_pct", 0),
    ]
    lines = []
    for users in loads:
        rows = [[name, *(cell(ours[name, users], key, digits) for _, key, digits in columns)] for name in kinds]
        lines += [f"## {users} calls, adaptive play-out", "", *table(["scheduler", *(c[0] for c in columns)], rows)]
    pictures.calls(ours, much)
    return lines


MIXTURE = """
[[flows]]
count = 20
start_spread = "1 s"
transport = "udp"

[flows.traffic]
kind = "voice"
rate = "64 kbit/s"
packet = "210 B"
playout = { kind = "adaptive" }
activity = { kind = "pareto", burst = "500 ms", idle = "50 ms" }

[[flows]]
count = 20
start_spread = "1 s"
transport = { kind = "tcp", congestion = "cubic", profile = "linux" }
traffic = "bulk"

[[flows]]
count = 10
start_spread = "1 s"
transport = { kind = "tcp", congestion = "cubic", profile = "linux" }
traffic = { kind = "web", reading = "5 s" }
"""

SHORT = """
[[flows]]
count = 40
transport = { kind = "tcp", congestion = "cubic", profile = "linux" }

[flows.traffic]
kind = "short-flows"
interval = "1 s"
stop = "90 s"
size = { kind = "lognormal", median = "10 kB", sigma = 1.5, max = "10 MB" }
"""


DOWNLOADS = """
[[flows]]
count = 40
start_spread = "1 s"
transport = { kind = "tcp", congestion = "cubic", profile = "linux" }
traffic = "bulk"
"""


def last_hop_with(flows: str, much: Effort, changes: Mapping[str, object]) -> to.Scenario:
    """The path, channel and last hop of scenarios/tcp-users.toml with other flows."""
    head = (ROOT / "scenarios" / "tcp-users.toml").read_text().partition("[[flows]]")[0]
    fixed = {"record.series": False, "duration": much.duration}
    return to.Scenario.from_toml(head + flows).replace({**fixed, **changes})


def classes(first: Policy, rest: Policy) -> dict[str, object]:
    """Calls in a class that goes first, the others behind."""
    return {
        "last_hop.classes": [{"name": "voice", "scheduler": first}],
        "flows.0.class": "voice",
        "last_hop.scheduler": rest,
    }


def mixtures() -> dict[str, dict[str, object]]:
    """What the mixture is sent with."""
    kinds = schedulers(IN_PACKETS)
    one: dict[str, dict[str, object]] = {
        name: {"last_hop.scheduler": policy} for name, policy in kinds.items() if name not in ("bbs", "bps")
    }
    small: Policy = {"kind": "droptail", "buffer": IN_BYTES}
    one["droptail, a fifth of the buffer"] = {"last_hop.scheduler": small}
    for name in ("round-robin", "pf"):
        large: Policy = {**kinds[name], "buffer": "21 bdp/sqrt(n)"}
        one[f"{name}, four times the buffer"] = {"last_hop.scheduler": large}
    codel = {"kind": "codel", "target": "15 ms", "interval": "250 ms"}
    one["droptail with codel"] = {"last_hop.scheduler": kinds["droptail"], "last_hop.queue": codel}
    one["round-robin with codel"] = {"last_hop.scheduler": kinds["round-robin"], "last_hop.queue": codel}
    one["pf with codel"] = {"last_hop.scheduler": kinds["pf"], "last_hop.queue": codel}
    two = {
        f"voice first by {first}, rest by {rest}": classes(kinds[first], kinds[rest])
        for first, rest in (
            ("droptail", "droptail"),
            ("codes", "droptail"),
            ("droptail", "pf"),
            ("codes", "pf"),
            ("m-lwdf", "pf"),
        )
    }
    return {**one, **two}


OWN, SHARED = "each has a terminal", "terminals have several"


def mixed(much: Effort) -> list[str]:
    """20 calls, 20 downloads, 10 readers of web pages: each at a terminal of his own, and at twenty for all."""
    kinds = mixtures()
    shared = {"flows.1.first_user": 0, "flows.2.first_user": 0}

    def job(case: tuple[str, str], seed: int) -> Row:
        changes = {**kinds[case[1]], **(shared if case[0] == SHARED else {})}
        summary = last_hop_with(MIXTURE, much, changes).run(seed=seed).summary
        flows = summary["flows"]
        speech, bulk, web = flows[:20], flows[20:40], flows[40:]
        return {
            **of_calls(speech, summary["simulated_s"]),
            **{f"bulk_{key}": value for key, value in of_downloads(bulk).items()},
            "page_s": average(flow["web"]["load_mean_s"] for flow in web),
            "page_p95_s": average(flow["web"]["load_p95_s"] for flow in web),
            **of_link(summary),
        }

    ours = sweep(list(itertools.product((OWN, SHARED), kinds)), much.seeds(SEEDS), job)
    columns = [
        ("MOS", "mos", 2),
        ("worst call's MOS", "mos_min", 2),
        ("lost, %", "loss_pct", 1),
        ("late, %", "late_pct", 1),
        ("95 % of delays below, ms", "p95_ms", 0),
        ("jitter, ms", "jitter_ms", 1),
        ("goodput of a download, Mbit/s", "bulk_mean", 3),
        ("of all", "bulk_total", 1),
        ("worst", "bulk_min", 3),
        ("page, mean, s", "page_s", 2),
        ("95 % below, s", "page_p95_s", 2),
        ("bits per packet", "bits_per_packet", 0),
    ]
    lines = []
    for where in (OWN, SHARED):
        rows = [[name, *(cell(ours[where, name], key, digits) for _, key, digits in columns)] for name in kinds]
        lines += [f"## Mixed: 20 calls, 20 downloads, 10 readers; {where}", ""]
        lines += table(["sent by", *(c[0] for c in columns)], rows)
    pictures.mixed(ours, (OWN, SHARED), much)
    return lines


SIZES = {"10 kB": (0, 10e3), "100 kB": (10e3, 100e3), "larger": (100e3, math.inf)}
CAPACITY_BPS = 22e6
"""What one queue for all carries of goodput: see the table of queue managers."""
LOADS = (30, 60, 90)


def mean_bytes(median: float, sigma: float, top: float) -> float:
    """Mean of a lognormal law of which draws beyond `top` are drawn again."""

    def below(x: float) -> float:
        return 0.5 * (1 + math.erf(x / math.sqrt(2)))

    limit = math.log(top / median) / sigma
    return median * math.exp(sigma**2 / 2) * below(limit - sigma) / below(limit)


def short(much: Effort) -> list[str]:
    """Transfers that come at random to 40 users, by offered load."""
    kinds = {name: policy for name, policy in schedulers(IN_PACKETS).items() if name not in ("bbs", "bps")}
    cases = list(itertools.product(kinds, LOADS))
    size = mean_bytes(10e3, 1.5, 10e6)
    stop_s = 8 if much.quick else 90

    def job(case: tuple[str, int], seed: int) -> Row:
        interval_s = 40 * 8 * size / (CAPACITY_BPS * case[1] / 100)
        changes = {
            "last_hop.scheduler": kinds[case[0]],
            "flows.0.traffic.interval": f"{1e3 * interval_s:.0f} ms",
            "flows.0.traffic.stop": f"{stop_s} s",
        }
        summary = last_hop_with(SHORT, much, changes).run(seed=seed).summary
        return {**completion(summary["flows"]), **of_link(summary)}

    ours = sweep(cases, much.seeds(SEEDS), job)
    header = ["scheduler"]
    header += [
        f"{what}, s: to {size}" if size != "larger" else f"{what}, s: larger"
        for what in ("mean", "95 % below")
        for size in SIZES
    ]
    header += ["finished, %", "link used, %", "bits per packet"]
    lines = []
    for load in LOADS:
        rows = []
        for name in kinds:
            found = ours[name, load]
            cells = [cell(found, f"{what} {size}", 2) for what in ("mean", "p95") for size in SIZES]
            used = [{"used": 2 * row["coded_mbps"]} for row in found]
            rows.append(
                [name, *cells, cell(found, "finished_pct", 1), cell(used, "used", 0), cell(found, "bits_per_packet", 0)]
            )
        lines += [f"## Short flows at {load} % of 22 Mbit/s: time to completion", "", *table(header, rows)]
    pictures.short(ours, LOADS, much)
    return lines


def completion(flows: Sequence[Mapping[str, float]]) -> Row:
    """Mean and 95th percentile of the times to completion by size, and how many of the flows finished."""
    done = [flow for flow in flows if flow["completion_s"] is not None]
    row = {"finished_pct": 100 * len(done) / len(flows)}
    for name, (low, high) in SIZES.items():
        times = sorted(flow["completion_s"] for flow in done if low < flow["delivered_bytes"] <= high)
        row[f"mean {name}"] = average(times)
        row[f"p95 {name}"] = times[math.ceil(0.95 * len(times)) - 1] if times else math.nan
    return row


def managers(scheduler: str = "droptail") -> dict[str, dict[str, object]]:
    """Queue managers for a round trip of 200 ms without queueing; RED's thresholds are for one queue or forty."""
    low, high = ("50", "150") if scheduler == "droptail" else ("5", "15")
    return {
        "droptail": {"kind": "droptail"},
        "red": {"kind": "red", "min": f"{low} packets", "max": f"{high} packets"},
        "codel": {"kind": "codel", "target": "15 ms", "interval": "250 ms"},
        "codel, defaults": {"kind": "codel"},
        "pie": {"kind": "pie"},
        "time-limit 100 ms": {"kind": "time-limit", "limit": "100 ms"},
    }


def queues(much: Effort) -> list[str]:
    """What a manager does to 40 downloads, in one queue and in each user's."""
    kinds = schedulers("1 bdp")
    cases = list(itertools.product(("droptail", "round-robin", "pf"), managers(), (False, True)))

    def job(case: tuple[str, str, bool], seed: int) -> Row:
        changes = {
            "last_hop.scheduler": kinds[case[0]],
            "last_hop.queue": managers(case[0])[case[1]],
            "flows.0.transport.ecn": case[2],
        }
        summary = last_hop_with(DOWNLOADS, much, changes).run(seed=seed).summary
        return {**of_downloads(summary["flows"]), **of_link(summary), "jain": summary["users"]["jain"]}

    wanted = [case for case in cases if not case[2] or case[1] not in ("droptail", "time-limit 100 ms")]
    ours = sweep(wanted, much.seeds(SEEDS), job)
    columns = [
        ("goodput of all, Mbit/s", "total", 1),
        ("worst", "min", 3),
        ("Jain", "jain", 3),
        ("one-way delay, ms", "delay_ms", 0),
        ("retransmitted, %", "again_pct", 2),
        ("RTO, %", "rto_pct", 3),
    ]
    rows = [
        [scheduler, manager, "on" if ecn else "off", *(cell(found, key, digits) for _, key, digits in columns)]
        for (scheduler, manager, ecn), found in ours.items()
    ]
    header = ["scheduler", "queue manager", "ECN", *(c[0] for c in columns)]
    pictures.queues(ours, much)
    return ["## Queue managers: 40 downloads, CUBIC, profile linux, buffer 1 bdp in all", "", *table(header, rows)]


def main() -> None:
    """Run everything, write the tables, draw."""
    much = effort(__doc__)
    lines = ["# Voice", "", *calls(much), "# Others", "", *mixed(much), *short(much), *queues(much)]
    much.write("beyond-chapter-6-tables.md", lines, "tauran-2018/beyond_chapter_6.py")


if __name__ == "__main__":
    main()
