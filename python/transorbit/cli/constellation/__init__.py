"""The commands of constellations: `transorbit constellation delay`, `routes`, `coverage` and so on."""

from transorbit.cli.constellation import delay, export, routes, view
from transorbit.cli.constellation.common import constellation

__all__ = ["constellation", "delay", "export", "routes", "view"]
