"""The step that a momentum makes: one round of a quasi-Newton iteration for its velocity x.

    x' = x + A^-1 (p - departure(q, x)),     A = M(q half-way) + dt/2 (damping + friction(x) / x)

A^-1 is applied as the articulated-body algorithm applies M^-1: with P, D and G of the position half-way,

    inward    D_i = S_i^T P_i S_i + armature_i + dt/2 (damping_i + friction_i(x) / x)
              eps_i = p_i - departure_i - S_i^T z_i,     z_p += X_i^T (z_i + G_i eps_i),     nu_i = D_i^-1 eps_i
    outward   a' = X_i alpha_p,    y_i = nu_i - G_i^T a',    alpha_i = a' + S_i y_i,    x' = x + y

Friction enters by its chord and not by its slope, which vanishes where a joint slides: with the slope the iteration
would jump from one side of rest to the other and back. A also leaves out gyroscopic terms of the order of dt. So
without friction, each round multiplies the error by about the angle that joints turn in a step. Cost: order n.

Reference: Lee, Liu, Park and Srinivasa, "A linear-time variational integrator for multibody systems", 2016, whose
iteration is the same but for the place of M.
"""

from __future__ import annotations

from ...graph import Scalar, sqrt
from ...model import Index, Joints, Number, Output, Tree
from ...spatial import Freedoms
from ..binding import bind_followers, free_accelerations
from ..factors.articulated import articulated, solved
from ..registry import Port, algorithm, question
from .displacement import ends
from .momentum import departures

__all__ = ["step_velocity"]

_q, _p, _x = Port("q", "q"), Port("p", "f"), Port("x", "v")
_dt, _smoothing = Port("dt", "scalar"), Port("smoothing", "scalar")
question("step_velocity", (_q, _p, _x, _dt, _smoothing), "v", "articulated-body", needs_inertia=True)


@algorithm("step_velocity", "articulated-body", paper="Lee, Liu, Park, Srinivasa 2016", equations="quasi-Newton")
def step_velocity(tree: Tree, q: Joints, p: Joints, x: Joints, dt: Number, smoothing: Number) -> Output:
    """Return a better velocity than x of the step from q that departs with the momentum p."""
    leaving = departures(tree, ends(tree, q, x, dt), q, x, dt, smoothing)
    half, rest, out = tree.own(), tree.own(), free_accelerations(tree)
    for i, _ in tree.outward():
        half[i] = i.joint.integrate(q[i], x[i] * (0.5 * dt[i]))
        rest[i] = p[i] - leaving[i]
    drag = lambda i: (i.damping + _chord(i, x[i], smoothing[i])) * (0.5 * dt[i])  # noqa: E731
    known = articulated(tree, half, drag=drag)
    y = solved(tree, known, rest, tree.own())
    for i, _ in tree.outward():
        out[i] = x[i] + y[i]
    return bind_followers(tree, known.gains, out)


def _chord(i: Index, x: Freedoms, s: Scalar) -> Freedoms:
    """Return smoothed friction divided by the velocity, which is never less than its slope."""
    return Freedoms(f / sqrt(v * v + s * s) for f, v in zip(i.friction, x, strict=True))
