"""Machine code lives as long as anything can run it, whatever the cyclic collector does first."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.compile.run.keeper import _contents, keeper
from ordern.screen.progress import counted
from tests.kernel.arm import resident

ROOT = Path(__file__).parent.parent.parent
POISONED = {"PYTHONMALLOC": "malloc", "MALLOC_PERTURB_": "34"}
"""The C library fills memory with a pattern when it is freed."""


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program in another process; it must not die."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program],
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done


def asked(name: str) -> tuple[on.Robot, Any, Any]:
    """Return a robot that has its fast function, a state, and its acceleration there."""
    robot = on.load(name)
    q = np.full(robot.nv, 0.3)
    for _ in range(2):
        answer = robot.forward_dynamics(q, q, q)
    assert type(robot.forward_dynamics).__name__ == "builtin_function_or_method"
    return robot, q, answer


def test_the_collector_does_not_track_keepers() -> None:
    dropped: list[str] = []
    thing = threading.Event()  # anything that can be watched
    weakref.finalize(thing, dropped.append, "dropped")
    kept = keeper("some text", thing)
    del thing
    gc.collect()
    assert kept == "some text" and not gc.is_tracked(kept) and not dropped
    del kept
    assert dropped == ["dropped"]


class Caller:
    """Calls a robot when it dies."""

    def __init__(self, robot: on.Robot, call: Callable[[on.Robot], Any], answers: list[Any]) -> None:
        self.robot, self.call, self.answers = robot, call, answers
        self.itself = self
        robot.__dict__["_caller"] = self  # so that the robot is in the cycle, too

    def __del__(self) -> None:
        self.answers.append(self.call(self.robot))


@pytest.mark.parametrize("kind", ["one state", "batch", "keyword", "another method", "rollout"])
def test_a_robot_can_be_called_while_its_cycle_is_collected(kind: str) -> None:
    robot, q, _ = asked("stanford-arm")
    many = np.repeat(q[None], 20, axis=0)
    calls: dict[str, Callable[[on.Robot], Any]] = {
        "one state": lambda r: r.forward_dynamics(q, q, q),
        "batch": lambda r: r.forward_dynamics(many, many, many),
        "keyword": lambda r: r.forward_dynamics(q, q, tau=q),
        "another method": lambda r: r.forward_dynamics(q, q, q, method="composite-body"),
        "rollout": lambda r: r.rollout(q, q, steps=3, dt=1e-3).q,
    }
    expected, answers = calls[kind](robot), []
    Caller(robot, calls[kind], answers)
    del robot
    gc.collect()
    assert len(answers) == 1 and np.array_equal(answers[0], expected)


@pytest.mark.slow
def test_a_robot_that_comes_back_to_life_still_works() -> None:
    pool: list[on.Robot] = []
    robot, q, expected = asked("puma560")
    Caller(robot, pool.append, [])
    del robot
    gc.collect()
    for _ in range(3):
        other, *_ = asked("stanford-arm")  # takes the place of whatever was freed
        del other
        gc.collect()
    (again,) = pool
    many = np.repeat(q[None], 9, axis=0)
    assert np.array_equal(again.forward_dynamics(q, q, q), expected)
    assert np.array_equal(again.forward_dynamics(many, many, many)[-1], expected)


def test_a_function_outlives_its_robot() -> None:
    robot, q, expected = asked("puma560")
    function = robot.forward_dynamics
    del robot
    gc.collect()
    assert np.array_equal(function(q, q, q), expected)
    assert np.array_equal(function(q, q, tau=q), expected)
    assert np.array_equal(pickle.loads(pickle.dumps(function))(q, q, q), expected)


def test_a_function_whose_robot_was_emptied_raises() -> None:
    robot, q, expected = asked("puma560")
    function = robot.forward_dynamics
    robot.__dict__.clear()
    gc.collect()
    assert np.array_equal(function(q, q, q), expected)
    with pytest.raises(AttributeError, match="_general_forward_dynamics"):
        function(q, q, tau=q)


def test_a_ufunc_outlives_its_robot() -> None:
    robot, q, expected = asked("puma560")
    loaded = robot.kernel("forward_dynamics")._runner.machine("float64")
    ufunc, workspace = loaded._ufunc, loaded._new_workspace()
    del robot, loaded
    gc.collect()
    assert np.array_equal(ufunc(q, q, q, workspace), expected)


def test_dropped_robots_leave_no_code() -> None:
    gc.collect()
    before = len(_contents)
    robot, q, _ = asked("puma560")
    robot.rollout(q, q, steps=3, dt=1e-3)
    assert len(_contents) > before
    del robot
    gc.collect()
    assert len(_contents) == before


def test_threads_that_ask_first_at_the_same_time_get_functions_of_their_own() -> None:
    def ask(robot: on.Robot, ready: threading.Barrier, answers: list[Any]) -> None:
        q = np.full(6, 0.3)
        ready.wait()
        answers += [robot.forward_dynamics(q, q, q) for _ in range(20)]

    for _ in range(5):
        answers: list[Any] = []
        shared = (on.load("puma560"), threading.Barrier(8), answers)
        threads = [threading.Thread(target=ask, args=shared) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert len(answers) == 160 and all(np.array_equal(a, answers[0]) for a in answers)


LOAD_AND_ASK = """
import numpy as np, ordern as on
robot = on.load("puma560")
q = np.ones(6)
answers = [robot.forward_dynamics(q, q, q) for _ in range(3)]
robot.mass_matrix(q), robot.mass_matrix(q)
assert np.array_equal(answers[0], answers[2])
assert np.array_equal(answers[0], robot.forward_dynamics(q, q, tau=q))  # by the fallback
"""


@pytest.mark.slow
@pytest.mark.parametrize("allocator", [POISONED, {"PYTHONMALLOC": "debug"}], ids=["poisoned", "debug"])
@pytest.mark.parametrize("kept", ["", "on.kept = robot", "import sys; sys.kept = robot.forward_dynamics; del robot"])
def test_a_program_ends_well_with_freed_memory_poisoned(allocator: dict[str, str], kept: str) -> None:
    run(LOAD_AND_ASK + kept, **allocator)


def test_a_robot_called_by_a_del_at_the_end_of_a_program() -> None:
    program = """
class Last:
    def __init__(self, robot, q, expected, same):
        self.robot, self.q, self.expected, self.same = robot, q, expected, same
    def __del__(self):
        print("right" if self.same(self.robot.forward_dynamics(self.q, self.q, self.q), self.expected) else "wrong")
last = Last(robot, q, answers[0], lambda a, b: a.tobytes() == b.tobytes())
cycle = [last]
cycle.append(cycle)
del last, robot
"""
    assert run(LOAD_AND_ASK + program, **POISONED).stdout.split() == ["right"]


@pytest.mark.campaign
def test_loading_asking_and_dropping_robots_takes_no_memory(campaign: Callable[[int, int], int]) -> None:
    names = ("stanford-arm", "puma560", "double-pendulum")

    def churn(count: int) -> None:
        for k in counted(range(count), "robots"):
            asked(names[k % 3])

    churn(150)
    gc.collect()
    before = resident()
    count = campaign(300, 10_000)
    churn(count)
    gc.collect()
    grown = resident() - before
    print(f"{count} robots loaded, asked and dropped: the process grew by {grown / 1e6:.1f} MB")
    assert grown < 20e6
