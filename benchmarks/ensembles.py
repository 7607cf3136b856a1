"""Ensembles, final states kept: beside `rollout` itself, on Dask workers, and beside MuJoCo's rollout.

MuJoCo gets fewer members, in its own pool of threads; its time is scaled to all of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
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


@benchmark("{robot}.ensemble.{members}x{steps}", robot=("panda7",), members=(100_000,), steps=(1000,))
def ensemble(robot: str, members: int, steps: int) -> Figures:
    machine, _ = without_passive(robot)
    members = members // 10 if settings.quick else members
    starts = {"q": on.distributions.within_limits(), "v": on.distributions.normal(0.0, 0.1)}
    study = on.Ensemble(machine, members=members, starts=starts, steps=steps, dt=DT, keep="final")
    drawn = study.draws.drawn(0, members)
    plain: dict[str, Callable[[], Any]] = {
        "ours": study.run,
        "rollout": lambda: machine.rollout(drawn["q"], drawn["v"], None, steps, DT, every=steps),
    }
    few = 256
    if mujoco:
        q, v = drawn["q"][:few], drawn["v"][:few]
        plain["mujoco"], _ = mujoco_run(machine, q, v, np.zeros_like(v), steps)
    t = _times(plain)
    yield "us_per_member", 1e6 * t["ours"].min() / members
    yield "share_of_rollout", float(np.median(t["rollout"] / t["ours"]))
    if mujoco:
        yield "vs_mujoco", float(np.median(t["mujoco"] / few * members / t["ours"]))
    if distributed:
        yield "dask.share_of_threads", _on_dask(study)


def _on_dask(study: on.Ensemble) -> float:
    """Return the rate on one Dask worker for each core, relative to that on as many threads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = distributed.LocalCluster(n_workers=cores(), threads_per_worker=1, dashboard_address=None)
        with cluster, distributed.Client(cluster) as client:
            study.run(engine=client)  # loads code in the workers
            t = _times({"threads": study.run, "dask": lambda: study.run(engine=client)})
    return float(np.median(t["threads"] / t["dask"]))


def _times(contestants: dict[str, Callable[[], Any]]) -> dict[str, np.ndarray]:
    """Return the times of contestants, which take turns."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for run in contestants.values():
        run()
    for _ in range(2 if settings.quick else 3):
        for name, run in contestants.items():
            started = wall_clock()
            run()
            times[name].append(wall_clock() - started)
    return {name: np.array(x) for name, x in times.items()}
