"""Engines that run shards: threads of this process, executors of `concurrent.futures`, and Dask."""

from __future__ import annotations

import hashlib
import math
import multiprocessing
import os
import pickle
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..compile import cores
from ..compile.emit.target import compiling_for, host_text
from ..compile.run.workers import Stopping, is_stopped
from ..errors import ArgumentError, OrdernError
from ..kernel.place import computing_on
from ..records import dataclass
from .journal import flush
from .stores import Store
from .work import Block, run_block

if TYPE_CHECKING:
    from .ensemble import Ensemble

__all__ = ["Engine", "Shard", "ShardDone", "device_of", "engine_of", "run_shard"]

_AHEAD = 4
"""Shards that wait for each worker: workers never idle, and a scheduler never holds a million of tasks."""
_GPU_WORKERS = 2
"""Threads that feed a GPU: one draws and stores members while that of another are there."""
_SENDS = 10
"""How often a study is sent to workers that die before they have it."""
_ASK_AFTER = 10.0
"""Seconds without an end of a task after which Dask's workers are asked whether they have the study."""
_POLL = 0.01
"""Seconds between looks for tasks that have ended."""
_COUNT_EVERY = 2.0
"""Seconds between two looks at how many workers a cluster has."""


@dataclass(frozen=True, slots=True)
class Shard:
    """The blocks from `start` to before `stop`, and on how many threads each of them runs."""

    start: int
    stop: int
    threads: int = 1


@dataclass(frozen=True, slots=True)
class ShardDone:
    """The report of a shard: its blocks without their arrays if these are stored, and the seconds that it took."""

    start: int
    stop: int
    blocks: tuple[Block, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Engine:
    """Something that runs functions: how many at once, and whether in this process."""

    submit: Callable[[Any, Shard], Any]
    workers: Callable[[], int]
    """The number of workers at present: on a cluster, they come and go."""
    local: bool
    wait: Callable[[Collection[Any]], Iterable[Any]]
    """Wait for some of these futures to end, and return those."""
    results: Callable[[list[Any]], Iterable[ShardDone | None]]
    """Return the reports of futures that have ended; None for one that was lost with its worker."""
    cancel: Callable[[list[Any]], None]
    device: str | None = None
    """The GPU on which the rollouts of this process run."""

    def run(self, study: Ensemble, store: Store, target: str, shards: Iterator[Shard]) -> Iterator[ShardDone]:
        """Run shards on workers that compile for a target, and yield their reports as they end."""
        task: Any = _Local(study, store, target, self.device) if self.local else _Remote(study, store, target)
        waiting: dict[Any, Shard] = {}
        ahead = 1  # until the first report, from which shards get their size
        try:
            while True:
                while len(waiting) < ahead * self.workers() and (shard := next(shards, None)) is not None:
                    waiting[self.submit(task, shard)] = shard
                if not waiting:
                    return
                ended = {future: waiting.pop(future) for future in self.wait(waiting)}
                for shard, report in zip(ended.values(), self.results(list(ended)), strict=True):
                    if report is None:
                        waiting[self.submit(task, shard)] = shard
                    else:
                        ahead = _AHEAD
                        yield report
        except Exception as e:
            if isinstance(e, BrokenExecutor) or type(e).__name__ == "KilledWorker":
                raise OrdernError(_died(store, e)) from e
            raise
        finally:
            task.stop()
            self.cancel(list(waiting))


def _died(store: Store, error: Exception) -> str:
    """Return what to do when a worker has died, in words."""
    then = f"what is done is in {store.path}: the same call goes on from there"
    if store.journal is None:
        then = "give `out`, so that what is done is stored, and the same call goes on from there"
    return f"Ensemble.run: a worker process died, for want of memory or because it was killed; {then} ({error})"


class _Local:
    """The work of a shard, in this process."""

    def __init__(self, study: Ensemble, store: Store, target: str, device: str | None) -> None:
        self._study, self._store, self._target, self._stopping = study, store, target, Stopping()
        self._device = device

    def __call__(self, shard: Shard) -> ShardDone:
        with computing_on(self._device, "Ensemble.run"), self._stopping:
            return run_shard(self._study, self._store, self._target, shard)

    def stop(self) -> None:
        """Let shards end without the block that they are at."""
        self._stopping.stop()


class _Remote:
    """The work of a shard, in another process: it carries the study as bytes, and each process reads it once."""

    def __init__(self, study: Ensemble, store: Store, target: str) -> None:
        self.content = _dumped((study, store, target))
        self.key = hashlib.sha256(self.content).hexdigest()

    def __call__(self, shard: Shard) -> ShardDone:
        found = _KNOWN.get(self.key)
        if found is None:
            _KNOWN.clear()
            found = _KNOWN[self.key] = pickle.loads(self.content)
        study, store, target = found
        return run_shard(study, store, target, shard)

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


def run_shard(study: Ensemble, store: Store, target: str, shard: Shard) -> ShardDone:
    """Run and store the blocks of a shard, or those up to the moment when the run is stopped.

    A worker that compiles for another target raises before it stores anything.
    """
    with compiling_for(study.target):
        if host_text() != target:
            raise ArgumentError(
                f"Ensemble.run: a worker (process {os.getpid()}) compiles for {host_text()}, and the run for {target}: "
                "results would not be the same bit for bit. Use machines of one kind, or give the ensemble a `target`"
            )
        return _run_shard(study, store, shard)


def _run_shard(study: Ensemble, store: Store, shard: Shard) -> ShardDone:
    began, blocks, start, stop = time.perf_counter(), [], shard.start, shard.stop
    for number in range(start, stop):
        first = number * study.block
        try:
            if is_stopped():
                raise KeyboardInterrupt
            block = run_block(study, first, min(first + study.block, study.members), shard.threads)
        except KeyboardInterrupt:
            if not is_stopped():
                raise
            stop = number
            break
        if store.journal is not None:
            store.write(number, block)
            block = Block(block.first, {}, block.states, block.failures)
        blocks.append(block)
    if store.journal is not None and blocks:
        for number in range(start, stop):
            for path in store.files(number):
                flush(path)
        store.journal.note(start, stop, study.key, blocks)
    return ShardDone(start, stop, tuple(blocks), time.perf_counter() - began)


def device_of(engine: Any) -> str | None:
    """Return the device of an engine: "gpu" and "cuda" are the first GPU, "cuda:1" is the second; None for others."""
    if not isinstance(engine, str) or engine.partition(":")[0] not in ("gpu", "cuda"):
        return None
    return "cuda" if engine == "gpu" else engine


def _local_client(distributed: Any, workers: int) -> Any:
    """Return a client of processes on this machine; raise if the program does not allow it to start processes."""
    guard = 'processes import the program that starts them: put the run below the line `if __name__ == "__main__":`'
    if getattr(multiprocessing.current_process(), "_inheriting", False):  # this process is importing the program
        raise ArgumentError(f"Ensemble.run: {guard}")
    try:
        return distributed.Client(n_workers=workers, threads_per_worker=1)
    except RuntimeError as e:
        raise ArgumentError(f"Ensemble.run: the processes of Dask did not start ({e}). In a program, {guard}") from e


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
        with _local_client(distributed, workers or cores()) as client:
            yield _of_dask(client, workers, name)
    elif type(engine).__module__.partition(".")[0] == "distributed":
        yield _of_dask(engine, workers, name)
    elif (device := device_of(engine)) is not None:
        count = workers or _GPU_WORKERS
        with ThreadPoolExecutor(count, thread_name_prefix="ordern") as pool:
            yield replace(_of_executor(pool, count, True), device=device)
    else:
        raise ArgumentError(
            "Ensemble.run: `engine` must be 'threads', 'gpu', 'dask', a dask.distributed.Client, or an Executor of "
            f"concurrent.futures, not {engine!r}"
        )


def _of_executor(pool: Executor, workers: int, local: bool) -> Engine:
    def cancel(futures: list[Future[Any]]) -> None:
        for f in futures:
            f.cancel()

    return Engine(
        submit=pool.submit,
        workers=lambda: workers,
        local=local,
        wait=lambda futures: wait(futures, return_when=FIRST_COMPLETED).done,
        results=lambda futures: (f.result() for f in futures),
        cancel=cancel,
    )


def _of_dask(client: Any, workers: int | None, name: str) -> Engine:
    cluster = _Cluster(client, workers, name)

    def cancel(futures: list[Any]) -> None:
        if futures:
            client.cancel(futures)

    return Engine(cluster.submit, cluster.workers, False, cluster.wait, cluster.results, cancel)


class _Cluster:
    """A Dask cluster: the study is sent to its workers once, and tasks name it."""

    def __init__(self, client: Any, workers: int | None, name: str) -> None:
        self._client, self._asked = client, workers
        self._name = re.sub(r"\W+", "_", name).lstrip("0123456789_") or "robot"
        self._sent: Any = None
        self._running = _distributed().as_completed(loop=client.loop)
        self._seen, self._counted = 1, -math.inf

    def workers(self) -> int:
        """Return the number of threads of all workers, counted anew every few seconds."""
        if self._asked is not None:
            return self._asked
        if time.monotonic() > self._counted + _COUNT_EVERY:
            self._seen, self._counted = max(1, sum(self._client.nthreads().values())), time.monotonic()
        return self._seen

    def submit(self, task: Any, shard: Shard) -> Any:
        """Submit a shard. Dask groups tasks by the first words of their names, such as "panda-blocks"."""
        if self._sent is None:
            self._sent = self._send(task)
        key = f"{self._name}-blocks-{shard.start}-{shard.stop - 1}-{os.urandom(4).hex()}"
        future = self._client.submit(_call, self._sent, shard, key=key, pure=False, retries=3)
        self._running.add(future)
        return future

    def _send(self, task: Any) -> Any:
        """Send the study to all workers, and again if one dies in the meantime."""
        failed = 0
        while True:
            self._client.wait_for_workers(1)
            try:
                # Under a new key each time: a late message that the old copy is to be freed would free the new one.
                return self._client.scatter(task, broadcast=True, hash=False)
            except OSError:
                failed += 1
                if failed == _SENDS:
                    raise

    def wait(self, futures: Collection[Any]) -> Iterable[Any]:
        """Return futures that have ended, also those whose work was lost, all at once: there may be thousands.

        A worker that dies while the study is sent can leave a scheduler that believes in a copy which no worker has;
        then all tasks wait for it. So after some seconds without an end, workers are asked, and such tasks are lost.
        """
        asked = time.monotonic()
        while True:
            found: list[Any] = self._running.next_batch(block=False)
            if found:
                return found
            if time.monotonic() > asked + _ASK_AFTER:
                self._give_up(futures)
                asked = time.monotonic()
            time.sleep(_POLL)

    def _give_up(self, futures: Collection[Any]) -> None:
        """Cancel futures if no worker has the study, so that they count as lost."""
        if self._is_forgotten():
            self._sent.cancel(force=True)
            self._client.cancel(list(futures), force=True)

    def _is_forgotten(self) -> bool:
        """Return True if there are workers, and none of them has the study."""
        if self._sent is None:
            return False
        with suppress(OSError, RuntimeError):  # a worker that dies just now
            held = self._client.run(_holds, self._sent.key, on_error="ignore")
            return bool(held) and not any(held.values())
        return False

    def results(self, futures: list[Any]) -> list[ShardDone | None]:
        """Return the reports of futures; None where work was lost because all workers that knew the study have died.

        The next workers are sent the study again.
        """
        with suppress(CancelledError):
            return self._gathered(futures)
        found: list[ShardDone | None] = []
        for future in futures:
            try:
                found += self._gathered([future])
            except CancelledError:
                found.append(None)
        if self._sent.status != "finished":
            self._sent = None
        return found

    def _gathered(self, futures: list[Any]) -> list[ShardDone | None]:
        """Return the reports of futures that have ended; raise CancelledError if one was lost.

        A worker that dies takes its reports along. Their tasks run again, which they can only where the study is known.
        """
        import asyncio  # Dask has imported it

        work = self._client.gather(futures, asynchronous=True)
        gathering = asyncio.run_coroutine_threadsafe(work, self._client.loop.asyncio_loop)
        while True:
            try:
                found: list[ShardDone | None] = gathering.result(_ASK_AFTER)
                return found
            except asyncio.CancelledError as e:
                raise CancelledError from e
            except FutureTimeout:
                if gathering.done():
                    raise  # the error of a task
                self._give_up(futures)


def _holds(key: Any, dask_worker: Any) -> bool:
    """Return True if a worker has the data of a key, or is about to run with it."""
    return key in dask_worker.data


def _call(task: Any, shard: Shard) -> ShardDone:
    found: ShardDone = task(shard)
    return found


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise ArgumentError("engine='dask' needs the package distributed: pip install ordern[ensemble]") from None
    return distributed
