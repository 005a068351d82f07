"""Section 5: uploads without end. Figures 3 to 7, and what the shape of the losses comes from."""

import itertools
import math
import time
from collections.abc import Callable

from common import (
    HERE,
    IN_STEP,
    LOOK,
    NAMES,
    PAYLOAD,
    ROOT,
    SPREAD,
    Effort,
    Method,
    Row,
    cell,
    mean,
    packets_in,
    panels,
    point,
    scenario,
    sessions,
    sweep,
    table,
)

from transorbit import access
from transorbit.plots import style

USERS = (50, 100, 150, 200, 250, 300, 350, 400, 477, 600)
STARTS = {"in step": IN_STEP, "within 1 s": SPREAD}
SEEDS = 5
WHOLE = ROOT / "results" / "kuhn-2015"
"""Where the loss tables of `whole_datagrams` are written."""
Case = tuple[str, str, int]
Ours = dict[Case, list[Row]]


def uploads(method: Method, users: int, changes: dict[str, object], seed: int) -> Row:
    """One run of case A alone."""
    wanted = {"flows.0.count": users, "flows.1.traffic.start": "19.9 s", **changes}
    return sessions(scenario("dvbrcs2-transfer.toml", method, wanted).run(seed=seed).summary, users)


def without_losses(method: str) -> Method:
    """The method with a receiver that decodes everything."""
    if method == "dedicated":
        return method
    return {"kind": "table", "plr": str(HERE / "no_loss.csv"), "payload_bits": PAYLOAD[method]}


def by_load(much: Effort) -> Ours:
    """By (start, method, users): the sweep of figures 4 to 7; efficiency is against the same without losses."""
    cases = list(itertools.product(STARTS, NAMES, much.some(USERS)))
    seeds = much.seeds(SEEDS)
    began = time.perf_counter()

    def job(case: Case, seed: int) -> Row:
        start, method, users = case
        row = uploads(method, users, STARTS[start], seed)
        # What a session could have sent does not depend on the others where they do not share slots.
        most = row if method == "dedicated" else uploads(without_losses(method), min(users, 50), STARTS[start], seed)
        return row | {"efficiency_pct": 100 * row["arrived"] / most["arrived"]}

    ours = sweep(cases, seeds, job)
    runs = sum(2 - (case[1] == "dedicated") for case in cases) * len(seeds)
    print(f"figures 4 to 7: {runs} runs of 20 s in {time.perf_counter() - began:.0f} s", flush=True)
    return ours


COLUMNS = [
    ("arrived at the gateway (figure 4)", "arrived", 1),
    ("of them useful and in order", "useful", 1),
    ("lost (figure 5)", "lost", 2),
    ("lost of those sent, %", "loss_pct", 2),
    ("efficiency, % (figure 6)", "efficiency_pct", 1),
    ("time-outs", "rto", 2),
    ("RTT, s", "rtt_s", 2),
    ("packets lost of random access, %", "plr_pct", 3),
    ("packets per block, mean", "load", 1),
]


def tables(much: Effort, ours: Ours) -> list[str]:
    """Figures 3 to 7 as tables."""
    write_whole_datagrams(much)
    lines = ["# Section 5: uploads without end (case A)", "", *figure_3(much)]
    for start, method in itertools.product(STARTS, NAMES):
        rows = []
        for (_, _, users), found in ((case, rows) for case, rows in ours.items() if case[:2] == (start, method)):
            found = [row | {"loss_pct": 100 * row["loss"], "plr_pct": 100 * row["plr"]} for row in found]
            rows.append([users, *(cell(found, key, digits) for _, key, digits in COLUMNS)])
        lines += [f"## Figures 4 to 6: {NAMES[method]}, uploads begin {start}; datagrams per session in 20 s", ""]
        lines += table(["users", *(title for title, *_ in COLUMNS)], rows)
    return lines + figure_7(ours) + causes(much)


POINTS = (20, 30, 40, 50, 60, 65, 70, 80, 90, 95, 97, 100, 110, 120, 130, 140, 155)


def figure_3(much: Effort) -> list[str]:
    """Packet loss against the packets of a block."""
    kinds: list[Method] = ["crdsa", *({"kind": "musca", "margin": margin} for margin in (0.0, 0.05, 0.1, 0.15))]
    titles = ["CRDSA-3", *(f"MuSCA-3, margin {margin}" for margin in ("0", "0.05 (default)", "0.1", "0.15"))]
    bursts = 100_000 if much.quick else 3_000_000
    curves = access.plr(methods=kinds, packets=POINTS, bursts=bursts, seed=1)
    rows = [curves.rows[i : i + len(POINTS)] for i in range(0, len(kinds) * len(POINTS), len(POINTS))]
    lines = [f"## Figure 3: packet loss against packets in a block of 100 slots at 5 dB; {bursts:,} bursts a point", ""]
    lines += table(
        ["packets", *titles], [[n, *(f"{curve[i]['plr']:.2g}" for curve in rows)] for i, n in enumerate(POINTS)]
    )
    with panels(1, 1, 2.8) as (figure, axes):
        ax = axes[0]
        for curve, title, (color, dashes) in zip(
            rows,
            titles,
            ((style.RED, "-"), (style.SKY, ":"), (style.GREEN, "-"), (style.PURPLE, "--"), (style.BLACK, ":")),
            strict=True,
        ):
            known = [(row["packets_per_block"], row["plr"]) for row in curve if row["plr"] > 0]
            ax.semilogy(*zip(*known, strict=True), color=color, ls=dashes, marker="o", markersize=2.5, label=title)
        for users in (100, 200, 300, 400, 477):
            ax.axvline(users * 13 / 40, color=style.GREY, lw=0.6, ls="--")
            ax.text(users * 13 / 40, 1.3, f"{users}", fontsize=7, ha="center", color=style.GREY)
        ax.set_xlabel("Packets in a block of 100 slots; dashed: users who send 13 packets in each frame")
        ax.set_ylabel("Packet loss rate")
        ax.margins(x=0.03)
        figure.legend(*ax.get_legend_handles_labels(), loc="outside right center")
        much.save(figure, "dvb-rcs2-plr.png")
    return lines


def crossing(xs: list[int], ours: list[float], other: list[float]) -> str:
    """Where the second curve is first above the first, between two points on a line; "none" if it never is."""
    ahead = [b - a for a, b in zip(ours, other, strict=True)]
    for i in range(len(xs) - 1):
        if ahead[i] < 0 <= ahead[i + 1]:
            return f"{xs[i] + (xs[i + 1] - xs[i]) * -ahead[i] / (ahead[i + 1] - ahead[i]):.0f}"
    return "at once" if ahead[0] >= 0 else "none"


def figure_7(ours: Ours) -> list[str]:
    """From how many users on random access would be ahead without losses: by the equations and by simulation."""
    users = sorted({case[2] for case in ours})
    rows = []
    for method in ("crdsa", "musca"):
        dedicated = {start: [mean(ours[start, "dedicated", n], "arrived") for n in users] for start in STARTS}
        row: list[object] = [NAMES[method], access.break_even_users(random_bits=PAYLOAD[method])]
        for start in STARTS:
            without = [mean(ours[start, method, n], "arrived") for n in users]
            # Efficiency is the share of what arrives without losses.
            most = [
                100 * a / mean(ours[start, method, n], "efficiency_pct") if a else math.nan
                for a, n in zip(without, users, strict=True)
            ]
            best = max(value for value in most if not math.isnan(value))
            row += [crossing(users, dedicated[start], [best] * len(users)), crossing(users, dedicated[start], without)]
        rows.append([*row, f"{access.break_even_users(random_bits=PAYLOAD[method]) * 13 / 40:.0f}"])
    header = ["method", "N' by equation 2 (published: 477)"]
    for start in STARTS:
        header += [f"simulated without losses, starts {start}", f"with losses, starts {start}"]
    lines = ["## Figure 7: users from whom on random access carries more than dedicated", ""]
    return lines + table([*header, "packets per block at N'"], rows)


def picture(ours: Ours, much: Effort) -> None:
    """Figures 4, 5 and 6."""
    users = sorted({case[2] for case in ours})
    shown = (
        ("arrived", "Datagrams per session"),
        ("lost", "Datagrams lost per session"),
        ("efficiency_pct", "Efficiency (%)"),
    )
    with panels(1, 3, 2.9) as (figure, axes):
        for ax, (key, label) in zip(axes, shown, strict=True):
            for method, (start, dashes) in itertools.product(NAMES, zip(STARTS, ("--", "-"), strict=True)):
                color, marker = LOOK[method]
                x, y, sd = zip(*(point(n, ours[start, method, n], key) for n in users), strict=True)
                ax.errorbar(
                    x,
                    y,
                    yerr=sd,
                    color=color,
                    marker=marker,
                    ls=dashes,
                    markersize=3.5,
                    elinewidth=0.8,
                    label=f"{NAMES[method]}, starts {start}",
                )
            ax.set_xlabel("Users")
            ax.set_title(label)
            ax.margins(x=0.04)
        axes[0].set_yscale("symlog", linthresh=10)
        axes[0].set_ylim(0, 2000)
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, handlelength=2.8)
        much.save(figure, "dvb-rcs2-uploads.png")


def tried() -> dict[str, tuple[Callable[[str], Method], dict[str, object]]]:
    """What may change the losses, each on its own: the method made of its name, and other changes."""

    def same(method: str) -> Method:
        return method

    def with_margin(margin: float) -> Callable[[str], Method]:
        return lambda method: {"kind": "musca", "margin": margin} if method == "musca" else method

    return {
        "as it is, starts in step": (same, IN_STEP),
        "starts within 45 ms": (same, {"flows.0.start_spread": "45 ms"}),
        "starts within 200 ms": (same, {"flows.0.start_spread": "200 ms"}),
        "starts within 1 s": (same, SPREAD),
        "starts within 5 s": (same, {"flows.0.start_spread": "5 s"}),
        **{
            f"{what}, starts within 1 s": (make, {**SPREAD, **changes})
            for what, make, changes in (
                ("MuSCA's margin 0", with_margin(0.0), {}),
                ("MuSCA's margin 0.1", with_margin(0.1), {}),
                ("MuSCA's margin 0.15", with_margin(0.15), {}),
                ("no packing", same, {"access.encapsulation.packing": False}),
                ("profile classic", same, {"flows.0.transport.profile": "classic"}),
                ("profile linux", same, {"flows.0.transport.profile": "linux"}),
                ("NewReno", same, {"flows.0.transport.congestion": "newreno"}),
                ("receive window 20 datagrams", same, {"flows.0.transport.receive_buffer": "28960 B"}),
                ("receive window 64 KiB", same, {"flows.0.transport.receive_buffer": "65536 B"}),
                ("8 packets in a frame at most", same, {"access.max_rate": "107 kbit/s"}),
                ("whole datagrams lost or not", whole_datagrams, {}),
            )
        },
    }


def whole_datagrams(method: str) -> Method:
    """A datagram meets figure 3's loss once, not with each of its packets: the packets' losses that come to that."""
    if method == "dedicated":
        return method
    return {"kind": "table", "plr": str(WHOLE / f"{method}.csv"), "payload_bits": PAYLOAD[method]}


def write_whole_datagrams(much: Effort) -> None:
    """The loss tables of `whole_datagrams`, from our figure 3."""
    packets = tuple(range(5, 201, 5))
    for method in ("crdsa", "musca"):
        rows = access.plr(methods=[method], packets=packets, bursts=100_000 if much.quick else 1_000_000, seed=1).rows
        WHOLE.mkdir(parents=True, exist_ok=True)
        points = [f"{row['packets_per_block']},{1 - (1 - row['plr']) ** (1 / packets_in(method)):.3g}" for row in rows]
        (WHOLE / f"{method}.csv").write_text("\n".join(["packets_per_block,plr", *points, ""]))


TRIED = (
    ("crdsa", 100),
    ("crdsa", 200),
    ("crdsa", 300),
    ("crdsa", 400),
    ("musca", 300),
    ("musca", 350),
    ("musca", 400),
    ("musca", 477),
)


def causes(much: Effort) -> list[str]:
    """Losses and datagrams of a session with each of what may explain a difference."""
    kinds = tried()
    cases = list(itertools.product(kinds, TRIED))

    def job(case: tuple[str, tuple[str, int]], seed: int) -> Row:
        name, (method, users) = case
        make, changes = kinds[name]
        return uploads(make(method), users, changes, seed)

    ours = sweep(cases, much.seeds(3), job)
    columns = [f"{NAMES[method]}, {users}" for method, users in TRIED]
    lines = []
    for title, key, factor, digits in (
        ("datagrams lost, % of those sent", "loss", 100, 2),
        ("datagrams that arrived, per session", "arrived", 1, 0),
    ):
        rows = []
        for name in kinds:
            found = [[{key: factor * row[key]} for row in ours[name, tried]] for tried in TRIED]
            rows.append([name, *(cell(rows, key, digits) for rows in found)])
        lines += [f"## What may explain the losses: {title}", "", *table(["tried", *columns], rows)]
    return lines
