"""Chapter 5 of the thesis beside ours: delayed acknowledgments over LEO, with and without the reordering buffer.

Run with `make validation`. Every cell is the mean of ten runs of 600 s with seeds 1 to 10 (of five in figure 5.11 and
where something else is changed too), and their standard deviation; a change is in percent, with its standard error.
Writes docs/validation/chapter-5-tables.md; what it means is in docs/validation/chapter-5.md.
"""

import itertools
import statistics
import tempfile

import polars as pl
from common import BUFFER, SNRS, TRIED, VARIANTS, Row, cell, change, leo, mean, published, row, sweep, table, write
from waiting import waits

import transorbit as to

SEEDS = range(1, 11)
CAPTURED = TRIED_SEEDS = range(1, 6)
TCPS = ("newreno", "cubic", "hybla")
TIMERS = (5, 10, 20, 30, 40, 60, 80, 100, 150, 200)
LIMITS_MS = (1, 10, 18, 30)
SERIES = {"record.series": True}
DELACK = {False: False, True: "40 ms"}


def metrics(result: to.Result) -> Row:
    """The papers' metrics, and the timer averaged over the run (figure 5.12)."""
    timer = result.series.select(
        rto=1e3 * pl.col("rto_s").mean(),
        srtt=1e3 * pl.col("srtt_s").mean(),
        margin=1e3 * (pl.col("rto_s") - pl.col("srtt_s")).mean(),
    ).row(0, named=True)
    return {**row(result), "rto_ms": timer["rto"], "srtt_ms": timer["srtt"], "margin_ms": timer["margin"]}


Case = tuple[bool, str, int, bool]


def on_and_off() -> dict[Case, list[Row]]:
    """Figures 5.2 to 5.6, 5.9, 5.10, 5.12, 5.13 and table 5.1 by (reordering, variant, SNR, DelAck)."""

    def run(case: Case, seed: int) -> Row:
        reordering, variant, snr, delayed = case
        scenario = leo(SERIES, reordering=reordering, variant=variant, snr=snr, delayed_ack=DELACK[delayed])
        return metrics(scenario.run(seed=seed))

    return sweep(itertools.product((False, True), TCPS, SNRS, (False, True)), SEEDS, run)


def goodput(ours: dict[Case, list[Row]]) -> list[str]:
    """Figures 5.2 to 5.6, 5.9, 5.10 and 5.13."""
    lines = []
    header = ["SNR, dB", "goodput, kbit/s: off", "on", "change, %"]
    header += [f"{name}, %: {state}" for name in ("DUPACK", "RTO", "spurious") for state in ("off", "on")]
    for reordering, variant in itertools.product((False, True), TCPS):
        rows = []
        for snr in SNRS:
            off, on = (ours[reordering, variant, snr, delayed] for delayed in (False, True))
            cells = [snr, cell(off, "goodput_kbps", 0), cell(on, "goodput_kbps", 0), change(off, on, "goodput_kbps")]
            for key, digits in (("dupack_pct", 2), ("rto_pct", 3), ("spurious_pct", 2)):
                cells += [cell(off, key, digits), cell(on, key, digits)]
            rows.append(cells)
        lines += [f"## {VARIANTS[variant]}, {BUFFER[reordering]}", "", *table(header, rows)]
    return lines


def retransmitted(ours: dict[Case, list[Row]]) -> list[str]:
    """Table 5.1."""
    header = [
        "SNR, dB",
        *(f"{VARIANTS[variant]}: {who}" for variant in TCPS for who in ("thesis", "ours", "ours, off")),
    ]
    rows = []
    for line in published("delack_retransmissions.csv"):
        cells = [line["snr_db"]]
        for variant in TCPS:
            on, off = (ours[False, variant, int(line["snr_db"]), delayed] for delayed in (True, False))
            cells += [line[variant], f"**{cell(on, 'retransmitted', 0)}**", cell(off, "retransmitted", 0)]
        rows.append(cells)
    return ["## Table 5.1: packets sent again, DelAck on, without reordering", "", *table(header, rows)]


def timers(ours: dict[Case, list[Row]]) -> list[str]:
    """Figure 5.12."""
    lines = []
    header = [
        "SNR, dB",
        *(
            f"{name}: {state}"
            for name in ("RTO, ms", "SRTT, ms", "RTO - SRTT, ms")
            for state in ("off", "on", "change, %")
        ),
    ]
    for reordering, variant in itertools.product((True, False), ("newreno", "cubic")):
        rows = []
        for snr in SNRS:
            off, on = (ours[reordering, variant, snr, delayed] for delayed in (False, True))
            cells: list[object] = [snr]
            for key in ("rto_ms", "srtt_ms", "margin_ms"):
                cells += [cell(off, key, 0), cell(on, key, 0), change(off, on, key)]
            rows.append(cells)
        lines += [f"## Figure 5.12: the timer, averaged over the run, {VARIANTS[variant]}, {BUFFER[reordering]}", ""]
        lines += table(header, rows)
    return lines


def sweep_of_timers() -> list[str]:
    """Figure 5.8."""

    def run(case: tuple[bool, str, int, int], seed: int) -> Row:
        reordering, variant, snr, timer = case
        scenario = leo(reordering=reordering, variant=variant, snr=snr, delayed_ack=f"{timer} ms")
        return row(scenario.run(seed=seed))

    kinds = [(False, "newreno"), (False, "cubic"), (True, "cubic")]
    ours = sweep([(*kind, snr, timer) for kind in kinds for snr in SNRS for timer in TIMERS], SEEDS, run)
    lines = []
    for reordering, variant in kinds:
        rows = []
        for snr in SNRS:
            received = {timer: mean(ours[reordering, variant, snr, timer], "received") for timer in TIMERS}
            best = max(received, key=lambda timer: received[timer])
            base = ours[reordering, variant, snr, 40]
            spread = statistics.stdev(line["received"] for line in base)
            rows.append([snr, *(_bold(f"{received[t]:.0f}", t == best) for t in TIMERS), f"{spread:.0f}"])
        lines += [f"## Figure 5.8: packets received by DelAck timer, {VARIANTS[variant]}, {BUFFER[reordering]}", ""]
        lines += table(["SNR, dB", *(f"{timer} ms" for timer in TIMERS), "sd at 40 ms"], rows)
    return lines


def _bold(text: str, yes: bool) -> str:
    return f"**{text}**" if yes else text


def waiting() -> list[str]:
    """Figure 5.11."""

    def run(case: tuple[bool, str, int], seed: int) -> Row:
        packets = {"record.packets": "pcapng"}
        scenario = leo(packets, reordering=case[0], variant=case[1], snr=case[2], delayed_ack="40 ms")
        with tempfile.TemporaryDirectory() as scratch:
            result = scenario.run(seed=seed, scratch=scratch)
            times, expired = waits(result.captures["receiver"])
            del result
        shares = {f"{limit}": 100 * sum(1e3 * t > limit for t in times) / len(times) for limit in LIMITS_MS}
        return {**shares, "mean": 1e3 * statistics.mean(times), "expired": 100 * expired / (len(times) + expired)}

    kinds = list(itertools.product((True, False), ("newreno", "cubic")))
    ours = sweep([(*kind, snr) for kind in kinds for snr in SNRS], CAPTURED, run)
    header = ["SNR, dB", *(f"longer than {limit} ms, %" for limit in LIMITS_MS), "mean, ms", "alone until the timer, %"]
    lines = []
    for kind in kinds:
        title = f"{VARIANTS[kind[1]]}, {BUFFER[kind[0]]}"
        keys = [*map(str, LIMITS_MS), "mean", "expired"]
        rows = [[snr, *(cell(ours[*kind, snr], key, 1) for key in keys)] for snr in SNRS]
        lines += [f"## Figure 5.11: how long the first packet of a pair waits for the second, {title}", ""]
        lines += table(header, rows)
    return lines


def growth() -> list[str]:
    """Figure 5.7: the window over a channel without errors and without HARQ."""
    instants = (0.5, 1, 1.5, 2, 3, 5, 10, 20, 30)
    rows = []
    for variant, delayed in itertools.product(TCPS, (False, True)):
        clear = {"channel": {"kind": "clear"}, "last_hop.harq": {"kind": "none"}, "duration": "60 s", **SERIES}
        series = leo(clear, reordering=False, variant=variant, delayed_ack=DELACK[delayed]).run().series
        windows = [series.filter(pl.col("time_s") <= t + 1e-6)["cwnd_packets"][-1] for t in instants]
        rows.append([VARIANTS[variant], "on" if delayed else "off", *(f"{window:.0f}" for window in windows)])
    header = ["TCP", "DelAck", *(f"{t:g} s" for t in instants)]
    return ["## Figure 5.7: window in packets over time, no errors, no HARQ, 1 seed", "", *table(header, rows)]


def tried() -> list[str]:
    """What DelAck does if something else is changed too."""

    def run(case: tuple[str, bool, str, int, bool], seed: int) -> Row:
        name, reordering, variant, snr, delayed = case
        changes = {**SERIES, **TRIED[name]}
        scenario = leo(changes, reordering=reordering, variant=variant, snr=snr, delayed_ack=DELACK[delayed])
        return metrics(scenario.run(seed=seed))

    kinds = list(itertools.product((False, True), ("newreno", "cubic")))
    snrs = (7, 10, 13)
    ours = sweep(
        [(name, *kind, snr, delayed) for name in TRIED for kind in kinds for snr in snrs for delayed in (False, True)],
        TRIED_SEEDS,
        run,
    )
    keys = [("goodput", "goodput_kbps"), ("DUPACK", "dupack_pct"), ("RTO value", "rto_ms")]
    lines = []
    for kind in kinds:
        rows = []
        for name in TRIED:
            pairs = [[ours[name, *kind, snr, delayed] for delayed in (False, True)] for snr in snrs]
            cells = [change(*pair, key) for _, key in keys for pair in pairs]
            rows.append(
                [name, *cells, *(f"{mean(off, 'rto_pct'):.3f} → {mean(on, 'rto_pct'):.3f}" for off, on in pairs)]
            )
        header = [f"{name}, %: {snr} dB" for name, _ in keys for snr in snrs] + [
            f"time-outs, %: {snr} dB" for snr in snrs
        ]
        lines += [f"## What DelAck changes, by what else is changed: {VARIANTS[kind[1]]}, {BUFFER[kind[0]]}", ""]
        lines += table(["changed", *header], rows)
    return lines


def main() -> None:
    """Run everything and write the tables."""
    ours = on_and_off()
    lines = goodput(ours) + retransmitted(ours) + timers(ours)
    write("chapter-5-tables.md", lines + growth() + sweep_of_timers() + waiting() + tried())


if __name__ == "__main__":
    main()
