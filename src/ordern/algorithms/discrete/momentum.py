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

Because of rounding, no x departs with exactly the momentum p. So the result is p + (arrival - departure), in which this
error cancels up to a factor dt. Cost: order n.

Reference: Lee, Liu, Park and Srinivasa, "A linear-time variational integrator for multibody systems", 2016, for the
recursion; Marsden and West, "Discrete mechanics and variational integrators", 2001, for the forces.
Differs: they take the logarithm on SE(3); here mass centres move straight, so that the mass centre of a robot that
floats moves with its momentum exactly. They go from two positions to the third; here momenta are kept, which loses
nothing to differences of positions.
"""

from __future__ import annotations

from ...model import Joints, Number, Output, Tree
from ...spatial import Force, Motion, Spin
from ..configuration.passive import resistance
from ..configuration.step import joint_by_joint
from ..registry import Port, algorithm, question
from .displacement import Ends, ends, momenta

__all__ = ["arrival", "departure", "departures"]

_q, _p, _x = Port("q", "q"), Port("p", "f"), Port("x", "v")
_dt, _smoothing = Port("dt", "scalar"), Port("smoothing", "scalar")
_PAPER = "Lee, Liu, Park, Srinivasa 2016; Marsden-West 2001"

question("departure_momentum", (_q, _x, _dt, _smoothing), "f", "discrete-newton-euler")
question("arrival_momentum", (_q, _p, _x, _dt, _smoothing), "f", "discrete-newton-euler")


@algorithm("departure_momentum", "discrete-newton-euler", paper=_PAPER)
def departure(tree: Tree, q: Joints, x: Joints, dt: Number, smoothing: Number) -> Output:
    """Return the joint momenta of a robot that leaves q at the velocity x for the time dt."""
    own = departures(tree, ends(tree, q, x, dt), q, x, dt, smoothing)
    return joint_by_joint(tree, "f", lambda i: own[i])


@algorithm("arrival_momentum", "discrete-newton-euler", paper=_PAPER)
def arrival(tree: Tree, q: Joints, p: Joints, x: Joints, dt: Number, smoothing: Number) -> Output:
    """Return the joint momenta after the step from q at the velocity x in the time dt, with the momenta p before."""
    known = ends(tree, q, x, dt)
    leaving = departures(tree, known, q, x, dt, smoothing)
    arriving = _momenta(tree, known, known.q1, x, dt, smoothing, finish=True)
    return joint_by_joint(tree, "f", lambda i: p[i] + (arriving[i] - leaving[i]))


def departures(tree: Tree, known: Ends, q: Joints, x: Joints, dt: Number, smoothing: Number) -> Joints:
    """Return the departure momentum of each joint, mimic joints included."""
    return _momenta(tree, known, q, x, dt, smoothing, finish=False)


def _momenta(tree: Tree, known: Ends, q: Joints, x: Joints, dt: Number, smoothing: Number, finish: bool) -> Joints:
    """Return the momentum of each joint at one end, where the position is q, with half a step of all forces."""
    X, S = (known.X1, known.S1) if finish else (known.X0, known.S0)
    g = tree.field(Spin, base=Spin(tree.base_acceleration.linear))  # a direction, which turns as angular velocities do
    f, p = tree.field(Force), tree.own()
    for i, parent in tree.outward():
        g[i] = X[i] @ g[parent]
        weight = i.inertia @ Motion((0.0, 0.0, 0.0), g[i].w) * (0.5 * dt[i])
        at_start, at_finish = momenta(i.inertia, known.displacement[i], dt[i])
        f[i] = at_finish - weight if finish else at_start + weight
    for i, parent in tree.inward():
        spring = i.stiffness * i.joint.displacement(i.rest, q[i])
        force = resistance(i.damping, i.friction, x[i], smoothing[i]) + spring + i.gyration(q[i], x[i])
        pull, momentum = force * (0.5 * dt[i]), S[i].T @ f[i] + i.armature * x[i]
        p[i] = momentum - pull if finish else momentum + pull
        f[parent] += X[i].T @ f[i]
    return p
