"""Orbits for other programs: `transorbit constellation export`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

import transorbit as to
from transorbit.cli import parse
from transorbit.cli.common import examples, write_csv, write_text
from transorbit.cli.constellation.common import choice, constellation, options, tell_dates
from transorbit.cli.errors import UsageError

# Cesium still animates so many satellites smoothly.
_MANY_SATELLITES = 500


@constellation.command(
    help_epilogue=examples(
        "transorbit constellation export leo-66 --czml leo-66.czml --stations towns.csv",
        'transorbit constellation export iridium-next --start "1 h" --duration "10 min" --csv positions.csv',
    )
)
def export(
    name: str,
    /,
    *,
    czml: Annotated[Path | None, Parameter(allow_leading_hyphen=True)] = None,
    csv: Annotated[Path | None, Parameter(allow_leading_hyphen=True)] = None,
    stations: Path | None = None,
    start: str | None = None,
    duration: str = "100 min",
    step: str = "1 min",
    epoch: str | None = None,
    paths: bool = True,
    links: bool = True,
) -> None:
    """Write the positions of the satellites: as a table, or as a scene for Cesium.

    Args:
        name: A constellation of `transorbit list constellations`, or a file of two-line elements or OMM.
        czml: Write satellites, orbits, links and stations to this file, which Cesium reads; - is standard output.
        csv: Write Earth-fixed positions to this file, a row for each instant and satellite; - is standard output.
        stations: Stations of the scene, a CSV file: name,latitude_deg,longitude_deg and perhaps altitude_m.
        start: The first instant, after the constellation's epoch, as "10 min", or before it; by default the epoch.
        duration: The length of time.
        step: Time between positions.
        epoch: When the scene of a pattern begins to count, UTC in ISO 8601; by default 2000-01-01T12:00:00Z. The
            satellites of a file have their own.
        paths: Draw the orbits in the scene.
        links: Draw the links between satellites in the scene.
    """
    if not (czml or csv):
        raise UsageError("--czml, --csv: give a file to one of them, or to both")
    for option, value in (("--epoch", epoch), ("--stations", stations)):
        if value is not None and not czml:
            raise UsageError(f"{option}: is of the scene, which --czml writes")
    start_s = 0.0 if start is None else parse.instant("--start", start)
    duration_s, step_s = parse.seconds("--duration", duration), parse.seconds("--step", step)
    with options():
        sky = choice(name)
        tell_dates(sky, start_s, duration_s, quiet=Path("-") in (csv, czml))
        if csv:
            table = to.constellation.positions(sky, start_s=start_s, duration_s=duration_s, step_s=step_s)
            write_csv(table, csv)
            _say(f"Positions: {csv}", czml, csv)
        if czml:
            packets = to.constellation.czml(
                sky,
                stations=stations,
                start_s=start_s,
                duration_s=duration_s,
                step_s=step_s,
                epoch=epoch,
                paths=paths,
                links=links,
            )
            write_text(json.dumps(packets, ensure_ascii=False, separators=(",", ":")) + "\n", czml)
            satellites = sum(packet["id"].startswith("satellite/") for packet in packets)
            _say(f"Scene of {satellites} satellites: {czml}", czml, csv)
            if satellites > _MANY_SATELLITES and (paths or links):
                print("warning: orbits and links of so many are slow: --no-paths, --no-links", file=sys.stderr)


def _say(line: str, *outputs: Path | None) -> None:
    """Print a line, unless standard output is a file's content."""
    if Path("-") not in outputs:
        print(line)
