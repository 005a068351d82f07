"""What is no sweep: the receivers of random access, the equations, and one flow datagram by datagram."""

from __future__ import annotations

import csv
import math
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import transorbit as to

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(__file__).resolve().parent
SCENARIO = HERE.parent.parent / "scenarios" / "dvbrcs2-transfer.toml"

Method = str | dict[str, object]
Row = dict[str, object]

METHODS: dict[str, Method] = {"CRDSA-3": "crdsa", "MuSCA-3": "musca"}
OTHERS: dict[str, Method] = {
    "ALOHA": "aloha",
    "DSA-2": "dsa",
    "CRDSA-2": {"kind": "crdsa", "replicas": 2},
    "CRDSA-4": {"kind": "crdsa", "replicas": 4},
    "IRSA": "irsa",
    "MuSCA-3, margin 0": {"kind": "musca", "margin": 0.0},
    "MuSCA-3, margin 0.1": {"kind": "musca", "margin": 0.1},
    "MuSCA-3, margin 0.15": {"kind": "musca", "margin": 0.15},
}
ACCESS: dict[str, Method] = {
    "dedicated": "dedicated",
    **METHODS,
    "switch": {"kind": "switch", "random": "crdsa", "policy": {"kind": "sequence", "after": 3, "ask_after": 0}},
}
PACKETS = (20, 25, 30, 35, 40, 45, 50, 60, 70, 80, 90, 95, 100, 105, 110, 115, 120, 125, 130, 140, 155)


def packet_loss(*, seeds: Sequence[int], quick: bool) -> list[Row]:
    """Figure 3: packet loss rate against the packets of a block of 100 slots at 5 dB."""
    rows = _curves(METHODS, PACKETS, seeds, 300_000 if quick else 1_000_000)
    # The floor of CRDSA is near the line that a claim draws.
    floor = _curves({"CRDSA-3": "crdsa"}, (30,), seeds, 3_000_000)
    return [row for row in rows if (row["method"], row["packets"]) != ("CRDSA-3", 30)] + floor


def receivers(*, seeds: Sequence[int], quick: bool) -> list[Row]:
    """Figure 3 of other receivers, and of MuSCA's code with other margins."""
    return _curves(OTHERS, PACKETS, seeds, 100_000 if quick else 500_000)


def _curves(methods: dict[str, Method], packets: Sequence[int], seeds: Sequence[int], bursts: int) -> list[Row]:
    rows: list[Row] = []
    for seed in seeds:
        found = to.access.plr(methods=list(methods.values()), packets=packets, bursts=bursts, seed=seed).rows
        names = [name for name in methods for _ in packets]
        rows += [
            {"seed": seed, "method": name, "packets": row["packets_per_block"], "plr": row["plr"]}
            for name, row in zip(names, found, strict=True)
        ]
    return rows


def whole_datagrams(*, seeds: Sequence[int], quick: bool) -> list[Row]:
    """Figure 5 if a datagram met figure 3's loss once, and not with each of its packets."""
    with tempfile.TemporaryDirectory() as folder:
        methods = {name: _drawn_once(Path(folder), name, 300_000 if quick else 1_000_000) for name in METHODS}
        return [
            {"seed": seed, "method": name, "users": users, "loss_pct": _upload_loss_pct(method, users, seed)}
            for seed in seeds
            for name, method in methods.items()
            for users in ((300, 400) if quick else (200, 300, 400))
        ]


def _drawn_once(folder: Path, name: str, bursts: int) -> Method:
    """Random access by a table of losses, of which a datagram's packets together come to those of figure 3."""
    payload_bits = {"CRDSA-3": 597, "MuSCA-3": 594}[name]
    packets = math.ceil(1500 * 8 / payload_bits)
    rows = to.access.plr(methods=[METHODS[name]], packets=range(5, 201, 5), bursts=bursts, seed=1).rows
    lines = [f"{row['packets_per_block']},{1 - (1 - row['plr']) ** (1 / packets):.3g}" for row in rows]
    table = folder / f"{name}.csv"
    table.write_text("\n".join(["packets_per_block,plr", *lines, ""]), encoding="utf-8")
    return {"kind": "table", "plr": str(table), "payload_bits": payload_bits}


def _upload_loss_pct(method: Method, users: int, seed: int) -> float:
    # The scenario has one more user, who sends 30 kB: too little to change the loss of hundreds.
    changes = {"access.method": method, "flows.0.count": users, "record.series": False}
    flows = to.Scenario.load(SCENARIO).replace(changes).run(seed=seed).summary["flows"][:users]
    arrived, lost = (sum(flow[key] for flow in flows) for key in ("received_packets", "lost_collision"))
    return float(100 * lost / (arrived + lost))


def shares(**_unused: object) -> list[Row]:
    """Section 5.1 and equations 1 and 2: what a user may send in a frame, and from whom on random access is ahead."""
    report = to.access.analysis(SCENARIO, methods=list(METHODS.values()), users=(50, 100, 200, 300, 400, 477))
    names = {method["method"]: name for method, name in zip(report["methods"], METHODS, strict=True)}
    of = {method["method"]: method for method in report["methods"]}
    slots = report["timeslots"] * report["carriers"]
    return [
        {
            "seed": 0,
            "method": names[row["method"]],
            "users": row["users"],
            "frame_slots": slots,
            "blocks": slots / report["block_slots"],
            "slot_bits": report["dedicated_bits"],
            "dedicated_slots": row["dedicated_slots"],
            "dedicated_bits": row["dedicated_frame_bits"],
            "random_bits": row["random_frame_bits"],
            "random_packets": of[row["method"]]["packets_per_frame"],
            "packets_per_block": row["packets_per_block"],
            "break_even_users": of[row["method"]]["break_even_users"],
        }
        for row in report["users"]
    ]


def retransmissions(**_unused: object) -> list[Row]:
    """Equations 3 to 6: the loss that the first row of each number of users in table 5 implies, and its rows."""
    with (HERE / "retransmission_probability.csv").open(encoding="utf-8") as file:
        printed = list(csv.DictReader(line for line in file if not line.startswith("#")))
    rows: list[Row] = []
    for row in printed:
        users, times = int(row["users"]), int(row["retransmissions"])
        for name, key in (("CRDSA-3", "crdsa"), ("MuSCA-3", "musca")):
            first = next(float(other[key]) for other in printed if other["users"] == row["users"])
            loss = to.access.loss_from_retransmissions(first, 1, datagrams=3) if first else 0.0
            rows.append(
                {
                    "seed": 0,
                    "method": name,
                    "users": users,
                    "retransmissions": times,
                    "added_delay_s": to.access.added_delay(times),
                    "loss_pct": 100 * loss,
                    "probability": to.access.retransmission_probability(loss, times, datagrams=3),
                }
            )
    return rows


INTERVAL_S = 0.005


def sequence(*, seeds: Sequence[int], **_unused: object) -> list[Row]:
    """Figure 8: when the datagrams of 30 kB are at the gateway in order, beside 150 uploads; window and RTT then."""
    rows: list[Row] = []
    for seed in seeds:
        for name, method in ACCESS.items():
            changes = {"access.method": method, "record.interval": f"{1000 * INTERVAL_S:g} ms", "duration": "13.5 s"}
            result = to.Scenario.load(SCENARIO).replace(changes).run(seed=seed)
            lost = result.summary["flows"][150]["lost_collision"]
            rows += [{"seed": seed, "method": name, "lost": lost, **row} for row in _arrivals(result)]
    return rows


def _arrivals(result: to.Result) -> list[Row]:
    """A row for each datagram, to `INTERVAL_S`; its window and RTT are the sender's at that time."""
    series = result.series.filter((result.series["flow"] == 150) & (result.series["time_s"] >= 10))
    rows: list[Row] = []
    total = 0.0
    for now in series.iter_rows(named=True):
        total += now["goodput_bps"] * INTERVAL_S / 8 / 1448
        # The last one carries less than 1,448 B.
        while len(rows) + 1 <= total + 0.3:
            state = {"cwnd_packets": now["cwnd_packets"], "srtt_s": now["srtt_s"]}
            rows.append({"datagram": len(rows) + 1, "time_s": now["time_s"], **state})
    return rows
