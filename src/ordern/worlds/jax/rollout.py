"""Rollouts in JAX: a `scan` over steps whose functions are machine code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from ...errors import ArgumentError
from ...kernel.arguments import broadcast_named
from ...simulate.policies import as_policy
from ...simulate.rollout_arguments import whole_number
from ..steps import Steps, require_steps
from .external import external_forces

if TYPE_CHECKING:
    from ...robot import Robot

__all__ = ["Rollout", "rollout"]


class Rollout(NamedTuple):
    """The states of a rollout in JAX."""

    q: Any
    """Positions, of shape (..., 1 + steps // every, nq)."""
    v: Any
    """Velocities, of shape (..., 1 + steps // every, nv)."""
    t: Any
    """The times of the states."""


def rollout(
    robot: Robot, q0: Any, v0: Any, tau: Any, steps: int | None, dt: Any, *, policy: Callable[..., Any] | None,
    every: int, hold: int, feedback: Any, external: Any, dynamics: str | None, smoothing: float, method: str,
    threads: int | None, **settings: Any,
) -> Rollout:  # fmt: skip
    """See `Robot.rollout`."""
    require_steps("JAX", {**settings, "method": method})
    every, hold = whole_number("every", every, 1), whole_number("hold", hold, 1)
    if isinstance(external, Mapping):
        external = external_forces(robot, external)
    forces = jnp.zeros(robot.nv, jnp.float32) if tau is None else tau
    kp, kd, target = _feedback(feedback)
    given = {"q0": (q0, robot.nq), "v0": (v0, robot.nv), "tau": (forces, robot.nv)}
    given |= {} if target is None else {"target": (target, robot.nq)}
    arrays = {name: _numbers(name, x, n, robot) for name, (x, n) in given.items()}
    arrays |= {} if external is None else {"external": jnp.asarray(external)}
    dtype = jnp.result_type(*arrays.values(), jnp.float32)
    arrays = {name: x.astype(dtype) for name, x in arrays.items()}
    rank = max(arrays["q0"].ndim, arrays["v0"].ndim) - 1
    timed: set[str] = {x for x in ("tau", "external", "target") if x in arrays and arrays[x].ndim - _rank(x) > rank}
    steps = _steps(steps, arrays, timed, tau)
    shapes = {x: a.shape[: a.ndim - _rank(x) - (x in timed)] for x, a in arrays.items()}
    batch = broadcast_named("rollout: the batch shapes of the arguments", {**shapes, "robot": robot.batch_shape})
    start = tuple(jnp.broadcast_to(arrays[x], (*batch, arrays[x].shape[-1])) for x in ("q0", "v0"))
    machine = Steps(robot, method, dt, dynamics, smoothing, threads)
    asked = None if policy is None else as_policy(policy)

    def act(k: Any, q: Any, v: Any) -> Any:
        assert asked is not None
        return jnp.broadcast_to(jnp.asarray(asked(k * dt, q, v), dtype), v.shape)

    def step(state: Any, rows: Any) -> Any:
        q, v, held, k = state
        now = {**arrays, **rows}
        force = now["tau"]
        if asked is not None:
            held = act(k, q, v) if hold == 1 else jax.lax.cond(k % hold == 0, act, lambda *_: held, k, q, v)
            force = force + held
        fed = None if target is None else (kp, kd, now["target"])
        q, v = machine.step(q, v, force, now.get("external"), fed)
        return (q.astype(dtype), v.astype(dtype), held, k + 1), None

    def row(state: Any, rows: Any) -> Any:
        state, _ = jax.lax.scan(step, state, rows, length=every)
        return state, state[:2]

    count = steps // every
    tables = {x: _by_rows(arrays[x], _rank(x), count, every) for x in timed}
    _, (q, v) = jax.lax.scan(row, (*start, jnp.zeros_like(start[1]), 0), tables, length=count)
    found = (jnp.concatenate([x[None], y]) for x, y in zip(start, (q, v), strict=True))
    q, v = (jnp.moveaxis(x, 0, -2) for x in found)
    return Rollout(q, v, dt * every * jnp.arange(count + 1, dtype=dtype))


def _rank(name: str) -> int:
    """Return the number of dimensions of an argument for one state."""
    return 2 if name == "external" else 1


def _numbers(name: str, x: Any, n: int, robot: Robot) -> Any:
    array = jnp.asarray(x)
    if array.ndim < 1 or array.shape[-1] != n:
        raise ArgumentError(
            f"rollout: {name} has shape {array.shape}; for {robot.name!r} its last dimension must be {n}"
        )
    return array


def _feedback(feedback: Any) -> tuple[Any, Any, Any]:
    if feedback is None:
        return None, None, None
    if not isinstance(feedback, (tuple, list)) or len(feedback) != 3:
        raise ArgumentError(f"rollout: `feedback` must be three things, (kp, kd, target), not {feedback!r}")
    kp, kd, target = feedback
    return jnp.asarray(kp), jnp.asarray(kd), target


def _steps(steps: Any, arrays: dict[str, Any], timed: set[str], tau: Any) -> int:
    """Return the number of steps; raise unless everything that changes with time has a row for each."""
    if steps is None:
        if "tau" not in timed:
            raise ArgumentError("rollout: give `steps`, or a tau with a row for each step")
        steps = arrays["tau"].shape[-2]
    count = whole_number("steps", steps, 0)
    for name in timed:
        rows = arrays[name].shape[-1 - _rank(name)]
        if rows != count:
            raise ArgumentError(f"rollout: {name} has {rows} rows over time, but there are {count} steps")
    return count


def _by_rows(x: Any, rank: int, count: int, every: int) -> Any:
    """Return a table over time as (count, every, ...), the time first; steps after the last kept state are left out."""
    rows = jnp.moveaxis(x, x.ndim - 1 - rank, 0)[: count * every]
    return rows.reshape(count, every, *rows.shape[1:])
