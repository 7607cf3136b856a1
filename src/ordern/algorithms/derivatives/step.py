"""Functions that the derivatives of a step of integration need.

Steps work in the space of coordinates, where stages leave the valid positions: a quaternion may have any length. So
positions are `coordinates` here, all of whose numbers vary on their own. At both ends of a step, changes of positions
are tangents. `coordinate_tangent` returns the tangent of a change of coordinates.

    forces_left      ID(q, v, a) - passive forces(q, v)             the joint forces that drives bear
    tangent_drift    d/ds (tangent from q(s) to q_x(s)) at s = 0    q and q_x start apart by x, and move at v

A tangent between two positions that move at the same velocity v changes where velocities are along turning axes: for a
free body it is the commutator of x and v. Where it is zero, the linearised motion has d(dq)/dt = dv. Cost: order n.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...graph import Jet, Scalar
from ...model import Base, Bodies, Index, Input, Joints, Number, Output, Tree
from ...spatial import Freedoms
from ..closed_loop.balance import closed_balance
from ..closed_loop.stabilised import all_passive_force
from ..configuration.passive import passive_force
from ..configuration.step import by_freedom, joint_by_joint, position_tangent
from ..inverse_dynamics.newton_euler import newton_euler
from ..registry import Port, algorithm, question

__all__ = ["closed_forces_left", "coordinate_tangent", "forces_left", "tangent_drift"]

_x, _v, _a, _smoothing = Port("q", "coordinates"), Port("v", "v"), Port("a", "v"), Port("smoothing", "scalar")
_multipliers, _alpha = Port("multipliers", "rows"), Port("alpha", "scalar")
_external = Port("external", "bodies", optional=True)
question("forces_left", (_x, _v, _a, _smoothing, _external), "f", "newton-euler")
question(
    "closed_forces_left",
    (_x, _v, _a, _multipliers, _smoothing, _alpha, _external),
    "balance",
    "newton-euler",
    loops=True,
)
question("coordinate_rate", (_x, _v), "coordinate_rates", "joint-by-joint")
question("coordinate_projection", (_x,), "coordinates", "joint-by-joint")
question("coordinate_tangent", (Port("q", "q"), Port("x", "coordinate_rates")), "v", "joint-by-joint")
question("tangent_drift", (Port("q", "q"), _v, Port("x", "v")), "v", "joint-by-joint")


@algorithm("forces_left", "newton-euler", paper="Jain 1991", equations="(11), (14)-(17)", regroup=True)
def forces_left(tree: Tree, q: Joints, qd: Joints, qdd: Joints, smoothing: Number, external: Bodies) -> Output:
    """Return the joint forces of a motion besides passive forces: those of drives."""
    still: Base = tree.zeros("motion")
    tau = newton_euler(tree, q, qd, qdd, external, still, still)
    passive = passive_force(tree, q, qd, smoothing)
    return by_freedom(tree, "f", lambda d: tau[d] - passive[d])


@algorithm("closed_forces_left", "newton-euler", paper="Featherstone-Orin 2000", equations="(17)-(20)", sweeps=False)
def closed_forces_left(
    tree: Tree, q: Joints, qd: Joints, qdd: Joints, force: Input, smoothing: Number, alpha: Input, external: Bodies
) -> Freedoms:
    """Return the same for closed loops, and the errors of their accelerations with Baumgarte's terms."""
    still = tree.zeros("motion")
    both = closed_balance(tree, q, qd, qdd, force, external, still, still, tree.zeros("scalar"), alpha, alpha)
    passive = all_passive_force(tree, q, qd, smoothing).scalars
    n = len(passive)
    return Freedoms((*(x - y for x, y in zip(both[:n], passive, strict=True)), *both[n:]))


@algorithm("coordinate_rate", "joint-by-joint", equations="Joint.rate")
def coordinate_rate(tree: Tree, q: Joints, qd: Joints) -> Output:
    """Return the rate of the coordinates at the velocity qd."""
    return joint_by_joint(tree, "coordinate_rates", lambda i: i.joint.rate(q[i], qd[i]))


@algorithm("coordinate_projection", "joint-by-joint", equations="Joint.project")
def coordinate_projection(tree: Tree, q: Joints) -> Output:
    """Return the valid coordinates next to others."""
    return joint_by_joint(tree, "coordinates", lambda i: i.joint.project(q[i]))


@algorithm("coordinate_tangent", "joint-by-joint", equations="Joint.difference")
def coordinate_tangent(tree: Tree, q: Joints, x: Joints) -> Output:
    """Return the velocity, (nv,), at which coordinates change at the rate x."""
    return position_tangent(tree, q, x)


@algorithm("tangent_drift", "joint-by-joint", equations="Joint.rate, Joint.difference")
def tangent_drift(tree: Tree, q: Joints, qd: Joints, x: Joints) -> Output:
    """Return the rate of the tangent x between two positions, the first of them q, that move at the velocity qd."""

    def drift(i: Index) -> Freedoms:
        one = _over(i, Jet)
        apart = Freedoms(Jet(y, dy) for y, dy in zip(q[i], i.joint.rate(q[i], x[i]), strict=True))
        rates = one.rate(apart, Freedoms(map(Jet, qd[i])))
        moved = [Jet(y, dy) for y, dy in zip(apart, rates, strict=True)]
        start = [Jet(Jet(y), Jet(_value(dy))) for y, dy in zip(q[i], rates, strict=True)]
        both = _over(i, lambda y: Jet(Jet(y)))
        return Freedoms(_rate(_rate(y)) for y in both.difference(Freedoms(start), Freedoms(moved)))

    return joint_by_joint(tree, "v", drift)


def _over(i: Index, scalar: Callable[[Scalar], Any]) -> Any:
    """Return a joint whose parameters are constants of another kind of scalar."""
    parameters: Sequence[Scalar] = i.joint.parameters
    return i.joint.with_parameters(tuple(map(scalar, parameters)))


def _rate(x: Any) -> Scalar:
    return x.rate if isinstance(x, Jet) else 0.0


def _value(x: Any) -> Scalar:
    return x.value if isinstance(x, Jet) else x
