"""Second derivatives of forward dynamics of a humanoid with 36 freedoms, and what storing them takes.

The tree is that of ATLAS: a free base, a back of 3 joints with a head of 1 and two arms of 7, and two legs of 6.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import ordern as on

from .chains import cache_off
from .harness import Figures, benchmark, processor_clock, race, ratio

N = 32


@cache
def humanoid() -> on.Robot:
    """Return the robot; its numbers are random."""
    rng = np.random.default_rng(0)
    builder = on.Builder("humanoid")
    builder.body("pelvis", mass=10.0, com=(0.0, 0.0, 0.1), inertia=(0.3, 0.3, 0.2))

    def limb(name: str, parent: str, joints: int) -> str:
        for k in range(joints):
            body = f"{name}{k}"
            builder.body(
                body,
                parent=parent,
                joint=on.Revolute(np.eye(3)[k % 3].tolist()),
                at=on.Placement(position=tuple(rng.uniform(-0.3, 0.3, 3))),
                mass=rng.uniform(1.0, 5.0),
                com=tuple(rng.uniform(-0.1, 0.1, 3)),
                inertia=(0.1, 0.12, 0.09),
            )
            parent = body
        return parent

    chest = limb("back", "pelvis", 3)
    for name, parent, joints in (("head", chest, 1), ("left_arm", chest, 7), ("right_arm", chest, 7)):
        limb(name, parent, joints)
    for name in ("left_leg", "right_leg"):
        limb(name, "pelvis", 6)
    return builder.build(floating=True)


@benchmark("humanoid36.{question}.second_derivatives", question=("forward_dynamics", "inverse_dynamics"), quick=False)
def second_derivatives(question: str) -> Figures:
    robot = on.Robot.of(humanoid())  # it has computed nothing yet
    rng = np.random.default_rng(0)
    state = (robot.random(rng, N), rng.normal(size=(N, robot.nv)), rng.normal(size=(N, robot.nv)))
    weights = rng.normal(size=(N, robot.nv))
    ask = getattr(robot.second_derivatives, question)
    with cache_off():
        start = processor_clock()
        ask(*state)
        yield "first_call_s", processor_clock() - start
    results = [x for x in ask(*state) if x.flags.writeable]
    kept = [np.ones_like(x) for x in results]
    small = [np.ones(x.shape[1:]) for x in results]

    def store() -> None:
        for x, y in zip(kept, small, strict=True):
            for row in x:
                np.copyto(row, y)

    contestants: dict[str, Any] = {
        "all": lambda: ask(*state, threads=1),
        "stores": store,
        "hessian": lambda: robot.hessian(question, state, weights, threads=1),
        "product": lambda: robot.hvp(question, state, weights, (state[1], None, None), threads=1),
        "answer": lambda: getattr(robot, question)(*state, threads=1),
    }
    t = race(contestants, {})
    for name in contestants:
        asked = ["at most 500"] if (name, question) == ("all", "forward_dynamics") else []
        yield f"{name}.us_per_state", 1e6 * t[name].min() / N, *asked
    yield "without_stores.us_per_state", 1e6 * float(np.min(t["all"] - t["stores"])) / N
    for name in ("product", "hessian", "all"):
        yield f"{name}.per_answer", ratio(t[name], t["answer"])
