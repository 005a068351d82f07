"""Real applications over a simulated path: `emulate` runs a command behind the user of a scenario, in real time."""

from __future__ import annotations

from transorbit.emulation._session import Emulated, EmulationError, emulate, replay

__all__ = ["Emulated", "EmulationError", "emulate", "replay"]
