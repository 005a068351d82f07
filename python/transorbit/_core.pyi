"""The compiled core: what `crates/python` offers."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import final

class ScenarioError(ValueError):
    """What is wrong with a scenario, in one line that begins with the key's path."""

class SimulationError(RuntimeError):
    """A run that broke a promise of the simulator: a defect."""

@final
class ArrowTable:
    """A table that Arrow consumers take without a copy."""

    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

@final
class Scenario:
    """A parsed scenario; its methods return changed copies."""

    @staticmethod
    def from_toml(
        text: str, base_dir: str, files: Mapping[str, bytes] | None = None, recorded: Mapping[str, str] | None = None
    ) -> Scenario: ...
    def replace(self, path: str, value_json: str) -> Scenario: ...
    def set_toml(self, assignment: str) -> Scenario: ...
    def check(self, registered: dict[str, list[str]] | None = None) -> None: ...
    def resolved_toml(self, plans: Plans | None = None) -> str: ...
    def warnings(self, plans: Plans | None = None) -> list[str]: ...
    def kept(
        self, seed: int | None = None, plans: Plans | None = None
    ) -> tuple[str, list[tuple[str, str, str, bytes]]]: ...
    def title(self) -> str: ...
    def simulation(
        self,
        seed: int | None = None,
        find: Callable[[str, str], object | None] | None = None,
        plans: Plans | None = None,
        registered: dict[str, list[str]] | None = None,
    ) -> Simulation: ...
    def capacity(
        self,
        users: list[int],
        duration: str,
        schedulers: list[str] | None = None,
        seed: int | None = None,
        find: Callable[[str, str], object | None] | None = None,
        registered: dict[str, list[str]] | None = None,
    ) -> Capacity: ...

@final
class Plans:
    """Plans that are kept for other runs of the same scenarios; threads may share it."""

    def __new__(cls) -> Plans: ...

@final
class Capacity:
    """A study of the capacity of the last hop that is in progress."""

    @property
    def share(self) -> float: ...
    def advance(self) -> None: ...
    def report_json(self) -> str | None: ...

@final
class PlrStudy:
    """A study of packet loss against load that is in progress."""

    def __new__(
        cls,
        scenario: Scenario,
        packets: list[int],
        bursts: int,
        methods_json: str | None = None,
        seed: int | None = None,
    ) -> PlrStudy: ...
    @property
    def share(self) -> float: ...
    def advance(self) -> None: ...
    def report_json(self) -> str: ...
    def table(self) -> ArrowTable: ...

@final
class RoutesStudy:
    """A search for the routes between all pairs of stations that is in progress."""

    def __new__(cls, options_json: str, base_dir: str | PathLike[str]) -> RoutesStudy: ...
    @property
    def instants(self) -> int: ...
    @property
    def done(self) -> int: ...
    @property
    def stations(self) -> list[str]: ...
    def advance(self) -> tuple[ArrowTable, ArrowTable] | None: ...
    def pairs(self) -> ArrowTable: ...
    def report_json(self) -> str: ...

@final
class Queue:
    """What a scheduler in Python may know of a user's queue."""

    @property
    def user(self) -> int: ...
    @property
    def packets(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def head_wait_s(self) -> float: ...
    @property
    def head_bytes(self) -> int: ...
    @property
    def information(self) -> float: ...
    @property
    def served_bps(self) -> float: ...

@final
class Ack:
    """An acknowledgment that brought news, as a controller in Python sees it.

    Counts are in segments, times in seconds. One object for all samples of a connection: copy what is to be kept.
    """

    @property
    def now(self) -> float:
        """When it arrived."""

    @property
    def window(self) -> float:
        """The window: what was answered last, with its fraction, unless the sender has moved it since."""

    @property
    def threshold(self) -> float:
        """The slow start threshold; infinite while there is none."""

    @property
    def acked(self) -> int:
        """Segments newly acknowledged cumulatively."""

    @property
    def delivered(self) -> int:
        """Segments newly known to be delivered, cumulatively or selectively, each counted once."""

    @property
    def lost(self) -> int:
        """Segments newly taken for lost."""

    @property
    def delivered_total(self) -> int:
        """All segments known to be delivered since the connection opened."""

    @property
    def lost_total(self) -> int:
        """All segments ever taken for lost."""

    @property
    def in_flight_before(self) -> int:
        """Segments in flight before this acknowledgment."""

    @property
    def in_flight(self) -> int:
        """Segments in flight after it."""

    @property
    def una(self) -> int:
        """SND.UNA after it, as an offset in the stream."""

    @property
    def nxt(self) -> int:
        """SND.NXT after it, as an offset in the stream."""

    @property
    def rtt(self) -> float | None:
        """The round-trip time that it measured; None if it measured none."""

    @property
    def srtt(self) -> float | None:
        """Smoothed round-trip time (RFC 6298); None before the first measurement."""

    @property
    def min_rtt(self) -> float | None:
        """Shortest round-trip time measured so far; None before the first measurement."""

    @property
    def delivery_rate(self) -> float | None:
        """The delivery rate that it measured, in bit/s of payload.

        None where it cannot be told, or `rates` is not set.
        """

    @property
    def rate_delivered(self) -> int | None:
        """Of the delivery rate: segments delivered since the newest acknowledged one was sent; None without `rates`."""

    @property
    def rate_lost(self) -> int | None:
        """Of the delivery rate: segments taken for lost in the same time."""

    @property
    def prior_delivered(self) -> int | None:
        """`delivered_total` when that segment was sent: a round trip ends when it reaches that of the round's start."""

    @property
    def tx_in_flight(self) -> int | None:
        """Segments in flight when that segment had been sent, it included."""

    @property
    def rate_interval(self) -> float | None:
        """The time over which the delivery rate is measured; None where it cannot be told."""

    @property
    def app_limited(self) -> bool:
        """Whether the application left the path idle meanwhile: the rate may be too low."""

    @property
    def retransmitted(self) -> bool:
        """Whether that segment was a retransmission."""

    @property
    def may_grow(self) -> bool:
        """Whether the window may move: neither in fast recovery nor in a reduction for a mark."""

    @property
    def window_limited(self) -> bool:
        """Whether the window was full.

        If not, application or receiver limit, and the window must not grow (RFC 7661).
        """

    @property
    def state(self) -> str:
        """What the sender thinks of the path: "open", "disorder", "cwr", "recovery" or "loss"."""

    @property
    def ece(self) -> bool:
        """It echoes a congestion mark (RFC 3168)."""

    @property
    def marked(self) -> int:
        """Segments newly known to be delivered with a congestion mark, as accurate feedback tells (RFC 9768)."""

    @property
    def marked_bytes(self) -> int:
        """Their payload bytes."""

    @property
    def paced(self) -> bool:
        """Segments are spaced by the sender, not by acknowledgments alone."""

    @property
    def mss(self) -> int:
        """Payload bytes of a full segment."""

@final
class Event:
    """What else happens to a sender, as a controller in Python sees it. `kind` says which attributes are not None."""

    @property
    def kind(self) -> str:
        """What happens.

        "established", "starts", "sent", "lost", "congestion", "timed-out", "recovered", "undone", "restarted",
        "probe-acked" or "timeout".
        """

    @property
    def now(self) -> float:
        """When."""

    @property
    def window(self) -> float:
        """The window in segments."""

    @property
    def threshold(self) -> float:
        """The slow start threshold in segments; infinite while there is none."""

    @property
    def cause(self) -> str | None:
        """Of "congestion", why: "loss", "mark" or "timeout"."""

    @property
    def reduce_from(self) -> int | None:
        """Of "congestion": the segments to reduce from, the window or what is in flight, as the profile says."""

    @property
    def in_flight(self) -> int | None:
        """Of "congestion", "sent" and "timeout": segments in flight."""

    @property
    def srtt(self) -> float | None:
        """Of "congestion" and "established": smoothed round-trip time in seconds."""

    @property
    def min_rtt(self) -> float | None:
        """Of "congestion": the shortest round-trip time in seconds."""

    @property
    def mss(self) -> int | None:
        """Of "congestion": payload bytes of a full segment."""

    @property
    def app_limited(self) -> bool | None:
        """Of "starts" and "lost": whether the application had left the path idle."""

    @property
    def last_sent(self) -> float | None:
        """Of "starts": when a segment was sent before, in seconds."""

    @property
    def tx_in_flight(self) -> int | None:
        """Of "lost": segments in flight when the segment had been sent, it included."""

    @property
    def lost_since(self) -> int | None:
        """Of "lost": segments taken for lost since the segment was sent, it included."""

    @property
    def state(self) -> str | None:
        """Of "probe-acked": the state of loss recovery."""

@final
class Connection:
    """What a connection's end is at its start: `on_start` of a controller is given it."""

    @property
    def mss(self) -> int:
        """Payload bytes of a full segment."""

    @property
    def window(self) -> int:
        """The initial window in segments."""

    @property
    def counting_limit(self) -> int | None:
        """RFC 3465 L: the segments that one acknowledgment may count for in slow start; None counts all."""

    @property
    def seed(self) -> int:
        """A number that differs between the ends of a run, the same for the same seed: for `random.Random`."""

@final
class App:
    """What a traffic source in Python acts by: the connections of one user's application."""

    @property
    def user(self) -> int:
        """The user's number within the entry of the scenario."""

    @property
    def start(self) -> float:
        """When `on_timeout` is called first, in seconds."""

    @property
    def duration(self) -> float:
        """The length of the run in seconds."""

    @property
    def seed(self) -> int:
        """A number that differs between users and is the same for the same seed: for `random.Random`."""

    def open(self, connection: int = 0) -> None:
        """Open a connection; with service "exchange" the user's end opens, otherwise the server's.

        Raises:
            RuntimeError: no method of its own source is running.
            ValueError: the connection cannot do that.
        """

    def write(self, bytes: int, connection: int = 0, end: str = "server") -> None:  # noqa: A002 - as the core calls it
        """Write so many bytes at an end of a connection; of service "datagrams", one datagram.

        Raises:
            RuntimeError: no method of its own source is running.
            ValueError: the connection cannot do that.
        """

    def write_forever(self, connection: int = 0, end: str = "server") -> None:
        """Write without end.

        Raises:
            RuntimeError: no method of its own source is running.
            ValueError: the connection cannot do that.
        """

    def close(self, connection: int = 0, end: str = "server") -> None:
        """Close an end of a connection: nothing more is written there.

        Raises:
            RuntimeError: no method of its own source is running.
            ValueError: the connection cannot do that.
        """

@final
class Steering:
    """A controller that an agent steers: every end of every flow that names it has the same window and rate."""

    def __init__(self, paced: bool) -> None: ...
    def __call__(self) -> Steering: ...
    def step(
        self, simulation: Simulation, until_s: float, window: float, rate_bps: float
    ) -> tuple[float, float, int, int, int, int]:
        """Run until then.

        Mean and shortest round-trip time (s), bytes delivered, segments in flight, delivered, lost.
        """

@final
class Weights:
    """A scheduler that an agent steers: the waiting user of the greatest weight is served."""

    def __init__(self, users: int) -> None: ...
    def __call__(self) -> Weights: ...
    def step(self, simulation: Simulation, until_s: float, weights: list[float]) -> list[tuple[int, float, float, int]]:
        """Run until then; of each user packets waiting, wait of the first (s), mutual information, bytes served."""

@final
class Simulation:
    """A run that is in progress."""

    @property
    def duration_s(self) -> float: ...
    @property
    def now_s(self) -> float: ...
    @property
    def seed(self) -> int: ...
    @property
    def wants_packets(self) -> bool: ...
    def kept(self) -> tuple[str, list[tuple[str, str, str, bytes]]]: ...
    def record_packets(self, directory: str | PathLike[str]) -> None: ...
    def watch(self, from_s: float, until_s: float) -> None: ...
    def advance(self, until_s: float) -> None: ...
    @property
    def failed(self) -> bool: ...
    def external_flows(self) -> list[tuple[int, int]]: ...
    @property
    def longest_packet(self) -> int: ...
    def replay(self, log: bytes) -> None: ...
    def finish(self, partial: bool = False) -> Record:
        """End the run: its result up to now. Afterwards there is neither a run nor its memory."""

@final
class Emulation:
    """Packets between network devices and a run; on Linux only."""

    def fileno(self) -> int: ...
    def wake_fileno(self) -> int: ...
    def receive(
        self, users: Sequence[tuple[Sequence[str], int]], classes: Sequence[tuple[int, int]], spin_s: float
    ) -> None: ...
    def run(self, simulation: Simulation) -> bool: ...
    def take_offers(self) -> ArrowTable: ...
    def measured_json(self) -> str: ...

@final
class Record:
    """What a run leaves."""

    def summary_json(self) -> str: ...
    def numbers_json(self) -> str: ...
    @property
    def flow_count(self) -> int: ...
    def flow_lines(self, first: int, end: int) -> str: ...
    def flows(self) -> ArrowTable: ...
    def reports(self, report: str) -> ArrowTable: ...
    def series(self) -> ArrowTable: ...
    def events(self) -> ArrowTable: ...
    def packets(self) -> ArrowTable: ...

def schema_json() -> str: ...
def columns_json() -> str: ...
def registries_json() -> str: ...
def ask(question: str, options_json: str, base_dir: str | PathLike[str]) -> tuple[str, dict[str, ArrowTable]]: ...
def access_analysis(
    scenario: Scenario,
    users: list[int],
    losses: list[float],
    datagrams: int,
    retransmissions: int,
    round_trip: str,
    methods_json: str | None = None,
) -> str: ...
def version() -> str: ...
