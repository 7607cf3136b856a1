"""The campaign of ensembles that are larger than memory: a billion numbers take less than 2 GB."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.mark.campaign
@pytest.mark.needs("zarr")
@pytest.mark.skipif(sys.platform != "linux", reason="the size of a process is found in /proc")
def test_a_billion_numbers_take_little_memory(tmp_path: Path, campaign: Callable[[int, int], int]) -> None:
    """Series in Zarr, 8 GB of them; a sample stores 320 MB."""
    numbers = campaign(40_000_000, 1_000_000_000)
    command = [sys.executable, "-m", "tests.campaigns.large_ensembles", str(tmp_path / "x.zarr"), str(numbers)]
    before, most = map(float, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    stored = sum(x.stat().st_size for x in tmp_path.rglob("*") if x.is_file()) / 2**20
    print(f"{stored:,.0f} MB of results took {most:,.0f} MB of memory, {before:,.0f} MB of them before the run")
    assert most < 2000.0
    assert most - before < 200.0 + 0.05 * stored
