"""Random access on the DVB-RCS2 return link by itself: packet loss against load, and the equations of its comparison.

The equations are those of Kuhn, Mehani, Bui, Lochin, Lacan, Radzik and Boreli, "Improving web experience on DVB-RCS2
links" (Annals of Telecommunications 2015), by their numbers there.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from transorbit import _core, _folder, _values
from transorbit._ask import ask
from transorbit._frame import frame
from transorbit._values import listed, numbers, whole, wholes
from transorbit.result import provenance
from transorbit.scenario import Scenario, opened

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from typing import Unpack

    import polars as pl
    from matplotlib.figure import Figure

    from transorbit.plots.style import Look

DEFAULT_PACKETS = tuple(range(5, 161, 5))
DEFAULT_BURSTS = 1_000_000
DEFAULT_USERS = (50, 100, 150, 200, 300, 400, 500)
DEFAULT_LOSSES = (0.01, 0.05, 0.1, 0.3)

#: The folder of a study.
FOLDER = _folder.Kind(
    name="packet loss study",
    has=frozenset({"plr.json", "provenance.json"}),
    may_hold=frozenset({"plr.json", "plr.parquet", "plr.svg", "plr.png", "provenance.json"}),
)

# Where no scenario is given: a return link with every default, and whatever else a scenario must have.
_ANY = """
duration = "1 s"
path     = { kind = "fixed", delay = "0 ms" }
last_hop = { rate = "1 Mbit/s", delay = "10 ms" }
access   = {}
flows    = [{ transport = "tcp", traffic = "bulk" }]
"""


def return_link(scenario: Scenario | str | Path | None = None) -> Scenario:
    """The scenario whose return link is looked at; without one, a scenario whose return link has every default."""
    return Scenario.from_toml(_ANY) if scenario is None else opened(scenario)


class PlrCurves:
    """The result of a study of packet loss against load.

    Attributes:
        report: the numbers; keys and units are in `docs/random-access.md`.
        table: the points of all curves, a row for each method and number of packets.
        provenance: version, seed, hash of the study's parameters, machine and wall time.
    """

    def __init__(self, *, report: dict[str, Any], table: pl.DataFrame, provenance: dict[str, Any]) -> None:
        self.report = report
        self.table = table
        self.provenance = provenance

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The points as dictionaries."""
        return list(self.report["rows"])

    @property
    def methods(self) -> list[str]:
        """The names of the curves."""
        return [method["method"] for method in self.report["methods"]]

    def plot(self, **look: Unpack[Look]) -> Figure:
        """Packet loss rate and throughput against the packets of a block, a curve for each method.

        Args:
            look: `width` in inches, and `title`: "" is none.
        """
        from transorbit import plots

        return plots.plr(self, **look)

    def save(self, directory: str | Path, *, plots: bool = True, **look: Unpack[Look]) -> Path:
        """Write a folder: report, table, provenance and, if wanted, the plot as SVG and PNG.

        The folder appears whole or not at all, and replaces an earlier study. The plot's look is as for `plot`.

        Raises:
            FileExistsError: `directory` holds something that is not a study of packet loss.
            OSError: it cannot be written.
        """
        return _folder.save_study(
            directory,
            FOLDER,
            "plr",
            report=self.report,
            provenance=self.provenance,
            table=self.table,
            draw=(lambda: self.plot(**look)) if plots else None,
        )

    def __repr__(self) -> str:
        packets = sorted({row["packets_per_block"] for row in self.rows})
        return f"PlrCurves(methods={self.methods}, packets={packets})"


def plr(
    scenario: Scenario | str | Path | None = None,
    *,
    methods: Sequence[str | Mapping[str, object]] | None = None,
    packets: Sequence[int] = DEFAULT_PACKETS,
    bursts: int = DEFAULT_BURSTS,
    es_n0: str | None = None,
    power_spread: str | None = None,
    block_slots: int | None = None,
    seed: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> PlrCurves:
    """Packet loss rate and throughput of random access against the packets of a block, by simulation.

    Each packet comes from a terminal of its own.

    Args:
        scenario: a scenario with a return link, or its file; by default a return link with every default.
        methods: names as in a scenario's `access.method`, or tables: `{"kind": "crdsa", "replicas": 2}`. A name alone
            is with the scenario's options if it is the scenario's own, else with its defaults. By default the
            scenario's own, and crdsa and musca if it has no random access.
        packets: numbers of packets in a block.
        bursts: how many to simulate for each method and number of packets, at least.
        es_n0: replaces `access.random.es_n0`, as "5 dB".
        power_spread: replaces `access.random.power_spread`, as "2 dB".
        block_slots: replaces `access.frame.block_slots`.
        seed: replaces the scenario's own.
        progress: called repeatedly with the share that is done, 0 to 1.

    Raises:
        ScenarioError: the scenario's `access` table is wrong, or an option: `methods.0`, `packets.0`, `bursts`.
    """
    ready = return_link(scenario)
    changes = {"random.es_n0": es_n0, "random.power_spread": power_spread, "frame.block_slots": block_slots}
    ready = ready.replace({f"access.{key}": value for key, value in changes.items() if value is not None})
    study_began = time.perf_counter()
    counts = wholes("packets", packets, _MOST)
    bursts = whole("bursts", bursts, 0, 2**63 - 1)
    study = _core.PlrStudy(ready._core, counts, bursts, _methods(methods), _values.seed(seed))
    while study.share < 1:
        study.advance()
        if progress:
            progress(study.share)
    report: dict[str, Any] = json.loads(study.report_json())
    return PlrCurves(report=report, table=frame(study.table()), provenance=_origin(report, study_began))


def analysis(
    scenario: Scenario | str | Path | None = None,
    *,
    methods: Sequence[str | Mapping[str, object]] | None = None,
    users: Sequence[int] = DEFAULT_USERS,
    losses: Sequence[float] = DEFAULT_LOSSES,
    datagrams: int = 3,
    retransmissions: int = 4,
    round_trip: str = "500 ms",
) -> dict[str, Any]:
    """The equations for a return link: shares of a frame, the break-even number of users, retransmissions.

    Args:
        scenario: a scenario with a return link, or its file; by default a return link with every default.
        methods: as in `plr`.
        users: numbers of users.
        losses: probabilities that a datagram is lost.
        datagrams: datagrams of a short flow.
        retransmissions: the largest number of retransmissions.
        round_trip: the least time that a retransmission takes.

    Returns:
        Its keys are in `docs/random-access.md`.

    Raises:
        ScenarioError: the scenario's `access` table is wrong, or an option: `methods.0`, `users.0`, `losses.0`.
    """
    text = _core.access_analysis(
        return_link(scenario)._core,
        wholes("users", users, _MOST),
        numbers("losses", losses),
        whole("datagrams", datagrams, 0, _MOST),
        whole("retransmissions", retransmissions, 0, _MOST),
        round_trip,
        _methods(methods),
    )
    report: dict[str, Any] = json.loads(text)
    return report


def break_even_users(
    *,
    timeslots: int = 40,
    carriers: int = 100,
    dedicated_bits: int = 920,
    random_bits: int = 594,
    replicas: int = 3,
) -> int:
    """The least number of users with which dedicated access carries no more of each than random access without loss.

    Equations 1 and 2.

    Args:
        timeslots: N_S, of a carrier in a frame. A terminal with one amplifier uses each once.
        carriers: F_R + F_D, of a frame.
        dedicated_bits: useful bits of a slot of dedicated access.
        random_bits: useful bits of a packet of random access.
        replicas: N_block, of such a packet, each in a slot of its own.
    """
    break_even: int = ask(
        "access.break_even_users",
        timeslots=whole("timeslots", timeslots, 0, _MOST),
        carriers=whole("carriers", carriers, 0, _MOST),
        dedicated_bits=whole("dedicated_bits", dedicated_bits, 0, _MOST),
        random_bits=whole("random_bits", random_bits, 0, _MOST),
        replicas=whole("replicas", replicas, 0, _MOST),
    )
    return break_even


def retransmission_probability(loss: float, retransmissions: int, *, datagrams: int = 1) -> float:
    """The probability that the largest number of retransmissions among some datagrams is `retransmissions`.

    Equation 4 for one datagram, equations 5 and 6 for more.

    Args:
        loss: the probability that a transmission of a datagram is lost.
        retransmissions: the largest number, exactly.
        datagrams: the number of datagrams.
    """
    return float(
        ask(
            "access.retransmission_probability",
            loss=loss,
            retransmissions=whole("retransmissions", retransmissions, 0, _MOST),
            datagrams=whole("datagrams", datagrams, 0, _MOST),
        )
    )


def loss_from_retransmissions(probability: float, retransmissions: int, *, datagrams: int = 1) -> float:
    """The loss with which `retransmission_probability` is `probability`; of two such losses the smaller.

    Raises:
        ScenarioError: no loss gives that much.
    """
    return float(
        ask(
            "access.loss_from_retransmissions",
            probability=probability,
            retransmissions=whole("retransmissions", retransmissions, 0, _MOST),
            datagrams=whole("datagrams", datagrams, 0, _MOST),
        )
    )


def datagram_loss(packet_loss: float, packets: int) -> float:
    """The loss of a datagram that takes several packets of random access, each lost independently of the others."""
    return float(ask("access.datagram_loss", packet_loss=packet_loss, packets=whole("packets", packets, 0, _MOST)))


def added_delay(retransmissions: int, round_trip: str = "500 ms") -> float:
    """The least delay that retransmissions add to a datagram, in seconds: a round trip for each."""
    times = whole("retransmissions", retransmissions, 0, _MOST)
    return float(ask("access.added_delay", retransmissions=times, round_trip=round_trip))


# The range of the core's integer type; the core checks the actual limits.
_MOST = 2**32 - 1


def _methods(methods: Sequence[str | Mapping[str, object]] | None) -> str | None:
    return None if methods is None else json.dumps(listed("methods", methods))


def _origin(report: dict[str, Any], started: float) -> dict[str, Any]:
    """Returns the provenance as for a result; the hash is of the study's parameters, not of a scenario."""
    parameters = json.dumps({key: value for key, value in report.items() if key not in {"rows", "warnings"}})
    origin = provenance(parameters, report["seed"], time.perf_counter() - started)
    origin["parameters_sha256"] = origin.pop("scenario_sha256")
    return origin
