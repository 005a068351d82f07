"""What the results of chapter 6 depend on that the thesis does not say: each changed alone."""

import itertools

from common import Row, cell, table
from many_users import IN_BYTES, IN_PACKETS, Effort, Point, panels, point, policies, sweep, tcp, voice
from matplotlib.axes import Axes

from transorbit.plots import style

VOICE, TCP = policies(IN_BYTES), policies(IN_PACKETS)
SEEDS = 3
INTERVALS = ("0 s", "1 ms", "5 ms", "10 ms", "20 ms", "50 ms", "100 ms")
AGES = ("0 s", "5 ms", "10 ms", "20 ms", "50 ms")
WINDOWS = ("100 ms", "300 ms", "1 s", "3 s", "10 s")
Estimate = tuple[str, str, int]


def milliseconds(text: str) -> float:
    """The number of a duration in ms; 0 s is 0."""
    return float(text.split()[0])


def estimates(much: Effort) -> dict[Estimate, list[Row]]:
    """PF by how often the channel is reported, how old reports are, and load."""
    pairs = [(interval, "0 s") for interval in much.some(INTERVALS)]
    pairs += [("10 ms", age) for age in much.some(AGES) if age != "0 s"]
    pairs += [("1 ms", age) for age in much.some(AGES) if age != "0 s"]
    cases = [(*pair, users) for pair in pairs for users in (75, 150)]

    def job(case: Estimate, seed: int) -> Row:
        changes = {"last_hop.estimate.interval": case[0], "last_hop.estimate.age": case[1]}
        return voice(case[2], VOICE["PF"], changes, much, seed)

    return sweep(cases, much.seeds(SEEDS), job)


def of_estimates(ours: dict[Estimate, list[Row]], much: Effort) -> list[str]:
    """Tables and picture of `estimates`, and of downloads."""
    keys = (
        ("useful_mbps", 2),
        ("retx0", 1),
        ("bits_per_packet", 0),
        ("loss_pct", 1),
        ("delay_ms", 0),
        ("jitter_ms", 1),
    )
    header = ["interval", "age", "users", "useful, Mbit/s", "decoded at first, %", "bits per packet", "lost, %"]
    header += ["delay, ms", "jitter, ms"]
    rows = [[*case, *(cell(rows, key, digits) for key, digits in keys)] for case, rows in ours.items()]
    lines = ["# Causes", "", "## PF by estimate of the channel, voice", "", *table(header, rows)]
    cases = list(itertools.product(much.some(INTERVALS), (False, True)))

    def job(case: tuple[str, bool], seed: int) -> Row:
        changes = {"last_hop.estimate.interval": case[0], "last_hop.reordering.enabled": case[1]}
        return tcp(80, TCP["PF"], changes, much, seed)

    downloads = sweep(cases, much.seeds(SEEDS), job)
    rows = [
        [i, r, cell(found, "mean", 3), cell(found, "total", 1), cell(found, "retx0", 1)]
        for (i, r), found in downloads.items()
    ]
    header = ["interval", "reordering", "goodput of a user, Mbit/s", "of all", "decoded at first, %"]
    draw_estimates(ours, much)
    return [*lines, "## PF by estimate of the channel, 80 downloads, CUBIC", "", *table(header, rows)]


def draw_estimates(ours: dict[Estimate, list[Row]], much: Effort) -> None:
    """Useful load of 150 calls by interval, and by age."""
    intervals: list[Point] = [
        point(max(milliseconds(i), 0.5), rows, "useful_mbps")
        for (i, age, n), rows in ours.items()
        if age == "0 s" and n == 150
    ]
    with panels(1, 2, 2.7) as (figure, axes):
        _curve(axes[0], intervals, style.RED, "PF, reports of age 0")
        axes[0].set_xscale("log")
        ticks = [0.5, 1, 5, 10, 20, 50, 100]
        axes[0].set_xticks(ticks, ["0", *(f"{tick:g}" for tick in ticks[1:])])
        axes[0].minorticks_off()
        axes[0].set_xlabel("Interval of reports (ms)")
        axes[0].set_ylabel("Useful load of 150 calls (Mbit/s)")
        for interval, color in (("1 ms", style.PURPLE), ("10 ms", style.RED)):
            ages = [
                point(milliseconds(a), rows, "useful_mbps")
                for (i, a, n), rows in ours.items()
                if i == interval and n == 150
            ]
            _curve(axes[1], ages, color, f"PF, reports every {interval}")
        axes[1].set_xlabel("Age of reports (ms)")
        for ax in axes:
            ax.axhline(6, color=style.GREY, linewidth=0.8, linestyle=":", label="the thesis' PF")
            ax.axhline(4.15, color=style.BLUE, linewidth=0.8, linestyle="--", label="RR, DT_H: no estimate")
            ax.legend()
            ax.margins(x=0.04)
        much.save(figure, "chapter-6-estimate.png")


def _curve(ax: Axes, points: list[Point], color: str, label: str) -> None:
    x, y, sd = zip(*sorted(points), strict=True)
    ax.errorbar(x, y, yerr=sd, color=color, marker="o", markersize=3.5, elinewidth=0.8, label=label)


def windows(much: Effort) -> list[str]:
    """PF by the window of its average."""
    cases = list(itertools.product(much.some(WINDOWS), (75, 90, 150)))

    def job(case: tuple[str, int], seed: int) -> Row:
        return voice(case[1], {**VOICE["PF"], "window": case[0]}, {}, much, seed)

    ours = sweep(cases, much.seeds(SEEDS), job)
    keys = (("useful_mbps", 2), ("loss_pct", 1), ("delay_ms", 0), ("p95_ms", 0), ("jitter_ms", 1), ("mos", 2))
    rows = [[*case, *(cell(rows, key, digits) for key, digits in keys)] for case, rows in ours.items()]
    header = ["window", "users", "useful, Mbit/s", "lost, %", "delay, ms", "95 % below, ms", "jitter, ms", "MOS"]
    return ["## PF by its window, voice", "", *table(header, rows)]


def snrs(much: Effort) -> list[str]:
    """The reference SNR, which the thesis does not say in this chapter."""
    names = ("DT_S", "RR", "PF")
    cases = list(itertools.product((7, 10, 13), names, (75, 150)))
    calls = sweep(
        cases,
        much.seeds(SEEDS),
        lambda case, seed: voice(case[2], VOICE[case[1]], {"channel.reference_snr": f"{case[0]} dB"}, much, seed),
    )
    keys = (("useful_mbps", 2), ("loss_pct", 1), ("retx0", 1), ("bits_per_packet", 0), ("drop", 2), ("mos", 2))
    rows = [[*case, *(cell(rows, key, digits) for key, digits in keys)] for case, rows in calls.items()]
    header = ["SNR, dB", "policy", "users", "useful, Mbit/s", "lost, %", "decoded at first, %", "bits per packet"]
    lines = ["## Reference SNR, voice", "", *table([*header, "not decoded, %", "MOS"], rows)]
    wide = list(itertools.product((7, 10, 13), names, (20, 80), (False, True)))

    def job(case: tuple[int, str, int, bool], seed: int) -> Row:
        changes = {"channel.reference_snr": f"{case[0]} dB", "last_hop.reordering.enabled": case[3]}
        return tcp(case[2], TCP[case[1]], changes, much, seed)

    downloads = sweep(wide, much.seeds(SEEDS), job)
    keys = (("mean", 3), ("sd", 3), ("total", 1), ("delay_ms", 0), ("again_pct", 2), ("bits_per_packet", 0))
    rows = [[*case, *(cell(rows, key, digits) for key, digits in keys)] for case, rows in downloads.items()]
    header = ["SNR, dB", "policy", "users", "reordering", "goodput of a user, Mbit/s", "sd", "of all"]
    header += ["one-way delay, ms", "sent again, %", "bits per packet"]
    return [*lines, "## Reference SNR, downloads, CUBIC", "", *table(header, rows)]


SCOREBOARDS: dict[str, dict[str, object]] = {
    "as it is": {},
    "dupthresh = 4": {"flows.0.transport.dupthresh": 4},
    "fack = false": {"flows.0.transport.fack": False},
    "fack = false, dupthresh = 6": {"flows.0.transport.fack": False, "flows.0.transport.dupthresh": 6},
    "13 dB": {"channel.reference_snr": "13 dB"},
}


def inflection(much: Effort) -> list[str]:
    """Where RR overtakes the others without reordering, by what TCP takes for a loss."""
    names, users = ("DT_H", "RR"), (10, 20, 30, 40, 50, 60)
    cases = list(itertools.product(SCOREBOARDS, names, much.some(users)))

    def job(case: tuple[str, str, int], seed: int) -> Row:
        changes = {"last_hop.reordering.enabled": False, **SCOREBOARDS[case[0]]}
        return tcp(case[2], TCP[case[1]], changes, much, seed)

    ours = sweep(cases, much.seeds(SEEDS), job)
    rows = [
        [what, name, *(cell(ours[what, name, n], "mean", 3) for n in much.some(users))]
        for what, name in itertools.product(SCOREBOARDS, names)
    ]
    header = ["changed", "policy", *(f"{n} users" for n in much.some(users))]
    return ["## Goodput of a user, Mbit/s, CUBIC, without reordering, by rule for losses", "", *table(header, rows)]


def buffers(much: Effort) -> list[str]:
    """Larger buffers than either reading of equation 6.5."""
    sizes = {"1": IN_BYTES, "5.3": IN_PACKETS, "10": "10 bdp/sqrt(n)", "20": "20 bdp/sqrt(n)"}
    cases = list(itertools.product(sizes, ("DT_H", "RR", "PF"), (False, True), (40, 80)))

    def job(case: tuple[str, str, bool, int], seed: int) -> Row:
        changes = {"last_hop.reordering.enabled": case[2]}
        return tcp(case[3], policies(sizes[case[0]])[case[1]], changes, much, seed)

    ours = sweep(cases, much.seeds(SEEDS), job)
    keys = (("mean", 3), ("sd", 3), ("delay_ms", 0), ("again_pct", 2), ("rto_pct", 3))
    rows = [[*case, *(cell(found, key, digits) for key, digits in keys)] for case, found in ours.items()]
    header = ["bdp/sqrt(n)", "policy", "reordering", "users", "goodput of a user, Mbit/s", "sd", "one-way delay, ms"]
    return ["## Buffer, CUBIC", "", *table([*header, "sent again, %", "RTO, %"], rows)]


LISTENERS: dict[str, dict[str, object]] = {
    "as it is": {},
    "play-out 120 ms": {"flows.0.traffic.playout": {"kind": "fixed", "delay": "120 ms"}},
    "play-out 200 ms": {"flows.0.traffic.playout": {"kind": "fixed", "delay": "200 ms"}},
    "adaptive play-out": {"flows.0.traffic.playout": {"kind": "adaptive"}},
    "advantage 0": {"flows.0.traffic.advantage": 0},
    "no concealment": {"flows.0.traffic.codec": "g711-no-plc"},
    "no concealment, adaptive play-out": {
        "flows.0.traffic.codec": "g711-no-plc",
        "flows.0.traffic.playout": {"kind": "adaptive"},
    },
    "without reordering": {"last_hop.reordering.enabled": False},
}


def listeners(much: Effort) -> list[str]:
    """MOS by play-out buffer, advantage, codec and reordering."""
    names = ("DT_S", "PF", "CoDeS 100 ms")
    users = (50, 75, 100)
    cases = list(itertools.product(much.some(tuple(LISTENERS)), names, users))
    ours = sweep(
        cases, much.seeds(SEEDS), lambda case, seed: voice(case[2], VOICE[case[1]], LISTENERS[case[0]], much, seed)
    )
    lines = []
    for title, key, digits in (("MOS", "mos", 2), ("late packets, %", "late_pct", 1)):
        rows = [
            [what, *(cell(ours[what, name, n], key, digits) for n in users for name in names)]
            for what in much.some(tuple(LISTENERS))
        ]
        header = ["changed", *(f"{n} calls: {name}" for n in users for name in names)]
        lines += [f"## Listener: {title}", "", *table(header, rows)]
    return lines
