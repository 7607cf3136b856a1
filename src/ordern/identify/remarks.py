"""What is doubtful about an estimate: signs, columns and units of the measurements, and numbers that no robot has.

Least squares fits whatever it is given. These checks compare the measurements with each other, with the robot's file
and with the estimate:

    rates         if the samples are a series in time, q_k+1 - q_k = h (v_k + v_k+1) / 2 for one h, and so for v and a
    limits        positions far outside are mostly degrees
    file          forces of opposite sign, of another scale, or in the columns of other joints
    estimate      negative inertia, damping or friction, beyond what noise explains; a poor fit

A remark is no error: files may be wrong, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import Array
from .excitation import rows_of
from .reduction import Motion
from .springs import known_forces

if TYPE_CHECKING:
    from ..robot import Robot
    from .estimate import Estimate

__all__ = ["remarks_on"]

_SAMPLES = 200
"""How many samples are compared with the file."""
_SIGNIFICANT = 5.0
"""Deviations below zero from which a number counts as negative."""
_POOR = 0.5
"""A fit whose errors are above this part of the force is poor."""
_ALIKE, _UNLIKE = 0.9, 0.7
"""Cosines between two signals that show the same quantity, and that do not."""
_SCALE = 10.0
"""Forces that differ from the file's by more than this factor may be in other units."""
_RATES = 1.5
"""Rates that differ by more than this factor are not those of one time step."""
_BEYOND = 0.5
"""Positions of joints that are beyond their limits by this much, in rad or m, are doubtful."""
_TURNS = 4.0 * np.pi
"""An angle of a joint without limits that goes beyond this is doubtful."""
_DRIVES = ("armature", "damping", "joint_friction")


def remarks_on(estimate: Estimate, motion: Motion) -> tuple[str, ...]:
    """Return what is doubtful about an estimate and the samples that it was made from, in words."""
    robot, names = estimate.measured, estimate._forces
    found = [] if robot.nc else [*_series(robot, motion, names), *_beyond_limits(robot, motion)]
    return (*found, *_against_file(robot, motion, names), *_negative(estimate, motion), *_poor(estimate, motion))


def _series(robot: Robot, motion: Motion, names: tuple[str, ...]) -> list[str]:
    """Compare the rates of positions and velocities with what is given for them."""
    q, v, a = motion.states
    if len(q) < 3:
        return []
    moved = robot.difference(q[:-1], q[1:])
    cosines, steps = zip(*(_step(d, rate) for d, rate in ((moved, v), (np.diff(v, axis=0), a))), strict=True)
    alike = np.abs(np.stack([C.diagonal() for C in cosines])) > _ALIKE
    if not (alike.sum(axis=1) > 0.5 * robot.nv).any():
        return []  # samples of no series in time
    lines, usual = [], []
    for rate, of, C, step, same in zip("va", "qv", cosines, steps, alike, strict=True):
        lines += [
            f"the columns of {one} and {other} look swapped in {of} or {rate}" for one, other in _swapped(C, names)
        ]
        backward = [names[k] for k in np.flatnonzero(same & (step < 0.0))]
        if backward:
            lines.append(f"{rate} has the opposite sign of the rate of {of} in {', '.join(backward)}")
        usual.append(float(np.median(np.abs(step[same]))) if same.any() else np.nan)
        off = same & _differ(np.abs(step) / usual[-1])
        if off.any():
            listed = ", ".join(f"{names[k]} ({abs(step[k]) / usual[-1]:.3g} times)" for k in np.flatnonzero(off))
            lines.append(f"{of} and {rate} have another scale than in the other joints in {listed}: check their units")
    ratio = usual[0] / usual[1]
    if _differ(ratio):
        degrees = any(abs(np.log(ratio * x)) < 0.1 for x in (180.0 / np.pi, np.pi / 180.0))
        hint = "some of them seem to be in degrees" if degrees else "check the units of q, v and a"
        lines.append(f"the steps of q and v differ from those of v and a by a factor of {ratio:.3g}: {hint}")
    return lines


def _differ(ratio: Any) -> Any:
    """Return whether rates differ so much that they are not those of one time step."""
    return (ratio > _RATES) | (ratio < 1.0 / _RATES)


def _step(moved: Array, rate: Array) -> tuple[Array, Array]:
    """Return the cosines between the steps of all joints and all mean rates, and the time step that fits each joint."""
    mean = 0.5 * (rate[:-1] + rate[1:])
    along = (mean**2).sum(axis=0)
    return _cosines(moved, mean), (moved * mean).sum(axis=0) / np.where(along > 0.0, along, 1.0)


def _cosines(x: Array, y: Array) -> Array:
    """Return the cosines between all columns of two signals; zero for columns that are zero."""
    sizes = np.outer(np.linalg.norm(x, axis=0), np.linalg.norm(y, axis=0))
    return np.asarray(x.T @ y / np.where(sizes > 0.0, sizes, 1.0))


def _swapped(cosines: Array, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield pairs of joints whose signals show each other, and not themselves."""
    C = np.abs(cosines)
    for i, j in combinations(range(len(names)), 2):
        if min(C[i, j], C[j, i]) > _ALIKE and max(C[i, i], C[j, j]) < _UNLIKE:
            yield names[i], names[j]


def _beyond_limits(robot: Robot, motion: Motion) -> list[str]:
    """Report positions that are far outside of the limits of their joints."""
    q, doubtful = motion.states[0], []
    for c in robot.independent:
        angles = frozenset(c.type.angles)
        for k, at in enumerate(range(c.q.start, c.q.stop)):
            far = max(float((q[:, at] - c.upper[k]).max()), float((c.lower[k] - q[:, at]).max())) > _BEYOND
            limited = np.isfinite(c.lower[k]) or np.isfinite(c.upper[k])
            winds = not limited and k in angles and c.type.counting_turns() is c.type and np.ptp(q[:, at]) > _TURNS
            if far or winds:
                doubtful.append(f"{c.name} ({q[:, at].min():.3g} to {q[:, at].max():.3g})")
    if not doubtful:
        return []
    return [f"positions are far beyond the range of {', '.join(doubtful)}: give radians and m, not degrees and mm"]


def _against_file(robot: Robot, motion: Motion, names: tuple[str, ...]) -> list[str]:
    """Compare the forces with those of the robot's own parameters."""
    count = len(motion)
    some = motion.some(np.unique(np.linspace(0, count - 1, min(count, _SAMPLES)).astype(np.intp)))
    file = rows_of(robot, "inverse_dynamics", some.states, **some.more) @ robot.parameters.theta
    springs = known_forces(robot, *some.states[:2])
    measured = some.tau if springs is None else some.tau + springs
    cosines = _cosines(measured, file)
    opposite = np.flatnonzero(cosines.diagonal() < -_ALIKE)
    lines = [f"the forces of {one} and {other} look swapped" for one, other in _swapped(cosines, names)]
    if opposite.size:
        which = "all joints" if len(names) == opposite.size > 1 else ", ".join(names[k] for k in opposite)
        lines.append(f"forces have the opposite sign of those of the robot's file in {which}: check the sign of tau")
    sizes, own = np.linalg.norm(measured, axis=0), np.linalg.norm(file, axis=0)
    seen = (np.abs(cosines.diagonal()) > _ALIKE) & (own > 0.0)
    scale = np.where(seen, sizes, 1.0) / np.where(seen, own, 1.0)
    off = np.flatnonzero(seen & ((scale > _SCALE) | (scale < 1.0 / _SCALE)))
    if off.size:
        listed = ", ".join(f"{names[k]} ({scale[k]:.3g} times)" for k in off)
        lines.append(f"forces differ in scale from those of the robot's file: {listed}; check the units of tau")
    return lines


def _negative(estimate: Estimate, motion: Motion) -> list[str]:
    """Report numbers that are below zero beyond what noise explains, but cannot be."""
    base, x, s = estimate.base, estimate.values, estimate.deviations
    single = np.count_nonzero(base.matrix, axis=1) == 1
    drives = [k for k, place in enumerate(base.kept) if single[k] and _kind(base.labels[place]) in _DRIVES]
    below = [k for k in drives if x[k] < -_SIGNIFICANT * s[k] and x[k] < 0.0]
    lines = []
    if below:
        kinds = {_kind(base.labels[base.kept[k]]) for k in below}
        signs = "check the signs of v" if "armature" not in kinds else "check the signs of tau, v and a"
        listed = ", ".join(f"{base.names[k]} = {x[k]:.3g}" for k in below)
        lines.append(f"negative, which no robot has: {listed}; {signs}, and the order of the columns")
    felt = [] if estimate.measured.nc or estimate.consistent else _light(estimate, motion)
    if felt:
        lines.append(
            f"the inertia that {', '.join(felt)} would move is negative: check the signs of tau and a, the order of "
            "columns, and units"
        )
    return lines


def _kind(label: str) -> str:
    return label.rpartition(".")[2].partition("[")[0]


def _light(estimate: Estimate, motion: Motion) -> list[str]:
    """Return the joints whose entry of the mass matrix is negative in some position, by the estimate."""
    robot, base = estimate.measured, estimate.base
    labels = {x: k for k, x in enumerate(robot.parameters.theta_labels)}
    kept = [(k, labels[base.labels[place]]) for k, place in enumerate(base.kept) if base.labels[place] in labels]
    known = np.array(robot.parameters.theta)
    known[[labels[x] for x in base.labels if x in labels]] = 0.0
    q = motion.states[0][:: max(1, len(motion) // 20)]
    still, found = np.zeros((len(q), robot.nv)), []
    rest = rows_of(robot, "inverse_dynamics", (q, still, still))
    rows, columns = [k for k, _ in kept], [place for _, place in kept]
    C = estimate.covariance[np.ix_(rows, rows)]
    for j in range(robot.nv):
        pushed = still.copy()
        pushed[:, j] = 1.0
        y = (rows_of(robot, "inverse_dynamics", (q, still, pushed)) - rest)[:, j]
        Yb = y[:, columns]
        M = Yb @ estimate.values[rows] + y @ known
        deviation = np.sqrt(np.einsum("ni,ij,nj->n", Yb, C, Yb))
        if (np.minimum(-_SIGNIFICANT * deviation, -1e-9 * np.abs(y @ estimate.theta).max(initial=0.0)) > M).any():
            found.append(estimate._forces[j])
    return found


def _poor(estimate: Estimate, motion: Motion) -> list[str]:
    """Report forces that the estimate does not explain."""
    force = np.sqrt((motion.tau[: estimate.samples] ** 2).mean(axis=0))
    share = estimate.noise / np.where(force > 0.0, force, np.inf)
    poor: NDArray[np.intp] = np.flatnonzero(share > _POOR)
    if not poor.size:
        return []
    listed = ", ".join(f"{estimate._forces[k]} ({100 * share[k]:.3g} %)" for k in poor)
    return [f"a poor fit: errors are a large part of the force in {listed}; check columns, signs and units"]
