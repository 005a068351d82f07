"""The identity of a sweep: whether two are the same."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING

from transorbit import _hash
from transorbit.sweep import inputs

if TYPE_CHECKING:
    from transorbit.sweep.plan import SweepPlan


def identity(sweep: SweepPlan) -> str:
    """The hash that identifies a sweep in a store."""
    # Names of files are left out: a run depends on their contents, which are part of its key.
    names = inputs.names(sweep.tables)
    if sweep.base.text is not None:
        base = inputs.scenario_text(sweep.base.text, names)
    else:
        # TOML puts tables after values, so a table that is read from a file may have another order.
        base = json.dumps(inputs.renamed(sweep.base.table, names), sort_keys=True, default=str)
    text = sweep.to_toml(scenario="scenario.toml", files="", names=names) + base
    return _hash.sha256(text)


def differences(one: SweepPlan, other: SweepPlan) -> list[str]:
    """The keys in which two sweeps differ; none if they are the same."""
    if identity(one) == identity(other):
        return []
    first, second = (tomllib.loads(sweep.to_toml(files="", names=inputs.names(sweep.tables))) for sweep in (one, other))
    names = [name for name in {**first, **second} if first.get(name) != second.get(name)]
    # No key differs: it is the order of the keys, or the text of the scenario.
    return names or ["the text of its scenario, or an order"]
