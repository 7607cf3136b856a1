"""Derivatives of the inverse dynamics of mechanisms: of the drives' forces by the motion.

The forces u of least u^T W u that cause a motion solve, with multipliers y of their own,

    W u - B^T y = 0,    B u + K^T lambda = g,    K y = 0

where g are the joint forces that the motion needs, and y is a motion that loops allow. Along a change of the motion,

    [  W  -B^T   0  ] [ du ]   [            dB^T y            ]
    [ -B    0  -V^T ] [ dy ] = [ dB u - (dg - dK^T lambda)    ]
    [  0   -V    0  ] [ .. ]   [           C (dK y)           ]

with independent rows V in the place of K (see `implicit`). The matrix is symmetric. It is regular if the drives can
drive every freedom; where they cannot, forces exist for some motions only, and there are no derivatives.
"""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms.closed_loop.equations import flat
from ..algorithms.closed_loop.rank import TOLERANCE
from ..arguments import names_of
from ..errors import ArgumentError, LoopError, unknown_name
from .derivative_arguments import CLOSED, CORES, named_arguments
from .implicit import ImplicitMotion, refuse_singular
from .inverse import actuation, drives
from .kernels import Array, in_single, positive_weights

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["ActuationDerivatives"]

_INPUTS = CLOSED["actuation"]
_SETTINGS = ("actuated", "weights", "tolerance", "check")
_SINGULAR = 1e-9
"""The part of the largest singular value of N^T B below which a freedom counts as not driven."""


class ActuationDerivatives:
    """One call of `actuation` and its derivatives; the answer are the forces u (m,) of the drives."""

    def __init__(self, robot: Robot, arguments: Any, settings: Mapping[str, Any]) -> None:
        """Solve for the drives' forces."""
        self.robot = robot
        for name in settings:
            if name not in _SETTINGS:
                raise unknown_name("setting", name, _SETTINGS, "derivatives of actuation")
        given = named_arguments("actuation", "arguments", arguments, _INPUTS)
        for name in ("q", "v", "a"):
            if name not in given:
                raise ArgumentError(f"derivatives of actuation: the argument {name!r} is missing")
        self.single = in_single(*given.values())
        if "external" in given:
            given["external"] = robot._forces(given["external"])
        self.given = {x: np.asarray(y, float) for x, y in given.items()}
        more: dict[str, Any] = {**self.given, **settings}
        found = actuation(robot, **more)
        shapes = (x.shape[: x.ndim - CORES.get(name, 1)] for name, x in self.given.items())
        self.batch = np.broadcast_shapes(found.u.shape[:-1], *shapes)
        self.n, self.m = math.prod(self.batch), found.u.shape[-1]
        self.at = {x: flat(y, self.batch, self.n, CORES.get(x, 1)) for x, y in self.given.items()}
        self._u, force = (flat(x, self.batch, self.n) for x in (found.u, found.multipliers))
        self._balance = {**self.at, "multipliers": force}
        self._factor(settings)

    def _factor(self, settings: Mapping[str, Any]) -> None:
        """Make the matrices of the equations."""
        robot, n, m, nv = self.robot, self.n, self.m, self.robot.nv
        names = settings.get("actuated")
        names = robot.actuated if names is None else (names,) if isinstance(names, str) else tuple(names)
        tolerance = settings.get("tolerance", TOLERANCE)
        B, parts, labels = drives(robot, self.at["q"], names)
        W = positive_weights(settings.get("weights"), len(labels), lambda name: parts[name], "one for each drive")
        implicit = ImplicitMotion(robot, self.at["q"], self.at.get("t"), tolerance, None, factored=True)
        refuse_singular(implicit, "derivatives of actuation", self.batch)
        self._at_loops = [(parts[x.loop.name], x.v) for x in robot.loop_table.loops if x.loop.name in parts]
        self._parts: list[tuple[Array, Array, Array]] = []
        self._y = np.zeros((n, nv))
        for p in implicit.parts:
            some, r = p.which, p.V.shape[1]
            driven = np.linalg.svd(np.swapaxes(p.N, -1, -2) @ B[some] / np.sqrt(W), compute_uv=False)
            free = p.N.shape[-1]
            if free > m or (free and (driven[:, -1] <= _SINGULAR * driven[:, 0]).any()):
                raise LoopError(
                    f"derivatives of actuation: the actuated joints ({', '.join(names) or 'none'}) cannot drive every "
                    f"freedom of {robot.name!r}, so that motions beside this one have no forces of drives"
                )
            H = np.zeros((len(some), m + nv + r, m + nv + r))
            H[:, range(m), range(m)] = W
            H[:, m : m + nv, :m], H[:, :m, m : m + nv] = -B[some], -np.swapaxes(B[some], -1, -2)
            H[:, m + nv :, m : m + nv], H[:, m : m + nv, m + nv :] = -p.V, -np.swapaxes(p.V, -1, -2)
            self._parts.append((some, H, p.C))
            if free:  # W u = B^T y determines y = N z
                right = (W * self._u[some])[..., None]
                self._y[some] = (p.N @ (np.linalg.pinv(np.swapaxes(B[some], -1, -2) @ p.N) @ right))[..., 0]

    # parts of the right sides: (question, its arguments, those of them that vary)

    @property
    def _along(self) -> Array:
        """The forces of the drives in loops, (n, loop freedoms)."""
        along = np.zeros((self.n, self.robot.loop_table.nv))
        for mine, there in self._at_loops:
            along[:, there] = self._u[:, mine]
        return along

    def _rates(self, y: Array) -> dict[str, Array]:
        return {x: self.at[x] for x in ("q", "t") if x in self.at} | {"v": y}

    def _solve(self, top: Array, middle: Array, turned: Array) -> Array:
        """Return du (n, m, k) for the right sides dB^T y, dB u - dg', dK y."""
        du = np.zeros_like(top)
        for some, H, C in self._parts:
            right = np.concatenate([top[some], middle[some], C @ turned[some]], axis=1)
            du[some] = np.linalg.solve(H, right)[:, : self.m]
        return du

    def _sides(self, ask: Any, names: Sequence[str]) -> tuple[Array, Array, Array]:
        """Return the three right sides; `ask(question, given, names)` returns changes (n, rows, k) of an answer."""
        robot, still = self.robot, np.zeros_like(self._y)
        middle = -ask(*self._needed, names)[:, : robot.nv]
        shape = (self.n, self.m, middle.shape[-1])
        top, turned = np.zeros(shape), np.zeros((self.n, robot.nc, shape[-1]))
        where = [x for x in names if x in ("q", "t")]
        if where and robot.nc:
            moved, fixed = (ask("loop_rate", self._rates(y), where) for y in (self._y, still))
            turned = moved - fixed
        if "q" in names and self._at_loops:
            q = self.at["q"]
            middle = middle + ask("loop_force", {"q": q, "along": self._along}, ["q"])
            turning = ask("loop_velocities", {"q": q, "v": self._y}, ["q"])
            for mine, there in self._at_loops:
                top[:, mine] = turning[:, there]
        return top, middle, turned

    @property
    def _needed(self) -> tuple[str, dict[str, Array]]:
        """The question about the joint forces that drives bear, and its arguments."""
        if self.robot.nc:
            return "closed_balance", self._balance
        return "inverse_dynamics", {x: y for x, y in self.at.items() if x != "t"}

    def jvp(self, tangents: Any) -> Array:
        """Return the rate of the drives' forces while the arguments vary along tangents."""
        moving = named_arguments("actuation", "tangents", tangents, _INPUTS)
        if not moving or any(x not in self.given for x in moving):
            raise ArgumentError(f"jvp of actuation: give tangents of some of the arguments {', '.join(self.given)}")
        flat_ones = {x: flat(np.asarray(y, float), self.batch, self.n, CORES.get(x, 1)) for x, y in moving.items()}

        def ask(question: str, given: dict[str, Array], names: Sequence[str]) -> Array:
            return self.robot.jvp(question, given, {x: flat_ones[x] for x in names})[..., None]

        return self._shaped(self._solve(*self._sides(ask, tuple(moving)))[..., 0])

    def matrices(self, wrt: str | Sequence[str] | None) -> Any:
        """Return the derivatives by arguments, a named tuple of arrays: (..., m), then the argument's shape."""
        names = self._varied(wrt)
        question, given = self._needed
        known = getattr(self.robot.derivatives, question)(**given, wrt=[x for x in names if x in given])._asdict()

        def ask(asked: str, given: dict[str, Array], some: Sequence[str]) -> Array:
            (x,) = some
            found = known if asked == question else getattr(self.robot.derivatives, asked)(**given, wrt=x)._asdict()
            shape = found[x].shape
            rows = math.prod(shape[1 : len(shape) - len(self._shape(x))])
            return np.asarray(found[x].reshape(self.n, rows, math.prod(self._shape(x))))

        each = {x: self._solve(*self._sides(ask, (x,))).reshape(self.n, self.m, *self._shape(x)) for x in names}
        return namedtuple("Derivative", names)(*map(self._shaped, each.values()))

    def vjp(self, cotangent: Any, wrt: str | Sequence[str] | None) -> Any:
        """Return the gradients of the sum of cotangent times the drives' forces, a named tuple."""
        w = np.asarray(cotangent, float)
        if w.shape[-1:] != (self.m,):
            raise ArgumentError(
                f"derivatives of actuation: the cotangent has shape {w.shape}; its last dimension must be {self.m}, "
                "a number for each drive"
            )
        whole = self.matrices(wrt)
        w = np.broadcast_to(w, (*self.batch, self.m))
        rank = len(self.batch)
        found = {
            x: np.einsum("ni,ni...->n...", w.reshape(self.n, self.m), y.reshape(self.n, *y.shape[rank:])).reshape(
                (*self.batch, *y.shape[rank + 1 :])
            )
            for x, y in whole._asdict().items()
        }
        return namedtuple("Gradient", tuple(found))(**found)

    def _varied(self, wrt: str | Sequence[str] | None) -> tuple[str, ...]:
        names = tuple(self.given) if wrt is None else names_of(wrt, "derivatives of actuation: `wrt`")
        for x in names:
            if x not in self.given:
                raise unknown_name("argument in `wrt`", x, self.given, "actuation")
        return tuple(x for x in self.given if x in names)

    def _shape(self, name: str) -> tuple[int, ...]:
        return {"external": (len(self.robot.bodies), 6), "t": ()}.get(name, (self.robot.nv,))

    def _shaped(self, x: Array) -> Array:
        shaped = x.reshape((*self.batch, *x.shape[1:]))
        return shaped.astype(np.float32) if self.single else shaped
