"""Andrews' squeezing mechanism: seven flat bodies, three loops, one freedom, and a motion within milliseconds.

G. C. Andrews and M. K. Ormrod (1986) by way of W. Schiehlen (ed.), Multibody Systems Handbook, 1990, and E. Hairer and
G. Wanner, Solving Ordinary Differential Equations II; data and reference solution from the Test Set for IVP Solvers,
problem "andrews". A motor with the constant moment 0.033 N m turns body 1; a spring from body 3 to the point C holds
against it. There is no gravity. (Some public copies misprint I4, m3, or the sign of B's x.)

In the source the plane is x-y; here it is x-z. Bodies are K1 to K7. Their coordinates are named by the source's
letters:

| joint | of | between |
|---|---|---|
| beta, theta | K1, K2 | the origin and K1, K1 and K2 |
| gamma | K3 | the ground at B and K3 |
| delta, phi | K5, K4 | the ground at A and K5, K5 and K4 |
| epsilon, omega | K7, K6 | the ground at A and K7, K7 and K6 |

K2, K3, K4 and K6 meet in one point F, which closes the loops "pin3", "pin4" and "pin6" on K2. Without
gravity, it does not matter on which side of their lines the mass centres of K3, K5 and K7 are. `forces` returns the
forces of motor and spring.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...joints import Closure
from ...model import ModelBuilder
from .parts import flat, hinge, pin

__all__ = ["LETTERS", "A", "B", "C", "andrews_squeezer", "assembled_position", "forces", "in_order"]

MASSES = (0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498)
INERTIAS = (2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5)
"""Inertias of K1 to K7, about their mass centres."""
A, B, C = (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072)
D, DA, E, EA, FA = 0.028, 0.0115, 0.02, 0.01421, 0.01421
RR, RA, SS, SA, SB, SC, SD = 0.007, 0.00092, 0.035, 0.01874, 0.01043, 0.018, 0.02
TA, TB, U, UA, UB, ZF, ZT = 0.02308, 0.00916, 0.04, 0.01228, 0.00449, 0.02, 0.04
MOMENT, STIFFNESS, REST = 0.033, 4530.0, 0.07785

LETTERS = ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")
"""The joints in the order of the source."""
_JOINTS = ("beta", "theta", "gamma", "delta", "phi", "epsilon", "omega")
"""The joints in the order of q here, where what carries comes first."""
_START = (
    *(-0.0617138900142764, 0.0, 0.455279819163070, 0.222668390165886),
    *(0.487364979543843, -0.222668390165886, 1.23054744454982),
)


def andrews_squeezer(*, closure: Closure | None = None) -> ModelBuilder:
    """Build bodies "K1" to "K7", joints by the letters of the source, loops "pin3", "pin4", "pin6", the frame "F"."""
    builder = ModelBuilder("andrews-squeezer", gravity=(0.0, 0.0, 0.0), actuated=["beta"]).body("ground")
    for k, joint, parent, at, com in (
        (1, "beta", "ground", (0.0, 0.0), (RA, 0.0)),
        (2, "theta", "K1", (RR, 0.0), (-DA, 0.0)),
        (3, "gamma", "ground", B, (SB, -SA)),
        (5, "delta", "ground", A, (TA, -TB)),
        (4, "phi", "K5", (ZT, 0.0), (0.0, EA - E)),
        (7, "epsilon", "ground", A, (UB, -UA)),
        (6, "omega", "K7", (0.0, -U), (ZF - FA, 0.0)),
    ):
        I = INERTIAS[k - 1]
        plate: dict[str, Any] = {"mass": MASSES[k - 1], "com": flat(com), "inertia": (I / 2.0, I, I / 2.0)}
        builder.body(f"K{k}", parent=parent, joint=hinge(), joint_name=joint, at=flat(at), **plate)
    for k, end in ((3, (0.0, -SS)), (4, (0.0, -E)), (6, (ZF, 0.0))):
        builder.loop(f"pin{k}", closure or pin(), "K2", f"K{k}", at=flat((-D, 0.0)), child_at=flat(end))
    return builder.frame("F", "K2", at=flat((-D, 0.0))).frame("D", "K3", at=flat((SD, -SC)))


def assembled_position() -> tuple[float, ...]:
    """Return q where the source begins, at rest."""
    return tuple(_START[LETTERS.index(x)] for x in _JOINTS)


def in_order(numbers: ArrayLike) -> NDArray[np.float64]:
    """Return numbers (..., 7) in the order of q, as the source orders them."""
    return np.asarray(numbers, float)[..., [_JOINTS.index(x) for x in LETTERS]]


def forces(q: ArrayLike) -> NDArray[np.float64]:
    """Return the joint forces (..., 7) of motor and spring at positions (..., 7)."""
    q = np.asarray(q, float)
    gamma = q[..., _JOINTS.index("gamma")]
    c, s = np.cos(gamma), np.sin(gamma)
    arm = np.stack([SD * c + SC * s, SD * s - SC * c])
    reach = arm + np.reshape(np.subtract(B, C), (2, *(1,) * gamma.ndim))
    length = np.sqrt(np.sum(reach**2, axis=0))
    pull = -STIFFNESS * (length - REST) / length * reach
    tau = np.zeros(q.shape)
    tau[..., _JOINTS.index("beta")] = MOMENT
    tau[..., _JOINTS.index("gamma")] = arm[0] * pull[1] - arm[1] * pull[0]
    return tau
