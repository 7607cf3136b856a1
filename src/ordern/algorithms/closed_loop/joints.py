"""The joints that close loops, as joints: their coordinates, velocities, and the forces along them.

    q_l from the relative pose (R, p),    v_l = (S^T S)^-1 S^T V,    wrench on the child = S (S^T S)^-1 tau_l

with S the joint's motions at q_l, in the child's frame: S^T of the wrench is tau_l again, and what else a wrench with
this property may have is taken up by the constraint. It acts on the tree's joints along both sides of the loop:

    inward    tau_i = S_i^T f_i,    f_p += X_i^T f_i        from the two bodies to the loop's top

Angles are found without their full turns; stretches of springs count from the turn that is nearest to the rest. Loops
that are closed by what is no joint, or by joints in series that have a motion in common, have no coordinates. Cost:
order n.

Reference: Featherstone and Orin 2000, sec. 3.3, eq. (19): tau_a, the active forces in loop-closing joints.
"""

from __future__ import annotations

from ...graph import Scalar, atan2, cos, sin, sqrt
from ...joints import Joint
from ...model import Input, Joints, Loop, Number, Output, Tree
from ...spatial import Factor, Force, Freedoms, Motion, Subspace
from ...spatial.linear import add, dot, scale
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
    """Return the velocities of all joints that close loops; of loops that are open, those nearest to the motion."""
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
    loads = _cleared(tree)
    for number, loop in enumerate(tree.model.loop_table.loops):
        at, mine = ends.relative(loop), along[tree.base][loop.v]
        loads.put(number, at, (_wrench(_motions(loop.loop, at), Freedoms(mine)),))
    return _gathered(tree, q, loads)


@algorithm("loop_passive_force", "inward", paper=_PAPER, equations="(19)")
def loop_passive_force(tree: Tree, q: Joints, qd: Joints, smoothing: Number) -> Output:
    """Return forces of dampers, friction and springs in the joints that close loops, as forces of the tree's joints."""
    ends = Ends(tree, q, qd)
    loads = _cleared(tree)
    for number, loop in enumerate(tree.model.loop_table.loops):
        if not loop.loop.is_passive:
            continue
        at = ends.relative(loop)
        S = _motions(loop.loop, at)
        v = _velocity(S, at.V)
        forces = _passive(loop.loop, _located(loop.loop, at), v, smoothing[tree.base])
        loads.put(number, at, (_wrench(S, forces),))
    return _gathered(tree, q, loads)


def _cleared(tree: Tree) -> LoopLoads:
    loads = LoopLoads(tree, [1] * len(tree.model.loop_table.loops))
    for i, _ in tree.outward():
        loads.clear(i)
    return loads


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


def _motions(loop: Loop, at: Relative) -> tuple[Motion, ...]:
    """Return the joint's motions, in the child's frame."""
    if not isinstance(loop.type, Joint) or not loop.nv:
        return ()
    S: Subspace = loop.type.subspace(_located(loop, at))
    return tuple(S.columns)


def _solved(S: tuple[Motion, ...], b: tuple[Scalar, ...]) -> Freedoms:
    """(S^T S)^-1 b."""
    if not S:
        return Freedoms(())
    square = tuple(tuple(dot(x.scalars, y.scalars) for y in S) for x in S)
    return Factor.of(square).solve(b)


def _velocity(S: tuple[Motion, ...], V: Motion) -> Freedoms:
    return _solved(S, tuple(dot(x.scalars, V.scalars) for x in S))


def _wrench(S: tuple[Motion, ...], along: Freedoms) -> Force:
    total = Force.zero()
    for x, y in zip(S, _solved(S, along), strict=True):
        total = Force(add(total.angular, scale(y, x.angular)), add(total.linear, scale(y, x.linear)))
    return total


def _passive(loop: Loop, q: Freedoms, v: Freedoms, smoothing: Scalar) -> Freedoms:
    """Return the passive forces of a loop's joint, as in `passive_force`."""
    joint, rest = loop.type, loop.rest
    assert isinstance(joint, Joint)
    near = list(q)
    for k in joint.angles:
        apart = near[k] - rest[k]
        near[k] = rest[k] + atan2(sin(apart), cos(apart))
    stretch = joint.difference(Freedoms(rest), Freedoms(near)) if any(loop.stiffness) else (0.0,) * joint.nv
    sliding = (f * x / sqrt(x * x + smoothing * smoothing) if f else 0.0 for f, x in zip(loop.friction, v, strict=True))
    terms = zip(loop.damping, v, sliding, loop.stiffness, stretch, strict=True)
    return Freedoms(-(d * x + s + k * y) for d, x, s, k, y in terms)
