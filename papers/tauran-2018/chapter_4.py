"""Tables 4.1 and 4.2 of the thesis beside ours: one TCP flow over LEO, with and without the reordering buffer.

Run with `make validation`. Every cell is the mean of five runs of 600 s with seeds 1 to 5, and their standard
deviation. Writes docs/validation/chapter-4-tables.md; what the differences mean is in docs/validation/chapter-4.md.
"""

import csv
import itertools
import os
import statistics
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import transorbit as to

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
OUT = ROOT / "docs" / "validation" / "chapter-4-tables.md"
SEEDS = range(1, 6)
COLUMNS = [
    ("goodput, kbit/s", "goodput_kbps", 0),
    ("HARQ success, %", "harq_success_pct", 2),
    ("RTO, %", "rto_pct", 2),
    ("DUPACK, %", "dupack_pct", 2),
    ("spurious, %", "spurious_pct", 2),
]
VARIANTS = {"newreno": "NewReno", "cubic": "CUBIC"}


def published() -> dict[tuple[str, str, int, str], dict[str, str]]:
    """The papers' rows by (source, reordering, SNR, variant)."""
    with (HERE / "tcp_single_flow.csv").open() as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return {(row["source"], row["reordering"], int(row["snr_db"]), row["variant"]): row for row in rows}


def run(reordering: str, snr: int, variant: str, seed: int) -> dict[str, float]:
    """Our row from one run."""
    scenario = to.Scenario.load(ROOT / "scenarios" / "leo-tcp.toml").replace(
        {
            "channel.reference_snr": f"{snr} dB",
            "last_hop.reordering.enabled": reordering == "on",
            "flows.0.transport.congestion": variant,
            "record.series": False,
        }
    )
    summary = scenario.run(seed=seed).summary
    flow, harq = summary["flows"][0], summary["last_hop"]["harq"]
    decoded = sum(harq["decoded_after"])
    percent = {name: 100 * flow[key] / flow["sent_packets"] for name, key in EVENTS.items()}
    return {
        "goodput_kbps": flow["goodput_bps"] / 1e3,
        "harq_success_pct": 100 * decoded / (decoded + harq["failed"]),
        **percent,
    }


EVENTS = {"rto_pct": "rto_events", "dupack_pct": "dupack_events", "spurious_pct": "spurious_retransmissions"}


def cell(runs: list[dict[str, float]], key: str, digits: int) -> str:
    """Mean and standard deviation over the seeds."""
    values = [run[key] for run in runs]
    return f"{statistics.mean(values):.{digits}f} ± {statistics.stdev(values):.{digits}f}"


def main() -> None:
    """Run everything and write the tables."""
    paper = published()
    cases = list(itertools.product(("off", "on"), VARIANTS, range(7, 14)))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {case: [pool.submit(run, case[0], case[2], case[1], seed) for seed in SEEDS] for case in cases}
        ours = {case: [job.result() for job in runs] for case, runs in jobs.items()}
    lines = ["<!-- Written by `make validation`; do not edit. -->", ""]
    for reordering, variant in itertools.product(("off", "on"), VARIANTS):
        title = "with the reordering buffer" if reordering == "on" else "without reordering"
        lines += [f"## {VARIANTS[variant]}, {title}", ""]
        lines.append("| SNR, dB | " + " | ".join(f"{name}: thesis | psats | ours" for name, *_ in COLUMNS) + " |")
        lines.append("| --- |" + " --- | --- | --- |" * len(COLUMNS))
        for snr in range(7, 14):
            cells = [str(snr)]
            for _, key, digits in COLUMNS:
                cells += [paper.get((source, reordering, snr, variant), {}).get(key, "-") for source in SOURCES]
                cells.append("**" + cell(ours[reordering, variant, snr], key, digits) + "**")
            lines.append("| " + " | ".join(cells) + " |")
        lines.append("")
    OUT.write_text("\n".join(lines))
    print(f"wrote {OUT.relative_to(ROOT)}")


SOURCES = ("thesis", "psats")

if __name__ == "__main__":
    main()
