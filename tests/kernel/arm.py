"""A small robot with nq other than nv, and all that can be asked of it by position."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import ordern as on

Array = np.ndarray


def make_arm(name: str = "arm") -> on.Robot:
    """A ball joint, an elbow and a slide: nq 6, nv 5."""
    return (
        on.Builder(name)
        .body("ground")
        .body("upper", parent="ground", joint=on.Spherical(), mass=2.0, com=(0.1, 0, -0.3), inertia=(0.2, 0.3, 0.1))
        .body(
            "lower",
            parent="upper",
            joint=on.Revolute((0, 1, 0)),
            at=((0.1, 0, -0.6), (0.2, 0.1, -0.3)),
            mass=1.2,
            com=(0, 0.05, -0.2),
            inertia=(0.1, 0.12, 0.05, 0.01, 0.0, 0.02),
        )
        .body(
            "rod", parent="lower", joint=on.Prismatic((0, 0, 1)), at=(0, 0, -0.4), mass=0.4, inertia=(0.01, 0.01, 0.01)
        )
        .frame("tool", "rod", at=((0.05, 0, -0.1), (0, 0.4, 0)))
        .build()
    )


ARM = make_arm()

CALLS: dict[str, tuple[tuple[str, ...], Callable[..., Any]]] = {
    "inverse_dynamics": (("q", "v", "a"), lambda r, *x, **k: r.inverse_dynamics(*x, **k)),
    "inverse_dynamics, external": (
        ("q", "v", "a", "external"),
        lambda r, q, v, a, f, **k: r.inverse_dynamics(q, v, a, external=f, **k),
    ),
    "forward_dynamics": (("q", "v", "a"), lambda r, *x, **k: r.forward_dynamics(*x, **k)),
    "forward_dynamics, external": (
        ("q", "v", "a", "external"),
        lambda r, q, v, a, f, **k: r.forward_dynamics(q, v, a, external=f, **k),
    ),
    "mass_matrix": (("q",), lambda r, *x, **k: r.mass_matrix(*x, **k)),
    "bias_force": (("q", "v"), lambda r, *x, **k: r.bias_force(*x, **k)),
    "gravity_force": (("q",), lambda r, *x, **k: r.gravity_force(*x, **k)),
    "passive_force": (("q", "v", "dt"), lambda r, *x, **k: r.passive_force(*x, **k)),
    "kinetic_energy": (("q", "v"), lambda r, *x, **k: r.kinetic_energy(*x, **k)),
    "potential_energy": (("q",), lambda r, *x, **k: r.potential_energy(*x, **k)),
    "pose": (("q",), lambda r, *x, **k: r.pose(*x, "tool", **k)),
    "velocity": (("q", "v"), lambda r, *x, **k: r.velocity(*x, "tool", **k)),
    "acceleration": (("q", "v", "a"), lambda r, *x, **k: r.acceleration(*x, "tool", **k)),
    "jacobian": (("q",), lambda r, *x, **k: r.jacobian(*x, "tool", **k)),
    "integrate": (("q", "v", "dt"), lambda r, *x, **k: r.integrate(*x, **k)),
    "difference": (("q", "q1"), lambda r, *x, **k: r.difference(*x, **k)),
}


def core(robot: on.Robot, kind: str) -> tuple[int, ...]:
    """The shape of one state's argument."""
    n = len(robot.bodies)
    return {"q": (robot.nq,), "q1": (robot.nq,), "dt": (), "external": (n, 6)}.get(kind, (robot.nv,))


def draw(robot: on.Robot, kind: str, shape: tuple[int, ...] = (), seed: int = 0) -> Array:
    """A random argument."""
    rng = np.random.default_rng([seed, *kind.encode()])
    if kind in ("q", "q1"):
        return robot.random(rng, shape)
    return rng.normal(size=(*shape, *core(robot, kind)))


def one_by_one(call: Callable[..., Any], robot: on.Robot, kinds: tuple[str, ...], arrays: list[Array]) -> Array:
    """The answers for broadcast arguments, state by state."""
    cores = [len(core(robot, kind)) for kind in kinds]
    batches = [a.shape[: a.ndim - c] for a, c in zip(arrays, cores, strict=True)]
    batch = np.broadcast_shapes(*batches)
    full = [np.broadcast_to(a, (*batch, *a.shape[a.ndim - c :])) for a, c in zip(arrays, cores, strict=True)]
    answers = {where: np.asarray(call(robot, *(a[where] for a in full))) for where in np.ndindex(batch)}
    shape = next(iter(answers.values())).shape
    out = np.empty((*batch, *shape))
    for where, answer in answers.items():
        out[where] = answer
    return out


def resident() -> int:
    """Bytes of memory in use; where the system does not say, the most that ever were."""
    current = Path("/proc/self/statm")
    if current.exists():
        return int(current.read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
