"""Derivatives of functions of robots that keep loops closed, by implicit differentiation of the equations of motion.

The accelerations a and multipliers lambda are functions of q, v, tau, external forces, the motion of the base and the
time. `closed_balance` has the equations that they solve, as one function, and `ImplicitMotion` the changes of the
solution. Other functions follow from these by the chain rule: joint wrenches are those of the tree with the forces of
loops on its bodies, and accelerations of links are those of the joint accelerations.

Where constraints are redundant, the derivatives are those of the answer with this number of independent constraints:
along motions that keep loops closed, they are the derivatives of the mechanism.
"""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms.closed_loop.equations import flat
from ..algorithms.closed_loop.rank import TOLERANCE
from ..arguments import broadcast_shapes, names_of
from ..errors import ArgumentError, InconsistentStateError, unknown_name
from ..model import core_shape
from ..model.parameter_fields import FIELDS, hint_of
from .consistent import whose
from .derivative_arguments import CLOSED, CORES, named_arguments
from .derivative_sets import DerivativesOfSets
from .dynamics import BAUMGARTE, along, closed_dynamics
from .implicit import ImplicitMotion, refuse_singular
from .kernels import Array, in_single
from .motion import ClosedMotion

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["ClosedDerivatives", "closed_derivatives"]

_SETTINGS = ("check", "tolerance", "rank", "stabilise", "loop_forces")

Changes = dict[str, Array]
"""Arrays by the names of arguments."""


def closed_derivatives(
    robot: Robot, question: str, arguments: Any, settings: Mapping[str, Any], method: str | None, threads: int | None
) -> Any:
    """Return the derivatives of a function of `CLOSED`: an object with `jvp`, `vjp` and `matrices`."""
    if robot.batch_shape:
        how = (settings, method, threads)
        return DerivativesOfSets(robot, question, arguments, lambda one, x: closed_derivatives(one, question, x, *how))
    if question == "actuation":
        from .actuation_derivatives import ActuationDerivatives

        return ActuationDerivatives(robot, arguments, settings)
    return ClosedDerivatives(robot, question, arguments, settings, method, threads)


class ClosedDerivatives:
    """One call: a function that keeps loops closed, its arguments, and the solution there."""

    def __init__(
        self, robot: Robot, question: str, arguments: Any, settings: Mapping[str, Any], method: str | None = None,
        threads: int | None = None,
    ) -> None:  # fmt: skip
        """Solve the equations of motion for arguments by name, or in the order of `CLOSED`."""
        self.robot, self.question, self._how = robot, question, (method, threads)
        inputs = CLOSED[question]
        if question == "joint_wrenches" and isinstance(arguments, Mapping) and arguments.get("a") is not None:
            raise ArgumentError(
                f"derivatives of joint_wrenches: {robot.name!r} has loops; accelerations `a` alone do not determine "
                "their forces. Give the joint forces by name, tau=..., or use `robot.opened()`"
            )
        for name in settings:
            if name not in _SETTINGS:
                raise unknown_name("setting", name, _SETTINGS, f"derivatives of {question}")
        self.settings = dict(settings)
        self.given = named_arguments(question, "arguments", arguments, inputs)
        for name in ("q", "v", "tau"):
            if name not in self.given:
                raise ArgumentError(f"derivatives of {question}: the argument {name!r} is missing")
        self.single = in_single(*self.given.values())
        if "external" in self.given:
            self.given["external"] = robot._forces(self.given["external"])
        self.given = {x: np.asarray(value, float) for x, value in self.given.items()}
        self.motion: ClosedMotion = closed_dynamics(
            robot, **self.given, method=method, threads=threads, asked=question, **self.settings
        )
        self.batch = np.broadcast_shapes(
            self.motion.a.shape[:-1], *(x.shape[: x.ndim - _core(name)] for name, x in self.given.items())
        )
        self.n = math.prod(self.batch)
        self.at = {x: flat(value, self.batch, self.n, _core(x)) for x, value in self.given.items()}
        """The arguments, with one leading dimension for all states."""
        self.a = flat(self.motion.a, self.batch, self.n)
        tolerance = self.settings.get("tolerance", TOLERANCE)
        t = self.at.get("t")
        self.implicit = ImplicitMotion(robot, self.at["q"], t, tolerance, self.settings.get("rank"))
        motion = self.motion
        force = motion.found if self.implicit.regular else motion.multipliers  # unique where all rows are independent
        self.force = flat(force, self.batch, self.n)
        if self.implicit.redundant:
            refuse_singular(self.implicit, f"derivatives of {question}", self.batch)
            self._require_kept()

    def _require_kept(self) -> None:
        """Raise if redundant constraints contradict each other: then the answer depends on how they are weighed."""
        bad = np.broadcast_to(~self.motion.consistent & (self.motion.rank < self.robot.nc), self.batch)
        if bad.any():
            at = tuple(int(k) for k in np.argwhere(bad)[0])
            raise InconsistentStateError(
                f"derivatives of {self.question}: no accelerations of {self.robot.name!r} keep its redundant "
                f"constraints{whose(bad, at)}; derivatives are those of closed states. robot.assemble(q).q and "
                "robot.project_velocity(q, v) make the state consistent"
            )

    # the equations, and what varies in them

    @cached_property
    def _equations(self) -> Changes:
        """The arguments of `closed_balance`."""
        given = {x: self.at[x] for x in self.at if x != "tau"}
        found = given | {"a": self.a, "multipliers": self.force}
        stabilise = self.settings.get("stabilise")
        if stabilise is not None and stabilise is not False:
            pair = (BAUMGARTE, BAUMGARTE) if stabilise is True else stabilise
            found |= {x: np.float64(y) for x, y in zip(("alpha", "beta"), pair, strict=True)}
        return found

    @cached_property
    def _drives(self) -> Changes | None:
        """The arguments of `loop_force`, if drives in loops are given."""
        forces = self.settings.get("loop_forces")
        return None if not forces else {"q": self.at["q"], "along": along(self.robot, forces)}

    @cached_property
    def _rows(self) -> tuple[Changes, Changes] | None:
        """Arguments of `loop_rate` at y and at rest: the difference is K y; where constraints are redundant."""
        if not self.implicit.redundant:
            return None
        given: Changes = {x: self.at[x] for x in ("q", "t") if x in self.at}
        y = self.implicit.within(self.force)
        return {**given, "v": y}, {**given, "v": np.zeros_like(y)}

    def tangent_shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tangent of an argument."""
        if name in FIELDS:
            return core_shape(self.robot, name)
        return {"external": (len(self.robot.bodies), 6), "t": ()}.get(
            name, (6,) if name.startswith("base") else (self.robot.nv,)
        )

    def _width(self, name: str) -> int:
        """Return how many numbers a tangent of an argument has; multipliers are arguments of the forces of loops."""
        return self.robot.nc if name == "multipliers" else math.prod(self.tangent_shape(name))

    def _flat_tangents(self, along: Changes) -> Changes:
        for x, value in along.items():
            core = self.tangent_shape(x)
            array = np.asarray(value, float)
            if array.shape[array.ndim - len(core) :] != core or array.ndim < len(core):
                raise ArgumentError(
                    f"derivatives of {self.question}: the tangent of {x!r} has shape {array.shape}; "
                    f"its last dimensions must be {core}"
                )
            along[x] = flat(array, self.batch, self.n, len(core))
        return along

    # products with tangents

    def jvp(self, tangents: Any) -> Array:
        """Return the rate of the answer while the arguments vary along tangents."""
        more = FIELDS if isinstance(tangents, Mapping) else ()
        named = named_arguments(self.question, "tangents", tangents, (*CLOSED[self.question], *more))
        if not named:
            raise ArgumentError(f"jvp of {self.question}: give a tangent of at least one argument")
        for x in named:
            if x not in self.given and x not in FIELDS:
                raise ArgumentError(f"derivatives of {self.question}: {x!r} has a tangent, but is not given")
        shapes = [np.shape(x)[: max(0, np.ndim(x) - len(self.tangent_shape(name)))] for name, x in named.items()]
        wide = self._widened(broadcast_shapes("the tangents", *shapes))
        if wide is not None:
            return wide.jvp(named).astype(np.float32 if self.single else float)
        moving = self._flat_tangents(named)
        da, force = self._rates(moving)
        return self._shaped(self._answer_rate(moving, da, force))

    def _widened(self, shape: tuple[int, ...]) -> ClosedDerivatives | None:
        """Return the same call for a larger batch, to which tangents or cotangents of this shape belong; or None."""
        batch = broadcast_shapes("the arguments and tangents", self.batch, shape)
        if batch == self.batch:
            return None
        wide = {x: np.broadcast_to(y, (*batch, *y.shape[y.ndim - _core(x) :])) for x, y in self.given.items()}
        return type(self)(self.robot, self.question, wide, self.settings, *self._how)

    def _rates(self, moving: Changes) -> tuple[Array, Array]:
        """Return the rates of accelerations (n, nv) and multipliers (n, nc)."""
        robot, nv = self.robot, self.robot.nv
        others = {x: y for x, y in moving.items() if x != "tau"}
        rate = np.zeros((self.n, nv + robot.nc))
        if others:
            rate = -robot.jvp("closed_balance", self._equations, others)
        if "tau" in moving:
            rate[:, :nv] += moving["tau"]
        places = {x: y for x, y in moving.items() if x in _places(("q",), moving)}
        if self._drives is not None and places:
            rate[:, :nv] += robot.jvp("loop_force", self._drives, places)
        turned, where = None, {x: y for x, y in moving.items() if x in _places(("q", "t"), moving)}
        if self._rows is not None and where:
            turned = np.subtract(*(robot.jvp("loop_rate", x, where) for x in self._rows))[..., None]
        da, force = self.implicit.changes(rate[:, :nv, None], rate[:, nv:, None], turned)
        return da[..., 0], force[..., 0]

    def _answer_rate(self, moving: Changes, da: Array, force: Array) -> Array:
        robot = self.robot
        if self.question == "forward_dynamics":
            return da
        if self.question == "closed_dynamics":
            return np.concatenate([da, force], axis=-1)
        name, given, settings = self._last
        along = {x: y for x, y in moving.items() if x in given or x in FIELDS} | {"a": da}
        if "external" in given:
            loads = robot.jvp("loop_body_forces", self._loads, self._of_loads(moving) | {"multipliers": force})
            along["external"] = loads + moving["external"] if "external" in moving else loads
        return self._tree.jvp(name, given, along, **settings)

    @cached_property
    def _tree(self) -> Robot:
        """The robot without its loops."""
        return self.robot._kernels.kept(("opened",), self.robot.opened)

    @cached_property
    def _loads(self) -> Changes:
        """The arguments of `loop_body_forces`."""
        return {x: self.at[x] for x in ("q", "t") if x in self.at} | {"multipliers": self.force}

    def _of_loads(self, moving: Changes) -> Changes:
        return {x: y for x, y in moving.items() if x in _places(("q", "t"), moving)}

    @cached_property
    def _last(self) -> tuple[str, Changes, dict[str, Any]]:
        """The question about the tree that gives the answer from accelerations, its arguments, and its settings."""
        given = {x: y for x, y in self.at.items() if x not in ("tau", "t", "external")} | {"a": self.a}
        if self.question == "link_accelerations":
            return "body_accelerations", given, {"axes": "frame", "kind": "classical"}
        loads = np.asarray(self.robot._kernels.ask("loop_body_forces", self.at["q"], self.force, t=self.at.get("t")))
        return "joint_wrenches", given | {"external": loads + self.at.get("external", 0.0)}, {}

    # gradients

    def varied(self, wrt: str | Sequence[str] | None) -> tuple[str, ...]:
        """Return the names of the arguments that vary, in their order."""
        names = tuple(self.given) if wrt is None else names_of(wrt, f"derivatives of {self.question}: `wrt`")
        for x in names:
            if x not in self.given and x not in FIELDS:
                raise unknown_name("argument in `wrt`", x, (*self.given, *FIELDS), self.question, hint_of(x))
        if not names:
            raise ArgumentError(f"derivatives of {self.question}: `wrt` names no argument")
        return tuple(x for x in (*self.given, *FIELDS) if x in names)

    def vjp(self, cotangent: Any, wrt: str | Sequence[str] | None) -> Any:
        """Return the gradients of the sum of cotangent times answer by arguments, a named tuple."""
        names, nv, nc = self.varied(wrt), self.robot.nv, self.robot.nc
        core = self.answer_shape
        w = np.asarray(cotangent, float)
        if w.shape[w.ndim - len(core) :] != core or w.ndim < len(core):
            raise ArgumentError(
                f"derivatives of {self.question}: the cotangent has shape {w.shape}; its last dimensions must be {core}"
            )
        wide = self._widened(w.shape[: w.ndim - len(core)])
        if wide is not None:
            return wide.vjp(cotangent, names)
        w = flat(w, self.batch, self.n, len(core))
        direct: Changes = {}
        if self.question == "forward_dynamics":
            wa, wl = w, np.zeros((self.n, nc))
        elif self.question == "closed_dynamics":
            wa, wl = w[:, :nv], w[:, nv:]
        else:
            wa, wl, direct = self._before(w, names)
        found = self._gradient(wa, wl, names)
        parts = [found[x] + direct[x] if x in direct else found[x] for x in names]
        return _named("Gradient", names)(*(self._shaped(x) for x in parts))

    def _before(self, w: Array, names: tuple[str, ...]) -> tuple[Array, Array, Changes]:
        """Return the weights of accelerations and multipliers in an answer, and its gradients where they are fixed."""
        name, given, settings = self._last
        fields = [x for x in names if x in FIELDS]
        back = self._tree.vjp(name, given, w, wrt=[*given, *fields], **settings)._asdict()
        direct = {x: y for x, y in back.items() if x in names}
        wl = np.zeros((self.n, self.robot.nc))
        if "external" in back:
            varied = [*self._loads, *_places((), names)]
            loads = self.robot.vjp("loop_body_forces", self._loads, back["external"], wrt=varied)._asdict()
            wl = loads.pop("multipliers")
            for x, y in loads.items():
                if x in names:
                    direct[x] = direct[x] + y if x in direct else y
        return back["a"], wl, direct

    def _gradient(self, wa: Array, wl: Array, names: tuple[str, ...]) -> Changes:
        """Return the gradients of wa . a + wl . lambda."""
        w1, w2, w3 = self.implicit.weights(wa, wl)
        robot, others = self.robot, [x for x in names if x != "tau"]
        found: Changes = {"tau": w1}
        if others:
            weights = -np.concatenate([w1, w2], axis=-1)
            found |= robot.vjp("closed_balance", self._equations, weights, wrt=others)._asdict()
        places = _places(("q",), names)
        if self._drives is not None and places:
            more = robot.vjp("loop_force", self._drives, w1, wrt=places)._asdict()
            found |= {x: found[x] + more[x] for x in places}
        where = _places(("q", "t"), names)
        if self._rows is not None and where and wl.any():
            moved, still = (robot.vjp("loop_rate", x, w3, wrt=where)._asdict() for x in self._rows)
            found |= {x: found[x] + moved[x] - still[x] for x in where}
        return found

    # matrices

    @property
    def answer_shape(self) -> tuple[int, ...]:
        """The shape of the answer for one state."""
        nv, nc = self.robot.nv, self.robot.nc
        return {"forward_dynamics": (nv,), "closed_dynamics": (nv + nc,)}.get(
            self.question, (len(self.robot.bodies), 6)
        )

    def matrices(self, wrt: str | Sequence[str] | None) -> Any:
        """Return the derivatives by arguments, a named tuple of arrays: the answer's shape, then the argument's."""
        names, robot = self.varied(wrt), self.robot
        nv, nc, n = robot.nv, robot.nc, self.n
        others = [x for x in names if x != "tau"]
        sides: dict[str, Array] = {"tau": np.broadcast_to(np.eye(nv + nc)[:, :nv], (n, nv + nc, nv))}
        if others:
            found = robot.derivatives.closed_balance(**self._equations, wrt=others)._asdict()
            sides |= {x: -y.reshape(n, nv + nc, self._width(x)) for x, y in found.items()}
        places = _places(("q",), names)
        if self._drives is not None and places:
            more = robot.derivatives.loop_force(**self._drives, wrt=places)._asdict()
            for x in places:
                sides[x][:, :nv] += more[x].reshape(n, nv, self._width(x))
        where = _places(("q", "t"), names)
        turned: Changes = {}
        if self._rows is not None and where:
            moved, still = (robot.derivatives.loop_rate(**x, wrt=where)._asdict() for x in self._rows)
            turned = {x: (moved[x] - still[x]).reshape(n, nc, self._width(x)) for x in where}
        solved = {x: self.implicit.changes(sides[x][:, :nv], sides[x][:, nv:], turned.get(x)) for x in names}
        each = self._answer_matrices(solved)
        shapes = {x: (*self.answer_shape, *self.tangent_shape(x)) for x in names}
        return _named("Derivative", names)(*(self._shaped(each[x].reshape(n, *shapes[x])) for x in names))

    def _answer_matrices(self, solved: dict[str, tuple[Array, Array]]) -> Changes:
        if self.question == "forward_dynamics":
            return {x: da for x, (da, _) in solved.items()}
        if self.question == "closed_dynamics":
            return {x: np.concatenate(pair, axis=1) for x, pair in solved.items()}
        name, given, settings = self._last
        rows = math.prod(self.answer_shape)
        fields = [x for x in solved if x in FIELDS]
        whole = getattr(self._tree.derivatives, name)(**given, **settings, wrt=[*given, *fields])._asdict()
        by = {x: y.reshape(self.n, rows, self._width(x)) for x, y in whole.items()}
        loads = {}
        if "external" in by:
            varied = [*self._loads, *_places((), solved)]
            found = self.robot.derivatives.loop_body_forces(**self._loads, wrt=varied)._asdict()
            loads = {x: by["external"] @ y.reshape(self.n, rows, self._width(x)) for x, y in found.items()}
        out = {}
        for x, (da, force) in solved.items():
            total = by["a"] @ da
            if loads:
                total = total + loads["multipliers"] @ force
            for direct in (by.get(x) if x != "a" else None, loads.get(x)):
                total = total if direct is None else total + direct
            out[x] = total
        return out

    def _shaped(self, x: Array) -> Array:
        shaped = np.asarray(x).reshape((*self.batch, *x.shape[1:]))
        return shaped.astype(np.float32) if self.single else shaped


_PLACES = ("joint_numbers", "mimic_ratio", "mimic_offset", "joint_placement")
"""Fields of parameters on which the positions of bodies depend."""


def _places(arguments: tuple[str, ...], names: Iterable[str]) -> list[str]:
    """Return those of the names that are such fields, or among these arguments."""
    return [x for x in names if x in arguments or x in _PLACES]


def _core(name: str) -> int:
    return CORES.get(name, 1)


def _named(title: str, names: tuple[str, ...]) -> Any:
    return namedtuple(title, names)
