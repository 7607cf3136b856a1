"""Kinematic calibration: placements of joints from measured poses, or positions, of one frame.

The pose of the frame is a product along its branch of the tree,

    T(q) = M P_1 J_1(q) P_2 J_2(q) ... P_n J_n(q) F E

with the placements P of the joints, their motions J, the frame F on its body, and, if they are not known either, the
place M of the base in the coordinates of the measuring device and the place E of its target on the frame. Each of M, E
and P changes by a twist d on its right, P exp(d), which moves the frame by the twist Ad(B)^-1 d, where B is the product
right of it. So the errors of the poses are linear in small twists, with exact gradients. Gauss and Newton's method with
weights from the errors themselves finds them. As with forces, only combinations of these numbers have an effect. A weak
prior, deviations of 0.05 rad and m from the file, decides on the others: of all changes with the same effect, the
smallest are taken, those of device and target first.

Reference: Hollerbach, Khalil and Gautier 2016, Model identification, Springer handbook of robotics, chapter 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import Array, choice, real
from ..declared import explained_methods
from ..errors import ArgumentError
from ..records import dataclass
from ..rotations import exp_pose, log_pose
from .base import BaseParameters, from_columns

if TYPE_CHECKING:
    from ..model import Frame
    from ..robot import Robot

__all__ = ["Calibration", "calibrate"]

_STEPS = 50
_SETTLED = 1e-9
_LEAST = 1e-8
"""The least error in rad and m that counts: smaller ones are rounding, beside which the prior would be nothing."""
_NUMBERS = ("rx", "ry", "rz", "x", "y", "z")
_USUAL, _FREE = 0.05, 50.0
"""The prior deviations, in rad and m, of joints from the file, and of device and target from the start."""
_RANK = 1e-6
"""Directions below this part of the strongest, columns of unit length, have no effect that a measurement could show."""


@explained_methods
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Calibration:
    """Placements of joints that were estimated from measured poses."""

    robot: Robot = field(repr=False)
    """The robot with the new placements."""
    base: BaseParameters
    """The combinations of changes that the measurements determine."""
    values: Array
    """(B,): these combinations, in rad and m."""
    covariance: Array
    """(B, B): their covariance."""
    device: Array
    """(4, 4): the pose of the robot's base in the coordinates of the measuring device."""
    target: Array
    """(4, 4): the pose of the measured target in the frame."""
    frame: str
    """The name of the frame."""
    before: tuple[float, float]
    """The root mean square of the errors before: in rad, NaN if only positions were measured, and in m."""
    after: tuple[float, float]
    """The same with the new placements."""
    samples: int
    """The number of measured poses."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the combinations; rx, ry, rz are turns about the axes of a joint's frame, x, y, z are shifts."""
        return self.base.names

    @property
    def deviations(self) -> Array:
        """(B,): the standard deviations of the combinations."""
        return np.sqrt(np.diag(self.covariance))

    def predicted(self, q: ArrayLike) -> Array:
        """Return the poses (..., 4, 4) of the target in the coordinates of the measuring device."""
        return np.asarray(self.device @ self.robot.poses(q, [self.frame])[..., 0, :, :] @ self.target)

    def check(self, q: ArrayLike, measured: ArrayLike) -> tuple[float, float]:
        """Return the root mean square of the errors in rad and in m of measurements that were not used."""
        positions = real(q, "q", (..., self.robot.nq))
        given = _measured(measured, len(positions))
        return _sizes(_errors(self.predicted(positions), given))

    @property
    def report(self) -> str:
        """The result in words."""
        turned = "" if np.isnan(self.before[0]) else f" and from {_angle(self.before[0])} to {_angle(self.after[0])}"
        lines = [
            f"{self.base.robot!r}: {len(self.base)} of {len(self.base.labels)} numbers of placements from "
            f"{self.samples} measurements of {self.frame!r}. The root mean square error went from "
            f"{1e3 * self.before[1]:.4g} mm to {1e3 * self.after[1]:.4g} mm{turned}.",
            f"{'change':>12} {'deviation':>12}  number (rad, m)",
        ]
        for name, x, s in zip(self.names, self.values, self.deviations, strict=True):
            lines.append(f"{x:12.5g} {s:12.3g}  {name}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return (
            f"<Calibration of {self.base.robot!r}: {len(self.base)} numbers from {self.samples} measurements, error "
            f"{1e3 * self.before[1]:.3g} mm -> {1e3 * self.after[1]:.3g} mm>"
        )

    __str__ = __repr__


def _angle(x: float) -> str:
    return f"{np.degrees(x):.4g} deg"


@dataclass(slots=True)
class _Chain:
    """The factors of the pose of the frame: each a placement that may change, and a known motion right of it."""

    lead: Array
    """(N, 4, 4): what is left of all of them."""
    names: list[str]
    """The name of each placement that may change: "device", names of joints, "target"."""
    places: list[Array]
    """(4, 4) each."""
    motions: list[Array]
    """(N, 4, 4) each: what is right of a placement, up to the next one."""

    def poses(self) -> Array:
        """Return the poses (N, 4, 4) of the target."""
        T = self.lead
        for P, J in zip(self.places, self.motions, strict=True):
            T = T @ P @ J
        return np.asarray(T)

    def columns(self) -> Array:
        """Return (N, 6, 6 k): the twist of the target, in its own axes, by twists of the placements."""
        found, right = [], np.eye(4)
        for P, J in zip(self.places[::-1], self.motions[::-1], strict=True):
            right = J @ right
            found.append(_adjoint(np.linalg.inv(right)))
            right = P @ right
        return np.concatenate(found[::-1], axis=-1)

    def moved(self, twists: Array) -> _Chain:
        """Return the chain with other placements."""
        places = [P @ exp_pose(d) for P, d in zip(self.places, twists.reshape(-1, 6), strict=True)]
        return _Chain(self.lead, self.names, places, self.motions)


def _adjoint(T: NDArray[np.floating[Any]]) -> Array:
    """Return the matrices (..., 6, 6) that take twists, (turn, shift), through poses."""
    R, p = T[..., :3, :3], T[..., :3, 3]
    found = np.zeros((*T.shape[:-2], 6, 6))
    found[..., :3, :3] = found[..., 3:, 3:] = R
    found[..., 3:, :3] = np.cross(p[..., None], R, axisa=-2, axisb=-2, axisc=-2)
    return found


def calibrate(
    robot: Robot,
    q: ArrayLike,
    measured: ArrayLike,
    frame: str | Frame | None = None,
    only: Sequence[str] | None = None,
    device: bool = False,
    target: bool = False,
) -> Calibration:
    """See `Robot.calibrate`."""
    if robot.nc:
        raise ArgumentError(
            f"calibrate: {robot.name!r} has loops; calibrate `robot.opened()`, with all positions measured"
        )
    positions = real(q, "q", (..., robot.nq))
    if positions.ndim != 2 or positions.shape[1] != robot.nq or not len(positions):
        raise ArgumentError(
            f"calibrate: q has shape {positions.shape}; expected (N, {robot.nq}), a row for each measurement"
        )
    given = _measured(measured, len(positions))
    if not np.isfinite(positions).all():
        raise ArgumentError("calibrate: q has numbers that are not finite")
    end = robot.frame(robot.bodies[-1].name if frame is None else frame)
    chain = _chain(robot, positions, end, only, device, target)
    start = chain
    if device:
        chain = _aligned(chain, given)
    before = _sizes(_errors(chain.poses(), given))
    chain, base, covariance = _found(chain, given, robot.name)
    total = np.concatenate([log_pose(np.linalg.inv(A) @ B) for A, B in zip(start.places, chain.places, strict=True)])
    after = _sizes(_errors(chain.poses(), given))
    new = {name: P for name, P in zip(chain.names, chain.places, strict=True) if name not in ("device", "target")}
    changed = robot.vary(placement=new, fold=True) if new else robot
    M = chain.places[chain.names.index("device")] if device else np.eye(4)
    E = chain.places[chain.names.index("target")] if target else np.eye(4)
    return Calibration(changed, base, base.of_theta(total), covariance, M, E, end.name, before, after, len(given))


def _measured(measured: ArrayLike, count: int) -> Array:
    """Return measured poses (N, 4, 4), or positions (N, 3)."""
    given = real(measured, "measured")
    if given.shape not in ((count, 3), (count, 4, 4)):
        raise ArgumentError(
            f"calibrate: measured has shape {given.shape}; expected ({count}, 3) positions or ({count}, 4, 4) poses"
        )
    if not np.isfinite(given).all():
        raise ArgumentError("calibrate: measured has numbers that are not finite; leave out these measurements")
    if given.ndim == 3:
        R = given[:, :3, :3]
        bad = np.abs(R @ R.swapaxes(-1, -2) - np.eye(3)).max(axis=(-1, -2)) > 1e-6
        if bad.any():
            raise ArgumentError(f"calibrate: measured pose {int(np.argmax(bad))} is not rigid")
    return given


def _chain(
    robot: Robot, q: Array, end: Frame, only: Sequence[str] | None, device: bool, target: bool
) -> _Chain:  # fmt: skip
    """Return the product along the branch of the frame; only the placements of chosen joints may change."""
    branch, at = list[int](), end.body
    while at >= 0:
        branch.append(at)
        at = robot.joints[at].parent
    branch.reverse()
    known = {robot.joints[k].name: k for k in branch}
    wanted = tuple(known) if only is None else (only,) if isinstance(only, str) else tuple(only)
    for name in wanted:
        choice("joint", name, known, f"the branch of {end.name!r}")
    poses, still = robot.poses(q), np.broadcast_to(np.eye(4), (len(q), 4, 4))
    chain = _Chain(still, [], [], [])

    def add(name: str, P: Array, J: Any) -> None:
        chain.names.append(name)
        chain.places.append(P)
        chain.motions.append(J)

    def go_on(T: Array) -> None:
        if chain.names:
            chain.motions[-1] = chain.motions[-1] @ T
        else:
            chain.lead = chain.lead @ T

    if device:
        add("device", np.eye(4), still)
    for k in branch:
        c = robot.joints[k]
        P = c.placement.matrix
        J = np.linalg.inv((poses[:, c.parent] if c.parent >= 0 else np.eye(4)) @ P) @ poses[:, k]
        if c.name in wanted:
            add(c.name, P, J)
        else:
            go_on(P @ J)
    go_on(end.placement.matrix)
    if target:
        add("target", np.eye(4), still)
    if not chain.names:
        raise ArgumentError("calibrate: `only` names no joint, and neither device nor target are to be found")
    return chain


def _rows(columns: Array, given: Array) -> Array:
    """Return the rows that were measured: all six of poses, the last three of positions."""
    return columns if given.ndim == 3 else columns[:, 3:]


def _errors(poses: Array, given: Array) -> Array:
    """Return the errors (N, 6) in the axes of the target: (turn, shift); turns are NaN if positions were measured."""
    if given.ndim == 3:
        return np.asarray(log_pose(np.linalg.inv(poses) @ given, check=False))
    shift = np.einsum("nji,nj->ni", poses[:, :3, :3], given - poses[:, :3, 3])
    return np.concatenate([np.full_like(shift, np.nan), shift], axis=1)


def _sizes(errors: Array) -> tuple[float, float]:
    """Return the root mean squares of the turns and of the shifts."""
    squares = (errors**2).reshape(-1, 2, 3).sum(axis=-1).mean(axis=0)
    return float(np.sqrt(squares[0])), float(np.sqrt(squares[1]))


def _aligned(chain: _Chain, given: Array) -> _Chain:
    """Return the chain with the device where measured positions fit best, as a start."""
    there = given[:, :3, 3] if given.ndim == 3 else given
    here = chain.poses()[:, :3, 3]
    U, _, Vt = np.linalg.svd((here - here.mean(axis=0)).T @ (there - there.mean(axis=0)))
    flip = np.diag([1.0, 1.0, np.sign(np.linalg.det(U @ Vt)) or 1.0])
    M = np.eye(4)
    M[:3, :3] = Vt.T @ flip @ U.T
    M[:3, 3] = there.mean(axis=0) - M[:3, :3] @ here.mean(axis=0)
    return _Chain(chain.lead, chain.names, [M, *chain.places[1:]], chain.motions)


def _combinations(chain: _Chain, given: Array, robot: str) -> BaseParameters:
    """Return the combinations of changes that show in the measurements, at the places as they are."""
    labels = [f"{name}.{number}" for name in chain.names for number in _NUMBERS]
    columns = _rows(chain.columns(), given).reshape(-1, len(labels))
    base = from_columns(columns, labels, robot, "poses", _RANK)
    if len(columns) <= len(base):
        raise ArgumentError(
            f"calibrate: {len(given)} measurements are too few for {len(base)} numbers; measure more, or name joints "
            "in `only`"
        )
    return base


def _found(chain: _Chain, given: Array, robot: str) -> tuple[_Chain, BaseParameters, Array]:
    """Return the chain of least weighted squares, and combinations of changes with their covariance."""
    _combinations(chain, given, robot)  # raises if there are too few measurements
    prior = np.repeat([_FREE if name in ("device", "target") else _USUAL for name in chain.names], 6)
    total = np.zeros(len(prior))
    for _ in range(_STEPS):
        off = _errors(chain.poses(), given)
        turn, shift = _sizes(off)
        noise = np.repeat([max(turn, _LEAST), max(shift, _LEAST)], 3) / np.sqrt(3.0)
        F, z = _rows(chain.columns() / noise[:, None], given), off / noise
        z = z if given.ndim == 3 else z[:, 3:]
        A = np.concatenate([F.reshape(-1, len(prior)) * prior, np.eye(len(prior))])  # in parts of the prior
        Q, R = np.linalg.qr(A)
        inverse = prior[:, None] * np.linalg.inv(R)
        step = inverse @ (Q.T @ np.concatenate([z.ravel(), -total / prior]))
        chain, total = chain.moved(step), total + step
        if np.abs(step).max(initial=0.0) < _SETTLED:
            break
    else:
        raise ArgumentError(
            "calibrate: the placements do not settle: measurements and positions may not belong together, or the robot "
            "is too far off to begin with; with `device=True` the place of the base is found, too"
        )
    base = _combinations(chain, given, robot)
    known = base.matrix @ inverse
    lost = len(base) / (len(off) * (6 if given.ndim == 3 else 3))  # what parameters take of the errors
    return chain, base, known @ known.T / max(1e-6, 1.0 - lost)
