"""The campaign of kills: `kill -9` of workers and of whole runs at random moments, on all engines, in two formats."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import ordern as on
from tests.campaigns.killed_ensembles import ENGINES, killed, same, study


@cache
def undisturbed() -> on.ensembles.Outcome:
    """Return the results of a run that nobody kills."""
    return study().run()


@pytest.mark.campaign
@pytest.mark.needs("zarr", "pyarrow", "distributed")
@pytest.mark.skipif(sys.platform != "linux", reason="workers are found in /proc")
@pytest.mark.parametrize(("engine", "ending"), [*((x, "zarr") for x in ENGINES), ("processes", "parquet")])
def test_killed_ensembles_lose_nothing(
    tmp_path: Path, engine: str, ending: str, campaign: Callable[[int, int], int]
) -> None:
    """Each engine takes 20 kills; a sample takes three."""
    out = tmp_path / f"x.{ending}"
    counts = killed(out, engine, campaign(3, 20), seed=len(engine) + len(ending))
    assert sum(counts.values()) >= campaign(3, 20)
    left = [x for x in tmp_path.rglob("*") if x.name.endswith(".partial")]
    assert not left
    assert same(study().run(out=out), undisturbed())
    print(f"{engine}, {ending}: {counts['workers']} workers and {counts['runs']} runs were killed")
