"""Robots and compiled functions in other processes."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from operator import attrgetter
from typing import Any

import numpy as np
import pytest

import ordern as on
from tests.random_models import CUSTOM_JOINTS, random_robot, random_state
from tests.tolerances import HUNG

CHILD = """
import pickle, sys
function, arguments, keywords = pickle.load(sys.stdin.buffer)
pickle.dump(function(*arguments, **keywords), sys.stdout.buffer)
"""


def _elsewhere(function: Any, *arguments: Any, **keywords: Any) -> Any:
    """A call in a fresh process, which knows no more than the pickle says."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=pickle.dumps((function, arguments, keywords)),
        capture_output=True,
        env=environment,
        timeout=HUNG,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return pickle.loads(done.stdout)


@pytest.fixture(scope="module")
def robot() -> on.Robot:
    return random_robot(5, n=4, joints=(*CUSTOM_JOINTS, on.Free))


@pytest.fixture(scope="module")
def state(robot) -> tuple[np.ndarray, ...]:
    return random_state(robot, 0, (6,))


def test_a_robot(robot, state) -> None:
    """With joints of a user's own module among its own."""
    found = _elsewhere(on.Robot.inverse_dynamics, robot, *state)
    assert (found == robot.inverse_dynamics(*state)).all()
    assert _elsewhere(attrgetter("digest"), robot) == robot.digest


@pytest.mark.slow
def test_a_kernel(robot, state) -> None:
    kernel = robot.kernel("forward_dynamics")
    wanted = kernel(*state)
    assert (_elsewhere(kernel, *state) == wanted).all()


@pytest.mark.slow
def test_a_kernel_with_settings(robot, state) -> None:
    kernel = robot.kernel("velocity", frame="tool", axes="world")
    wanted = kernel(*state[:2])
    again = pickle.loads(pickle.dumps(kernel))
    assert repr(again) == repr(kernel)
    assert (again(*state[:2]) == wanted).all()
    assert (_elsewhere(kernel, *state[:2]) == wanted).all()


def test_a_kernel_with_optional_arguments(robot, state) -> None:
    kernel = robot.kernel("inverse_dynamics", present=("external",), way="rolled")
    arguments = (*state, np.ones((len(robot.bodies), 6)))
    again = pickle.loads(pickle.dumps(kernel))
    assert (again(*arguments) == kernel(*arguments)).all()
    assert again.code.way == "rolled"


def test_a_function_of_a_robot_before_and_after_its_first_call(robot, state) -> None:
    """A pool of processes is given the function itself."""
    fresh = pickle.loads(pickle.dumps(robot))
    for _ in range(2):
        again = pickle.loads(pickle.dumps(fresh.mass_matrix))
        assert (again(state[0]) == robot.mass_matrix(state[0])).all()
        fresh.mass_matrix(state[0][0])


@pytest.mark.slow
def test_a_pool_of_processes(robot, state) -> None:
    wanted = robot.gravity_force(state[0])
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(robot.kernel("gravity_force"), [state[0][:3], state[0][3:]], timeout=HUNG))
    assert (np.concatenate(found) == wanted).all()
