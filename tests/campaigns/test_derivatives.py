"""The campaign of derivatives: every question, random robots, special states, many calls. Full size by `./dev soak`."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

import ordern as on
from ordern.algorithms import find
from tests.campaigns.derivatives import JOINTS, argument_names, compared, special_states, tree
from tests.precise import all_questions, precise_rate, settings_of
from tests.random_models import random_robot
from tests.tolerances import difference

SPECIAL_QUESTIONS = (
    *("inverse_dynamics", "forward_dynamics", "passive_force", "mass_matrix", "kinetic_energy", "gravity_force"),
    *("pose", "velocity", "acceleration", "integrate", "difference", "position_rate"),
)


@pytest.mark.campaign
@pytest.mark.parametrize("loops", [False, True], ids=["trees", "loops"])
def test_derivatives_agree_with_jets_in_50_digits(loops: bool, campaign: Callable[[int, int], int]) -> None:
    """All questions of 200 trees and 60 mechanisms; a sample of two robots, with every eighth question."""
    step = campaign(8, 1)
    names, worst = all_questions(loops), 0.0
    for seed in range(campaign(2, 60 if loops else 200)):
        for found in compared(seed, loops, names[seed % step :: step]):
            assert found.error <= found.limit, found
            worst = max(worst, found.error)
    print(f"largest error: {worst:.1e}")


@pytest.mark.campaign
@pytest.mark.parametrize("joint", [x for x in JOINTS if x is not on.Fixed], ids=lambda x: x.__name__)
def test_derivatives_are_finite_where_answers_are(joint: type[on.Joint], campaign: Callable[[int, int], int]) -> None:
    """At zero and half turns, at rest, beside them, and at random: a million states of all joint types together."""
    count = campaign(400, 80_000)
    robot = random_robot(1, 1, [joint], passive=True, armature=True)
    rng = np.random.default_rng(0)
    q, v = special_states(robot, rng, count)
    q1, w = special_states(robot, rng, count)
    values = {"q": q, "v": v, "q0": q, "q1": q1, "a": w, "tau": w, "dt": np.full(count, 0.1)}
    values["smoothing"] = np.full(count, 0.01)
    for question in SPECIAL_QUESTIONS[:: campaign(2, 1)]:
        given = {name: values[name] for name in argument_names(question)}
        kinds = {p.name: p.kind for p in find(question)[0].inputs}
        along = {x: np.ones((count, robot.nv)) if kinds[x] != "scalar" else np.ones(count) for x in given}
        settings = settings_of(robot, question)
        present = np.asarray(robot.kernel(question, **settings)(*given.values())).reshape(count, -1)
        finite = np.isfinite(present).all(axis=1)
        assert finite.mean() > 0.9
        rate = robot.jvp(question, given, along, **settings)
        gradient = robot.vjp(question, given, np.ones_like(rate), **settings)
        for array in (rate, *gradient):
            bad = finite & ~np.isfinite(array.reshape(count, -1)).all(axis=1)
            assert not bad.any(), (question, {name: x[bad][0] for name, x in given.items()})
        for k in np.flatnonzero(finite)[: campaign(2, 20)]:  # and they are right there
            one, moving = ({name: x[k] for name, x in part.items()} for part in (given, along))
            assert difference(rate[k], precise_rate(robot, question, one, moving, **settings)) < 1e-9, (question, one)


@pytest.mark.campaign
def test_memory_does_not_grow_over_many_calls(campaign: Callable[[int, int], int]) -> None:
    robot = tree(1)
    rng = np.random.default_rng(0)
    q, v, tau = robot.random(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)

    def some(count: int) -> None:
        for _ in range(count):
            robot.derivatives.forward_dynamics(q, v, tau)
            robot.vjp("forward_dynamics", (q, v, tau), v)
            robot.jvp("inverse_dynamics", (q, v, tau), (v, None, None))

    some(50)
    gc.collect()
    tracemalloc.start()
    some(50)
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    some(campaign(500, 333_000))
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 20_000
