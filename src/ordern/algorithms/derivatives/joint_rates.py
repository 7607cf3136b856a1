"""Rates of a joint's own formulas along each of its freedoms, and with each of its velocities.

    along freedom k      S'_k, the rate of the subspace in the child's axes, and of the gyration
    with velocity k      the rates of the bias S' qd qd, and of the gyration

They are zero for joints whose subspace is constant, as that of most joints. All are found by jets: the position moves
along freedom k as `integrate` moves it.
"""

from __future__ import annotations

from typing import Any

from ...graph import Jet, Scalar
from ...joints import Joint
from ...model import Index
from ...records import dataclass
from ...spatial import Columns, Freedoms, Motion, Subspace, Units

__all__ = ["GyrationRates", "JointRates", "gyration_rates", "joint_rates"]


@dataclass(frozen=True, slots=True)
class JointRates:
    """For each freedom: the rates of S, of S qd, of S qdd + bias, and the rate of the bias with its velocity."""

    S: tuple[Columns, ...]
    u: tuple[Motion, ...]
    a: tuple[Motion, ...]
    bias: tuple[Motion, ...]


@dataclass(frozen=True, slots=True)
class GyrationRates:
    """For each freedom: the rates of the gyration along it, and with its velocity."""

    along: tuple[Freedoms, ...]
    with_velocity: tuple[Freedoms, ...]


def joint_rates(i: Index, S: Subspace, q: Freedoms, qd: Freedoms, qdd: Freedoms) -> JointRates | None:
    """Return the rates of a joint with the subspace S; None if it is constant."""
    if isinstance(S, Units):
        return None
    joint = _on_jets(i)
    still, speed = Freedoms(map(Jet, q)), Freedoms(map(Jet, qd))
    found: list[tuple[Any, ...]] = []
    for k in range(len(qd)):
        moving = _moving(i, q, k)
        dS = Columns(tuple(_rate(column) for column in joint.subspace(moving).columns))
        along = _rate(joint.bias(moving, speed))
        faster = _rate(joint.bias(still, _faster(qd, k)))
        found.append((dS, dS @ qd, dS @ qdd + along, faster))
    return JointRates(*(tuple(x) for x in zip(*found, strict=True)))


def gyration_rates(i: Index, q: Freedoms, qd: Freedoms) -> GyrationRates | None:
    """Return the rates of the gyration of the drive's momentum; None if it is zero."""
    if not i.kind.has_armature or type(i.kind.joint).gyration is Joint.gyration:
        return None
    joint, armature = _on_jets(i), i.armature
    still, speed = Freedoms(map(Jet, q)), Freedoms(map(Jet, qd))
    along, with_velocity = [], []
    for k in range(len(qd)):
        along.append(Freedoms(map(_number, joint.gyration(_moving(i, q, k), speed, _product(armature, speed)))))
        faster = _faster(qd, k)
        with_velocity.append(Freedoms(map(_number, joint.gyration(still, faster, _product(armature, faster)))))
    return GyrationRates(tuple(along), tuple(with_velocity))


def _on_jets(i: Index) -> Joint:
    """Return the joint with parameters that can be combined with jets."""
    joint = i.joint
    return joint.with_parameters(tuple(Jet(x) for x in joint.parameters))


def _moving(i: Index, q: Freedoms, k: int) -> Freedoms:
    """Return the position that moves along freedom k."""
    unit = Freedoms(1.0 if n == k else 0.0 for n in range(i.kind.joint.nv))
    return Freedoms(Jet(x, rate) for x, rate in zip(q, i.joint.rate(q, unit), strict=True))


def _faster(qd: Freedoms, k: int) -> Freedoms:
    """Return the velocity whose number k grows."""
    return Freedoms(Jet(x, 1.0 if n == k else 0.0) for n, x in enumerate(qd))


def _product(armature: Freedoms, speed: Freedoms) -> Freedoms:
    return Freedoms(x * m for m, x in zip(armature, speed, strict=True))


def _number(x: Any) -> Scalar:
    return x.rate if isinstance(x, Jet) else 0.0


def _rate(m: Motion) -> Motion:
    return Motion.of(tuple(map(_number, m.scalars)))
