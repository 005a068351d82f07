"""The summary of a run: its numbers, and its flows as dictionaries once somebody asks for those."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from transorbit import _columns
from transorbit._frame import frame

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import TextIO

    import polars as pl

    from transorbit import _core

# The most flows of a summary that indents them.
_INDENTED_FLOWS = 100
# Where they stand in the text of a summary without any.
_NO_FLOWS = '\n  "flows": []'
# Flows whose text is made at once: half a megabyte.
_PART = 500


class Summary:
    """What `summary.json` holds.

    Args:
        whole: the summary; with an empty list of flows if `record` has them.
        record: a run whose flows have not been asked for.
    """

    def __init__(self, whole: dict[str, Any], record: _core.Record | None = None) -> None:
        self._whole = whole
        self._record = record

    @classmethod
    def of(cls, record: _core.Record) -> Summary:
        """The summary of a run; its flows stay in the core."""
        return cls(json.loads(record.numbers_json()), record)

    @classmethod
    def read(cls, file: Path) -> Summary:
        """The summary in a file.

        Raises:
            OSError: it cannot be read.
            ValueError: it is no JSON.
        """
        return cls(json.loads(file.read_text(encoding="utf-8")))

    @property
    def whole(self) -> dict[str, Any]:
        """The summary with a dictionary for each flow: changes in it are written."""
        if (record := self._record) is not None:
            flows: list[dict[str, Any]] = []
            for part in _lines(record):
                flows += json.loads(f"[{part}]")
            self._whole["flows"], self._record = flows, None
        return self._whole

    @property
    def numbers(self) -> dict[str, Any]:
        """The summary without its flows."""
        return {key: value for key, value in self._whole.items() if key != "flows"}

    def reports(self, report: str) -> pl.DataFrame:
        """One row for each flow that has a report: `flow`, its number, and the numbers of the report.

        Raises:
            ValueError: there is no such report.
        """
        import polars as pl
        from polars import selectors

        known = [line["name"] for line in _columns.of("flows") if line["below"]]
        if report not in known:
            raise ValueError(f"report: {report!r} was given, one of {', '.join(known)} is expected")
        if (record := self._record) is not None:
            return frame(record.reports(report))
        rows = [{"flow": flow["id"], **flow[report]} for flow in self._whole["flows"] if report in flow]
        table = pl.DataFrame(rows, schema=None if rows else ["flow"], infer_schema_length=None)
        numbers = (selectors.numeric() | selectors.by_dtype(pl.Null)) - selectors.by_name("flow")
        return table.select(pl.col("flow").cast(pl.Int64), numbers.cast(pl.Float64))

    def write(self, file: TextIO) -> None:
        """Write it as indented JSON; where there are more than 100 flows, each is on a line of its own."""
        record = self._record
        count = len(self._whole["flows"]) if record is None else record.flow_count
        if count <= _INDENTED_FLOWS:
            file.write(json_of(self.whole))
            return
        # Python indents in Python: a million flows take 40 s, and 3 GiB for the text as a whole.
        before, after = json_of(self._whole | {"flows": []}).split(_NO_FLOWS, maxsplit=1)
        file.write(f"{before}{_NO_FLOWS.removesuffix(']')}")
        for number, part in enumerate(self._encoded() if record is None else _lines(record)):
            file.write(f",{part}" if number else part)
        file.write(f"\n  ]{after}")

    def _encoded(self) -> Iterator[str]:
        """Yields the flows that may have been changed, as `_lines` those of a record."""
        encode = json.JSONEncoder(ensure_ascii=False).encode
        yield from (f"\n    {encode(flow)}" for flow in self._whole["flows"])


def _lines(record: _core.Record) -> Iterator[str]:
    """Yields the text of a record's flows in parts: elements of an array, each on a line of its own."""
    for first in range(0, record.flow_count, _PART):
        yield record.flow_lines(first, first + _PART)


def json_of(value: object) -> str:
    """The text of a value in the files of a result."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def mean_of_reports(reports: pl.DataFrame, mean: str, count: str) -> float | None:
    """The mean over all that reports counted, of the mean and the count in each; None where nothing was counted."""
    import polars as pl

    counted_reports = reports.drop_nulls(mean)
    total = counted_reports.select(pl.col(count).sum()).item()
    return float((counted_reports[mean] * counted_reports[count]).sum()) / total if total else None
