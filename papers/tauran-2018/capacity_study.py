"""Figure 6.3: what the last hop carries, by who is sent next, if every user always has packets waiting."""

from collections.abc import Sequence
from pathlib import Path

import transorbit as to

VOICE = Path(__file__).resolve().parents[2] / "scenarios" / "voip.toml"


def packets(*, seeds: Sequence[int], quick: bool) -> list[dict[str, object]]:
    """A row for each seed, policy and number of users: packets decoded a second, and the limits of an ideal code."""
    users = (1, 10, 50) if quick else (1, 2, 5, 10, 20, 50, 100)
    rows = []
    for seed in seeds:
        study = to.capacity(VOICE, users=users, schedulers=["pf"], duration="10 s" if quick else "30 s", seed=seed)
        kept = study.table.drop("decoded_after_share").to_dicts()
        rows += [{"seed": seed, **row} for row in kept]
    return rows
