"""Policies of rollouts: functions of a batch of states that return joint forces, called once in each control step."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import AnyArray, random_generator
from ..control.combined import delay_of
from ..control.imperfections import Imperfections
from ..errors import ArgumentError
from ..model.contacts import CERTIFICATE
from .exchange import read_only

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Policy", "as_policy", "controlled"]


class Policy:
    """The joint forces of each control step: those of a function, with noise in what it sees and in its forces."""

    def __init__(self, robot: Robot, function: Any, noise: Any, seed: Any, dt: float, hold: int) -> None:
        self.robot, self.function, self.dt, self.call = robot, function, dt, as_policy(function)
        self.imperfect = Imperfections(robot, noise, None, "rollout")
        if function is None and {"q", "v"} & self.imperfect.noise.keys():
            raise ArgumentError(
                "rollout: noise of 'q' and 'v' is in what a policy sees; give policy=, or noise of 'tau'"
            )
        self.rng = random_generator(seed, "rollout", "seed")
        if delay_of(function):
            raise ArgumentError(
                "rollout: a policy has no delay; robot.simulate takes a controller that is sampled late"
            )
        period = getattr(function, "period", None)
        if period is not None and abs(period - hold * dt) > 1e-9 * period:
            raise ArgumentError(
                f"rollout: the policy has a period of {period:g} s, but a control step of hold={hold} steps of dt = "
                f"{dt:g} s is {hold * dt:g} s long; give hold={max(1, round(period / dt))}"
            )
        start = getattr(function, "start", None)
        if callable(start):
            start(robot)

    def forces(self, t: float, q: AnyArray, v: AnyArray) -> AnyArray:
        """Return the forces (..., nv) of the control step that begins at a time, for states (..., nq) and (..., nv)."""
        tau: AnyArray = np.zeros_like(v)
        if self.function is not None:
            tau = self._asked(t, *self.imperfect.measured(q, v, self.rng))
        return self.imperfect.exerted(tau, self.rng)

    def _asked(self, t: float, q: AnyArray, v: AnyArray) -> AnyArray:
        """Return what the function returns, checked."""
        answer = self.call(t, read_only(q), read_only(v))
        try:
            tau = np.asarray(answer)
            if tau.dtype.kind not in "biuf" or (tau.ndim and tau.shape[-1] != v.shape[-1]):
                raise TypeError
            tau = np.broadcast_to(tau, v.shape).astype(v.dtype)
        except (TypeError, ValueError, RuntimeError):  # the last one: a tensor that requires gradients
            shape = f"an array of shape {np.shape(answer)}" if isinstance(answer, np.ndarray) else repr(answer)[:200]
            known = {"jax": "JAX", "jaxlib": "JAX", "torch": "PyTorch"}
            other = known.get(type(answer).__module__.partition(".")[0])
            advice = f"; for a policy of {other}, start from q0 and v0 of {other}" if other else ""
            raise ArgumentError(
                f"rollout: at t = {t:.9g} s the policy returned {shape}; for this batch of {self.robot.name!r} give "
                f"joint forces of shape {v.shape}{advice}"
            ) from None
        bad = ~np.isfinite(tau).all(-1) & np.isfinite(q).all(-1) & np.isfinite(v).all(-1)
        if bad.any():
            at = np.argwhere(bad)[0].tolist()
            where = f" for state {at[0] if len(at) == 1 else tuple(at)} of the batch" if at else ""
            raise ArgumentError(f"rollout: at t = {t:.9g} s the policy returned {tau[tuple(at)]}{where}")
        return tau


def as_policy(function: Any) -> Callable[[float, Any, Any], Any]:
    """Return a function of (t, q, v) that calls a function of (q, v), or of (t, q, v)."""
    if function is None:
        return lambda t, q, v: None
    if not callable(function) or isinstance(function, type):
        raise ArgumentError(f"rollout: `policy` must be a function of (q, v), not {function!r}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions of extension modules have no signature
        return lambda t, q, v: function(q, v)
    for timed in (False, True):
        try:
            signature.bind(*(None,) * (2 + timed))
        except TypeError:
            continue
        return function if timed else lambda t, q, v: function(q, v)
    raise ArgumentError(f"rollout: `policy` is called with (q, v), or with (t, q, v), but takes {signature}")


def controlled(
    policy: Policy,
    go: Callable[[dict[str, AnyArray], dict[str, AnyArray], int, int], None],
    arrays: dict[str, AnyArray],
    timed: dict[str, AnyArray],
    counts: tuple[int, int, int],
    batch: tuple[int, ...],
) -> AnyArray:
    """Run all control steps, and return the forces of the policy at each stored state, (count, rows, nv).

    `go` runs steps with other start and result arrays, other tables over time, a number of steps, and the number of
    steps between stored states. `counts` are all steps, the steps between stored states, and those of a control step.
    """
    steps, every, hold = counts
    states = [name for name in ("q", "v", "pushes") if f"{name}_out" in arrays]
    stored = {name: arrays[f"{name}_out"] for name in states}
    now = {name: arrays[f"{name}0"] for name in states}
    forces: AnyArray = np.zeros(stored["v"].shape, stored["v"].dtype)  # zeros_like writes them
    each = math.gcd(every, hold)
    own = {name: np.empty((len(x), hold // each + 1, x.shape[2]), x.dtype) for name, x in stored.items()}
    for name, x in now.items():
        stored[name][:, 0] = x
    certificates = _Certificates(arrays.get("certificate_out"), hold // each, (each, every))
    for first in range(0, steps, hold):
        count = min(hold, steps - first) // each * each
        q, v = (now[name].reshape(*batch, now[name].shape[-1]) for name in "qv")
        tau = policy.forces(policy.dt * first, q, v).reshape(forces.shape[0], -1)
        forces[:, -(-first // every) : -(-(first + hold) // every)] = tau[:, None]
        if not count:
            break
        part = {name: x[:, first : first + count] if x.shape[1] > 1 else x for name, x in timed.items()}
        part["tau"] = part["tau"] + tau[:, None]
        rows = {name: x[:, : count // each + 1] for name, x in own.items()}
        starts = {f"{name}0": x for name, x in now.items()}
        outputs = {f"{name}_out": x for name, x in rows.items()} | certificates.rows(count // each)
        go(starts | outputs, part, count, each)
        certificates.gather(first, count // each)
        ends = range((first // every + 1) * every, first + count + 1, every)
        for name, x in rows.items():
            stored[name][:, [k // every for k in ends]] = x[:, [(k - first) // each for k in ends]]
        now = {name: np.ascontiguousarray(x[:, -1]) for name, x in rows.items()}
    if steps and not steps % every:  # the end, from which no force acts
        forces[:, -1] = tau
    return forces


class _Certificates:
    """Certificates of steps with contacts, gathered from control steps into those of the stored states."""

    def __init__(self, stored: AnyArray | None, rows: int, counts: tuple[int, int]) -> None:
        """`rows` are the most in a control step; `counts` the steps of such a row, and of a stored one."""
        self._stored, self._counts = stored, counts
        if stored is not None:
            self._own = np.zeros((len(stored), rows + 1, len(CERTIFICATE)), stored.dtype)
            self._since = np.zeros((len(stored), len(CERTIFICATE)), stored.dtype)

    def rows(self, count: int) -> dict[str, AnyArray]:
        """Return the array for the certificates of a control step; none without contacts."""
        return {} if self._stored is None else {"certificate_out": self._own[:, : count + 1]}

    def gather(self, first: int, count: int) -> None:
        """Add the certificates of a control step that began at a step."""
        if self._stored is None:
            return
        each, every = self._counts
        for k in range(1, count + 1):
            row, since = self._own[:, k], self._since
            np.maximum(since[:, :-1], row[:, :-1], out=since[:, :-1])
            since[:, -1] += row[:, -1]
            number, rest = divmod(first + k * each, every)
            if rest == 0:
                self._stored[:, number] = since
                since[:] = 0.0
