"""Run an ensemble: shards of blocks, one store, one engine; go on where an earlier run was interrupted."""

from __future__ import annotations

import csv
import io
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..arguments import positive, whole_number
from ..compile.emit.target import compiling_for, host_text
from ..errors import ArgumentError
from ..screen.progress import reported, require_progress
from .engines import Engine, ShardDone, engine_of
from .journal import write_atomically
from .outcome import Outcome
from .reductions import State
from .stores import Memory, Store
from .work import columns_of

if TYPE_CHECKING:
    from .ensemble import Ensemble

__all__ = ["run"]

_CSV_NUMBERS = 10_000_000
"""The most numbers in a CSV file."""
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
    with compiling_for(study.target):
        target, columns = host_text(), columns_of(study)
    if table is not None:
        _require_small(study, columns)
    if _begun(study, store, target):
        store.resume(study, columns)
    else:
        store.create(study, columns)
        if store.journal is not None:
            write_atomically(store.journal.folder / _READY, b"")
    started = time.monotonic()
    with engine_of(engine, workers, study.robot.name) as found, reported(progress, study.robot.name) as told:
        runner = _Runner(study, store, found, target, shard)
        for count in _counts(study):
            runner.go(count, told)
            if count < study.blocks and study.stop is not None and study.stop.reached(runner.answers(count)):
                break
        else:
            count = study.blocks
    members = min(study.members, count * study.block)
    failures = runner.failures()
    store.finish(study, members, list(failures))
    outcome = Outcome(study, store, members, runner.answers(count), failures, time.monotonic() - started)
    if table is not None:
        _write_csv(outcome, table)
    return outcome


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
    """The state of one run: which blocks are done, and the states of their reductions."""

    def __init__(self, study: Ensemble, store: Store, engine: Engine, target: str, shard: float) -> None:
        self._study, self._store, self._engine, self._target, self._seconds = study, store, engine, target, shard
        self._states: dict[int, dict[str, State]] = {}
        self._failures: dict[int, str] = {}
        self._done: set[int] = set()
        if store.journal is not None:
            self._done = set(store.journal.done(study.key))
            states, failures = store.journal.read(study.key)
            self._states |= states
            self._failures |= dict(failures)
        self._blocks_per_shard = 1

    def go(self, count: int, told: Any) -> None:
        """Run all blocks up to a number that are not done."""
        left = [k for k in range(count) if k not in self._done]
        if not left:
            return
        started, before = time.monotonic(), len(self._done)
        for report in self._engine.run(self._study, self._store, self._target, self._shards(left)):
            self._take(report)
            finished = len(self._done) - before
            each = (time.monotonic() - started) * self._engine.workers / max(1, finished)
            self._blocks_per_shard = max(1, min(1024, int(self._seconds / max(each, 1e-6))))
            if told is not None:
                told(min(1.0, len(self._done) / self._study.blocks))

    def _shards(self, left: list[int]) -> Iterator[tuple[int, int]]:
        """Cut blocks that are left into shards of neighbours; their size follows the time that earlier ones took."""
        at = 0
        while at < len(left):
            fair = -(-(len(left) - at) // (2 * self._engine.workers))
            size = max(1, min(self._blocks_per_shard, fair))
            stop = at + 1
            while stop < len(left) and stop - at < size and left[stop] == left[stop - 1] + 1:
                stop += 1
            yield left[at], left[stop - 1] + 1
            at = stop

    def _take(self, report: ShardDone) -> None:
        for number, block in zip(range(report.start, report.stop), report.blocks, strict=True):
            if isinstance(self._store, Memory):
                self._store.write(number, block)
            self._done.add(number)
            self._states[number] = block.states
            self._failures |= dict(block.failures)

    def answers(self, count: int) -> dict[str, Any]:
        """Return the answers of all reductions for the first blocks, merged in the order of the members."""
        found = {}
        for x in self._study.reductions:
            state = self._states[0][x.name]
            for number in range(1, count):
                state = x.merged(state, self._states[number][x.name])
            found[x.name] = x.answer(state)
        return found

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
