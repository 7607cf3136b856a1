"""Run an ensemble: shards of blocks, one store, one engine; go on where an earlier run was interrupted."""

from __future__ import annotations

import csv
import io
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import positive, whole_number
from ..compile.emit.target import compiling_for, host_text
from ..errors import ArgumentError
from ..gpu.device import find_device
from ..kernel.place import computing_on
from ..screen.progress import reported, require_progress
from .engines import Engine, Shard, ShardDone, device_of, engine_of
from .journal import read_states, write_atomically
from .outcome import Outcome
from .reductions import State
from .stores import Memory, Store
from .telling import Telling
from .work import columns_of

if TYPE_CHECKING:
    from .ensemble import Ensemble

__all__ = ["run"]

_CSV_NUMBERS = 10_000_000
"""The most numbers in a CSV file."""
_MOST_BLOCKS = 1024
"""The most blocks of a shard."""
_READY = "ready"
"""A file in the journal: the store has been made as a whole."""


def run(
    study: Ensemble, place: tuple[Store, Path | None], engine: Any, workers: Any, shard: float, progress: Any
) -> Outcome:
    """See `Ensemble.run`. The `place` is a store, and the path of a CSV file that is written in the end."""
    require_progress(progress)
    shard = positive(shard, "Ensemble.run: `shard`")
    workers = None if workers is None else whole_number(workers, "Ensemble.run: `workers`", 1)
    store, table = place
    study.renew()
    device = _device(study, engine)
    with compiling_for(study.target), computing_on(device, "Ensemble.run"):
        target, columns = host_text(), columns_of(study)
    if table is not None:
        _require_small(study, columns)
    if _begun(study, store, target if device is None else f"{_gpu_text(device)}, {target}"):
        store.resume(study, columns)
    else:
        store.create(study, columns)
        if store.journal is not None:
            write_atomically(store.journal.folder / _READY, b"")
    started = time.monotonic()
    with engine_of(engine, workers, study.robot.name) as found, reported(progress, study.robot.name) as told:
        runner = _Runner(study, store, found, target, shard, told)
        for count in _counts(study):
            runner.go(count)
            if count < study.blocks and study.stop is not None and study.stop.reached(runner.answers()):
                break
        else:
            count = study.blocks
    members = min(study.members, count * study.block)
    failures = runner.failures()
    store.finish(study, members, list(failures))
    if store.journal is not None:
        store.journal.clean(store.path)
    seconds, earlier = time.monotonic() - started, min(runner.earlier, members)
    outcome = Outcome(study, store, members, runner.answers(), failures, seconds, earlier)
    if table is not None:
        _write_csv(outcome, table)
    return outcome


def _device(study: Ensemble, engine: Any) -> str | None:
    """Return the GPU of an engine, which runs rollouts; None for this machine."""
    device = device_of(engine)
    if device is not None and study.steps is None:
        raise ArgumentError(
            f"Ensemble.run: engine={engine!r} is for rollouts, and this ensemble runs `simulate`: give it `steps` and "
            "`dt` in the place of `until`, or use the engine 'threads'"
        )
    return device


def _gpu_text(device: str) -> str:
    """Return what decides the rounding of results on a GPU: its generation and its driver."""
    found = find_device(device)
    return f"GPU {found.capability[0]}.{found.capability[1]}, CUDA {found.driver.version_text}"


def _begun(study: Ensemble, store: Store, target: str) -> bool:
    """Return True if an earlier run of this study has made the store."""
    if store.journal is None:
        return False
    there = store.journal.begin(store.path, store.exists(), study.parts | dict(store.kind), {"target": target})
    return there and (store.journal.folder / _READY).exists()


def _counts(study: Ensemble) -> Iterator[int]:
    """Give the numbers of blocks after which the run may stop: fixed ones, so that it stops alike everywhere."""
    count = 1
    while study.stop is not None and count < study.blocks:
        yield count
        count *= 2
    yield study.blocks


class _Runner:
    """The state of one run: which blocks are done, and the reductions over the first of them.

    The states of reductions are merged in the order of the blocks, as far as there is no gap, and dropped: only those
    that wait for an earlier block are in memory.
    """

    def __init__(self, study: Ensemble, store: Store, engine: Engine, target: str, shard: float, told: Any) -> None:
        self._study, self._store, self._engine, self._target, self._seconds = study, store, engine, target, shard
        self._done = np.zeros(study.blocks, bool)
        self._merged: dict[str, State] = {}
        self._upto = 0
        """The number of blocks whose states are merged."""
        self._states: dict[int, dict[str, State]] = {}
        self._stored: dict[int, Path] = {}
        """Files of the journal with the states of blocks that an earlier run did."""
        self._failures: dict[int, str] = {}
        if store.journal is not None:
            self._stored = store.journal.done(study.key, study.blocks)
            self._done[list(self._stored)] = True
            self._failures = store.journal.failures(study.key, study.blocks)
        self._blocks_per_shard = 1
        self.earlier = self._members()
        """The number of members that earlier runs did."""
        self._tell = Telling(told, study.members, self.earlier)

    def _members(self) -> int:
        """Return the number of members that are done."""
        study, count = self._study, int(self._done.sum())
        return count * study.block - (study.blocks * study.block - study.members) * int(self._done[-1])

    def go(self, count: int) -> None:
        """Run all blocks up to a number that are not done, and merge the states of their reductions."""
        left = np.flatnonzero(~self._done[:count])
        self._merge(count)
        if not len(left):
            return
        for report in self._engine.run(self._study, self._store, self._target, self._shards(left)):
            self._take(report)
            self._merge(count)
            each = report.seconds / max(1, len(report.blocks))
            self._blocks_per_shard = max(1, int(min(_MOST_BLOCKS, self._seconds / max(each, 1e-6))))
            self._tell(self._members(), len(self._failures), self._engine.workers())

    def _shards(self, left: NDArray[np.int64]) -> Iterator[Shard]:
        """Cut blocks that are left into shards of neighbours; their size follows the time that earlier ones took.

        Where the last blocks are fewer than the threads of this process, each of them gets several.
        """
        workers, at = self._engine.workers(), 0
        odd = len(left) % workers if self._engine.local else 0
        while at < len(left):
            fair = -(-(len(left) - at) // (2 * self._engine.workers()))
            size = max(1, min(self._blocks_per_shard, fair))
            stop = at + 1
            while stop < len(left) and stop - at < size and left[stop] == left[stop - 1] + 1:
                stop += 1
            threads = workers // odd if len(left) - at <= odd else 1
            yield Shard(int(left[at]), int(left[stop - 1]) + 1, threads)
            at = stop

    def _take(self, report: ShardDone) -> None:
        for number, block in zip(range(report.start, report.stop), report.blocks, strict=True):
            if isinstance(self._store, Memory):
                self._store.write(number, block)
            self._done[number] = True
            self._states[number] = block.states
            self._failures |= dict(block.failures)

    def _merge(self, count: int) -> None:
        """Merge the states of blocks up to a number, as far as they are done."""
        while self._upto < count and self._done[self._upto]:
            if self._upto not in self._states and self._study.reductions:
                names = {x.name for x in self._study.reductions}
                self._states |= read_states(self._stored[self._upto], self._upto, names)
            states = self._states.pop(self._upto, {})
            for x in self._study.reductions:
                old = self._merged.get(x.name)
                self._merged[x.name] = states[x.name] if old is None else x.merged(old, states[x.name])
            self._upto += 1

    def answers(self) -> dict[str, Any]:
        """Return the answers of all reductions for the blocks that are merged."""
        return {x.name: x.answer(self._merged[x.name]) for x in self._study.reductions}

    def failures(self) -> dict[int, str]:
        """Return the reasons of members that failed."""
        return dict(sorted(self._failures.items()))


def _require_small(study: Ensemble, columns: Any) -> None:
    numbers = study.members * sum(math.prod(x.shape) for x in columns.values())
    if numbers > _CSV_NUMBERS:
        raise ArgumentError(
            f"Ensemble.run: {numbers:,} numbers are too many for a CSV file; give `out` a name that ends in .zarr or "
            ".parquet"
        )


def _write_csv(outcome: Outcome, path: Path) -> None:
    """Write a row for each member."""
    text = io.StringIO()
    writer = csv.writer(text)
    columns = outcome.columns()
    writer.writerow(["member", *columns])
    for k, row in enumerate(zip(*columns.values(), strict=True)):
        writer.writerow([k, *(repr(float(x)) for x in row)])
    write_atomically(path, text.getvalue().encode())
