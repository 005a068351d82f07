"""The kinds of figures, where each is drawn and what it shows: known without importing what draws them."""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Kind:
    """A function of a module of `transorbit.plots`, and what it shows."""

    module: str
    function: str
    shows: str

    def load(self) -> Callable[..., Figure | None]:
        """The function; this imports matplotlib."""
        draw: Callable[..., Figure | None] = getattr(import_module(f"transorbit.plots.{self.module}"), self.function)
        return draw


#: Inches: a column of a journal with two of them (88 mm), and a page.
SINGLE_IN, DOUBLE_IN = 88 / 25.4, 7.2
#: The formats of a figure.
SUFFIXES = (".svg", ".pdf", ".png")
OVERVIEW = "overview"
#: The figures of a run's series, by the name of their file.
OF_SERIES = {
    OVERVIEW: Kind("overview", "overview", "what happened in the run, in one picture: every result folder has it"),
    "goodput": Kind(
        "run", "goodput", "bytes handed to the receiving application over time, all together and each flow"
    ),
    "window": Kind("run", "window", "the sender's window and slow-start threshold, and the smoothed RTT"),
    "path-delay": Kind("path", "path_delay", "the one-way delay of the long path, and when it jumps"),
    "satellite": Kind("path", "satellite", "elevation of the serving satellite, and Doppler shift of the carrier"),
    "harq": Kind("run", "harq", "how many transmissions the packets needed, under the channel's attenuation"),
    "queue": Kind("run", "queue", "the queue before the last hop, and the coded rate that leaves it"),
    "queue-delay": Kind(
        "run", "queue_delay", "how long each flow's packets waited in the queue; needs record.queue_delays"
    ),
    "video": Kind("application", "video", "bit rate played, media in the buffer and latency to live of video players"),
}
#: Those of what the users got.
OF_USERS = {
    "goodput-by-user": Kind("users", "goodput_by_user", "the share of the users who got at most a goodput"),
    "voice": Kind(
        "users", "voice", "the score of each voice, the worst first, and the losses, delay and jitter behind it"
    ),
    "game": Kind("application", "game", "the delays of a game each way and of its response, player by player"),
    "completion": Kind("users", "completion", "the completion times of transfers, by their size"),
}
#: Those of a return link.
OF_ACCESS = {
    "return-link": Kind("path", "return_link", "load and losses of random access, granted and used slots, waiting"),
    "access-times": Kind("access", "access_times", "times to the first packet and to completion over the return link"),
}
#: Figures whose contents can be chosen.
CLOSE = {
    "timeline": Kind("timeline", "timeline", "window, smoothed RTT, queue and signal of one flow over time"),
    "sequence": Kind("sequence", "sequence", "segments and acknowledgments of one connection over time"),
}
OF_RUN = OF_SERIES | OF_USERS | OF_ACCESS | CLOSE
#: The figures of a sweep.
OF_SWEEP = {
    "lines": "mean of a metric and its interval over an axis",
    "bars": "the same as bars, by policy",
    "cdf": "distribution of a metric over the runs, or of a column over the flows",
    "heatmap": "mean of a metric over two axes",
    "tradeoff": "one metric against another, such as goodput against delay, with the intervals of both",
    "spectral-efficiency": "useful bits for each coded bit, and transmissions for each packet",
}


def not_recorded(name: str, scenario_toml: str) -> str:
    """The setting that was off, where a figure of the series has nothing to show for that; else nothing."""
    import tomllib

    off = {setting for setting, on in tomllib.loads(scenario_toml)["record"].items() if on is False}
    if name in OF_SERIES and "series" in off:
        return ": record.series = false, and true is expected"
    if name == "queue-delay" and "queue_delays" in off:
        return ": record.queue_delays = false, and true is expected"
    return ""


def plots() -> Any:
    """The package that draws, `transorbit.plots`; this imports matplotlib."""
    return import_module("transorbit.plots")


@contextmanager
def imported_meanwhile(*, wanted: bool) -> Iterator[None]:
    """Import what draws in a thread while a run goes on: the core holds on to Python between its steps only.

    It has ended before anybody else imports or uses the same: no thread sees half a module.
    """

    def imports() -> None:
        # The error comes again, and is reported, when the figure is drawn.
        with suppress(Exception):
            import_module("matplotlib.backends.backend_agg")
            plots()

    if not wanted:
        yield
        return
    thread = threading.Thread(target=imports)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def load(kinds: Mapping[str, Kind]) -> dict[str, Callable[..., Figure | None]]:
    """The functions of some kinds, by name."""
    return {name: kind.load() for name, kind in kinds.items()}
