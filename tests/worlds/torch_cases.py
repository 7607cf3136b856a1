"""Questions and robots on which the derivatives of tensors are checked, each with random tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import ordern as on
from ordern.algorithms.registry import find_question
from ordern.kernel import Kernel
from tests.random_models import random_robot

Tensor = torch.Tensor

ROBOTS: dict[str, Callable[[], on.Robot]] = {
    "double-pendulum": lambda: on.load("double-pendulum"),
    "planar-3r": lambda: on.load("planar-3r"),
    "stanford-arm": lambda: on.load("stanford-arm"),
    "puma560": lambda: on.load("puma560"),
    "free-top": lambda: on.load("free-top"),
    "chain": lambda: on.chain(4),
    "tree": lambda: random_robot(1, 4, (on.Revolute, on.Prismatic, on.Helical)),
    "mimic": lambda: random_robot(2, 5, (on.Revolute, on.Prismatic), mimic=True, armature=True),
    "rotating": lambda: random_robot(3, 3, (on.Spherical, on.Planar, on.Universal), passive=True),
    "floating": lambda: random_robot(4, 3, (on.Revolute, on.Cylindrical), floating=True),
}
QUESTIONS: tuple[str, ...] = (
    *("forward_dynamics", "inverse_dynamics", "mass_matrix", "mass_matrix_inverse", "mass_matrix_product"),
    *("mass_matrix_solve", "coriolis_matrix", "bias_force", "gravity_force", "passive_force"),
    *("joint_wrenches", "constraint_forces", "supported_wrench", "momentum", "operational_inertia_inverse"),
    *("frame_response", "kinetic_energy", "potential_energy", "pose", "velocity"),
    *("acceleration", "jacobian", "jacobian_rate", "poses", "velocities"),
    *("body_poses", "com", "com_velocity", "centroidal_map", "centroidal_momentum"),
    *("integrate", "difference", "position_rate"),
)
SETTINGS = {"axes": "frame", "kind": "classical"}


def kernel_of(robot: on.Robot, question: str) -> Kernel:
    """Return the kernel of a question, about the last body if it is about a frame."""
    last = robot.bodies[-1].name
    known = {**SETTINGS, "frame": last, "frames": (last, robot.bodies[0].name)}
    return robot.kernel(question, **{x: known[x] for x in find_question(question).options})


def tensors(robot: on.Robot, kernel: Kernel, seed: int = 0, batch: tuple[int, ...] = (), **kind: Any) -> list[Tensor]:
    """Return random arguments of a kernel."""
    rng = np.random.default_rng(seed)
    found = []
    for port in kernel.ports:
        shape = kernel.request.shape(port.kind)
        x = robot.random(rng, batch) if port.kind == "q" else rng.uniform(0.5, 1.5, (*batch, *shape))
        found.append(torch.tensor(x, **{"dtype": torch.float64, **kind}))
    return found
