"""Rollouts in JAX: a `scan` over steps whose functions are machine code."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...arguments import positive
from ...compile.run.own_code import own_joints
from ...errors import ArgumentError
from ...kernel.arguments import broadcast_named
from ...model.contacts import CERTIFICATE
from ...records import dataclass
from ...simulate.contact_record import ContactSettings, certified, require_contacts, surfaces_elsewhere
from ...simulate.divergence import fastest, stayed
from ...simulate.efforts import effort_limits
from ...simulate.policies import as_policy
from ...simulate.rollout_arguments import require_arrays, require_feedback, require_one_reading, whole_number
from ...simulate.run.fingerprint import fingerprint
from ...simulate.step_rule import stepped
from ..steps import ContactSteps, Steps, require_steps
from .external import external_forces
from .numbers import numbers

if TYPE_CHECKING:
    from ...robot import Robot

__all__ = ["ContactRollout", "rollout"]


@lru_cache(maxsize=256)
def _states(bounds: tuple[float, ...]) -> Any:
    """Return the class of results for these bounds of speeds: JAX rebuilds tuples from their arrays alone."""

    class Rollout(NamedTuple):
        """The states of a rollout in JAX."""

        q: Any
        """Positions, of shape (..., 1 + steps // every, nq)."""
        v: Any
        """Velocities, of shape (..., 1 + steps // every, nv)."""
        t: Any
        """The times of the states."""

        @property
        def diverged(self) -> Any:
            """True for trajectories that became infinite, NaN or too fast: see `diverged` of NumPy's rollouts."""
            return ~stayed(self.q, self.v, jnp.asarray(bounds, self.v.dtype)).all(-1)

    return Rollout


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["q", "v", "t", "contact_impulses", "residual", "penetration", "leveling"],
    meta_fields=["fastest"],
)
@dataclass(frozen=True, eq=False)
class ContactRollout:
    """The states of a rollout with contacts in JAX, and how exact the steps were; `q, v, t = run` unpacks them."""

    q: Any
    """Positions, of shape (..., 1 + steps // every, nq)."""
    v: Any
    """Velocities, of shape (..., 1 + steps // every, nv)."""
    t: Any
    """The times of the states."""
    contact_impulses: Any
    """Impulses of the step before each kept state, (..., rows, contacts, 3)."""
    residual: Any
    """The largest residual of the contact law since the kept state before, in m/s, (..., rows)."""
    penetration: Any
    """The deepest penetration since then, in m, (..., rows)."""
    leveling: Any
    """How far velocities of true points are from those of the problem, in m/s, (..., rows): see `Certificate`."""
    fastest: tuple[float, ...]
    """The speeds above which a trajectory counts as diverged, one for each velocity."""

    @property
    def uncertified(self) -> Any:
        """True for kept states whose steps cannot be relied on: see `Certificate.uncertified`."""
        lost = ~jnp.isfinite(jnp.concatenate([self.q, self.v], axis=-1)).all(-1)
        return ~certified(self.residual, self.penetration, self.leveling, self.q.dtype.name) | lost

    def __iter__(self) -> Iterator[Any]:
        return iter((self.q, self.v, self.t))

    @property
    def diverged(self) -> Any:
        """True for trajectories that became infinite, NaN or too fast: see `diverged` of NumPy's rollouts."""
        return _states(self.fastest)(self.q, self.v, self.t).diverged


def rollout(
    robot: Robot, q0: Any, v0: Any, tau: Any, steps: int | None, dt: Any, *, policy: Callable[..., Any] | None,
    feedback: Any, external: Any, **settings: Any,
) -> Any:  # fmt: skip
    """See `Robot.rollout`.

    A call outside of other functions of JAX would compile its steps anew each time, and JAX would keep all of that. So
    it is compiled as a whole, once for all equal robots, arrays of the same shapes, and settings.
    """
    arrays = {"q0": q0, "v0": v0, "tau": tau, "feedback": feedback, "external": external}
    key = None if policy is not None else _content(robot, arrays, (steps, dt, *sorted(settings.items())))
    if key is None:
        return _rollout(robot, steps=steps, dt=dt, policy=policy, **arrays, **settings)
    with _LOCK:
        made = _made.pop(key, None)
        if made is None:
            made = jax.jit(lambda given: _rollout(robot, steps=steps, dt=dt, policy=None, **given, **settings))
        _made[key] = made  # the last one that was used
        while len(_made) > _MOST_MADE:
            del _made[next(iter(_made))]
    return made(arrays)


_made: dict[Any, Callable[..., Any]] = {}
_LOCK, _MOST_MADE = threading.Lock(), 64


def _content(robot: Robot, arrays: Mapping[str, Any], settings: tuple[Any, ...]) -> Any:
    """Return all that a rollout of concrete arrays depends on but for their values; None if it is not plain."""
    feedback, external = arrays["feedback"], arrays["external"]
    found = [arrays["q0"], arrays["v0"], *([] if arrays["tau"] is None else [arrays["tau"]])]
    if feedback is not None:
        if type(feedback) is not tuple:
            return None
        found += [x for x in feedback if type(x) not in (int, float)]
    if external is not None:
        found += external.values() if type(external) is dict else [external]
    joints = own_joints(robot)
    if robot.variation is not None or joints is None or not all(map(_is_plain, found)):
        return None
    names = [robot.name, [b.name for b in robot.bodies], [c.name for c in robot.joints], robot.frames]
    key = (fingerprint(robot), joints, repr(names), settings, repr(settings))  # 1, 1.0 and True are equal
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _is_plain(x: Any) -> bool:
    """Return True for an array of real numbers with known values."""
    if isinstance(x, jax.Array):
        return not isinstance(x, jax.core.Tracer) and jnp.issubdtype(x.dtype, jnp.floating)
    return type(x) is np.ndarray and x.dtype.kind == "f"


def _rollout(
    robot: Robot, q0: Any, v0: Any, tau: Any, steps: int | None, dt: Any, *, policy: Callable[..., Any] | None,
    every: int, hold: int, feedback: Any, external: Any, dynamics: str | None, smoothing: float, method: str,
    threads: int | None, effort: str = "clip", **settings: Any,
) -> Any:  # fmt: skip
    contact = ContactSettings(*(settings[x] for x in ("contact_friction", "ground_height", "contact_impulses")))
    require_contacts(robot, contact, method, settings["limits"], {"dynamics": dynamics is not None})
    require_steps("JAX", {**settings, "method": method})
    touches, limits, drift = robot.contacts is not None, settings["limits"], settings["drift"]
    robot, _ = stepped(robot, method, limits, feedback is not None, drift, dynamics)
    every, hold = whole_number("every", every, 1), whole_number("hold", hold, 1)
    require_arrays(tau)
    _require_positive(dt=dt, smoothing=smoothing)
    if isinstance(external, Mapping):
        external = external_forces(robot, external)
    forces = jnp.zeros(robot.nv, jnp.float32) if tau is None else tau
    kp, kd, target = _feedback(feedback, robot)
    given = {"q0": (q0, robot.nq), "v0": (v0, robot.nv), "tau": (forces, robot.nv)}
    given |= {} if target is None else {"target": (target, robot.nq)}
    arrays = {name: _numbers(name, x, n, robot) for name, (x, n) in given.items()}
    arrays |= {} if external is None else {"external": _loads(external, robot)}
    dtype = jnp.result_type(*arrays.values(), jnp.float32)
    arrays = {name: x.astype(dtype) for name, x in arrays.items()}
    rank = max(arrays["q0"].ndim, arrays["v0"].ndim) - 1
    read = {x: arrays[x].shape[: arrays[x].ndim + 1 - _rank(x)] for x in _TIMED if x in arrays}
    timed = {x for x, shape in read.items() if len(shape) > rank + 1}
    steps = _steps(steps, arrays, timed)
    shapes = {x: a.shape[: a.ndim - _rank(x) - (x in timed)] for x, a in arrays.items()}
    batch = broadcast_named("rollout: the batch shapes of the arguments", {**shapes, "robot": robot.batch_shape})
    require_one_reading(read, steps, batch, rank)
    start = tuple(jnp.broadcast_to(arrays[x], (*batch, arrays[x].shape[-1])) for x in ("q0", "v0"))
    take, pushes = _taker(
        robot, contact, (method, dt, dynamics, smoothing, effort_limits(robot, effort), threads), batch, dtype
    )
    asked = None if policy is None else as_policy(policy)

    def act(k: Any, q: Any, v: Any) -> Any:
        assert asked is not None
        return _forces(asked(k * dt, q, v), v, robot)

    def step(state: Any, rows: Any) -> Any:
        q, v, held, k, pushes, worst = state
        now = {**arrays, **rows}
        force = now["tau"]
        if asked is not None:
            held = act(k, q, v) if hold == 1 else jax.lax.cond(k % hold == 0, act, lambda *_: held, k, q, v)
            force = force + held
        fed = None if target is None else (kp, kd, now["target"])
        q, v, pushes, told = take(q, v, pushes, force, now.get("external"), fed)
        worst = worst if told is None else jnp.maximum(worst, told[..., :_LARGEST])
        return (q.astype(dtype), v.astype(dtype), held, k + 1, pushes, worst), None

    def row(state: Any, rows: Any) -> Any:
        state, _ = jax.lax.scan(step, (*state[:-1], jnp.zeros_like(state[-1])), rows, length=every)
        return state, (*state[:2], state[4], state[5])

    count = steps // every
    tables = {x: _by_rows(arrays[x], _rank(x), steps, count, every) for x in timed}
    worst = jnp.zeros((*batch, _LARGEST), dtype)
    first = (*start, jnp.zeros_like(start[1]), 0, pushes, worst)
    _, (q, v, pushed, told) = jax.lax.scan(row, first, tables, length=count)
    found = (jnp.concatenate([x[None], y]) for x, y in zip(start, (q, v), strict=True))
    q, v = (jnp.moveaxis(x, 0, -2) for x in found)
    t = dt * every * jnp.arange(count + 1, dtype=dtype)
    most = tuple(fastest(robot).tolist())
    if not touches:
        return _states(most)(q, v, t)
    assert robot.contacts is not None
    impulses = jnp.moveaxis(jnp.concatenate([pushes[0][None], pushed[0]]), 0, -3)[..., : len(robot.contacts.pairs), :]
    told = jnp.moveaxis(jnp.concatenate([worst[None], told]), 0, -2)
    residual, penetration, leveling = (told[..., k] for k in range(_LARGEST))
    return ContactRollout(q, v, t, impulses, residual, penetration, leveling, most)


def _taker(
    robot: Robot, contact: ContactSettings, how: tuple[Any, ...], batch: tuple[int, ...], dtype: Any
) -> tuple[Callable[..., Any], Any]:
    """Return the function that takes a step, and the impulses that the first one begins from."""
    method, dt, dynamics, smoothing, effort, threads = how
    if robot.contacts is None:
        machine = Steps(robot, method, dt, dynamics, smoothing, effort, threads)
        return lambda q, v, pushes, *more: (*machine.step(q, v, *more), pushes, None), ()
    pairs, blocks = len(robot.contacts.pairs), robot.contacts.blocks
    given = surfaces_elsewhere(robot, "rollout", contact.friction, contact.height)
    steps = ContactSteps(robot, dt, smoothing, effort, threads, jnp.asarray(given, dtype), jax.lax.stop_gradient)
    impulses = jnp.zeros((pairs, 3)) if contact.impulses is None else numbers(contact.impulses, "contact_impulses")
    if impulses.shape[-2:] not in ((pairs, 3), (blocks, 3)):
        raise ArgumentError(f"rollout: contact_impulses has shape {impulses.shape}; give (..., {pairs}, 3)")
    moments = jnp.zeros((*impulses.shape[:-2], blocks - impulses.shape[-2], 3))
    impulses = jnp.concatenate([impulses, moments], axis=-2).astype(dtype)
    pushes = jnp.broadcast_to(impulses, (*batch, blocks, 3)), jnp.zeros((*batch, robot.nv), dtype)

    def take(q: Any, v: Any, *more: Any) -> Any:
        q, v, after, told = steps.step(q, v, *more)
        return q, v, tuple(x.astype(dtype) for x in after), told.astype(dtype)

    return take, pushes


_LARGEST = len(CERTIFICATE) - 1
"""The numbers of a certificate that are the largest of all steps, which are kept."""
_TIMED = ("tau", "external", "target")
"""Arguments that may have a row for each step."""


def _rank(name: str) -> int:
    """Return the number of dimensions of an argument for one state."""
    return 2 if name == "external" else 1


def _require_positive(**given: Any) -> None:
    """Raise unless numbers are above zero, where they are known; JAX may trace them."""
    for name, x in given.items():
        if not isinstance(x, jax.core.Tracer):
            positive(x, f"rollout: `{name}`")
        elif x.ndim:
            raise ArgumentError(f"rollout: `{name}` must be one number, not an array of shape {x.shape}")


def _forces(found: Any, v: Any, robot: Robot) -> Any:
    """Return what a policy returned as joint forces of the shape of v."""
    try:
        return jnp.broadcast_to(jnp.asarray(found, v.dtype), v.shape)
    except (TypeError, ValueError):
        shape = getattr(found, "shape", None)
        raise ArgumentError(
            f"rollout: the policy returned {type(found).__name__ if shape is None else shape}; for {robot.name!r} give "
            f"an array of joint forces of shape {v.shape}"
        ) from None


def _numbers(name: str, x: Any, n: int, robot: Robot) -> Any:
    array = numbers(x, f"rollout: {name}")
    if array.ndim < 1 or array.shape[-1] != n:
        raise ArgumentError(
            f"rollout: {name} has shape {array.shape}; for {robot.name!r} its last dimension must be {n}"
        )
    return array


def _feedback(feedback: Any, robot: Robot) -> tuple[Any, Any, Any]:
    if feedback is None:
        return None, None, None
    require_feedback(feedback)
    kp, kd = (numbers(x, f"rollout: feedback: {name}") for name, x in zip(("kp", "kd"), feedback, strict=False))
    for name, x in (("kp", kp), ("kd", kd)):
        if x.shape[-1:] not in ((), (1,), (robot.nv,)):
            raise ArgumentError(f"rollout: feedback: {name} has shape {x.shape}; give a number, or {robot.nv} (nv)")
    return kp, kd, feedback[2]


def _loads(external: Any, robot: Robot) -> Any:
    """Return forces on all bodies as an array."""
    array, n = numbers(external, "rollout: external"), len(robot.bodies)
    if array.shape[-2:] != (n, 6):
        raise ArgumentError(
            f"rollout: external has shape {array.shape}; for {robot.name!r} give (..., {n}, 6), a (moment, force) for "
            "each body, or a dictionary"
        )
    return array


def _steps(steps: Any, arrays: dict[str, Any], timed: set[str]) -> int:
    """Return the number of steps; raise unless everything that changes with time has a row for each, or one for all."""
    if steps is None:
        if "tau" not in timed or arrays["tau"].shape[-2] == 1:
            raise ArgumentError("rollout: give `steps`, or a tau with a row for each step")
        steps = arrays["tau"].shape[-2]
    count = whole_number("steps", steps, 0)
    for name in timed:
        rows = arrays[name].shape[-1 - _rank(name)]
        if rows not in (1, count):
            raise ArgumentError(f"rollout: {name} has {rows} rows over time, but there are {count} steps")
    return count


def _by_rows(x: Any, rank: int, steps: int, count: int, every: int) -> Any:
    """Return a table over time as (count, every, ...), the time first; steps after the last kept state are left out."""
    rows = jnp.moveaxis(x, x.ndim - 1 - rank, 0)
    rows = jnp.broadcast_to(rows, (steps, *rows.shape[1:]))[: count * every]
    return rows.reshape(count, every, *rows.shape[1:])
