"""The load of a scheduler: a billion runs on a thousand cores, simulated from times that are measured here.

`python -m benchmarks.cluster` measures how long a block of one-second runs of a Panda takes on one core, and how long a
Dask scheduler and its client take for a task. Then it simulates a cluster: workers that take shards from one
scheduler, which handles one message at a time. Shards are cut as `Ensemble.run` cuts them.
"""

from __future__ import annotations

import heapq
import time
import warnings
from dataclasses import dataclass

import numpy as np

import ordern as on
from ordern.ensembles.engines import Shard, ShardDone, _of_dask
from ordern.ensembles.work import run_block

from .robots import without_passive

MEMBERS, CORES = 10**9, 1000
SPREAD = 0.05
"""The standard deviation of the speeds of cores, relative to their mean."""
AHEAD = 2
"""Tasks that Dask gives to each worker: the one that runs, and the next one."""
TASKS = 2000
"""Tasks that are timed."""
LARGE_BLOCK = 2**15


@dataclass(frozen=True)
class Cluster:
    """How long a run took, and how much of it the scheduler and the workers were at work."""

    seconds: float
    tasks: int
    scheduler: float
    workers: float


def shard_times() -> tuple[on.Ensemble, np.ndarray]:
    """Return the study, and the times of some of its blocks on one core."""
    machine, _ = without_passive("panda7")
    starts = {"q": on.distributions.within_limits(), "v": on.distributions.normal(0.0, 0.1)}
    study = on.Ensemble(machine, members=MEMBERS, starts=starts, steps=1000, dt=1e-3, keep="final")
    run_block(study, 0, 64)
    times = []
    for k in range(12):
        began = time.process_time()
        run_block(study, k * study.block, (k + 1) * study.block)
        times.append(time.process_time() - began)
    return study, np.array(times)


class _Idle:
    """The work of a shard that does nothing, to measure all else."""

    def __call__(self, shard: Shard) -> ShardDone:
        return ShardDone(shard.start, shard.stop, (), 0.0)


def task_time() -> float:
    """Return the processor time of scheduler and client for a task; both are in this process, the workers are not."""
    import distributed

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
        with cluster, distributed.Client(cluster) as client:
            engine = _of_dask(client, 200, "idle")
            best = np.inf
            for _ in range(3):
                task, left, began = _Idle(), TASKS, time.process_time()
                waiting = set()
                while left or waiting:
                    while left and len(waiting) < 400:
                        waiting.add(engine.submit(task, Shard(left, left + 1)))
                        left -= 1
                    ended = list(engine.wait(waiting))
                    waiting -= set(ended)
                    list(engine.results(ended))
                best = min(best, (time.process_time() - began) / TASKS)
    return float(best)


def simulated(blocks: int, block: np.ndarray, task: float, shard: float, cores: int = CORES) -> Cluster:
    """Return how a cluster fares with shards of so many seconds, one scheduler, and cores of different speeds."""
    rng = np.random.default_rng(0)
    speed = np.maximum(0.5, 1.0 + SPREAD * rng.normal(size=cores))
    at_once = max(1, int(shard / block.mean()))
    left, tasks, busy, work = blocks, 0, 0.0, 0.0
    scheduler = 0.0  # the time when it is free
    free = np.zeros(cores)  # the time when a worker has done what it has
    messages: list[tuple[float, int]] = [(0.0, k) for _ in range(AHEAD) for k in range(cores)]
    heapq.heapify(messages)
    while messages and left:
        arrived, k = heapq.heappop(messages)
        scheduler = max(scheduler, arrived) + task
        busy += task
        size = min(left, at_once if tasks >= cores else 1, max(1, -(-left // (2 * cores))))
        left, tasks = left - size, tasks + 1
        took = float(rng.choice(block, size).sum()) / speed[k]
        free[k] = max(free[k], scheduler) + took
        work += took
        heapq.heappush(messages, (free[k], k))
    end = float(free.max())
    return Cluster(end, tasks, busy / end, work / (cores * end))


def main() -> None:
    """Print the times, and a table for shards of different lengths."""
    study, block = shard_times()
    task = task_time()
    hours = study.blocks * block.mean() / 3600.0
    size = MEMBERS * 8 * (study.robot.nq + study.robot.nv)
    print(f"a block of {study.block:,} members: {block.mean():.2f} s of one core, +- {block.std():.3f} s")
    print(f"a task of the scheduler and its client: {1e3 * task:.2f} ms")
    print(f"{MEMBERS:,} members: {hours:,.1f} hours of one core, {size / 1e9:,.0f} GB of final states,")
    print(f"    {3 * study.blocks:,} files of {8 * study.block * study.robot.nq / 1e3:,.0f} kB")
    print("\n| shard | tasks | scheduler at work | workers at work | whole run |\n|---|---|---|---|---|")
    for shard in (0.1, 1.0, 2.0, 5.0, 20.0):
        x = simulated(study.blocks, block, task, shard)
        print(f"| {shard:g} s | {x.tasks:,} | {x.scheduler:.0%} | {x.workers:.0%} | {x.seconds:.0f} s |")
    large = MEMBERS // LARGE_BLOCK
    x = simulated(large, block * LARGE_BLOCK / study.block, task, 2.0)
    print(f"| 2 s, block={LARGE_BLOCK:,} | {x.tasks:,} | {x.scheduler:.0%} | {x.workers:.0%} | {x.seconds:.0f} s |")
    for cores in (100, 10_000):
        x = simulated(study.blocks, block, task, 2.0, cores)
        print(f"| 2 s, {cores:,} cores | {x.tasks:,} | {x.scheduler:.0%} | {x.workers:.0%} | {x.seconds:.0f} s |")


if __name__ == "__main__":
    main()
