"""The joints that close loops, as joints: their coordinates, velocities, and the forces along them.

    q_l from the relative pose (R, p),    v_l = (S^T S)^-1 S^T V,    wrench on the child = S (S^T S)^-1 tau_l

with S the joint's motions at q_l, in the child's frame: S^T of the wrench is tau_l again; any other wrench with this
property differs from it by a constraint force. It acts on the tree's joints along both sides of the loop:

    inward    tau_i = S_i^T f_i,    f_p += X_i^T f_i        from the two bodies to the loop's top

Angles are found without full turns; the stretch of a spring is measured from the nearest turn to its rest position.
Loops that are closed by something other than a joint, or by joints in series with a common motion, have no coordinates.
Cost: order n.

Reference: Featherstone and Orin 2000, sec. 3.3, eq. (19): tau_a, the active forces in loop-closing joints.
"""

from __future__ import annotations

from ...graph import Scalar, atan2, cos, sin
from ...joints import Joint
from ...model import Input, Joints, Loop, Number, Output, Tree
from ...spatial import Columns, Force, Freedoms, Motion, Subspace
from ...spatial.linear import dot
from ..configuration.passive import resistance
from ..forward_dynamics.bae_haug import actuator, gram
from ..registry import algorithm
from .loads import LoopLoads
from .relative import Ends, Relative

__all__ = ["loop_coordinates", "loop_force", "loop_passive_force", "loop_velocities"]

_PAPER = "Featherstone-Orin 2000"


@algorithm("loop_coordinates", "outward", paper=_PAPER, equations="(19)")
def loop_coordinates(tree: Tree, q: Joints) -> Freedoms:
    """Return the positions of all joints that close loops, loop after loop."""
    ends = Ends(tree, q)
    found = (_located(loop.loop, ends.relative(loop)) for loop in tree.model.loop_table.loops)
    return Freedoms(x for located in found for x in located)


@algorithm("loop_velocities", "outward", paper=_PAPER, equations="(19)")
def loop_velocities(tree: Tree, q: Joints, qd: Joints) -> Freedoms:
    """Return the velocities of all joints that close loops; of open loops, the velocities nearest to the motion."""
    ends = Ends(tree, q, qd)
    found: list[Scalar] = []
    for loop in tree.model.loop_table.loops:
        at = ends.relative(loop)
        found += _velocity(_motions(loop.loop, at), at.V)
    return Freedoms(found)


@algorithm("loop_force", "inward", paper=_PAPER, equations="(19)")
def loop_force(tree: Tree, q: Joints, along: Input) -> Output:
    """Return the forces on the tree's joints that are equivalent to forces along the joints that close loops."""
    ends = Ends(tree, q)
    loads = LoopLoads(tree, [1] * len(tree.model.loop_table.loops))
    for number, loop in enumerate(tree.model.loop_table.loops):
        at, mine = ends.relative(loop), along[tree.base][loop.v]
        loads.put(number, at, (actuator(_motions(loop.loop, at), Freedoms(mine)),))
    return _gathered(tree, q, loads)


@algorithm("loop_passive_force", "inward", paper=_PAPER, equations="(19)")
def loop_passive_force(tree: Tree, q: Joints, qd: Joints, smoothing: Number) -> Output:
    """Return forces of dampers, friction and springs in the joints that close loops, as forces of the tree's joints."""
    ends = Ends(tree, q, qd)
    loads = LoopLoads(tree, [1] * len(tree.model.loop_table.loops))
    for number, loop in enumerate(tree.model.loop_table.loops):
        if not loop.loop.is_passive:
            continue
        at = ends.relative(loop)
        S = _motions(loop.loop, at)
        v = _velocity(S, at.V)
        forces = _passive(loop.loop, _located(loop.loop, at), v, smoothing[tree.base])
        loads.put(number, at, (actuator(S, forces),))
    return _gathered(tree, q, loads)


def _gathered(tree: Tree, q: Joints, loads: LoopLoads) -> Output:
    out = tree.output("f")
    for i, p in tree.inward():
        total = Force.zero()
        for f in loads.passing(i, p, i.transform(q[i])):
            total = total + f
        out[i] = i.subspace(q[i]).T @ total
    return out


def _located(loop: Loop, at: Relative) -> Freedoms:
    if not isinstance(loop.type, Joint) or not loop.nq:
        return Freedoms(())
    return loop.type.locate(at.pose.rotation, at.pose.position)


def _motions(loop: Loop, at: Relative) -> Subspace:
    """Return the joint's motions, in the child's frame."""
    if not isinstance(loop.type, Joint) or not loop.nv:
        return Columns(())
    return loop.type.subspace(_located(loop, at))


def _velocity(S: Subspace, V: Motion) -> Freedoms:
    """Return (S^T S)^-1 S^T V."""
    return gram(S).solve(tuple(dot(x.scalars, V.scalars) for x in S.columns))


def _passive(loop: Loop, q: Freedoms, v: Freedoms, smoothing: Scalar) -> Freedoms:
    """Return the passive forces of a loop's joint, as in `passive_force`."""
    joint, rest = loop.type, loop.rest
    assert isinstance(joint, Joint)
    near = list(q)
    for k in joint.angles:
        apart = near[k] - rest[k]
        near[k] = rest[k] + atan2(sin(apart), cos(apart))
    stretch = joint.displacement(Freedoms(rest), Freedoms(near)) if any(loop.stiffness) else (0.0,) * joint.nv
    lost = resistance(Freedoms(loop.damping), Freedoms(loop.friction), v, smoothing)
    return -(lost + Freedoms(loop.stiffness) * stretch)
