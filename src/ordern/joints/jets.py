"""Closures along a motion: their residuals and the rates of these, by jets.

The child's frame moves relative to the parent's at V (angular w, linear u), in its own axes, and V changes at A:

    dR/dt = R [w],    d2R/dt2 = R ([w] [w] + [dw/dt]),    dp/dt = R u,    d2p/dt2 = R (w x u + du/dt)
"""

from __future__ import annotations

from typing import Any

from ..graph import Jet, Scalar
from ..spatial import Force, Motion, Pose
from ..spatial.linear import Matrix3, Vector3, add, cross, matvec
from .closure import Closure, Rows

__all__ = ["bias", "rate_of", "rates", "residuals", "wrenches"]

_UNITS = tuple(Motion.of(tuple(1.0 if k == j else 0.0 for j in range(6))) for k in range(6))


def residuals(of: Closure, pose: Pose, t: Scalar) -> Rows:
    """Return the residuals; zeros for conditions on velocities only."""
    slips = of.slip(pose.rotation, pose.position, Motion.zero())
    return (*_closure(of, pose.rotation, pose.position, t), *((0.0,) * len(slips)))


def rates(of: Closure, pose: Pose, V: Motion, t: Scalar) -> Rows:
    """Return the rates of the residuals at V, time included; and the conditions on velocities."""
    return (*_rates(of, pose, V, Jet(t, 1.0)), *of.slip(pose.rotation, pose.position, V))


def wrenches(of: Closure, pose: Pose, t: Scalar) -> tuple[Force, ...]:
    """Return, for each row, the force on the child whose power along V is the rate of the row, in the child's frame."""
    columns = [(*_rates(of, pose, unit, Jet(t)), *of.slip(pose.rotation, pose.position, unit)) for unit in _UNITS]
    return tuple(Force.of(tuple(row)) for row in zip(*columns, strict=True))


def bias(of: Closure, pose: Pose, V: Motion, A: Motion, t: Scalar) -> Rows:
    """Return d2/dt2 of the residuals, and d/dt of the conditions on velocities, while V changes at A."""
    R, p = pose.rotation, pose.position
    R1, p1 = _moved(R, V)
    turned, _ = _moved(R1, V)
    more, _ = _moved(R, A)
    R2 = tuple(add(x, y) for x, y in zip(turned, more, strict=True))
    p2 = matvec(R, add(cross(V.angular, V.linear), A.linear))
    twice = (_jets(_jets(R, R1), _jets(R1, R2)), _jets(_jets(p, p1), _jets(p1, p2)))
    closed = _closure(of, *twice, Jet(Jet(t, 1.0), Jet(1.0, 0.0)))
    along = Motion(_jets(V.angular, A.angular), _jets(V.linear, A.linear))
    slips = of.slip(_jets(R, R1), _jets(p, p1), along)
    return (*(rate_of(rate_of(x)) for x in closed), *(rate_of(x) for x in slips))


def _closure(of: Closure, R: Any, p: Any, t: Scalar) -> Rows:
    return of.closure(R, p, t) if of.timed else of.closure(R, p)  # type: ignore[call-arg]


def _rates(of: Closure, pose: Pose, V: Motion, t: Jet) -> Rows:
    R1, p1 = _moved(pose.rotation, V)[0], matvec(pose.rotation, V.linear)
    return tuple(rate_of(x) for x in _closure(of, _jets(pose.rotation, R1), _jets(pose.position, p1), t))


def _moved(R: Matrix3, V: Motion) -> tuple[Matrix3, Vector3]:
    """Return the rates of R and p at V."""
    x, y, z = (cross(row, V.angular) for row in R)
    return (x, y, z), matvec(R, V.linear)


def _jets(values: Any, rates: Any) -> Any:
    """Return jets of values and their rates, entry by entry."""
    if isinstance(values, tuple):
        return tuple(_jets(x, y) for x, y in zip(values, rates, strict=True))
    return Jet(values, rates)


def rate_of(x: Scalar) -> Scalar:
    """Return the rate of a scalar; zero if it is not a jet."""
    return x.rate if isinstance(x, Jet) else 0.0
