"""Estimates of the time and the size of an ensemble, from a part of its first block."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from ..compile import cores
from ..compile.emit.target import compiling_for
from ..records import dataclass
from ..screen.progress import lasting
from .work import columns_of, run_block

if TYPE_CHECKING:
    from .ensemble import Ensemble

__all__ = ["Estimate", "estimate"]

_UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_TRIED = 0.2
"""Seconds for which members are tried."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The cost of an ensemble."""

    members: int
    blocks: int
    core_seconds: float
    """The time on one core of this machine."""
    bytes: int
    """The size of what is kept of each member, before compression."""

    @property
    def seconds(self) -> float:
        """The time on all cores of this machine."""
        return self.core_seconds / cores()

    def __str__(self) -> str:
        unit, name = next((x for x in _UNITS if self.bytes >= x[0]), _UNITS[-1])
        size = f"{self.bytes / unit:.3g} {name}"
        return (
            f"{self.members:,} members in {self.blocks:,} blocks: about {lasting(self.seconds)} on {cores()} cores "
            f"({self.core_seconds / max(1, self.members) * 1e6:.3g} us a member and core), {size} of results"
        )


def estimate(study: Ensemble) -> Estimate:
    """Return the cost of an ensemble, by running some of its members."""
    with compiling_for(study.target):
        columns = columns_of(study)
        count, took = 1, 0.0
        while True:
            count = min(count, study.block, study.members)
            started = time.perf_counter()
            run_block(study, 0, count)
            took = time.perf_counter() - started
            if took >= _TRIED / 4 or count == min(study.block, study.members):
                break
            count *= 4
    size = sum(math.prod(x.shape) * x.dtype.itemsize for x in columns.values())
    return Estimate(study.members, study.blocks, took / count * study.members, size * study.members)
