"""A small share of `make hunt`, the same each time: random worlds, damaged files, kills, disks that are full."""

from __future__ import annotations

import errno
import resource
from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import polars as pl
import pytest

import transorbit as to
from conftest import ROOT
from hunt import cases, killing, worlds
from transorbit._frame import write_parquet

if TYPE_CHECKING:
    from pathlib import Path


def test_random_worlds_run_or_are_refused() -> None:
    told = Counter(cases.world(number) for number in range(60))

    assert min(told[cases.RAN], told[cases.REFUSED]) > 5, told


def test_worlds_reach_every_kind() -> None:
    drawn: set[tuple[str, str]] = set()
    for number in range(1200):
        draw = worlds.Worlds(Random(number))
        draw.draw()
        drawn |= draw.kinds
    names = {kind for _, kind in drawn}

    # Entries of a registry that a scenario names by `kind`; presets and profiles are named otherwise.
    keys = {"scheduler", "harq", "traffic", "channel", "path", "transport", "queue", "congestion"}
    wanted = {
        entry["name"]
        for registry in to.registries()
        if registry["key"].rpartition(".")[2] in keys
        for entry in registry["entries"]
    }
    assert wanted
    assert wanted - names == set()


def test_damaged_files_are_refused_in_a_line_or_run() -> None:
    told = Counter(cases.mutant(number) for number in range(150))

    assert min(told[cases.RAN], told[cases.REFUSED]) > 10, told


def test_a_million_users_are_refused_where_their_channels_would_not_fit() -> None:
    # Channels with fading of 18 GB; and players of a game, which a run has room for.
    with pytest.raises(to.ScenarioError, match="1000000 users have one of their own, each of 18 KiB of memory"):
        to.Scenario.load(ROOT / "scenarios" / "voip.toml").replace({"flows.0.count": 1_000_000}).check()
    to.Scenario.load(ROOT / "scenarios" / "game.toml").replace({"flows.0.count": 1_000_000}).check()


def test_a_user_who_is_too_fast_for_samples_of_the_fading_is_refused() -> None:
    with pytest.raises(to.ScenarioError, match=r"channel\.speed"):
        to.Scenario.load(ROOT / "scenarios" / "leo-tcp.toml").replace({"channel.speed": "1e9 km/h"}).check()


def test_a_sweep_that_is_killed_loses_no_run(tmp_path: Path) -> None:
    sweep, random = killing.Killed(tmp_path), Random(1)

    for number in range(2):
        sweep.once(random, number)


@pytest.mark.parametrize(("metadata", "told"), [(0, errno.EFBIG), (60_000, errno.EIO)], ids=["rows", "end"])
def test_a_table_that_a_disk_refuses_is_an_error_of_the_system(tmp_path: Path, metadata: int, told: int) -> None:
    table = pl.DataFrame({"number": [index * 1.1 for index in range(1000)]})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000 if metadata else 100, hard))
    try:
        with pytest.raises(OSError, match=r"numbers\.parquet") as refused:
            write_parquet(table, tmp_path / "numbers.parquet", metadata={"told": "-" * metadata})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert refused.value.errno == told


def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    told = [killing.full_disk(tmp_path, Random(number)) for number in range(4)]

    assert "refused" in told
