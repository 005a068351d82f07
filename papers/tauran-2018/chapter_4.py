"""Tables 4.1 and 4.2 of the thesis beside ours: one TCP flow over LEO, with and without the reordering buffer.

Run with `make validation`. Every cell is the mean of five runs of 600 s with seeds 1 to 5, and their standard
deviation. Writes docs/validation/chapter-4-tables.md; what the differences mean is in docs/validation/chapter-4.md.
"""

import itertools

from common import BUFFER, SNRS, TRIED, VARIANTS, cell, leo, mean, published, row, sweep, table, write

SEEDS = range(1, 6)
COLUMNS = [
    ("goodput, kbit/s", "goodput_kbps", 0),
    ("HARQ success, %", "harq_success_pct", 2),
    ("RTO, %", "rto_pct", 2),
    ("DUPACK, %", "dupack_pct", 2),
    ("spurious, %", "spurious_pct", 2),
]
SOURCES = ("thesis", "psats")


def main() -> None:
    """Run everything and write the tables."""
    paper = {
        (line["source"], line["reordering"] == "on", line["variant"], int(line["snr_db"])): line
        for line in published("tcp_single_flow.csv")
    }
    kinds = list(itertools.product((False, True), ("newreno", "cubic")))
    ours = sweep(
        [(*kind, snr) for kind in kinds for snr in SNRS],
        SEEDS,
        lambda case, seed: row(leo(reordering=case[0], variant=case[1], snr=case[2]).run(seed=seed)),
    )
    lines = []
    for reordering, variant in kinds:
        lines += [f"## {VARIANTS[variant]}, {BUFFER[reordering]}", ""]
        rows = []
        for snr in SNRS:
            cells = [str(snr)]
            for _, key, digits in COLUMNS:
                cells += [paper.get((source, reordering, variant, snr), {}).get(key, "-") for source in SOURCES]
                cells.append("**" + cell(ours[reordering, variant, snr], key, digits) + "**")
            rows.append(cells)
        names = (name for title, *_ in COLUMNS for name in (f"{title}: thesis", "psats", "ours"))
        lines += table(["SNR, dB", *names], rows)
    write("chapter-4-tables.md", lines + tried(kinds))


def tried(kinds: list[tuple[bool, str]]) -> list[str]:
    """What changes if an option is another."""
    snrs = (7, 10, 13)
    ours = sweep(
        [(name, *kind, snr) for name in TRIED for kind in kinds for snr in snrs],
        SEEDS,
        lambda case, seed: row(leo(TRIED[case[0]], reordering=case[1], variant=case[2], snr=case[3]).run(seed=seed)),
    )
    columns = [column for column in COLUMNS if column[1] != "harq_success_pct"]
    header = ["changed", *(f"{name}: {snr} dB" for name, *_ in columns for snr in snrs)]
    lines = []
    for kind in kinds:
        rows = [
            [name, *(f"{mean(ours[name, *kind, snr], key):.{digits}f}" for _, key, digits in columns for snr in snrs)]
            for name in TRIED
        ]
        lines += [f"## Other options: {VARIANTS[kind[1]]}, {BUFFER[kind[0]]}", "", *table(header, rows)]
    return lines


if __name__ == "__main__":
    main()
