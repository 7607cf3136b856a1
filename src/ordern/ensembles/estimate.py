"""Estimates of the time and the size of an ensemble, or of what an interrupted run has left of it."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from ..compile import cores
from ..compile.emit.target import compiling_for
from ..records import dataclass
from ..screen.progress import lasting
from .stores import Store
from .work import columns_of, run_block

if TYPE_CHECKING:
    from .ensemble import Ensemble

__all__ = ["Estimate", "estimate"]

_UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_TRIED = 0.05
"""Seconds for which members are tried, at least."""
_TOGETHER = 16
"""Members of a rollout that are tried at first: fewer would not fill the vectors of the processor."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The cost of an ensemble."""

    members: int
    blocks: int
    core_seconds: float
    """The time on one core of this machine."""
    bytes: int
    """The size of what is kept of each member, before compression."""
    done: int = 0
    """Blocks that an earlier run has done."""

    @property
    def seconds(self) -> float:
        """The time on all cores of this machine, for the blocks that are left."""
        return self.core_seconds / cores() * (1.0 - self.done / max(1, self.blocks))

    def __str__(self) -> str:
        unit, name = next((x for x in _UNITS if self.bytes >= x[0]), _UNITS[-1])
        size = f"{self.bytes / unit:.3g} {name}"
        blocks = f"{self.blocks:,} block{'s' * (self.blocks != 1)}" + f", {self.done:,} done" * (self.done > 0)
        return (
            f"{self.members:,} members in {blocks}: about {lasting(self.seconds)} on {cores()} cores "
            f"({self.core_seconds / max(1, self.members) * 1e6:.3g} us a member and core), {size} of results"
        )


def estimate(study: Ensemble, store: Store) -> Estimate:
    """Return the cost of an ensemble, by running some of its members; less what is done of it in a store."""
    study.renew()
    with compiling_for(study.target):
        done = 0
        if store.journal is not None and store.exists():
            store.journal.require(store.path, study.parts | dict(store.kind))
            done = len(store.journal.done(study.key, study.blocks))
        columns = columns_of(study)
        run_block(study, 0, 1)  # loads or compiles the code of all that is kept, once for all members
        most = min(study.block, study.members)
        count, took = (1 if study.steps is None else min(_TOGETHER, most)), 0.0
        while True:
            started = time.perf_counter()
            run_block(study, 0, count)
            took = time.perf_counter() - started
            if took >= _TRIED or count == most:
                break
            count = min(4 * count, most)
    size = sum(math.prod(x.shape) * x.dtype.itemsize for x in columns.values())
    return Estimate(study.members, study.blocks, took / count * study.members, size * study.members, done)
