"""A scenario, a result or a sweep in a browser: serves the page of `make page` from this computer."""

from __future__ import annotations

import base64
import json
import math
import mimetypes
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transorbit import _open
from transorbit._core import ScenarioError
from transorbit.scenario import Scenario

if TYPE_CHECKING:
    import polars as pl

    from transorbit.result import Result
    from transorbit.sweep import SweepResult

# The page is served to this computer alone.
_HOST = "127.0.0.1"
# A browser compiles WebAssembly only if it is called so.
_KINDS = {".wasm": "application/wasm", ".js": "text/javascript", ".svg": "image/svg+xml"}


def built() -> Path:
    """The folder of the built page: in the package, or in the repository that the package is part of.

    Raises:
        FileNotFoundError: it is not built.
    """
    package = Path(__file__).parent
    for folder in (package / "page", package.parents[1] / "web" / "dist"):
        if (folder / "index.html").is_file():
            return folder
    raise FileNotFoundError(
        "the page is not built: run `make page` in the repository (it needs Rust, Node 20.19 or later and npm)"
    )


def told(target: str | Path | None) -> dict[str, Any] | None:
    """Returns the page's input for a result folder, a sweep's folder or a scenario file; None without one.

    Raises:
        ScenarioError: a file is damaged or is no scenario.
        OSError: it is not there, or cannot be read.
    """
    if target is None:
        return None
    path = Path(target)
    if (path / "summary.json").is_file():
        return _of_result(_open.result(path))
    if (path / "sweep.toml").is_file():
        from transorbit.sweep import SweepResult

        return _of_sweep(SweepResult.load(path))
    if path.is_dir():
        raise FileNotFoundError(f"{path}: holds neither a result (summary.json) nor a sweep (sweep.toml)")
    return _of_result(Scenario.load(path).run(watch=(0, 0)), events=True)


class Server(ThreadingHTTPServer):
    """Serves the page and its input to this computer.

    Args:
        target: a result folder, a sweep's folder, a scenario file (which is run), or None for the page alone.
        port: the port; 0 for one that is free.

    Raises:
        ScenarioError: a file is damaged or is no scenario.
        OSError: the page is not built, the target is not there, or the port is taken.
    """

    daemon_threads = True

    def __init__(self, target: str | Path | None = None, *, port: int = 0) -> None:
        answer = told(target)
        self.told = None if answer is None else json.dumps(answer, allow_nan=False).encode()
        super().__init__((_HOST, port), partial(_Handler, directory=str(built())))

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://{_HOST}:{self.server_port}/{'?view' if self.told else ''}"


class _Handler(SimpleHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        """Files of the page, and `view.json`."""
        # Another name for this computer may be a stranger's page that asks for it.
        if (self.headers.get("Host") or "").partition(":")[0] not in {_HOST, "localhost"}:
            self.send_error(HTTPStatus.FORBIDDEN)
        elif self.path.partition("?")[0] == "/view.json" and self.server.told is not None:
            self._send(self.server.told)
        else:
            super().do_GET()

    def _send(self, body: bytes) -> None:
        """Answer with JSON."""
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def end_headers(self) -> None:
        """Ends the headers with those of every answer."""
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def guess_type(self, path: Any) -> str:
        """Returns the type by the file's ending, whatever this computer's tables say."""
        name = str(path)
        return _KINDS.get(Path(name).suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"

    def list_directory(self, path: Any) -> None:
        """Not shown."""
        del path
        self.send_error(HTTPStatus.NOT_FOUND)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Nothing: the terminal stays quiet."""


def _of_result(result: Result, *, events: bool = False) -> dict[str, Any]:
    """A run; a result folder has no events, and the page runs it again for them."""
    tables = {"series": result.series, **({"events": result.events} if events else {})}
    return {
        "title": result.title,
        "toml": result.scenario_toml,
        "seed": result.numbers["seed"],
        "files": {each.kept: base64.b64encode(each.contents).decode() for each in result.inputs},
        "summary": _known(result.summary),
        "tables": {name: _table(table) for name, table in tables.items()},
    }


def _of_sweep(result: SweepResult) -> dict[str, Any]:
    """Returns the sweep's runs in a table, and the scenario of the first, which is shown to begin with."""
    sweep = result.sweep
    axes, metrics = [axis.name for axis in sweep.axes], list(sweep.metrics)
    points = {point.index: point for point in sweep.points}
    # A sweep keeps no series; with them a run is the same.
    shown = {index: sweep.scenario(point).replace({"record.series": True}) for index, point in points.items()}
    scenarios = {index: scenario.to_toml() for index, scenario in shown.items()}
    rows = [
        {
            "point": {axis: row[axis] for axis in axes},
            "seed": row["seed"],
            "toml": scenarios[row["point"]],
            "values": {metric: _number(row[metric]) for metric in metrics},
        }
        for row in result.runs.to_dicts()
        if row["status"] == "ok"
    ]
    if not rows:
        raise ScenarioError(f"{sweep.title}: no run of the sweep is finished")
    units = {name: metric.unit or "" for name, metric in sweep.metrics.items()}
    labels = {axis.name: f"{axis.label} ({axis.unit})" if axis.unit else axis.label for axis in sweep.axes}
    labels |= {name: metric.label or name for name, metric in sweep.metrics.items()}
    first = rows[0]
    table = {"axes": axes, "rows": rows, "units": units, "labels": labels}
    return {"title": sweep.title, "toml": first["toml"], "seed": first["seed"], "files": {}, "sweep": table}


def _table(frame: pl.DataFrame) -> dict[str, Any]:
    import polars as pl

    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    numbers = [name for name in frame.columns if name not in texts]
    return {
        "rows": frame.height,
        "numbers": {name: [_number(value) for value in frame[name].to_list()] for name in numbers},
        "texts": {name: frame[name].to_list() for name in texts},
    }


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value


def _known(value: Any) -> Any:
    """The value with nothing in place of what JSON has no number for."""
    if isinstance(value, dict):
        return {key: _known(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_known(item) for item in value]
    return _number(value) if isinstance(value, float) else value
