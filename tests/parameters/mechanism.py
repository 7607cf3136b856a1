"""A robot with every kind of parameter, built from numbers that tests may change."""

from __future__ import annotations

from typing import Any

import numpy as np

import ordern as on
from tests.random_models import random_state
from tests.tolerances import ROUNDING, assert_close

NUMBERS: dict[str, Any] = {
    "gravity": (0.3, -0.2, -9.7),
    **{"a_mass": 2.0, "a_com": (0.1, 0.05, 0.2), "a_inertia": (0.03, 0.04, 0.02, 0.002, -0.001, 0.003)},
    **{"b_mass": 1.0, "b_com": (0.0, 0.1, 0.0), "b_inertia": (0.01, 0.02, 0.015, 0.0, 0.0, 0.0)},
    **{"hand_mass": 0.5, "hand_com": (0.01, 0.02, 0.03), "hand_inertia": (0.002, 0.003, 0.004, 0.0, 0.0, 0.0005)},
    **{"pad_mass": 0.0, "pad_com": (0.0, 0.0, 0.01), "pad_inertia": (0.0,) * 6},
    **{"armature": 0.05, "damping": 0.3, "friction": 0.2, "stiffness": 4.0, "rest": 0.1},
    **{"ball_armature": (0.1, 0.2, 0.3), "pitch": 0.02, "ratio": -0.8, "offset": 0.05},
    **{"b_at": ((0.1, 0.2, 0.5), (0.3, -0.2, 0.4)), "tool_at": ((0.0, 0.1, 0.2), (0.0, 0.4, 0.0))},
    "pad_at": (0.1, 0, 0.2),
    "added": 0.1 * np.diag([0.1, 0.2, 0.3, 1.0, 2.0, 3.0]),
}


def build(**changes: Any) -> on.Robot:
    """Build the robot. Its hand and pad are fixed to body b."""
    assert changes.keys() <= NUMBERS.keys()
    x = {**NUMBERS, **changes}

    def mass(name: str) -> dict[str, Any]:
        return {key: x[f"{name}_{key}"] for key in ("mass", "com", "inertia")}

    spring = {key: x[key] for key in ("armature", "damping", "friction", "stiffness", "rest")}
    screw = on.Helical((0, 0.6, 0.8), x["pitch"])
    small = {"mass": 0.2, "inertia": (0.001, 0.001, 0.001)}
    return (
        on.Builder("all", gravity=x["gravity"])
        .body("base")
        .body("a", parent="base", joint=on.Revolute((0, 1, 0)), joint_name="shoulder", **mass("a"), **spring)
        .body("b", parent="a", joint=screw, joint_name="screw", at=x["b_at"], **mass("b"))
        .body("hand", parent="b", joint=on.Fixed(), at=((0, 0.1, 0.3), (0.4, 0.1, -0.2)), **mass("hand"))
        .body("pad", parent="hand", joint=on.Fixed(), at=x["pad_at"], **mass("pad"))
        .body("left", parent="hand", joint=on.Prismatic((0, 1, 0)), joint_name="grip", **small)
        .body(
            "right", parent="hand", joint=on.Prismatic((0, 1, 0)), joint_name="mirror",
            mimic=("grip", x["ratio"], x["offset"]), **small,
        )
        .body(
            "ball", parent="b", joint=on.Spherical(), joint_name="socket", mass=0.3, inertia=(0.01, 0.02, 0.015),
            armature=x["ball_armature"], added_inertia=x["added"], at=(0, 0, -0.2),
        )
        .frame("tool", "ball", at=x["tool_at"])
        .build()
    )  # fmt: skip


def assert_same_robot(found: on.Robot, wanted: on.Robot) -> None:
    """Compare numbers, kinematics and dynamics, as the interpreter has them."""
    for b, c in zip(found.bodies, wanted.bodies, strict=True):
        assert_close(_numbers(b), _numbers(c), ROUNDING)
    for one, other in zip(found.links, wanted.links, strict=True):
        assert one.name == other.name
        assert_close(_numbers(one.own), _numbers(other.own), ROUNDING)
    q, v, a = random_state(wanted, 0, (3,))
    for question, arguments, options in (
        ("inverse_dynamics", (q, v, a), {}),
        ("mass_matrix", (q,), {}),
        ("passive_force", (q, v, 0.01), {}),
        ("pose", (q,), {"frame": "tool"}),
        ("pose", (q,), {"frame": "pad"}),
        ("potential_energy", (q,), {}),
    ):
        new, old = (r.kernel(question, way="interpreted", **options)(*arguments) for r in (found, wanted))
        assert_close(new, old, ROUNDING)


def _numbers(body: on.Body) -> list[float]:
    return [body.mass, *body.com, *body.inertia, *body.added_inertia]
