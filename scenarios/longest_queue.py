"""A scheduler of one's own: serves whoever has most packets waiting, and of equals who has waited longest.

Try: transorbit run scenarios/voip.toml --plugin scenarios/longest_queue.py \
         --set last_hop.scheduler='{ kind = "external", name = "longest-queue" }'
"""

import transorbit as to


@to.scheduler("longest-queue")
class LongestQueue:
    """Serves the longest queue."""

    def select(self, queues: list[to.Queue], now: float) -> int:  # noqa: ARG002 - the time does not matter here
        """Choose among the users who may be served now."""
        return max(queues, key=lambda queue: (queue.packets, queue.head_wait_s)).user
