"""What RACK-TLP and BBR change over the papers' LEO path, the question that the thesis left open.

Run with `make validation`. Every cell is the mean of five runs of 600 s with seeds 1 to 5, and their standard
deviation. Writes docs/validation/rack-and-bbr-tables.md and two pictures; what it means is in
docs/validation/rack-and-bbr.md.
"""

import itertools

from common import BUFFER, ROOT, VARIANTS, Row, cell, leo, mean, row, sweep, table, write

from transorbit.plots import style

SEEDS = range(1, 6)
STACKS = ("ns2-linux", "classic", "linux")
SNRS = (7, 10, 13)
COLUMNS = [
    ("goodput, kbit/s", "goodput_kbps", 0),
    ("DUPACK, %", "dupack_pct", 2),
    ("RTO, %", "rto_pct", 3),
    ("sent again, %", "retransmitted_pct", 2),
    ("spurious, %", "spurious_pct", 2),
    ("round trip, ms", "rtt_ms", 0),
    ("95 % of one-way delays below, ms", "delay_p95_ms", 0),
    ("lost to a full queue, %", "overflow_pct", 2),
]
# What is switched: on top of classic, and off in linux.
ADDED: dict[str, dict[str, object]] = {
    "classic": {},
    "+ prr": {"prr": True},
    "+ frto": {"frto": True},
    "+ tlp": {"tlp": True},
    "+ eifel": {"eifel": True},
    "+ dsack": {"dsack": True},
    '+ dupthresh = "adaptive"': {"dupthresh": "adaptive"},
    "+ rack": {"rack": True},
    "+ rack, dsack": {"rack": True, "dsack": True},
    "+ rack, dsack, eifel": {"rack": True, "dsack": True, "eifel": True},
}
REMOVED: dict[str, dict[str, object]] = {
    "linux": {},
    "- prr": {"prr": False},
    "- frto": {"frto": False},
    "- tlp": {"tlp": False},
    "- eifel": {"eifel": False},
    "- dsack": {"dsack": False},
    "- eifel, dsack": {"eifel": False, "dsack": False},
    "- rack": {"rack": False},
    "- rack, dupthresh = 3": {"rack": False, "dupthresh": 3},
    "- rack, dupthresh = 3, eifel, dsack": {"rack": False, "dupthresh": 3, "eifel": False, "dsack": False},
}
SWITCHES = [("classic", name) for name in ADDED] + [("linux", name) for name in REMOVED]


def one(stack: str, reordering: bool, variant: str, snr: int, options: dict[str, object], seed: int) -> Row:
    """One run with segments of 1,000 bytes and every segment acknowledged, whatever the stack."""
    transport = {"profile": stack, "mss": "1000 B", **options}
    changes = {f"flows.0.transport.{key}": value for key, value in transport.items()}
    result = leo(changes, reordering=reordering, variant=variant, snr=snr).run(seed=seed)
    flow, hop = result.summary["flows"][0], result.summary["last_hop"]
    return {
        **row(result),
        "retransmitted_pct": 100 * flow["retransmitted_packets"] / flow["sent_packets"],
        "overflow_pct": 100 * hop["dropped_overflow"] / hop["offered_packets"],
    }


Stacks = dict[tuple[str, bool, str, int], list[Row]]


def stacks() -> Stacks:
    """Every stack with every controller."""
    cases = itertools.product(STACKS, (False, True), VARIANTS, SNRS)
    return sweep(cases, SEEDS, lambda case, seed: one(*case, {}, seed))


def by_stack(ours: Stacks) -> list[str]:
    """A table for each SNR and use of the buffer."""
    lines = []
    for snr, reordering in itertools.product(SNRS, (False, True)):
        lines += [f"## {snr} dB, {BUFFER[reordering]}", ""]
        rows = [
            [VARIANTS[v], s, *(cell(ours[s, reordering, v, snr], key, digits) for _, key, digits in COLUMNS)]
            for v, s in itertools.product(VARIANTS, STACKS)
        ]
        lines += table(["controller", "profile", *(name for name, *_ in COLUMNS)], rows)
    return lines


def by_switch() -> list[str]:
    """Every mechanism for itself, at 10 dB."""
    cases = itertools.product(("newreno", "cubic"), (False, True), SWITCHES)

    def run(case: tuple[str, bool, tuple[str, str]], seed: int) -> Row:
        variant, reordering, (stack, name) = case
        return one(stack, reordering, variant, 10, (ADDED if stack == "classic" else REMOVED)[name], seed)

    ours = sweep(cases, SEEDS, run)
    lines = []
    for variant, reordering in itertools.product(("newreno", "cubic"), (False, True)):
        lines += [f"## Switches, {VARIANTS[variant]} at 10 dB, {BUFFER[reordering]}", ""]
        rows = [
            [name, *(cell(ours[variant, reordering, (stack, name)], key, digits) for _, key, digits in COLUMNS)]
            for stack, name in SWITCHES
        ]
        lines += table(["switches", *(name for name, *_ in COLUMNS)], rows)
    return lines


def draw(ours: Stacks, key: str, label: str, name: str, *, log: bool) -> None:
    """A metric at 10 dB by controller and profile, without the buffer above and with it below."""
    title = f"{label} at 10 dB"
    with style.figure(2, title=title, until_s=1, height=4.6) as (fig, axes):
        for ax, reordering in zip(axes, (False, True), strict=True):
            for i, (stack, color) in enumerate(zip(STACKS, style.CYCLE, strict=False)):
                values = [mean(ours[stack, reordering, variant, 10], key) for variant in VARIANTS]
                ax.bar([x + 0.27 * (i - 1) for x in range(len(VARIANTS))], values, 0.25, color=color, label=stack)
            ax.set_ylabel(BUFFER[reordering])
            ax.grid(visible=False, axis="x")
            if log:
                ax.set_yscale("log")
        axes[-1].set_xticks(range(len(VARIANTS)), list(VARIANTS.values()))
        style.above(axes[0])
    axes[-1].set_xlabel("")
    axes[-1].set_xlim(-0.6, len(VARIANTS) - 0.4)
    style.save(fig, ROOT / "docs" / "images" / name)


def main() -> None:
    """Run everything, write the tables, draw."""
    ours = stacks()
    write("rack-and-bbr-tables.md", by_stack(ours) + by_switch())
    draw(ours, "goodput_kbps", "Goodput, kbit/s,", "rack-and-bbr-goodput.png", log=True)
    draw(ours, "spurious_pct", "Spurious retransmissions, % of packets,", "rack-and-bbr-spurious.png", log=False)


if __name__ == "__main__":
    main()
