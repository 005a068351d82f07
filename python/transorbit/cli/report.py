"""The command `transorbit report`."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - the parser of the command line reads the types

from transorbit.cli.common import examples

HELP = examples(
    'transorbit run leo-tcp --set duration="20 s"',
    "transorbit report results/leo-tcp",
    "transorbit report results/leo-tcp --out leo-tcp.html",
)


def report(
    directory: Path, /, *, out: Path | None = None, between: str | None = None, against: str | None = None
) -> None:
    """Write a result or a sweep as one HTML file, which opens without a network: numbers, warnings, charts, provenance.

    Args:
        directory: The folder of a result or of a sweep.
        out: The file; by default report.html in that folder.
        between: Of a sweep: the axis whose values are compared; by default the first with names.
        against: Of a sweep: the value of that axis that the others are held against; by default the first. With all,
            each is held against every one before it.
    """
    from transorbit import report as pages

    print(f"Report: {pages.write(directory, out, between=between, against=against)}")
