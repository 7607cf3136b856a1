"""What calls leave behind: nothing. What is dropped goes; what is pickled comes back."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import subprocess
import sys
import tracemalloc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from tests.kernel.arm import ARM, CALLS, draw, make_arm, resident
from tests.random_models import random_robot
from tests.tolerances import HUNG

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.slow
def test_single_calls_leave_nothing() -> None:
    q, v, a = (draw(ARM, kind) for kind in ("q", "v", "a"))
    objects = [q, v, a, np.ndarray, np.dtype(float), ARM, 0.123]
    for _ in range(1000):
        ARM.forward_dynamics(q, v, a)
        ARM.kinetic_energy(q, v)
        ARM.integrate(q, v, objects[-1])
        ARM.mass_matrix(q)
    gc.collect()
    counts = [sys.getrefcount(x) for x in objects]
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(100_000):
            ARM.forward_dynamics(q, v, a)
        for _ in range(20_000):
            ARM.kinetic_energy(q, v)
            ARM.integrate(q, v, objects[-1])
            ARM.mass_matrix(q)
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 2000
    after = [sys.getrefcount(x) for x in objects]
    assert max(abs(x - y) for x, y in zip(counts, after, strict=True)) <= 5


@pytest.mark.slow
def test_failing_and_general_calls_leave_nothing() -> None:
    q, v, a = (draw(ARM, kind, (3,)) for kind in ("q", "v", "a"))

    def calls() -> None:
        ARM.forward_dynamics(q, v, a)
        ARM.forward_dynamics(q[0], v[0], tau=a[0])
        ARM.forward_dynamics(q, v, a, threads=2)
        ARM.pose(q[0], "tool")
        ARM.forward_dynamics(q[0], v[0], a[0], external={"tool": np.ones(6)})
        with pytest.raises(on.ArgumentError):
            ARM.forward_dynamics(q[0], v[0], a[0, :2])

    for _ in range(50):
        calls()
    objects: list[Any] = [q, v, a, ARM]
    gc.collect()
    counts = [sys.getrefcount(x) for x in objects]
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(1000):
            calls()
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 20_000
    assert [sys.getrefcount(x) for x in objects] == counts


def test_memory_of_the_process_does_not_grow() -> None:
    q, v, a = (draw(ARM, kind) for kind in ("q", "v", "a"))
    many = [draw(ARM, kind, (100,)) for kind in ("q", "v", "a")]

    def calls(count: int) -> None:
        for _ in range(count):
            ARM.forward_dynamics(q, v, a)
        for _ in range(count // 50):
            ARM.forward_dynamics(*many)

    calls(20_000)
    before = resident()
    calls(100_000)
    assert resident() - before < 1_000_000


def test_large_batches_are_not_copied() -> None:
    """Beyond what goes in and what comes out, a batch takes no memory that grows with it."""
    q, v, a = (np.repeat(draw(ARM, kind, (100,)), 1000, axis=0) for kind in ("q", "v", "a"))
    ARM.forward_dynamics(q[:9], v[:9], a[:9], threads=1)
    tracemalloc.start()
    try:
        out = ARM.forward_dynamics(q, v, a, threads=1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.05 * out.nbytes + 100_000


@pytest.mark.slow
def test_robots_go_when_they_are_dropped() -> None:
    """With their compiled functions, of every kind, and with the machine code."""
    from ordern.compile.run.engine import Engine

    gc.collect()
    engines = sum(issubclass(type(x), Engine) for x in gc.get_objects())
    gone = []
    for k in range(50):
        robot = make_arm(f"arm {k}")
        q, v, a = (draw(ARM, kind) for kind in ("q", "v", "a"))
        robot.forward_dynamics(q, v, a)
        robot.forward_dynamics(q, v, a)
        if k % 10 == 0:
            robot.forward_dynamics(q.astype(np.float32), v.astype(np.float32), a.astype(np.float32))
            robot.pose(q, "tool")
            robot.kernel("mass_matrix", way="rolled")(q)
        gone.append(weakref.ref(robot))
    del robot
    gc.collect()
    assert [r for r in gone if r() is not None] == []
    assert sum(issubclass(type(x), Engine) for x in gc.get_objects()) == engines


@pytest.mark.slow
def test_functions_outlive_their_robot() -> None:
    """A function that was taken from a robot keeps all that it needs, also after everything else is collected."""
    q, v, a = (draw(ARM, kind) for kind in ("q", "v", "a"))
    expected = ARM.forward_dynamics(q, v, a)
    robot = make_arm("short-lived")
    robot.forward_dynamics(q, v, a)
    fast = robot.forward_dynamics
    taken = robot.kernel("forward_dynamics", way="rolled").fast(robot.inverse_dynamics)
    del robot
    for _ in range(3):
        gc.collect()
        junk = [np.ones(1000) for _ in range(100)]  # what was freed too early is overwritten
        assert np.array_equal(fast(q, v, a), expected)
        np.testing.assert_allclose(taken(q, v, a), expected, rtol=1e-10)
        assert np.array_equal(fast(q[None], v, a), expected[None])
        del junk


def test_kernels_outlive_their_robot() -> None:
    q = draw(ARM, "q", (9,))
    kernels = [make_arm("x").kernel("mass_matrix", way=way) for way in ("unrolled", "rolled")]
    gc.collect()
    for kernel in kernels:
        np.testing.assert_allclose(kernel(q), ARM.mass_matrix(q), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_robots_pickle(protocol: int) -> None:
    q, v, a = (draw(ARM, kind, (3,)) for kind in ("q", "v", "a"))
    ARM.forward_dynamics(q[0], v[0], a[0])
    again = pickle.loads(pickle.dumps(ARM, protocol))
    assert type(again) is on.Robot and again == ARM and hash(again) == hash(ARM) and again is not ARM
    assert np.array_equal(again.forward_dynamics(q, v, a), ARM.forward_dynamics(q, v, a))


def test_robots_copy() -> None:
    q = draw(ARM, "q")
    for again in (copy.copy(ARM), copy.deepcopy(ARM)):
        assert again == ARM
        assert np.array_equal(again.gravity_force(q), ARM.gravity_force(q))


@pytest.mark.parametrize("way", [None, "interpreted", "unrolled", "rolled"])
def test_kernels_pickle(way: str | None) -> None:
    f = draw(ARM, "external")
    q, v, a = (draw(ARM, kind) for kind in ("q", "v", "a"))
    forced = ARM.kernel("inverse_dynamics", present=("external",), way=way)
    again = pickle.loads(pickle.dumps(forced))
    assert repr(again) == repr(forced)
    assert np.array_equal(again(q, v, a, f), forced(q, v, a, f))
    framed = ARM.kernel("velocity", way=way, frame="tool", axes="world")
    assert np.array_equal(pickle.loads(pickle.dumps(framed))(q, v), framed(q, v))


@pytest.mark.slow
def test_a_pickled_robot_works_in_another_process(tmp_path: Path) -> None:
    robot = random_robot(61, 5)
    q, v = robot.random(0, 4), np.ones((4, robot.nv))
    kernel = robot.kernel("forward_dynamics", way="rolled")
    (tmp_path / "in").write_bytes(pickle.dumps((robot, kernel, q, v)))
    script = (
        "import pickle, sys; from pathlib import Path; p = Path(sys.argv[1])\n"
        "robot, kernel, q, v = pickle.loads((p / 'in').read_bytes())\n"
        "(p / 'out').write_bytes(pickle.dumps((robot.forward_dynamics(q, v, v), kernel(q, v, v))))"
    )
    paths = [str(Path(on.__file__).parent.parent), str(ROOT), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, env=env, timeout=HUNG)
    answers = pickle.loads((tmp_path / "out").read_bytes())
    assert np.array_equal(answers[0], robot.forward_dynamics(q, v, v))
    assert np.array_equal(answers[1], kernel(q, v, v))


def test_describes_itself() -> None:
    assert repr(ARM.kernel("mass_matrix")) == "<Kernel mass_matrix of 'arm' by 'composite-body'>"
    text = repr(ARM.kernel("velocity", frame="tool", axes="world"))
    assert text == "<Kernel velocity of 'arm' by 'outward', frame='tool', axes='world'>"
    assert set(CALLS) >= {"mass_matrix", "velocity"}


def test_kernels_are_made_once() -> None:
    assert ARM.kernel("mass_matrix") is ARM.kernel("mass_matrix", "composite-body")
    assert ARM.kernel("pose", frame="tool") is ARM.kernel("pose", frame="tool")
    assert ARM.kernel("pose", frame="tool") is not ARM.kernel("pose", frame="rod")
