"""Arms and object as one robot, without the contacts, but with the arms' own loops."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..arguments import Array
from ..joints import Free
from ..model import BASE, Body, Connection, Coupling, Frame, Loop, Mimic, Model, Placement, Shape
from ..robot import Robot
from ..rotations import matrix_from_quaternion, pose, quaternion_from_matrix, rotate

if TYPE_CHECKING:
    from .mechanism import Grasp
    from .state import GraspState

__all__ = ["from_whole", "joined", "split", "to_whole", "whole_robot"]


def whole_robot(grasp: Grasp) -> Robot:
    """Return one robot of all parts. The name of an arm and a slash precede the names of its parts."""
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
    """Return q and v of the whole robot at a state."""
    q, v = np.concatenate(state.q, axis=-1), np.concatenate(state.v, axis=-1)
    if state.grasp.object is None:
        return q, v
    back = np.swapaxes(state.R, -1, -2)
    turned = quaternion_from_matrix(state.R, check=False)
    return (
        np.concatenate([q, turned, state.pose[..., :3, 3]], axis=-1),
        np.concatenate([v, rotate(back, state.velocity)], axis=-1),
    )


def from_whole(grasp: Grasp, q: Array, v: Array) -> GraspState:
    """Return the state of a grasp, from q and v of the whole robot."""
    from .state import GraspState

    qs, vs = grasp._split(q, "q"), grasp._split(v, "v")
    if grasp.object is None:
        still = np.broadcast_to(grasp.stands.matrix, (*q.shape[:-1], 4, 4)).copy()
        return GraspState(grasp, qs, vs, still, np.zeros((*q.shape[:-1], 6)))
    R = matrix_from_quaternion(q[..., grasp.nq : grasp.nq + 4])
    return GraspState(grasp, qs, vs, pose(R, q[..., grasp.nq + 4 :]), rotate(R, v[..., grasp.nv :]))


def split(state: GraspState, x: Array) -> tuple[tuple[Array, ...], Array | None]:
    """Split forces of the whole robot into joint forces of each arm and the wrench on the object, in world axes."""
    grasp = state.grasp
    return grasp._split(x), None if grasp.object is None else rotate(state.R, x[..., grasp.nv :])


def joined(state: GraspState, arms: tuple[Array, ...], shift: Array) -> Array:
    """Return velocities of the whole robot, from those of the arms and of the object in the world's axes."""
    if state.grasp.object is None:
        return np.concatenate(arms, axis=-1)
    return np.concatenate([*arms, rotate(np.swapaxes(state.R, -1, -2), shift)], axis=-1)
