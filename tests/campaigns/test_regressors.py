"""The campaign of regressors: 200 random robots with all joints. Full size by `./dev soak`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.identify.robots import compared, random_tree
from tests.tolerances import ROUNDING, difference


@pytest.mark.campaign
def test_regressors_times_theta(campaign: Callable[[int, int], int]) -> None:
    """All six regressors of 200 trees; every tenth of them compiled, as straight code and as loops in turn."""
    worst = 0.0
    for seed in range(100, 100 + campaign(20, 200)):
        way = ("unrolled", "rolled")[seed % 20 // 10] if seed % 10 == 0 else "interpreted"
        for name, found, expected in compared(random_tree(seed), seed, way):
            error = difference(found, expected)
            assert error <= ROUNDING, (seed, way, name, error)
            worst = max(worst, error)
    print(f"largest error: {worst:.1e}")
