"""Motions that show the parameters of a robot best: Fourier series or splines whose coefficients are optimised.

Each joint moves along

    q(t) = c + sum over k of a_k sin(k w t) + b_k cos(k w t),    w = 2 pi / duration

with velocity and acceleration zero at both ends: sum k a_k = 0, sum k^2 b_k = 0; or along a spline of fifth order,
which begins and ends at rest in c. The coefficients minimise

    "determinant"   - log det(F^T F) / 2B        the volume of the confidence ellipsoid of all base parameters
    "condition"     log cond(F D^-1)             the condition number, with columns of unit length

of the weighted regressor F of the base parameters at equal times, and a penalty on what exceeds limits of position,
velocity and effort, and of the places of frames: a least height, and spheres that they keep out of. Gradients are
exact: those of the regressor by q, v and a at each time (`vjp`), and the linear map from coefficients to these. At the
end the motion is shrunk about its middle until it keeps all limits.

Reference: Swevers, Ganseman and others 1997, Optimal robot excitation and identification.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import Array, choice, positive, random_generator, real
from ..control.spaces import Configurations
from ..control.trajectory import Motion, Trajectory
from ..declared import explained_methods
from ..errors import ArgumentError
from ..records import dataclass
from ..simulate.results.tables import library
from .bases import Basis, Fourier, Spline
from .excitation import base_parameters
from .identifiability import Identifiability, identifiability, noise_of
from .room import Room, room_of

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["ExcitingTrajectory", "exciting_trajectory"]

_SMOOTHING = 0.05
"""Coulomb friction is smoothed within this velocity, so that its columns have gradients."""
_PENALTIES = (1.0, 10.0, 100.0)
_DENSE = 2000
"""The times at which limits are checked at the end."""


@explained_methods
class ExcitingTrajectory(Trajectory):
    """A Fourier series or a spline for each joint, at rest at both ends; `trajectory(t)` is (q, v, a)."""

    def __init__(self, robot: Robot, basis: Basis, middle: Array, coefficients: Array) -> None:
        """Make it from the middle (nv,) and the coefficients (m, nv) of a basis."""
        self.space, self.duration = Configurations(robot), basis.duration
        self.basis, self.middle, self.coefficients = basis, middle, coefficients

    def _motion(self, t: Array, left: bool) -> Motion:
        q, v, a = (M @ self.coefficients for M in self.basis.maps(t))
        return Motion(self.middle + q, v, a)

    def identifiability(self, rate: float = 100.0, noise: ArrayLike = 1.0) -> Identifiability:
        """Return what the motion tells about the robot's parameters, sampled at `rate` per second."""
        _, q, v, a = self.sample(rate)
        return identifiability(self.robot, q, v, a, noise)


@dataclass(frozen=True, slots=True)
class _Problem:
    """The samples, limits and weights of one optimisation."""

    robot: Robot
    kept: NDArray[np.intp]
    weights: Array
    """(rows,): the inverse of the noise of each force."""
    maps: tuple[Array, Array, Array]
    """(n, m): from the free coefficients of a joint to its q, v and a at the times."""
    theta: Array
    lower: Array
    upper: Array
    velocity: Array
    effort: Array
    room: Room | None = None

    def motion(self, x: Array) -> tuple[Array, Array, Array]:
        """Return q, v and a (n, nv) for the middle and the coefficients, (1 + m, nv) numbers."""
        z = x.reshape(-1, self.robot.nv)
        q, v, a = (M @ z[1:] for M in self.maps)
        return z[0] + q, v, a

    def value(self, x: Array, criterion: Callable[[Array], tuple[float, Array]], penalty: float) -> tuple[float, Array]:
        """Return the cost and its gradient."""
        q, v, a = self.motion(x)
        Y = self.robot.inverse_dynamics_regressor(q, v, a, smoothing=_SMOOTHING)
        rows = Y[..., self.kept] * self.weights[:, None]
        cost, G = criterion(rows.reshape(-1, len(self.kept)))
        W = np.zeros_like(Y)
        W[..., self.kept] = G.reshape(rows.shape) * self.weights[:, None]
        tau = Y @ self.theta
        middle, half = 0.5 * (self.lower + self.upper), 0.5 * (self.upper - self.lower)
        by_q, by_v, by_tau = np.zeros_like(q), np.zeros_like(v), np.zeros_like(tau)
        limits = ((q - middle, half, by_q), (v, self.velocity, by_v), (tau, self.effort, by_tau))
        for off, size, by in limits:
            beyond = np.maximum(np.abs(off) / size - 1.0, 0.0)
            cost += penalty * float((beyond**2).mean())
            by += penalty * 2.0 * beyond * np.sign(off) / size / beyond.size
        if self.room is not None:
            beyond, slope = self.room.beyond(q)
            cost += penalty * float((beyond**2).mean())
            by_q += penalty * 2.0 * np.einsum("nk,nkj->nj", beyond, slope) / beyond.size
        W += by_tau[..., None] * self.theta
        given = {"q": q, "v": v, "a": a, "smoothing": np.full(len(q), _SMOOTHING)}
        g = self.robot.vjp("inverse_dynamics_regressor", given, W, wrt=("q", "v", "a"))
        parts = (g.q + by_q, g.v + by_v, g.a)
        coefficients = sum(M.T @ y for M, y in zip(self.maps, parts, strict=True))
        return cost, np.concatenate([parts[0].sum(axis=0)[None], coefficients]).ravel()

    def excess(self, x: Array) -> float:
        """Return the largest ratio of position, velocity or effort to its limit."""
        q, v, a = self.motion(x)
        tau = self.robot.inverse_dynamics_regressor(q, v, a, smoothing=0.0) @ self.theta  # the largest friction
        middle, half = 0.5 * (self.lower + self.upper), 0.5 * (self.upper - self.lower)
        pairs = ((q - middle, half), (v, self.velocity), (tau, self.effort))
        worst = max(float((np.abs(off) / size).max()) for off, size in pairs)
        outside = 0.0 if self.room is None else float(self.room.beyond(q)[0].max())
        return max(worst, 1.0 + outside) if outside else worst


def _determinant(F: Array) -> tuple[float, Array]:
    """Return -log det(F^T F) / 2B and its gradient; infinite if the columns depend on each other."""
    lengths, values, V, unit = _spectrum(F)
    if not len(values):
        return np.inf, np.zeros_like(F)
    inverse = (V / values) @ V.T
    return float(-np.log(lengths).mean() - 0.5 * np.log(values).mean()), -(unit @ inverse) / lengths / F.shape[1]


def _condition(F: Array) -> tuple[float, Array]:
    """Return the logarithm of the condition number, with columns of unit length, and its gradient."""
    lengths, values, V, unit = _spectrum(F)
    if not len(values):
        return np.inf, np.zeros_like(F)
    first, last = V[:, -1], V[:, 0]
    G = np.outer(unit @ first, first) / values[-1] - np.outer(unit @ last, last) / values[0]
    return float(0.5 * np.log(values[-1] / values[0])), (G - unit * (unit * G).sum(axis=0)) / lengths


def _spectrum(F: Array) -> tuple[Array, Array, Array, Array]:
    """Return the lengths of columns, eigenvalues and eigenvectors of their products at unit length, and these columns.

    The eigenvalues are empty if the columns depend on each other.
    """
    lengths = np.linalg.norm(F, axis=0)
    if lengths.min() <= 1e-12 * lengths.max():
        return lengths, np.zeros(0), np.zeros((0, 0)), F
    unit = F / lengths
    values, V = np.linalg.eigh(unit.T @ unit)
    return lengths, values if values[0] > 1e-13 * values[-1] else np.zeros(0), V, unit


_CRITERIA = {"determinant": _determinant, "condition": _condition}


def exciting_trajectory(
    robot: Robot,
    duration: float = 10.0,
    harmonics: int = 5,
    criterion: str = "determinant",
    noise: ArrayLike = 1.0,
    middle: ArrayLike | None = None,
    margin: float = 0.9,
    velocity_limit: ArrayLike | None = None,
    effort_limit: ArrayLike | None = None,
    rng: Any = 0,
    steps: int = 200,
    shape: str = "fourier",
    frames: Sequence[str] | None = None,
    least_height: float | None = None,
    obstacles: Sequence[ArrayLike] = (),
) -> ExcitingTrajectory:
    """See `Robot.exciting_trajectory`."""
    _require_plain(robot)
    choice("shape", shape, ("fourier", "spline"))
    if harmonics not in range(2, 51):
        raise ArgumentError(f"exciting_trajectory: harmonics is a whole number from 2 to 50, not {harmonics!r}")
    if not positive(margin, "margin") <= 1.0:
        raise ArgumentError(f"exciting_trajectory: margin is the part of the limits to use, at most 1, not {margin:g}")
    find = _CRITERIA[choice("criterion", criterion, _CRITERIA)]
    optimise = library("scipy.optimize", "optimising a trajectory", "identify").minimize
    generator = random_generator(rng, "exciting_trajectory")
    basis = (Fourier if shape == "fourier" else Spline)(float(positive(duration, "duration")), int(harmonics))
    count = int(np.ceil(max(20 * harmonics, 4 * len(robot.parameters.theta) / robot.nv)))
    t = np.arange(count) * basis.duration / count
    limits = (margin, velocity_limit, effort_limit, room_of(robot, frames, least_height, obstacles))
    problem = _problem(robot, t, basis, noise, *limits)
    x = _start(robot, problem, problem.maps[0].shape[1], middle, generator)
    for penalty in _PENALTIES:
        x = optimise(problem.value, x, (find, penalty), "L-BFGS-B", jac=True, options={"maxiter": int(steps)}).x
    dense = _problem(robot, np.linspace(0.0, basis.duration, _DENSE), basis, noise, *limits)
    between = (2.0 * np.pi * 2 * harmonics / (_DENSE - 1)) ** 2 / 8.0  # how much higher a peak between two times may be
    z = _shrunk(robot, dense, x, 1.0 - between).reshape(-1, robot.nv)
    return ExcitingTrajectory(robot, basis, z[0], z[1:])


def _require_plain(robot: Robot) -> None:
    """Raise unless the positions of all joints are plain numbers, and there are no loops."""
    if robot.nc:
        raise ArgumentError(f"exciting_trajectory: {robot.name!r} has loops, for which there is no such trajectory yet")
    for c in robot.joints:
        if c.type.nq != c.type.nv:
            raise ArgumentError(
                f"exciting_trajectory: the positions of joint {c.name!r} are not plain numbers "
                f"({type(c.type).__name__}); lock it, or use motions of your own"
            )
    if not robot.nv:
        raise ArgumentError(f"exciting_trajectory: {robot.name!r} has no freedom")


def _problem(
    robot: Robot, t: Array, basis: Basis, noise: ArrayLike, margin: float, velocity: ArrayLike | None,
    effort: ArrayLike | None, room: Room | None = None,
) -> _Problem:  # fmt: skip
    """Return the problem at times t; limits that are infinite are those of a turn, or of what the motion can need."""
    joints = robot.independent
    low, high = (
        np.concatenate(part)
        for part in zip(*(c.type.usual_limits(np.array(c.lower), np.array(c.upper)) for c in joints), strict=True)
    )
    centre, half = 0.5 * (low + high), 0.5 * margin * (high - low)
    return _Problem(
        robot, base_parameters(robot).kept, 1.0 / noise_of(noise, robot.nv, "exciting_trajectory"),
        basis.maps(t), robot.parameters.theta, centre - half, centre + half,
        margin * _limit(velocity, [x for c in joints for x in c.velocity_limit], "velocity_limit"),
        margin * _limit(effort, [x for c in joints for x in c.effort_limit], "effort_limit"), room,
    )  # fmt: skip


def _limit(given: ArrayLike | None, own: list[float], what: str) -> Array:
    """Return the limit of each freedom: what users give, or that of the robot; a zero stands for none, as in files."""
    if given is None:
        found = np.array(own)
    else:
        found = real(given, what, (len(own),))
        if found.shape not in ((), (1,), (len(own),)):
            raise ArgumentError(
                f"exciting_trajectory: {what} has shape {found.shape}; expected one number, or {len(own)}: one for "
                "each freedom"
            )
        found = np.broadcast_to(found, (len(own),))
    return np.where(found > 0.0, found, np.inf)


def _start(robot: Robot, problem: _Problem, m: int, middle: ArrayLike | None, rng: np.random.Generator) -> Array:
    """Return a random motion of small amplitude about the middle."""
    half = 0.5 * (problem.upper - problem.lower)
    centre = 0.5 * (problem.lower + problem.upper) if middle is None else real(middle, "middle", (robot.nv,))
    if centre.shape != (robot.nv,) or (np.abs(centre - 0.5 * (problem.lower + problem.upper)) > half).any():
        raise ArgumentError("exciting_trajectory: middle is one position (nv,) within the limits of all joints")
    z = rng.normal(size=(m, robot.nv))
    swing = np.abs(problem.maps[0] @ z).max(axis=0)
    return np.concatenate([centre[None], z * 0.4 * half / swing]).ravel()


def _shrunk(robot: Robot, problem: _Problem, x: Array, most: float) -> Array:
    """Return a motion that uses at most a part of all limits: the given one, shrunk about its middle if need be."""

    def part(s: float) -> Array:
        z = x.reshape(-1, robot.nv).copy()
        z[1:] *= s
        return np.asarray(z.ravel())

    if problem.excess(x) <= most:
        return x
    low, high = 0.0, 1.0
    for _ in range(40):
        between = 0.5 * (low + high)
        low, high = (between, high) if problem.excess(part(between)) <= most else (low, between)
    if low < 0.05:
        raise ArgumentError(
            f"exciting_trajectory: no motion of {robot.name!r} about its middle keeps the limits of position, "
            "velocity, effort and places; give another `middle`, a longer `duration`, or larger limits"
        )
    return part(low)
