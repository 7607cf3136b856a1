"""A few processes that work through many files, each within a time limit; one that hangs or crashes is replaced."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

__all__ = ["each_in_time"]


def each_in_time(
    work: Callable[[str], Any], tasks: Sequence[str], *, limit: float, processes: int = 2
) -> Iterator[tuple[str, Any]]:
    """Yield each task with the result of `work`, as they finish.

    The result of a task that takes longer than `limit` seconds is a `TimeoutError`, and that of one that ends its
    process an `OSError`.
    """
    left = list(reversed(tasks))
    workers = [_Worker(work) for _ in range(min(processes, len(tasks)))]
    try:
        while True:
            for worker in workers:
                if worker.task is None and left:
                    worker.start(left.pop())
            busy = [worker for worker in workers if worker.task is not None]
            if not busy:
                return
            first = min(worker.started for worker in busy) + limit - time.monotonic()
            wait([worker.pipe for worker in busy], max(0.0, first))
            for worker in busy:
                finished = worker.result(limit)
                if finished is not None:
                    yield finished
    finally:
        for worker in workers:
            worker.stop()


class _Worker:
    """A process that works on one task at a time."""

    def __init__(self, work: Callable[[str], Any]) -> None:
        self.work = work
        self.task: str | None = None
        self.started = 0.0
        self._open()

    def _open(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(self.work, theirs), daemon=True)
        self.process.start()
        theirs.close()

    def start(self, task: str) -> None:
        self.task, self.started = task, time.monotonic()
        self.pipe.send(task)

    def result(self, limit: float) -> tuple[str, Any] | None:
        """Return the task and its result, if it is finished, and start anew if the process has to be replaced."""
        assert self.task is not None
        task = self.task
        try:
            if self.pipe.poll():
                found = self.pipe.recv()
            elif time.monotonic() - self.started < limit:
                return None
            else:
                found = TimeoutError(f"longer than {limit:g} s")
                self._replace()
        except (EOFError, ConnectionError):
            self.process.join()
            found = OSError(f"the process ended with status {self.process.exitcode}")
            self._replace()
        self.task = None
        return task, found

    def _replace(self) -> None:
        self.stop()
        self._open()

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _serve(work: Callable[[str], Any], pipe: Connection) -> None:
    """Work on the tasks that come through a pipe, until it is closed."""
    while True:
        try:
            task = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            return
        pipe.send(work(task))
