"""Random robots and states, the same for the same seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ordern as on
from tests.joints.custom import Cylindrical, Helical, Universal

Array = NDArray[np.float64]

LIBRARY_JOINTS: tuple[type[on.Joint], ...] = (
    on.Revolute,
    on.Continuous,
    on.Prismatic,
    on.Helical,
    on.Cylindrical,
    on.Universal,
    on.Planar,
    on.Spherical,
    on.Free,
    on.Fixed,
)
CUSTOM_JOINTS: tuple[type[on.Joint], ...] = (Helical, Universal, Cylindrical)


@dataclass(frozen=True)
class Wrist(on.Composite):
    """Several joints as one, at places of their own, one of them with a bias."""

    parts: tuple[Any, ...] = (
        (on.Revolute((1.0, 0.0, 0.0)), (0.1, 0.0, 0.2)),
        (on.Universal((0.0, 0.6, 0.8), (1.0, 0.0, 0.0)), ((0.0, 0.3, 0.1), (0.3, -0.2, 0.5))),
        on.Prismatic((0.0, 1.0, 0.0)),
    )


ALL_JOINTS = (*LIBRARY_JOINTS, Wrist, *CUSTOM_JOINTS)


def random_robot(
    seed: int,
    n: int = 10,
    joints: Sequence[type[on.Joint]] = ALL_JOINTS,
    *,
    floating: bool = False,
    chain: bool = False,
    armature: bool = False,
    passive: bool = False,
    mimic: bool = False,
    merge: bool = True,
) -> on.Robot:
    """A robot of n bodies besides its base, and a frame "tool" on the last.

    Every type of joint appears before one appears again. Without `chain` each body hangs on a random earlier one. With
    `armature` about half of the joints have one. Joints with one freedom have limits. Placements and axes are aligned
    with the axes of the frame or not, half of each. Fixed joints are merged unless told otherwise. With `passive`
    joints have damping, friction and springs; with `mimic` every other joint with one freedom follows an earlier one.
    """
    rng = np.random.default_rng(seed)
    builder = on.Builder(f"random-{seed}", gravity=rng.normal(size=3) * 6.0)
    builder.body("body0", **_mass_properties(rng))
    single: list[str] = []
    types = [k for _ in range(-(-n // len(joints))) for k in rng.permutation(len(joints))]
    for k in range(1, n + 1):
        joint = random_joint(joints[types[k - 1]], rng)
        more: dict[str, Any] = {}
        if armature and rng.random() < 0.5:
            more["armature"] = rng.uniform(0.01, 0.5, joint.nv)
        if joint.nq == joint.nv == 1:
            more |= {"lower": rng.uniform(-2.0, -1.0), "upper": rng.uniform(1.0, 2.0)}
            if mimic and len(single) % 2:
                more["mimic"] = (str(rng.choice(single)), rng.normal(), rng.normal())
            single.append(f"joint{k}")
        if passive:
            more |= {term: rng.uniform(0.0, 0.5, joint.nv) for term in ("damping", "friction", "stiffness")}
            more["rest"] = joint.random(rng, (), np.full(joint.nq, -0.5), np.full(joint.nq, 0.5))
        parent = k - 1 if chain else int(rng.integers(k))
        builder.body(
            f"body{k}",
            parent=f"body{parent}",
            joint=joint,
            joint_name=f"joint{k}",
            at=random_placement(rng),
            **_mass_properties(rng),
            **more,
        )
    builder.frame("tool", f"body{n}", at=random_placement(rng))
    return builder.build(floating=floating, merge=merge)


def random_state(robot: on.Model, seed: int, shape: tuple[int, ...] = ()) -> tuple[Array, Array, Array]:
    """Positions within the limits, velocities and accelerations."""
    rng = np.random.default_rng(seed)
    return robot.random(rng, shape), rng.normal(size=(*shape, robot.nv)), rng.normal(size=(*shape, robot.nv))


def random_joint(type: type[on.Joint], rng: np.random.Generator) -> on.Joint:
    """A joint of this type: its axis, and every other field, is drawn."""
    drawn: dict[str, Any] = {}
    for f in fields(type):  # type: ignore[arg-type]
        if f.name == "axis":
            drawn["axis"] = random_axis(rng)
        elif f.name == "axis2":
            drawn["axis2"] = np.cross(drawn["axis"], random_axis(rng) + rng.normal(size=3))
        elif f.name != "parts":
            drawn[f.name] = abs(rng.normal())
    return type(**drawn)


def random_axis(rng: np.random.Generator) -> tuple[float, ...]:
    """A direction: along a coordinate axis, forwards or backwards, or any."""
    if rng.random() < 0.5:
        return tuple((np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0])).tolist())
    return tuple(rng.normal(size=3).tolist())


def random_rotation(rng: np.random.Generator) -> Array:
    """A rotation matrix, any."""
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return Q * np.sign(np.linalg.det(Q))


def random_placement(rng: np.random.Generator) -> on.Placement:
    """A placement: shifted along one axis and turned by quarters, as people draw robots, or any."""
    if rng.random() < 0.5:
        quarters = (rng.integers(-1, 3, size=3) * np.pi / 2).tolist()
        return on.Placement.xyz_rpy((np.eye(3)[rng.integers(3)] * rng.uniform(0.1, 1.0)).tolist(), quarters)
    return on.Placement.of(random_rotation(rng), rng.normal(size=3) * 0.4)


def _mass_properties(rng: np.random.Generator) -> dict[str, Any]:
    """Mass, centre and inertia of some point masses: whatever they are, a body can have them."""
    m, x = rng.uniform(0.1, 1.0, 6), rng.normal(size=(6, 3)) * 0.3
    com = m @ x / m.sum()
    d = x - com
    inertia = np.einsum("k,kij->ij", m, (d**2).sum(1)[:, None, None] * np.eye(3) - d[:, :, None] * d[:, None, :])
    return {"mass": float(m.sum()), "com": com, "inertia": inertia}
