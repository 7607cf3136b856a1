"""Arms and object as one robot, without the contacts, but with the arms' own loops."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..arguments import Array
from ..model import (
    BASE,
    Actuator,
    Body,
    Coupling,
    Frame,
    Link,
    Loop,
    ModelBuilder,
    ModelJoint,
    NamedPosition,
    Placement,
    Shape,
)
from ..robot import Robot
from ..rotations import matrix_from_quaternion, pose, quaternion_from_matrix, rotate
from .products import transposed
from .state import GraspState

if TYPE_CHECKING:
    from .arms import Arm
    from .mechanism import Grasp

__all__ = ["from_whole", "joined", "moved", "split", "to_whole", "whole_robot"]


def whole_robot(grasp: Grasp) -> Robot:
    """Return one robot of all parts. The name of an arm and a slash precede the names of its parts."""
    bodies: list[Body] = []
    joints: list[ModelJoint] = []
    frames: list[Frame] = []
    links: list[Link] = []
    shapes: list[Shape] = []
    loops: list[Loop] = []
    couplings: list[Coupling] = []
    motors: list[str] = []
    actuators: list[Actuator] = []
    positions: list[NamedPosition] = []
    for arm in grasp.arms:
        first, robot, prefix = len(bodies), arm.robot, f"{arm.name}/"
        bodies += [replace(b, name=prefix + b.name) for b in robot.bodies]
        for c in robot.joints:
            parent, place = moved(arm, first, c.parent, c.placement)
            mimic = c.mimic and replace(c.mimic, joint=c.mimic.joint + first)
            starts = {"q_start": c.q_start + arm.q.start, "v_start": c.v_start + arm.v.start}
            joints.append(replace(c, name=prefix + c.name, parent=parent, placement=place, mimic=mimic, **starts))
        motors += [prefix + name for name in robot.actuated]
        for drive in robot.actuators:
            on = tuple(prefix + name for name in drive.joints)
            actuators.append(replace(drive, name=prefix + drive.name, joints=on))
        for known in robot.named_positions:
            on = tuple(prefix + name for name in known.joints)
            positions.append(replace(known, name=prefix + known.name, joints=on))
        for link in robot.links:
            body, place = moved(arm, first, link.body, link.placement)
            own, joint = replace(link.own, name=prefix + link.name), link.joint and prefix + link.joint
            links.append(Link(body, own, place, joint))
        frames += [Frame(prefix + f.name, *moved(arm, first, f.body, f.placement)) for f in robot.frames]
        for shape in robot.shapes:
            body, place = moved(arm, first, shape.body, shape.placement)
            shapes.append(replace(shape, body=body, placement=place, link=shape.link and prefix + shape.link))
        for x in robot.loops:
            parent, here = moved(arm, first, x.parent, x.parent_placement)
            child, there = moved(arm, first, x.child, x.child_placement)
            name = prefix + x.name
            loops.append(
                replace(x, name=name, parent=parent, parent_placement=here, child=child, child_placement=there)
            )
        for y in robot.couplings:
            other = y.other if y.other == BASE else y.other + first
            couplings.append(replace(y, name=prefix + y.name, joint=y.joint + first, other=other))
    frames.append(Frame("world", BASE))
    if grasp.object is not None:
        name, index = grasp.object.name, len(bodies)
        frames += [Frame(name, index), *(Frame(f"{name}/{c.name}", index, c.at) for c in grasp.contacts)]
        (free,) = ModelBuilder().body(name, mass=1.0).build(floating=True).joints
        joints.append(replace(free, name=f"{name}_free", q_start=grasp.nq, v_start=grasp.nv))
        bodies.append(grasp.object)
    return Robot(
        grasp.name,
        tuple(bodies),
        tuple(joints),
        tuple(frames),
        tuple(grasp.gravity.tolist()),
        "world",
        loops=tuple(loops),
        couplings=tuple(couplings),
        shapes=tuple(shapes),
        motors=tuple(motors) if any(arm.robot.motors is not None for arm in grasp.arms) else None,
        actuators=tuple(actuators),
        named_positions=tuple(positions),
        links=tuple(links),
    )


def moved(arm: Arm, first: int, body: int, place: Placement) -> tuple[int, Placement]:
    """Return a body of an arm and a placement on it in the whole robot, where the arm's bodies begin at `first`."""
    return (BASE, arm.base @ place) if body == BASE else (body + first, place)


def to_whole(state: GraspState) -> tuple[Array, Array]:
    """Return q and v of the whole robot at a state."""
    q = np.concatenate(state.q, axis=-1)
    if state.grasp.object is None:
        return q, np.concatenate(state.v, axis=-1)
    turned = quaternion_from_matrix(state.R, check=False)
    return np.concatenate([q, turned, state.pose[..., :3, 3]], axis=-1), joined(state, state.v, state.velocity)


def from_whole(grasp: Grasp, q: Array, v: Array) -> GraspState:
    """Return the state of a grasp, from q and v of the whole robot."""
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


def joined(state: GraspState, arms: tuple[Array, ...], velocity: Array) -> Array:
    """Return velocities of the whole robot, from those of the arms and of the object in the world's axes."""
    if state.grasp.object is None:
        return np.concatenate(arms, axis=-1)
    return np.concatenate([*arms, rotate(transposed(state.R), velocity)], axis=-1)
