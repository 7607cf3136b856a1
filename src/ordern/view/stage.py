"""The contents of a page, computed once: looks, sliders, frames of a motion, forces, curves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array, array
from ..errors import ArgumentError
from ..io.remarks import some
from ..model import Frame
from ..model.poses import body_poses
from ..records import dataclass
from ..rotations import pose, quaternion_from_matrix
from ..simulate.results.series import labels
from .charts import Charts
from .closing import closed_start
from .looks import Colour, Looks, shades
from .motion import Motion, motion_of, rest, thinned
from .scene import Scene

if TYPE_CHECKING:
    from ..contact.points import ContactPoints
    from ..robot import Robot

__all__ = ["Curves", "Stage", "arrows", "joint_forces"]

_MOST_CURVES = 12
_LONGEST = 0.5
"""The longest arrow of a contact force, as a part of the size of the robot."""
_MOST_POINTS = 400
_MOST_PATHS, _MOST_STEPS = 8, 1500


@dataclass(frozen=True, eq=False)
class Curves:
    """Several numbers over time."""

    labels: tuple[str, ...]
    colours: tuple[Colour, ...]
    values: Array
    """The numbers, (T, number of curves)."""


class Stage:
    """A robot, perhaps its motion, and everything that is derived from them."""

    def __init__(
        self,
        robot: Robot,
        motion: Any = None,
        q: ArrayLike | None = None,
        paths: Sequence[str | Frame] | None = None,
        external: Any = None,
    ) -> None:
        self.robot, self.moves = robot, motion is not None
        given = motion_of(robot, motion) if self.moves else None
        self.q = self._position(q, given)
        self.motion = rest(self.q) if given is None else given
        self._paths = None if paths is None else [robot.frame(name) for name in paths]
        self.external = external
        self.looks = Looks(robot)
        self.charts = Charts(robot, self.looks.size)
        missing = some([f"{file} ({why})" for file, why in self.looks.missing.items()])
        self.warning = f"{robot.name}: meshes that are not shown: {missing}" if self.looks.missing else ""

    def _position(self, q: ArrayLike | None, motion: Motion | None) -> Array:
        """Return the first position: the given one, the start of the motion, or neutral, within the limits.

        A robot with loops has them closed: in the known position of a bundled mechanism, or next to the neutral one.
        """
        if q is None and motion is None:
            neutral = np.clip(self.robot.neutral(), self.robot.lower, self.robot.upper)
            return closed_start(self.robot, neutral) if self.robot.nc else neutral
        if q is None:
            assert motion is not None
            return np.asarray(motion.q[0])
        if np.ndim(q) == 2:
            raise ArgumentError("q is one position; several positions are a motion: view(motion=(t, q))")
        return array(q, (self.robot.nq,), "q")

    def at(self, q: Array) -> Stage:
        """Return the same contents with another first position."""
        if q is self.q:
            return self
        other = copy(self)
        other.q = q
        other.motion = self.motion if self.moves else rest(q)
        return other

    def frames(self, most: int, rate: float = 60.0) -> Motion:
        """Return the motion at equal times, with at most `most` poses of bodies in all."""
        count = max(most // max(len(self.robot.bodies), 1), 2)
        return self.motion.frames(self.robot, min(rate, count / max(self.motion.duration, 1e-9)))

    @property
    def force_kinds(self) -> list[str]:
        """The kinds of forces that can be shown."""
        kinds = ["joint forces"] if self.external is None else ["joint forces", "external forces"]
        kinds += ["contact forces"] if self.motion.contact_forces is not None else []
        return kinds if self.robot.bodies else []

    @property
    def _surfaces(self) -> Array | None:
        """Friction, restitution and ground height of contacts; None if no forces of contacts are known."""
        if self.motion.contact_forces is None:
            return None
        if self.motion.surfaces is not None:
            return self.motion.surfaces
        assert self.robot.contacts is not None
        return np.array([[c.friction, c.restitution, np.nan] for c in self.robot.contacts.pairs])

    @property
    def ground_height(self) -> float | None:
        """The height of the ground in the motion, if it is known."""
        surfaces = self.motion.surfaces
        return None if surfaces is None or not len(surfaces) else float(surfaces[0, 2])

    @property
    def friction(self) -> Array:
        """The friction of each contact whose forces are known."""
        surfaces = self._surfaces
        return np.zeros(0) if surfaces is None else surfaces[:, 0]

    def scene(self, server: Any, *, collision: bool) -> Scene:
        """Build the nodes of a server, with the robot at its first position."""
        scene = Scene(server, self.looks)
        scene.build(collision=collision)
        seen = np.concatenate([self.q[None], self.motion.q[thinned(self.motion.q, 40)]])
        scene.surroundings(seen, self.ground_height)
        scene.pose(*self.poses(self.q))
        for name, points in self.paths().items():
            scene.path(name, points)
        for kind in self.force_kinds:
            scene.forces(kind)
        scene.cones(self.friction)
        return scene

    def poses(self, q: Array) -> tuple[Array, Array]:
        """Return the poses (..., n, 4, 4) of all bodies at positions (..., nq), and their quaternions (..., n, 4)."""
        poses = body_poses(self.robot, q)
        return poses, quaternion_from_matrix(poses[..., :3, :3], check=False)

    def paths(self) -> dict[str, Array]:
        """Return the paths of frames, or of the robot's ends, by name."""
        poses = body_poses(self.robot, self.frames(_MOST_STEPS * len(self.robot.bodies)).q)
        if self._paths is None:
            points = {self.robot.bodies[k].name: (k, p) for k, p in self.looks.skeleton.tips()[:_MOST_PATHS]}
        else:
            points = {f.name: (f.body, f.placement.p) for f in self._paths if f.body >= 0}
        return {name: poses[:, k, :3, :3] @ p + poses[:, k, :3, 3] for name, (k, p) in points.items()}

    @cached_property
    def _weights(self) -> dict[str, float]:
        """Metres of an arrow for a newton, by kind of force."""
        sample = self.motion.rows(thinned(self.motion.q, 200))
        found = {}
        if sample.contact_forces is not None:
            usual = _usual_size(np.linalg.norm(sample.contact_forces, axis=-1))
            found["contact forces"] = 0.25 * self.looks.size / usual if usual > 0.0 else 0.0
        for kind, forces in self._forces(sample).items():
            largest = float(np.linalg.norm(forces, axis=-1).max(initial=0.0))
            found[kind] = 0.3 * self.looks.size / largest if largest > 0.0 else 0.0
        return found

    def _forces(self, motion: Motion) -> dict[str, Array]:
        if self.external is None:
            return {"joint forces": joint_forces(self.robot, motion)}
        pushed = np.asarray(self.robot._forces(self.external), float)
        pushed = np.broadcast_to(pushed, (len(motion.q), len(self.robot.bodies), 6))
        return {"joint forces": joint_forces(self.robot, motion, pushed), "external forces": pushed[..., 3:]}

    def arrows(self, motion: Motion) -> Mapping[str, list[Array]]:
        """Return the segments of the arrows at each time, by kind of force."""
        if not self.force_kinds:
            return {}
        poses = body_poses(self.robot, motion.q)
        least = 0.045 * self.looks.size
        found = {
            kind: [arrows(T, f, self._weights[kind], least) for T, f in zip(poses, forces, strict=True)]
            for kind, forces in self._forces(motion).items()
        }
        if self.motion.contact_forces is not None:
            found["contact forces"] = self._contact_arrows(motion)
        return found

    def _contact_arrows(self, motion: Motion) -> list[Array]:
        """Return the segments of contact forces at each time; those of impacts are cut."""
        if motion.contact_forces is None:
            return [np.zeros((0, 2, 3))] * len(motion.q)
        at, size = self._places(motion.q), self.looks.size
        steps = self._weights["contact forces"] * np.einsum("tki,tkij->tkj", motion.contact_forces, at.axes)
        length = np.linalg.norm(steps, axis=-1)
        steps *= np.minimum(1.0, _LONGEST * size / np.maximum(length, 1e-30))[..., None]
        ends = np.stack([at.points, at.points + steps], axis=-2)
        return [x[n > 0.02 * size] for x, n in zip(ends, length, strict=True)]

    def _places(self, q: Array) -> ContactPoints:
        """Return where contacts are, on the ground of this motion."""
        return self.robot.contact_points(q, height=self.ground_height)

    def cones(self, motion: Motion) -> list[Array]:
        """Return the poses (contacts, 4, 4) of friction cones at each time; of contacts without force far below."""
        if self.motion.contact_forces is None:
            return [np.zeros((0, 4, 4))] * len(motion.q)
        at = self._places(motion.q)
        forces = motion.contact_forces
        touching = np.zeros(at.gap.shape, bool) if forces is None else forces[..., 2] > 0.0
        points = np.where(touching[..., None], at.points, -1e4 * self.looks.size * self.looks.up)
        return list(pose(np.swapaxes(at.axes, -1, -2), points))

    def curves(self) -> tuple[Array, dict[str, Curves]]:
        """Return the times, and the curves of the motion by name; of large robots, only of the first joints."""
        motion = self.motion
        if motion.between is not None and motion.duration > 0:
            motion = motion.at(self.robot, np.linspace(motion.t[0], motion.t[-1], _MOST_POINTS))
        rows = thinned(motion.t, _MOST_POINTS)
        found = {}
        charts = [chart for chart in self.charts.charts if self.charts.starts[chart.joint] < _MOST_CURVES]
        if charts:
            sliders = [slider.label for chart in charts for slider in chart.sliders]
            own = [(chart, motion.q[rows][:, self.robot.joints[chart.joint].q]) for chart in charts]
            values = np.concatenate([[chart.of_q(row) for row in q] for chart, q in own], axis=1)
            colours = self._colours((chart.joint, len(chart.sliders)) for chart in charts)
            found["positions"] = Curves(tuple(sliders), colours, values)
        n, colours = _MOST_CURVES, self._colours((k, c.nv) for k, c in enumerate(self.robot.joints))
        for name, series in (("velocities", motion.v), ("joint forces", motion.tau)):
            if series is not None and self.robot.nv:
                found[name] = Curves(labels(self.robot)[1][:n], colours[:n], series[rows][:, :n])
        if self.motion.contact_forces is not None:
            pairs = getattr(self.robot.contacts, "pairs", ())[:n]
            forces = self.motion.at(self.robot, motion.t[rows]).contact_forces
            assert forces is not None
            found["contact forces"] = Curves(
                tuple(c.name for c in pairs), self._colours((c.first.body, 1) for c in pairs), forces[:, :n, 2]
            )
        return motion.t[rows], found

    def _colours(self, counts: Iterable[tuple[int, int]]) -> tuple[Colour, ...]:
        """Return shades of the colours of joints, given as pairs: the joint, and its number of curves."""
        return tuple(shade for k, n in counts for shade in shades(self.looks.colours[k], n))


def _usual_size(x: Array) -> float:
    """Return a size that nine tenths of all numbers above zero do not exceed."""
    return float(np.quantile(x[x > 0.0], 0.9)) if (x > 0.0).any() else 0.0


def joint_forces(robot: Robot, motion: Motion, external: Array | None = None) -> Array:
    """Return the forces (T, n, 3) that joints transmit to their bodies, in the bodies' frames.

    A motion without velocities counts as rest, and one without accelerations or joint forces as one of constant
    velocity.
    """
    v = np.zeros((len(motion.q), robot.nv)) if motion.v is None else motion.v
    known: dict[str, Any] = {"a": np.zeros_like(v)} if motion.v is None or motion.a is None else {"a": motion.a}
    if motion.v is not None and motion.tau is not None and (motion.a is None or robot.nc):
        known = {"tau": motion.tau}
    if robot.nc and "tau" not in known:  # motors at all joints, so that the loops transmit no force
        robot = robot.opened()
    # unchecked: loops may be slightly open in a motion from a file, or from a rough integrator
    wrenches = robot.joint_wrenches(motion.q, v, external=external, check=False, **known)
    return np.asarray(wrenches[..., 3:])


def arrows(poses: Array, forces: Array, scale: float, least: float) -> Array:
    """Return segments (N, 2, 3) from the bodies' origins along forces (n, 3) in their frames, without short ones."""
    start = poses[:, :3, 3]
    step = scale * np.einsum("nij,nj->ni", poses[:, :3, :3], forces)
    keep = np.linalg.norm(step, axis=1) > least
    return np.stack([start[keep], start[keep] + step[keep]], axis=1)
