"""How many of something a figure needs, for a run that has fewer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from transorbit.plots.given import Result


@dataclass(frozen=True)
class Need:
    """What a figure needs to show something.

    Attributes:
        fewest: how many.
        of: what, in the plural.
        count: how many a run has.
    """

    fewest: int
    of: str
    count: Callable[[Result], int]

    def is_met(self, result: Result) -> bool:
        """Whether a run has as many."""
        return self.count(result) >= self.fewest

    def unmet(self, result: Result) -> str:
        """What a run lacks, in words; empty if nothing."""
        found = self.count(result)
        return "" if found >= self.fewest else f"needs at least {self.fewest} {self.of}: the run has {found}"
