"""Engines that run shards: threads of this process, executors of `concurrent.futures`, and Dask."""

from __future__ import annotations

import hashlib
import os
import pickle
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..compile import cores
from ..compile.emit.target import compiling_for, host_text
from ..errors import ArgumentError
from ..records import dataclass
from .journal import flush
from .stores import Store
from .work import Block, run_block

if TYPE_CHECKING:
    from .ensemble import Ensemble

__all__ = ["Engine", "ShardDone", "engine_of"]

_AHEAD = 4
"""Shards that wait for each worker: workers never idle, and a scheduler never holds a million of tasks."""


@dataclass(frozen=True, slots=True)
class ShardDone:
    """The report of a shard: its blocks without their arrays if these are stored."""

    start: int
    stop: int
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Engine:
    """Something that runs functions: how many at once, and whether in this process."""

    submit: Callable[..., Any]
    workers: int
    local: bool
    wait: Callable[[set[Any]], tuple[set[Any], set[Any]]]
    cancel: Callable[[set[Any]], None]

    def run(self, study: Ensemble, store: Store, target: str, shards: Iterator[tuple[int, int]]) -> Iterator[ShardDone]:
        """Run shards on workers that compile for a target, and yield their reports as they end."""
        task: Any = _Local(study, store, target) if self.local else _Remote(study, store, target)
        waiting: set[Any] = set()
        try:
            while True:
                while len(waiting) < _AHEAD * self.workers and (shard := next(shards, None)) is not None:
                    waiting.add(self.submit(task, shard))
                if not waiting:
                    return
                done, waiting = self.wait(waiting)
                for future in done:
                    yield future.result()
        finally:
            task.stop()
            self.cancel(waiting)


class _Local:
    """The work of a shard, in this process."""

    def __init__(self, study: Ensemble, store: Store, target: str) -> None:
        self._study, self._store, self._target, self._stopped = study, store, target, threading.Event()

    def __call__(self, shard: tuple[int, int]) -> ShardDone:
        return run_shard(self._study, self._store, self._target, *shard, self._stopped)

    def stop(self) -> None:
        """Let shards end after the block that they are at."""
        self._stopped.set()


class _Remote:
    """The work of a shard, in another process: it carries the study as bytes, and each process reads it once."""

    def __init__(self, study: Ensemble, store: Store, target: str) -> None:
        self.content = _dumped((study, store, target))
        self.key = hashlib.sha256(self.content).hexdigest()

    def __call__(self, shard: tuple[int, int]) -> ShardDone:
        found = _KNOWN.get(self.key)
        if found is None:
            _KNOWN.clear()
            found = _KNOWN[self.key] = pickle.loads(self.content)
        study, store, target = found
        return run_shard(study, store, target, *shard)

    def stop(self) -> None:
        """Do nothing: the engine cancels what waits."""


_KNOWN: dict[str, tuple[Any, Any, str]] = {}
"""The study, the store and the target of this worker process, by a digest of them."""


def _dumped(x: Any) -> bytes:
    """Return an object as bytes; with `cloudpickle`, if it is installed, functions of a script too."""
    try:
        import cloudpickle

        content: bytes = cloudpickle.dumps(x)
        return content
    except ImportError:
        pass
    try:
        return pickle.dumps(x)
    except (pickle.PicklingError, AttributeError, TypeError) as e:
        raise ArgumentError(
            f"Ensemble.run: the study cannot go to other processes: {e}. Define its functions in a module, or install "
            "cloudpickle"
        ) from None


def run_shard(
    study: Ensemble, store: Store, target: str, start: int, stop: int, stopped: threading.Event | None = None
) -> ShardDone:
    """Run and store the blocks from `start` to before `stop`, or those up to the moment when the run is stopped.

    A worker that compiles for another target raises before it stores anything.
    """
    with compiling_for(study.target):
        if host_text() != target:
            raise ArgumentError(
                f"Ensemble.run: a worker (process {os.getpid()}) compiles for {host_text()}, and the run for {target}: "
                "results would not be the same bit for bit. Use machines of one kind, or give the ensemble a `target`"
            )
        return _run_shard(study, store, start, stop, stopped)


def _run_shard(study: Ensemble, store: Store, start: int, stop: int, stopped: threading.Event | None) -> ShardDone:
    blocks = []
    for number in range(start, stop):
        if stopped is not None and stopped.is_set():
            stop = number
            break
        first = number * study.block
        block = run_block(study, first, min(first + study.block, study.members))
        if store.journal is not None:
            store.write(number, block)
            block = Block(block.first, {}, block.states, block.failures)
        blocks.append(block)
    if store.journal is not None and blocks:
        for number in range(start, stop):
            for path in store.files(number):
                flush(path)
        store.journal.note(start, stop, study.key, blocks)
    return ShardDone(start, stop, tuple(blocks))


@contextmanager
def engine_of(engine: Any, workers: int | None, name: str) -> Iterator[Engine]:
    """Give the engine that was asked for."""
    if engine in (None, "threads"):
        count = workers or cores()
        with ThreadPoolExecutor(count, thread_name_prefix="ordern") as pool:
            yield _of_executor(pool, count, True)
    elif isinstance(engine, Executor):
        count = workers or int(getattr(engine, "_max_workers", 0)) or cores()
        yield _of_executor(engine, count, isinstance(engine, ThreadPoolExecutor))
    elif engine == "dask":
        distributed = _distributed()
        try:
            present = distributed.get_client()
        except ValueError:  # there is no client
            present = None
        if present is not None:
            yield _of_dask(present, workers, name)
            return
        with distributed.Client(n_workers=workers or cores(), threads_per_worker=1) as client:
            yield _of_dask(client, workers, name)
    elif type(engine).__module__.partition(".")[0] == "distributed":
        yield _of_dask(engine, workers, name)
    elif engine == "gpu":
        raise ArgumentError("Ensemble.run: engine='gpu' is not available yet; 'threads' uses all cores of this machine")
    else:
        raise ArgumentError(
            "Ensemble.run: `engine` must be 'threads', 'dask', a dask.distributed.Client, or an Executor of "
            f"concurrent.futures, not {engine!r}"
        )


def _of_executor(pool: Executor, workers: int, local: bool) -> Engine:
    def waited(futures: set[Future[Any]]) -> tuple[set[Any], set[Any]]:
        done, left = wait(futures, return_when=FIRST_COMPLETED)
        return set(done), set(left)

    def cancel(futures: set[Future[Any]]) -> None:
        for f in futures:
            f.cancel()

    return Engine(pool.submit, workers, local, waited, cancel)


def _of_dask(client: Any, workers: int | None, name: str) -> Engine:
    distributed = _distributed()
    count = workers or max(1, sum(client.nthreads().values()))
    content: dict[int, Any] = {}

    def submit(task: Any, shard: tuple[int, int]) -> Any:
        if id(task) not in content:
            content.clear()
            content[id(task)] = client.scatter(task, broadcast=True)
        key = f"{name} blocks {shard[0]} to {shard[1] - 1}-{os.urandom(4).hex()}"
        return client.submit(_call, content[id(task)], shard, key=key, pure=False, retries=3)

    def waited(futures: set[Any]) -> tuple[set[Any], set[Any]]:
        found = distributed.wait(futures, return_when="FIRST_COMPLETED")
        return set(found.done), set(found.not_done)

    def cancel(futures: set[Any]) -> None:
        if futures:
            client.cancel(list(futures))

    return Engine(submit, count, False, waited, cancel)


def _call(task: Any, shard: tuple[int, int]) -> ShardDone:
    found: ShardDone = task(shard)
    return found


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise ArgumentError("engine='dask' needs the package distributed: pip install ordern[ensemble]") from None
    return distributed
