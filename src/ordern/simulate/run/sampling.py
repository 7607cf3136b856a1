"""Parts of chunks: up to an event, and at times that were asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...arguments import Array
from ..integrators.dense import evaluate
from ..results.energy import elastic
from .balance import Balance
from .chunk import Chunk
from .problem import Problem
from .watchers import Found

__all__ = ["cut", "sampled"]


def cut(problem: Problem, chunk: Chunk, event: Found) -> Chunk:
    """The steps up to an event; the one that it is in ends there."""
    whole = chunk.first(event.step)
    start = float(chunk.edges[event.step])
    last = event.step if event.t > start else max(event.step - 1, 0)
    problem.tau.return_to(float(chunk.edges[last]), chunk.tau[last])
    if not event.t > start:
        return whole
    dense = chunk.dense[event.step]
    work, taken = evaluate(dense, np.float64(event.s))[-2:]
    q, v, projected = problem.corrected(event.t, event.q, event.v)
    tau = problem.tau(event.t, q, v)
    ends = {"t": event.t, "q": q, "v": v, "tau": tau, "work": work, "taken": taken, "projected": projected}
    ends["a"] = problem.acceleration(event.t, q, v)
    ends["dense"] = dense * event.s ** np.arange(len(dense))[:, None]
    added: dict[str, Any] = {
        name: np.concatenate([getattr(whole, name), np.asarray(x)[None]]) for name, x in ends.items()
    }
    return replace(whole, **added, evaluations=whole.evaluations + 1)


def sampled(
    problem: Problem, chunk: Chunk, times: Array, W: Array, lost: Array, before: tuple[float, float], books: Balance
) -> tuple[Array, ...]:
    """Rows (t, q, v, a, tau, work, dissipated) at times within a chunk, whose steps end with the sums W and lost."""
    nq, nv, edges = problem.nq, problem.nv, chunk.edges
    k = np.clip(np.searchsorted(edges, times, side="left") - 1, 0, len(chunk) - 1)
    s = (times - edges[k]) / (edges[k + 1] - edges[k])
    y = evaluate(chunk.dense[k], s)
    q, v = problem.project(np.ascontiguousarray(y[:, :nq])), np.ascontiguousarray(y[:, nq : nq + nv])
    q, v = problem.corrected_many(times, q, v)
    tau = chunk.tau[k] if problem.tau.kind == "sampled" else problem.tau.over(times, q, v)
    force = tau + problem.passive_force(q, v) + problem.external_force(times, q, v)
    a = problem.dynamics(q, v, force, times)
    starts = np.cumsum([before[0], *chunk.work]), np.cumsum([before[1], *chunk.taken])
    work, taken = starts[0][k] + y[:, -2], starts[1][k] + y[:, -1]
    gone = taken - (elastic(books.robot, q) - books.elastic_start)
    exact = times == chunk.t[k]
    for mine, theirs in ((q, chunk.q), (v, chunk.v), (a, chunk.a), (tau, chunk.tau), (work, W), (gone, lost)):
        mine[exact] = theirs[k[exact]]
    return times, q, v, a, tau, work, gone
