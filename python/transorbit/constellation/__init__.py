"""Satellite constellations: positions, look angles, passes and coverage, delays and routes."""

from transorbit.constellation.all_pairs import Routes, routes
from transorbit.constellation.cesium import czml
from transorbit.constellation.delays import changes, delay, delay_trace
from transorbit.constellation.ground import Map, best_elevation, coverage, passes, world
from transorbit.constellation.places import stations
from transorbit.constellation.sky import age_warning, epoch, look, positions

__all__ = [
    "Map",
    "Routes",
    "age_warning",
    "best_elevation",
    "changes",
    "coverage",
    "czml",
    "delay",
    "delay_trace",
    "epoch",
    "look",
    "passes",
    "positions",
    "routes",
    "stations",
    "world",
]
