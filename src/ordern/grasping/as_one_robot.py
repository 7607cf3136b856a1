"""Arms and object as one robot, without the contacts; loops of the arms' own are in it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..joints import Free
from ..model import BASE, Body, Connection, Coupling, Frame, Loop, Mimic, Model, Placement, Shape
from ..robot import Robot

if TYPE_CHECKING:
    from .mechanism import Grasp
    from .state import GraspState

__all__ = ["from_whole", "joined", "split", "to_whole", "whole_robot"]

Array = NDArray[Any]


def whole_robot(grasp: Grasp) -> Robot:
    """One model of all parts. Names of an arm's parts have the arm's before them, with a slash."""
    bodies: list[Body] = []
    joints: list[Connection] = []
    frames: list[Frame] = []
    shapes: list[Shape] = []
    loops: list[Loop] = []
    couplings: list[Coupling] = []
    motors: list[str] = []
    for arm in grasp.arms:
        first, robot = len(bodies), arm.robot

        def at(body: int, place: Placement, first: int = first, base: Placement = arm.base) -> tuple[int, Placement]:
            return (BASE, base @ place) if body == BASE else (body + first, place)

        bodies += [replace(b, name=f"{arm.name}/{b.name}") for b in robot.bodies]
        for c in robot.joints:
            parent, place = at(c.parent, c.placement)
            follows = None if c.mimic is None else Mimic(c.mimic.joint + first, c.mimic.ratio, c.mimic.offset)
            joints.append(
                replace(
                    c,
                    name=f"{arm.name}/{c.name}",
                    parent=parent,
                    placement=place,
                    q_start=c.q_start + arm.q.start,
                    v_start=c.v_start + arm.v.start,
                    mimic=follows,
                )
            )
        motors += [f"{arm.name}/{name}" for name in robot.actuated]
        for f in robot.frames:
            body, place = at(f.body, f.placement)
            frames.append(Frame(f"{arm.name}/{f.name}", body, place))
        for s in robot.shapes:
            body, place = at(s.body, s.placement)
            shapes.append(replace(s, body=body, placement=place))
        for x in robot.loops:
            (parent, here), (child, there) = at(x.parent, x.parent_placement), at(x.child, x.child_placement)
            name = f"{arm.name}/{x.name}"
            loops.append(
                replace(x, name=name, parent=parent, parent_placement=here, child=child, child_placement=there)
            )
        for y in robot.couplings:
            other = y.other if y.other == BASE else y.other + first
            couplings.append(replace(y, name=f"{arm.name}/{y.name}", joint=y.joint + first, other=other))
    frames.append(Frame("world", BASE))
    if grasp.object is not None:
        name = grasp.object.name
        frames += [Frame(name, len(bodies)), *(Frame(f"{name}/{c.name}", len(bodies), c.at) for c in grasp.contacts)]
        joints.append(_free(f"{name}_free", grasp.nq, grasp.nv))
        bodies.append(grasp.object)
    gx, gy, gz = grasp.gravity.tolist()
    return Robot.of(
        Model(
            grasp.name,
            tuple(bodies),
            tuple(joints),
            tuple(frames),
            (gx, gy, gz),
            "world",
            loops=tuple(loops),
            couplings=tuple(couplings),
            shapes=tuple(shapes),
            motors=tuple(motors) if any(arm.robot.motors is not None for arm in grasp.arms) else None,
        )
    )


def _free(name: str, q: int, v: int) -> Connection:
    none, far = (0.0,) * 6, (np.inf,) * 6
    return Connection(
        name=name,
        type=Free(),
        parent=BASE,
        placement=Placement(),
        q_start=q,
        v_start=v,
        lower=(-np.inf,) * 7,
        upper=(np.inf,) * 7,
        velocity_limit=far,
        effort_limit=far,
        damping=none,
        friction=none,
        armature=none,
        stiffness=none,
        rest=Free().neutral(),
    )


def to_whole(state: GraspState) -> tuple[Array, Array]:
    """q and v of the whole robot, of a state."""
    q, v = np.concatenate(state.q, axis=-1), np.concatenate(state.v, axis=-1)
    if state.grasp.object is None:
        return q, v
    back = np.swapaxes(state.R, -1, -2)
    w, u = ((back @ state.velocity[..., part, None])[..., 0] for part in (slice(0, 3), slice(3, 6)))
    return np.concatenate([q, quaternion(state.R), state.pose[..., :3, 3]], axis=-1), np.concatenate([v, w, u], axis=-1)


def from_whole(grasp: Grasp, q: Array, v: Array) -> GraspState:
    """The state of a grasp, from q and v of the whole robot."""
    from .state import GraspState

    qs, vs = grasp._split(q, "q"), grasp._split(v, "v")
    pose = np.zeros((*q.shape[:-1], 4, 4))
    pose[..., 3, 3] = 1.0
    if grasp.object is None:
        pose[...] = grasp.stands.matrix
        return GraspState(grasp, qs, vs, pose, np.zeros((*q.shape[:-1], 6)))
    R = rotation(q[..., grasp.nq : grasp.nq + 4])
    pose[..., :3, :3], pose[..., :3, 3] = R, q[..., grasp.nq + 4 :]
    w, u = ((R @ v[..., grasp.nv + k : grasp.nv + k + 3, None])[..., 0] for k in (0, 3))
    return GraspState(grasp, qs, vs, pose, np.concatenate([w, u], axis=-1))


def rotation(p: Array) -> Array:
    """Rotation matrices of quaternions (w, x, y, z), which need not be units."""
    p = p / np.linalg.norm(p, axis=-1, keepdims=True)
    w, x, y, z = np.moveaxis(p, -1, 0)
    rows = (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)),
        (2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)),
        (2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, -1) for row in rows], -2)


def split(state: GraspState, x: Array) -> tuple[tuple[Array, ...], Array | None]:
    """Forces on the joints of each arm, and that on the object in the world's axes, from those of the whole robot."""
    grasp = state.grasp
    return grasp._split(x), None if grasp.object is None else _turned(state.R, x[..., grasp.nv :])


def joined(state: GraspState, arms: tuple[Array, ...], shift: Array) -> Array:
    """Velocities of the whole robot, from those of the arms and of the object in the world's axes."""
    if state.grasp.object is None:
        return np.concatenate(arms, axis=-1)
    return np.concatenate([*arms, _turned(np.swapaxes(state.R, -1, -2), shift)], axis=-1)


def _turned(R: Array, x: Array) -> Array:
    both = [(R @ x[..., part, None])[..., 0] for part in (slice(0, 3), slice(3, 6))]
    return np.concatenate(both, axis=-1)


def quaternion(R: Array) -> Array:
    """Quaternions (w, x, y, z) of rotation matrices, from the largest of the four, w not below zero."""
    xx, yy, zz = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    squares = np.stack([1 + xx + yy + zz, 1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz], axis=-1)
    a = np.stack([R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]], axis=-1)
    b = np.stack([R[..., 1, 0] + R[..., 0, 1], R[..., 0, 2] + R[..., 2, 0], R[..., 2, 1] + R[..., 1, 2]], axis=-1)
    ax, ay, az = np.moveaxis(a, -1, 0)
    xy, xz, yz = np.moveaxis(b, -1, 0)
    s0, s1, s2, s3 = np.moveaxis(squares, -1, 0)
    four = np.stack(
        [
            np.stack([s0, ax, ay, az], -1),
            np.stack([ax, s1, xy, xz], -1),
            np.stack([ay, xy, s2, yz], -1),
            np.stack([az, xz, yz, s3], -1),
        ],
        axis=-2,
    )
    pick = np.argmax(squares, axis=-1)[..., None, None]
    p = np.take_along_axis(four, pick, axis=-2)[..., 0, :]
    p = p / np.linalg.norm(p, axis=-1, keepdims=True)
    return np.asarray(np.where(p[..., :1] < 0.0, -p, p))
