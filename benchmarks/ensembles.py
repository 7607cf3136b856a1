"""Ensembles, final states kept: beside `rollout` itself, on Dask workers, and beside MuJoCo's rollout in processes.

The members are cut into as many blocks as a million of them are. MuJoCo gets 10,000 members in all; its time is scaled
to all of ours.
"""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

import ordern as on
from ordern.compile import cores

from .harness import Figures, benchmark, settings, wall_clock
from .mujoco_peer import mujoco
from .robots import without_passive
from .rollout import mujoco_run

try:
    import distributed
except ImportError:
    distributed = None

DT = 1e-3
MILLION = 1_000_000
ROUNDS = 5
MUJOCO_MEMBERS = 10_000
PIECE = 100
"""Members of one task of a process that runs MuJoCo."""


@benchmark("{robot}.ensemble.{members}x{steps}", robot=("panda7",), members=(100_000,), steps=(1000,))
def ensemble(robot: str, members: int, steps: int) -> Figures:
    machine, _ = without_passive(robot)
    members = members // 10 if settings.quick else members
    starts = {"q": on.distributions.within_limits(), "v": on.distributions.normal(0.0, 0.1)}
    whole = on.Ensemble(machine, members=MILLION, starts=starts, steps=steps, dt=DT, keep="final")
    block = max(1, members * whole.block // MILLION)
    study = on.Ensemble(machine, members=members, starts=starts, steps=steps, dt=DT, keep="final", block=block)
    drawn = study.draws.drawn(0, members)
    plain: dict[str, Callable[[], Any]] = {
        "ours": study.run,
        "rollout": lambda: machine.rollout(drawn["q"], drawn["v"], None, steps, DT, every=steps),
    }
    t = _times(plain)
    yield "us_per_member", 1e6 * t["ours"].min() / members
    yield "share_of_rollout", float(np.median(t["rollout"] / t["ours"]))
    if mujoco:
        yield "vs_mujoco", _against_mujoco(study, machine, drawn, steps)
    if distributed:
        yield "dask.share_of_threads", _on_dask(study)


def _against_mujoco(study: on.Ensemble, machine: on.Robot, drawn: dict[str, Any], steps: int) -> float:
    """Return how much longer MuJoCo's rollout takes, in a process for each core."""
    rounds = 1 if settings.quick else ROUNDS
    few = MUJOCO_MEMBERS // (10 * rounds if settings.quick else rounds)
    pieces = [(drawn["q"][k : k + PIECE], drawn["v"][k : k + PIECE]) for k in range(0, few, PIECE)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(cores(), context, _open, (machine, steps)) as pool:
        ends = np.concatenate(list(pool.map(_mujoco, pieces[: 2 * cores()])))  # loads code in the processes
        ours = machine.rollout(drawn["q"][: len(ends)], drawn["v"][: len(ends)], None, steps, DT, every=steps).q[:, -1]
        # without friction and forces, some wrists spin so fast that roundings grow; a mistake would show in all
        assert np.median(np.abs(ends - ours)) < 1e-6 * np.abs(ours).max(), "differs from MuJoCo"
        contestants = {"ours": study.run, "mujoco": lambda: list(pool.map(_mujoco, pieces))}
        t = _times(contestants, rounds)
    return float(np.median(t["mujoco"] / few * study.members / t["ours"]))


_HERE: list[Any] = []


def _open(machine: on.Robot, steps: int) -> None:
    """Keep the robot of this process."""
    _HERE[:] = [machine, steps]


def _mujoco(piece: tuple[Any, Any]) -> Any:
    """Return the last positions of some members, by MuJoCo on one thread."""
    machine, steps = _HERE
    q, v = piece
    return mujoco_run(machine, q, v, np.zeros_like(v), steps, threads=1)[1]()


def _on_dask(study: on.Ensemble) -> float:
    """Return the rate on one Dask worker for each core, relative to that on as many threads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = distributed.LocalCluster(n_workers=cores(), threads_per_worker=1, dashboard_address=None)
        with cluster, distributed.Client(cluster) as client:
            study.run(engine=client)  # loads code in the workers
            t = _times({"threads": study.run, "dask": lambda: study.run(engine=client)})
    return float(np.median(t["threads"] / t["dask"]))


def _times(contestants: dict[str, Callable[[], Any]], rounds: int = ROUNDS) -> dict[str, np.ndarray]:
    """Return the times of contestants, which take turns; every second round in the reverse order."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for run in contestants.values():
        run()
    for k in range(2 if settings.quick else rounds):
        for name in list(contestants)[:: 1 if k % 2 == 0 else -1]:
            started = wall_clock()
            contestants[name]()
            times[name].append(wall_clock() - started)
    return {name: np.array(x) for name, x in times.items()}
