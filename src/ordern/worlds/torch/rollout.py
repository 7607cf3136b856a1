"""Rollouts on tensors: the whole time loop is one operator, whose derivatives are native, too.

A policy is a function of tensors, such as a network. It is asked between such operators, so that gradients pass through
it as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ...algorithms.derivatives.coordinates import pull_name
from ...arguments import AnyArray
from ...errors import ArgumentError
from ...model.contacts import CERTIFICATE
from ...model.parameter_sets import spread
from ...model.variation import structure_of, with_values
from ...model.varied_derivatives import by_field, from_fields
from ...records import dataclass
from ...simulate.contact_record import ContactSettings, certified, require_contacts, surfaces_elsewhere
from ...simulate.divergence import fastest, stayed
from ...simulate.efforts import effort_limits
from ...simulate.policies import as_policy
from ...simulate.rolled import Source
from ...simulate.rollout_arguments import require_arrays, require_feedback, require_one_reading, whole_number
from ...simulate.rollout_derivatives import gradient, sensitivity, source_of
from ...simulate.step_rule import stepped
from ..operators import Input
from ..steps import ContactSteps, Steps, require_steps
from .library import call
from .native import Native
from .tensors import external_tensor, tensors_of

if TYPE_CHECKING:
    from ...robot import Robot

__all__ = ["rollout"]

_TIMED = ("tau", "external", "target")
"""Arguments that may have a row for each step."""
_PARAMETERS = "parameters of the robot"
_CONTACT = ("contact_friction", "ground_height", "contact_impulses")
_SETTINGS = ("method", "dynamics", "smoothing", "drift", "limits", "restitution", "effort")
_REFUSED = {
    "device": "tensors are computed where they are; x.to(device) moves them",
    "noise": "draw it with torch.randn, and add it in the policy, or to `tau`",
    "events": "look for them in the states, or roll out NumPy arrays",
    "progress": "a rollout of tensors is one operator, which does not tell how far it is",
    "out": "tensors of rollouts are new; call robot.rollout with NumPy arrays to write into arrays",
}


@lru_cache(maxsize=256)
def _states(bounds: tuple[float, ...]) -> Any:
    """Return the class of results for these bounds of speeds: compiled functions rebuild tuples of tensors."""

    class Rollout(NamedTuple):
        """Trajectories as tensors; unpack them as `q, v, t = robot.rollout(...)`, or use the names."""

        q: Tensor
        """Positions, of shape (..., 1 + steps // every, nq)."""
        v: Tensor
        """Velocities, of shape (..., 1 + steps // every, nv)."""
        t: Tensor
        """Times since the start."""

        @property
        def diverged(self) -> Any:
            """True for trajectories that became infinite, NaN or too fast: see `diverged` of NumPy's rollouts."""
            return ~stayed(self.q, self.v, self.v.new_tensor(bounds)).all(-1)

    return Rollout


@dataclass(frozen=True, eq=False)
class ContactRollout:
    """Trajectories with contacts, and how exact the steps were; unpack the states as `q, v, t = robot.rollout(...)`."""

    q: Tensor
    """Positions, of shape (..., 1 + steps // every, nq)."""
    v: Tensor
    """Velocities, of shape (..., 1 + steps // every, nv)."""
    t: Tensor
    """Times since the start."""
    residual: Tensor
    """The largest residual of the contact law since the kept state before, in m/s, (..., rows)."""
    penetration: Tensor
    """The deepest penetration since then, in m, (..., rows)."""
    leveling: Tensor
    """How far velocities of true points are from those of the problem, in m/s, (..., rows): see `Certificate`."""
    fastest: tuple[float, ...]
    """The speeds above which a trajectory counts as diverged, one for each velocity."""

    def __iter__(self) -> Iterator[Tensor]:
        return iter((self.q, self.v, self.t))

    @property
    def uncertified(self) -> Tensor:
        """True for kept states whose steps cannot be relied on: see `Certificate.uncertified`."""
        lost = ~torch.isfinite(torch.cat([self.q, self.v], dim=-1)).all(-1)
        dtype = str(self.q.dtype).removeprefix("torch.")
        found: Tensor = ~certified(self.residual, self.penetration, self.leveling, dtype)
        return found | lost

    @property
    def diverged(self) -> Any:
        """True for trajectories that became infinite, NaN or too fast: see `diverged` of NumPy's rollouts."""
        return _states(self.fastest)(self.q, self.v, self.t).diverged


def rollout(
    robot: Robot, q0: Any, v0: Any, tau: Any, steps: int | None, dt: Any, *, policy: Callable[..., Any] | None,
    hold: int, every: int, feedback: Any, external: Any, threads: int | None, **settings: Any,
) -> Any:  # fmt: skip
    """See `Robot.rollout`."""
    contact = {x: settings.pop(x) for x in _CONTACT}
    _require_contacts(robot, contact, settings)
    for name in settings.keys() - {*_SETTINGS, "seed"}:
        if settings[name] is not None:
            hint = f": {_REFUSED[name]}" if name in _REFUSED else ""
            raise ArgumentError(f"rollout: {name}= is for NumPy arrays, and an argument is a tensor{hint}")
    require_arrays(tau)
    settings = {name: settings[name] for name in _SETTINGS}
    given = _arguments(robot, q0, v0, tau, dt, feedback, external, contact)
    rank = max(given["q0"].ndim, given["v0"].ndim) - 1
    read = {x: tuple(given[x].shape[: given[x].ndim - (x == "external")]) for x in _TIMED if x in given}
    for name in _TIMED:
        if name in given and given[name].ndim - (name == "external") < rank + 2:
            given[name] = given[name].unsqueeze(-3 if name == "external" else -2)
    steps = _steps(steps, given)
    states = torch.broadcast_shapes(given["q0"].shape[:-1], given["v0"].shape[:-1])
    require_one_reading(read, steps, states, rank)
    every, hold = whole_number("every", every, 1), whole_number("hold", hold, 1)
    loop = _Loop(robot, given, threads, settings)
    if policy is None:
        q, v, told = loop.run(given["q0"], given["v0"], 0, steps, every)
    else:
        q, v, told = _steered(loop, policy, steps, every, hold)
    t = given["dt"].detach() * every * torch.arange(q.shape[-2], dtype=q.dtype, device=q.device)
    most = tuple(fastest(robot).tolist())
    if robot.contacts is None:
        return _states(most)(q, v, t)
    residual, penetration, leveling = told.unbind(-1)
    return ContactRollout(q, v, t, residual, penetration, leveling, most)


def _require_contacts(robot: Robot, contact: dict[str, Any], settings: dict[str, Any]) -> None:
    """Raise if arguments do not go together with contacts, or are for contacts that are not there."""
    method, limits, dynamics = (settings[x] for x in ("method", "limits", "dynamics"))
    require_contacts(robot, ContactSettings(*contact.values()), method, limits, {"dynamics": dynamics is not None})
    if contact["ground_height"] is not None and robot.contacts is not None and robot.contacts.ground is None:
        raise ArgumentError(f"rollout: ground_height is given, but {robot.name!r} has no contacts with the ground")


def _arguments(
    robot: Robot, q0: Any, v0: Any, tau: Any, dt: Any, feedback: Any, external: Any, contact: Mapping[str, Any]
) -> dict[str, Tensor]:
    """Return all arguments that are arrays as tensors of one kind, by name."""
    require_feedback(feedback)
    if isinstance(external, Mapping):
        external = external_tensor(robot, external)
    kp, kd, target = feedback or (None, None, None)
    named = {"q0": q0, "v0": v0, "tau": tau, "external": external, "kp": kp, "kd": kd, "target": target, "dt": dt}
    named |= contact
    if robot.variation is not None:
        named[_PARAMETERS] = robot.variation.values
    for name in ("q0", "v0"):
        if named[name] is None:
            raise ArgumentError(f"rollout: {name} is None; give an array of numbers")
    named = {name: x for name, x in named.items() if x is not None}
    given = dict(zip(named, tensors_of("rollout", named), strict=True))
    for name in ("kp", "kd"):
        if name in given:
            if given[name].shape[-1:] not in ((), (1,), (robot.nv,)):
                raise ArgumentError(
                    f"rollout: feedback: {name} has shape {tuple(given[name].shape)}; give a number, or {robot.nv} (nv)"
                )
            given[name] = given[name].expand(*given[name].shape[:-1], robot.nv)
    pairs, blocks = _contact_counts(robot)
    for name in ("contact_friction", "ground_height"):
        if name in given and given[name].shape[-1:] in ((), (1,)):
            given[name] = given[name].expand(*given[name].shape[:-1], pairs)
    sizes = {"q0": robot.nq, "target": robot.nq, "external": 6, "dt": None, _PARAMETERS: None}
    sizes |= {"contact_friction": pairs, "ground_height": pairs, "contact_impulses": 3}
    for name, x in given.items():
        n = sizes.get(name, robot.nv)
        if n is not None and (x.ndim < 1 or x.shape[-1] != n):
            raise ArgumentError(
                f"rollout: {name} has shape {tuple(x.shape)}; for {robot.name!r} its last dimension must be {n}"
            )
    if "contact_impulses" in given and robot.contacts is not None:
        first = given["contact_impulses"]
        if first.shape[-2:] not in ((pairs, 3), (blocks, 3)):
            raise ArgumentError(f"rollout: contact_impulses has shape {tuple(first.shape)}; give (..., {pairs}, 3)")
        moments = first.new_zeros((*first.shape[:-2], blocks - first.shape[-2], 3))
        given["contact_impulses"] = torch.cat([first, moments], -2)
    if "external" in given and given["external"].shape[-2:] != (len(robot.bodies), 6):
        raise ArgumentError(
            f"rollout: external has shape {tuple(given['external'].shape)}; for {robot.name!r} give (..., "
            f"{len(robot.bodies)}, 6), a (moment, force) for each body, or a dictionary"
        )
    return given


def _contact_counts(robot: Robot) -> tuple[int, int]:
    """Return the numbers of contacts, and of impulses and moments of three numbers each."""
    return (0, 0) if robot.contacts is None else (len(robot.contacts.pairs), robot.contacts.blocks)


def _steps(steps: Any, given: Mapping[str, Tensor]) -> int:
    """Return the number of steps; raise unless everything that changes with time has a row for each."""
    if steps is None:
        if "tau" not in given or given["tau"].shape[-2] == 1:
            raise ArgumentError("rollout: give `steps`, or a tau with a row for each step")
        steps = int(given["tau"].shape[-2])
    count = whole_number("steps", steps, 0)
    for name in _TIMED:
        if name in given:
            rows = given[name].shape[-3 if name == "external" else -2]
            if rows not in (1, count):
                raise ArgumentError(f"rollout: {name} has {rows} rows over time, but there are {count} steps")
    return count


class _Loop:
    """The time loop of one call, of which any part can be run."""

    def __init__(self, robot: Robot, given: dict[str, Tensor], threads: int | None, settings: dict[str, Any]) -> None:
        self.robot, self.given, self.threads, self.settings = robot, given, threads, settings

    def run(
        self, q: Tensor, v: Tensor, first: int, steps: int, every: int, forces: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the states of some steps from a state on, and certificates; add `forces` to those of the call."""
        given = {**self.given, "q0": q, "v0": v}
        for name in _TIMED:
            axis = -3 if name == "external" else -2
            if name in given and given[name].shape[axis] > 1:
                given[name] = given[name].narrow(axis, first, steps)
        if forces is not None:
            given["tau"] = given["tau"] + forces.unsqueeze(-2) if "tau" in given else forces.unsqueeze(-2)
        rows = {name: int(given[name].shape[-3 if name == "external" else -2]) for name in _TIMED if name in given}
        operator = _operator(self.robot, tuple(given), rows, steps, every, self.settings)
        states = call(operator, self.threads, [given[name] for name in operator.names])
        nq, end = self.robot.nq, self.robot.nq + self.robot.nv
        return states[..., :nq], states[..., nq:end], states[..., end:].detach()


def _steered(loop: _Loop, policy: Any, steps: int, every: int, hold: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the states of a rollout whose forces a policy gives, once in each control step of `hold` steps."""
    ask, each = as_policy(policy), math.gcd(every, hold)
    q, v, dt = loop.given["q0"], loop.given["v0"], loop.given["dt"].detach()
    batch = torch.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    q, v = (x.expand(*batch, x.shape[-1]) for x in (q, v))
    kept = [
        (
            q.unsqueeze(-2),
            v.unsqueeze(-2),
            q.new_zeros((*batch, 1, 0 if loop.robot.contacts is None else len(CERTIFICATE) - 1)),
        )
    ]
    for first in range(0, steps, hold):
        count = min(hold, steps - first) // each * each
        if not count:
            break
        tau = ask(dt * first, q, v)
        if not isinstance(tau, Tensor) or tau.shape[-1:] != (loop.robot.nv,):
            found = tuple(tau.shape) if isinstance(tau, Tensor) else type(tau).__name__
            raise ArgumentError(
                f"rollout: the policy returned {found}; for {loop.robot.name!r} give a tensor of joint forces of shape "
                f"{tuple(v.shape)}"
            )
        some, speeds, told = loop.run(q, v, first, count, each, tau.to(v.dtype))
        kept.append((some[..., 1:, :], speeds[..., 1:, :], told[..., 1:, :]))
        q, v = some[..., -1, :], speeds[..., -1, :]
    batch = kept[-1][0].shape[:-2]
    q, v, told = (torch.cat([x.expand(*batch, *x.shape[-2:]) for x in part], -2) for part in zip(*kept, strict=True))
    group = every // each
    q, v = q[..., ::group, :], v[..., ::group, :]
    rows = told[..., 1 : 1 + group * (q.shape[-2] - 1), :].unflatten(-2, (-1, group)).amax(-2)
    return q, v, torch.cat([told[..., :1, :], rows], -2)


def _operator(
    robot: Robot, names: tuple[str, ...], rows: dict[str, int], steps: int, every: int, settings: dict[str, Any]
) -> _RolloutOperator:
    """Return the operator of a rollout; it is made once for each number of steps and each set of settings."""
    key = ("torch rollout", names, tuple(rows.items()), steps, every, tuple(settings.items()))
    return robot._kernels.shared(key, lambda: _RolloutOperator(robot, names, rows, steps, every, settings))


class _RolloutOperator(Native):
    """The states (rows, nq + nv) of a rollout as a function of its arguments."""

    def __init__(
        self, robot: Robot, names: Sequence[str], rows: dict[str, int], steps: int, every: int, settings: dict[str, Any]
    ) -> None:
        n, nq, nv = len(robot.bodies), robot.nq, robot.nv
        self._owner, self._steps, self._every = robot, steps, every
        self._settings, self._rows = dict(settings), rows
        self._limits = {x: self._settings.pop(x) for x in ("limits", "restitution")}
        count = 0 if robot.variation is None else robot.variation.count
        cores = {"q0": (nq,), "v0": (nv,), "kp": (nv,), "kd": (nv,), "dt": (), _PARAMETERS: (count,)}
        cores |= {"tau": (rows.get("tau", 1), nv), "external": (rows.get("external", 1), n, 6)}
        cores |= {"target": (rows.get("target", 1), nq)}
        pairs, blocks = _contact_counts(robot)
        cores |= {"contact_friction": (pairs,), "ground_height": (pairs,), "contact_impulses": (blocks, 3)}
        self._certified = 0 if robot.contacts is None else len(CERTIFICATE) - 1
        shape = (1 + steps // every, nq + nv + self._certified)
        super().__init__("rollout", robot.name, [Input(x, cores[x]) for x in names], shape)

    def _call(self, given: Mapping[str, AnyArray]) -> tuple[Robot, tuple[Any, ...], dict[str, Any]]:
        """Return the robot, and the arguments of `Robot.rollout` for it."""
        robot = self._owner
        if _PARAMETERS in given:
            robot = with_values(robot, np.asarray(given[_PARAMETERS], float))
        more: dict[str, Any] = {"every": self._every, "external": given.get("external"), **self._settings}
        more["feedback"] = None
        if "target" in given:
            more["feedback"] = (_one("kp", given["kp"], 1), _one("kd", given["kd"], 1), given["target"])
        more |= {x: given[x] for x in _CONTACT if x in given}
        dt = float(_one("dt", given["dt"], 0))
        return robot, (given["q0"], given["v0"], given.get("tau"), self._steps, dt), more

    def there(self, library: Any, tensors: Sequence[Tensor]) -> Tensor:
        """Return the states for tensors on a GPU, where one launch takes all steps."""
        from ...simulate.rollout_device import steps_there

        named = dict(zip(self.names, tensors, strict=True))
        if self._limits["limits"] == "bounce" or self._settings["drift"] != "baumgarte":
            raise ArgumentError("rollout: bounces and projections are for the CPU; the tensors are on a GPU")
        robot, dt = self._owner, float(_one("dt", named.pop("dt").cpu().numpy(), 0))
        robot = self._stepped(robot, "target" in named)
        if _PARAMETERS in named:
            robot = with_values(robot, named.pop(_PARAMETERS).cpu().double().numpy())
        gains = [named.pop(x).cpu().numpy() if x in named else np.zeros(robot.nv) for x in ("kp", "kd")]
        head, effort = [dt, self._settings["smoothing"], 0.0, 0.0, 1.0], effort_limits(robot, self._settings["effort"])
        given: dict[str, Any] = {"goal" if x == "target" else x: y for x, y in named.items()}
        given["numbers"] = np.concatenate([head, *(_one("gains", x, 1) for x in gains), effort])
        if robot.contacts is not None:
            return self._touching_there(robot, given, gains, dt)
        how = self._settings["method"], self._settings["dynamics"]
        device = library.device(tensors[0])
        found: Tensor = steps_there(robot, library, device, given, how, self._steps, self._every, together=True)
        return found

    def _touching_there(self, robot: Robot, given: Mapping[str, Any], gains: Sequence[AnyArray], dt: float) -> Tensor:
        """Return the states and certificates of a robot with contacts for tensors on a GPU."""
        from ...simulate.rollout_device import rollout_there

        kp, kd = (_one("gains", x, 1) for x in gains)
        more: dict[str, Any] = {x: given.get(x) for x in (*_CONTACT, "external", "tau")}
        more |= {**self._settings, "steps": self._steps, "dt": dt, "every": self._every, "limits": None}
        more["feedback"] = (kp, kd, given["goal"]) if "goal" in given else None
        run = rollout_there(robot, given["q0"], given["v0"], **more)
        told = [run.certificate[..., : self._certified]] if self._certified else []
        return torch.cat([run.q, run.v, *told], dim=-1)

    def compute(self, given: Mapping[str, AnyArray], batch: tuple[int, ...], threads: int | None) -> AnyArray:
        """Return the states."""
        robot, arguments, more = self._call(given)
        run: Any = partial(robot.rollout, *arguments)(**more, **self._limits, threads=threads)
        told = [getattr(run.certificate, name) for name in CERTIFICATE[: self._certified]]
        return np.concatenate([run.q, run.v, *(x[..., None] for x in told)], axis=-1, dtype=given["q0"].dtype)

    def composed(self, given: Mapping[str, Tensor]) -> Tensor:
        """Return the states, step by step."""
        require_steps("PyTorch", {**self._settings, **self._limits})
        batch = given["dt"].shape
        if not batch:
            return self._one_trajectory(given)
        flat = {x: y.reshape(-1, *y.shape[len(batch) :]) for x, y in given.items()}
        found = torch.vmap(lambda *some: self._one_trajectory(dict(zip(flat, some, strict=True))))(*flat.values())
        return found.reshape(*batch, *self.output)

    def _one_trajectory(self, given: Mapping[str, Tensor]) -> Tensor:
        """Return the states of one trajectory, whose step is a single number."""
        robot = with_values(self._owner, given[_PARAMETERS]) if _PARAMETERS in given else self._owner
        robot = self._stepped(robot, "target" in given)
        q, v = robot.normalize(given["q0"]), given["v0"]  # derivatives are along motions of joints
        told = v.new_zeros(self._certified)
        take, pushes = self._taker(robot, given, v)
        kept = [torch.cat([q, v, told], -1)]
        for k in range(self._steps // self._every * self._every):
            now = {x: given[x].select(-3 if x == "external" else -2, k if self._rows[x] > 1 else 0) for x in self._rows}
            fed = (given["kp"], given["kd"], robot.normalize(now["target"])) if "target" in now else None
            force = now.get("tau", torch.zeros_like(v))
            q, v, pushes, found = take(q, v, pushes, force, now.get("external"), fed)
            told = torch.maximum(told, found[..., : self._certified])
            if (k + 1) % self._every == 0:
                kept.append(torch.cat([q, v, told], -1))
                told = torch.zeros_like(told)
        return torch.stack(kept, -2)

    def _stepped(self, robot: Robot, feedback: bool) -> Robot:
        """Return the robot whose steps are taken."""
        how = self._settings
        return stepped(robot, how["method"], self._limits["limits"], feedback, how["drift"], how["dynamics"])[0]

    def _taker(self, robot: Robot, given: Mapping[str, Tensor], v: Tensor) -> tuple[Callable[..., Any], Any]:
        """Return the function that takes a step, and the impulses that the first one begins from."""
        how, dt = self._settings, given["dt"]
        effort = effort_limits(robot, how["effort"])
        if robot.contacts is None:
            steps = Steps(robot, how["method"], dt, how["dynamics"], how["smoothing"], effort, None)
            return lambda q, v, pushes, *more: (*steps.step(q, v, *more), pushes, v[..., :0]), None
        some = (given.get(x) for x in ("contact_friction", "ground_height"))
        surface = torch.as_tensor(surfaces_elsewhere(robot, "rollout", *some), dtype=v.dtype)
        contacts = ContactSteps(robot, dt, how["smoothing"], effort, None, surface, torch.Tensor.detach)
        first = given.get("contact_impulses", v.new_zeros((robot.contacts.blocks, 3)))
        return contacts.step, (first, torch.zeros_like(v))

    def _source(self, given: Mapping[str, AnyArray]) -> Source:
        robot, arguments, more = self._call(given)
        return source_of(robot, arguments, {**more, "limits": self._limits["limits"]})

    def rates(
        self, given: Mapping[str, AnyArray], answer: AnyArray, moving: Mapping[str, AnyArray], batch: tuple[int, ...],
        threads: int | None,
    ) -> AnyArray:  # fmt: skip
        """Return the rates of the states."""
        source, tangents = self._source(given), {x: y for x, y in moving.items() if x != "contact_impulses"}
        robot = source.robot
        by_rows = spread(robot)  # positions over time have an axis of rows before their own
        for name, of in (("q0", robot), ("target", by_rows)):
            if name in tangents:
                tangents[name] = of.kernel("position_tangent")(given[name], tangents[name])
        if _PARAMETERS in tangents:
            tangents |= by_field(structure_of(robot), np.asarray(tangents.pop(_PARAMETERS), float))
        found = sensitivity(source, tangents, threads)
        dq = by_rows.position_rate(answer[..., : robot.nq], found.q)
        told = np.zeros((*dq.shape[:-1], self._certified))
        return np.concatenate([dq, found.v, told], axis=-1, dtype=answer.dtype)

    def gradient(
        self, given: Mapping[str, AnyArray], weights: AnyArray, wrt: Sequence[str], batch: tuple[int, ...],
        threads: int | None,
    ) -> dict[str, AnyArray]:  # fmt: skip
        """Return the derivatives of the weighted sum of the states."""
        source = self._source(given)
        robot, names = source.robot, [x for x in wrt if x not in (_PARAMETERS, "contact_impulses")]
        fields = () if _PARAMETERS not in wrt else tuple(robot.variation.masks)  # type: ignore[union-attr]
        wq, wv = weights[..., : robot.nq], weights[..., robot.nq : robot.nq + robot.nv]
        found: dict[str, AnyArray] = gradient(source, wq, wv, [*names, *fields], threads, numbers=True)._asdict()
        for name, of in (("q0", robot), ("target", spread(robot))):
            if name in found:
                pull = of.kernel(pull_name("position_tangent", ["rate"]))
                found[name] = pull(given[name], np.zeros_like(given[name]), found[name])
        if "contact_impulses" in wrt:  # the solver begins from them
            found["contact_impulses"] = np.zeros_like(given["contact_impulses"])
        if fields:
            found[_PARAMETERS] = from_fields(structure_of(robot), {x: found[x] for x in fields}, batch)
        return found


def _one(name: str, x: AnyArray, rank: int) -> AnyArray:
    """Return what all trajectories share, such as gains: the same for each of them."""
    one = x.reshape(-1, *x.shape[x.ndim - rank :])[:1]
    if x.size and (x != one[0]).any():
        raise ArgumentError(f"rollout: all trajectories of a call share {name}; call it once for each {name}")
    return one[0] if x.size else np.ones(x.shape[x.ndim - rank :])
