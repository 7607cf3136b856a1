"""Threads inside a call, calls from several threads, and processes that fork."""

from __future__ import annotations

import multiprocessing
import re
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.kernel import compiled
from tests.kernel.arm import ARM, CALLS, draw, make_arm
from tests.random_models import random_robot
from tests.tolerances import HUNG

every_function = pytest.mark.parametrize(("kinds", "call"), CALLS.values(), ids=CALLS.keys())


@every_function
@pytest.mark.parametrize("threads", [1, 2, 3, 7, 1000])
def test_any_number_of_threads_gives_the_same_bits(
    kinds: tuple[str, ...], call: Callable[..., Any], threads: int
) -> None:
    for shape in [(), (1,), (37,), (300,), (3, 50)]:
        arrays = [draw(ARM, kind, shape) for kind in kinds]
        expected = call(ARM, *arrays)
        assert np.array_equal(call(ARM, *arrays, threads=threads), expected)
        out = np.full(np.shape(expected), np.nan)
        assert call(ARM, *arrays, threads=threads, out=out) is out
        assert np.array_equal(out, expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "shapes",
    [
        [(100,), (), ()],
        [(), (100,), (1,)],
        [(1, 100), (3, 1), (3, 100)],
        [(100, 1), (1, 3), ()],
        [(4, 100, 1), (2,), (100, 1)],
        [(2, 1, 90), (1, 5, 1), (90,)],
        [(0, 100), (100,), ()],
    ],
    ids=str,
)
def test_threads_and_broadcasting(shapes: list[tuple[int, ...]], dtype: Any) -> None:
    """The dimension that is cut may be any, and need not be in every argument."""
    q, v, a = (draw(ARM, kind, shape).astype(dtype) for kind, shape in zip(("q", "v", "a"), shapes, strict=True))
    expected = ARM.inverse_dynamics(q, v, a, threads=1)
    for threads in (2, 3):
        answer = ARM.inverse_dynamics(q, v, a, threads=threads)
        assert answer.dtype == dtype
        assert np.array_equal(answer, expected)
    out = np.empty(expected.shape[::-1], dtype).transpose()
    assert np.array_equal(ARM.inverse_dynamics(q, v, a, threads=2, out=out), expected)


def test_threads_and_rolled_code() -> None:
    robot = random_robot(51, 6)
    kernel = robot.kernel("forward_dynamics", way="rolled")
    rng = np.random.default_rng(0)
    q, v, tau = robot.random(rng, 200), rng.normal(size=(200, robot.nv)), rng.normal(size=(200, robot.nv))
    expected = kernel(q, v, tau)
    for threads in (2, 3):
        assert np.array_equal(kernel(q, v, tau, threads=threads), expected)


@pytest.mark.parametrize("threads", [0, -1, 1.5, float("nan"), "2", [2]])
def test_numbers_of_threads_that_make_no_sense(threads: Any) -> None:
    q = draw(ARM, "q", (50,))
    message = re.escape("mass_matrix: `threads` must be a whole number above 0, not")
    with pytest.raises(on.ArgumentError, match=message):
        ARM.mass_matrix(q, threads=threads)


@pytest.mark.parametrize("threads", [np.int64(2), True, 2.0])
def test_numbers_of_threads_that_do(threads: Any) -> None:
    q = draw(ARM, "q", (50,))
    assert np.array_equal(ARM.mass_matrix(q, threads=threads), ARM.mass_matrix(q))


def test_errors_with_threads_are_those_without() -> None:
    q, v = draw(ARM, "q", (100,)), draw(ARM, "v", (100,))
    for wrong, message in [
        ((q[:, :5], v), r"argument 'q' has shape \(100, 5\)"),
        ((q, v[:50]), r"do not broadcast: q \(100,\), v \(50,\)"),
        ((q, v.astype(complex)), "complex128"),
    ]:
        for threads in (1, 2):
            with pytest.raises(on.ArgumentError, match=message):
                ARM.bias_force(*wrong, threads=threads)
    for threads in (1, 2):
        with pytest.raises(on.ArgumentError, match=r"bias_force: .*cast"):
            ARM.bias_force(q, v, threads=threads, out=np.empty((100, 5), np.int64))
    assert np.array_equal(ARM.bias_force(q, v, threads=2), ARM.bias_force(q, v))


def test_small_batches_stay_in_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Handing work over costs more than a small batch does; a large one is worth it."""
    used: list[int] = []
    real = compiled.Compiled._run_threads

    def spy(self: Any, loaded: Any, arrays: Any, out: Any, count: int) -> Any:
        used.append(count)
        return real(self, loaded, arrays, out, count)

    monkeypatch.setattr(compiled.Compiled, "_run_threads", spy)
    monkeypatch.setattr(compiled, "cores", lambda: 2)
    for count in (1, 10, 1000):
        ARM.forward_dynamics(*(draw(ARM, kind, (count,)) for kind in ("q", "v", "a")))
    assert used == []
    many = [np.repeat(draw(ARM, kind, (1000,)), 200, axis=0) for kind in ("q", "v", "a")]
    answer = ARM.forward_dynamics(*many)
    assert used == [2]
    assert np.array_equal(answer, np.repeat(ARM.forward_dynamics(*(x[::200] for x in many)), 200, axis=0))


def test_the_interpreter_lock_is_free_during_a_batch() -> None:
    """While one thread computes a long batch, another is never kept waiting for as long as that takes."""
    q, v, a = (draw(ARM, kind, shape) for kind, shape in (("q", (1000, 1)), ("v", (1000,)), ("a", ())))
    ARM.forward_dynamics(q[:8], v, a, threads=1)
    spent: list[float] = []

    def work() -> None:
        start = time.perf_counter()
        ARM.forward_dynamics(q, v, a, threads=1)
        spent.append(time.perf_counter() - start)

    worker = threading.Thread(target=work)
    worker.start()
    longest, last = 0.0, time.perf_counter()
    while worker.is_alive():
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    worker.join()
    assert longest < spent[0] / 2


def test_calls_from_several_threads_at_once() -> None:
    """Fresh robots, so that threads also compile at once; every state has its own answer."""
    robot = make_arm("shared")
    many = [draw(ARM, kind, (64,)) for kind in ("q", "v", "a")]
    expected = ARM.forward_dynamics(*many)
    start = threading.Barrier(8)

    def work(seed: int) -> bool:
        rng = np.random.default_rng(seed)
        start.wait()
        good = True
        for _ in range(60):
            k = int(rng.integers(64))
            good &= np.array_equal(robot.forward_dynamics(*(x[k] for x in many)), expected[k])
            first, last = np.sort(rng.integers(0, 65, 2))
            part = robot.forward_dynamics(*(x[first:last] for x in many), threads=int(rng.integers(1, 4)))
            good &= np.array_equal(part, expected[first:last])
        return good

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_first_calls_of_several_threads_compile_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from ordern.compile import program

    monkeypatch.setenv("ORDERN_CACHE", "off")
    made: list[str] = []
    real = program.compile_request

    def spy(request: Any, *rest: Any) -> Any:
        made.append(request.question.name)
        return real(request, *rest)

    monkeypatch.setattr(program, "compile_request", spy)
    kernel = on.Kernel(make_arm("fresh"), "mass_matrix")
    q, start = draw(ARM, "q", (5,)), threading.Barrier(4)

    def work(_: int) -> np.ndarray:
        start.wait()
        return kernel(q)

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(work, range(4)))
    assert made == ["mass_matrix"]
    assert all(np.array_equal(x, ARM.mass_matrix(q)) for x in answers)


def _in_child(conn: Any, robot: on.Robot, q: np.ndarray) -> None:
    conn.send(robot.mass_matrix(q, threads=2).tobytes())
    conn.close()


@pytest.mark.slow
@pytest.mark.forks
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_processes_started_after_threads_were_used(method: str) -> None:
    """A forked child has none of its parent's workers; it must not wait for them."""
    q = draw(ARM, "q", (500,))
    expected = ARM.mass_matrix(q, threads=2)
    context = multiprocessing.get_context(method)
    here, there = context.Pipe()
    child = context.Process(target=_in_child, args=(there, ARM, q))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads is what is tested
        child.start()
    try:
        assert here.poll(HUNG), "the child hangs"
        assert here.recv() == expected.tobytes()
        child.join(HUNG)
        assert child.exitcode == 0
    finally:
        child.kill()
        child.join()
    assert np.array_equal(ARM.mass_matrix(q, threads=2), expected)


def test_one_state_of_a_long_robot_is_not_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long one state takes, it is one thread's work."""
    monkeypatch.setattr(compiled, "_WORTH_A_THREAD_NS", 1e-3)
    q, v, a = (draw(ARM, kind) for kind in ("q", "v", "a"))
    expected = ARM.inverse_dynamics(q, v, a, threads=1)
    assert np.array_equal(ARM.kernel("inverse_dynamics")(q, v, a), expected)
    assert np.array_equal(ARM.kernel("inverse_dynamics")(q[None], v, a), expected[None])
