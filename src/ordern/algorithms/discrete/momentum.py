"""The joint momenta at both ends of a step: the discrete Newton-Euler recursion.

A step goes from q to q1 = integrate(q, x dt) in the time dt. The discrete Lagrangian is the kinetic energy of the
bodies on the straightest way between (see `displacement`), that of the drives, and the potential energies of gravity
and springs by the trapezium rule; dampers and friction act at the velocity x, half at each end. With mu- and mu+ the
momenta of body i at the start and the finish,

    outward   D_i = D_p seen from body i, then that of joint i     (displacement of body i; none at the base)
    departure inward    p_i = S0_i^T f_i + armature_i x_i + dt/2 (r(x_i) + k_i (q_i - rest_i) + g_i)
                        f_i = mu-_i + dt/2 I_i g_i + ...,      f_p += X0_i^T f_i
    arrival   inward    p_i = S1_i^T f_i + armature_i x_i - dt/2 (r(x_i) + k_i (q1_i - rest_i) + g_i)
                        f_i = mu+_i - dt/2 I_i g_i + ...,      f_p += X1_i^T f_i

where g is the acceleration that stands for gravity, r the damping and the friction, and g_i the gyration of a drive's
momentum at the velocity x (see `Joint.gyration`), for which half a step at each end is right to second order. A robot
with the momentum p at q, plus dt/2 times the forces of its drives there, makes the step whose departure momentum that
is; it arrives with the arrival momentum, plus dt/2 times the drives' forces at q1. Arrival and departure are each
other's mirror: the step back from q1, with -x, departs with minus the arrival momentum.

No x departs with exactly the momentum p, because of rounding. So what is passed on is p + (arrival - departure), in
which that cancels up to a factor dt. Cost: order n.

Reference: Lee, Liu, Park and Srinivasa, "A linear-time variational integrator for multibody systems", 2016, for the
recursion; Marsden and West, "Discrete mechanics and variational integrators", 2001, for the forces.
Differs: they take the logarithm on SE(3); here mass centres move straight, so that the mass centre of a robot that
floats moves with its momentum exactly. They go from two positions to the third; here momenta are kept, which loses
nothing to differences of positions.
"""

from __future__ import annotations

from ...graph import Scalar, sqrt
from ...model import Field, Index, Joints, Number, Output, Tree, Values
from ...spatial import Chain, Force, Freedoms, Motion, Spin
from ..registry import Port, algorithm, question
from .displacement import Ends, ends, momenta

__all__ = ["arrival", "departure", "departures", "sliding"]

_q, _p, _x = Port("q", "q"), Port("p", "f"), Port("x", "v")
_dt, _smoothing = Port("dt", "scalar"), Port("smoothing", "scalar")
_PAPER = "Lee, Liu, Park, Srinivasa 2016; Marsden-West 2001"

question("departure_momentum", (_q, _x, _dt, _smoothing), "f", "discrete-newton-euler")
question("arrival_momentum", (_q, _p, _x, _dt, _smoothing), "f", "discrete-newton-euler")


@algorithm("departure_momentum", "discrete-newton-euler", paper=_PAPER)
def departure(tree: Tree, q: Joints, x: Joints, dt: Number, smoothing: Number) -> Output:
    """Return the joint momenta of a robot that leaves q at the velocity x for the time dt."""
    p = tree.output("f")
    known = ends(tree, q, x, dt)
    own = departures(tree, known, q, x, dt, smoothing)
    for i, _ in tree.inward():
        p[i] = own[i]
    return p


@algorithm("arrival_momentum", "discrete-newton-euler", paper=_PAPER)
def arrival(tree: Tree, q: Joints, p: Joints, x: Joints, dt: Number, smoothing: Number) -> Output:
    """Return the joint momenta after the step from q at the velocity x in the time dt, if p was had before."""
    out = tree.output("f")
    known = ends(tree, q, x, dt)
    leaving = departures(tree, known, q, x, dt, smoothing)
    f = _bodies(tree, known, known.X1, dt, finish=True)
    for i, parent in tree.inward():
        q1 = known.q1[i]
        held = (sliding(i, x[i], smoothing[i]) + _spring(i, q1) + i.gyration(q1, x[i])) * (0.5 * dt[i])
        arriving = known.S1[i].T @ f[i] + i.armature * x[i] - held
        out[i] = p[i] + (arriving - leaving[i])
        f[parent] += known.X1[i].T @ f[i]
    return out


def departures(tree: Tree, known: Ends, q: Joints, x: Joints, dt: Number, smoothing: Number) -> Joints:
    """Return the departure momentum of each joint, mimic joints included."""
    p = tree.own()
    f = _bodies(tree, known, known.X0, dt, finish=False)
    for i, parent in tree.inward():
        held = (sliding(i, x[i], smoothing[i]) + _spring(i, q[i]) + i.gyration(q[i], x[i])) * (0.5 * dt[i])
        p[i] = known.S0[i].T @ f[i] + i.armature * x[i] + held
        f[parent] += known.X0[i].T @ f[i]
    return p


def _bodies(tree: Tree, known: Ends, X: Values[Chain], dt: Number, finish: bool) -> Field[Force]:
    """Each body's own momentum at one end, with half a step of gravity."""
    g = tree.field(Spin, base=Spin(tree.base_acceleration.linear))  # a direction, which turns as angular velocities do
    f = tree.field(Force)
    for i, p in tree.outward():
        g[i] = X[i] @ g[p]
        weight = i.inertia @ Motion((0.0, 0.0, 0.0), g[i].w) * (0.5 * dt[i])
        at_start, at_finish = momenta(i.inertia, known.displacement[i], dt[i])
        f[i] = at_finish - weight if finish else at_start + weight
    return f


def sliding(i: Index, x: Freedoms, s: Scalar) -> Freedoms:
    """Return the force of damping and smoothed friction at the velocity x."""
    return i.damping * x + Freedoms(f * v / sqrt(v * v + s * s) for f, v in zip(i.friction, x, strict=True))


def _spring(i: Index, q: Freedoms) -> Freedoms:
    return i.stiffness * i.joint.difference(i.rest, q)
