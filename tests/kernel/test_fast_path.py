"""After its first call a function goes straight to machine code for one state, and hands on all else."""

from __future__ import annotations

import contextlib
import gc
import inspect
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.kernel import Kernels
from tests.kernel.arm import ARM, draw, make_arm

DIRECT = (
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "bias_force",
    "gravity_force",
    "kinetic_energy",
    "potential_energy",
    "integrate",
    "difference",
)


def given(question: str) -> list[Any]:
    kinds = {
        "inverse_dynamics": ("q", "v", "a"),
        "forward_dynamics": ("q", "v", "a"),
        "bias_force": ("q", "v"),
        "kinetic_energy": ("q", "v"),
        "integrate": ("q", "v", "dt"),
        "difference": ("q", "q1"),
    }.get(question, ("q",))
    return [draw(ARM, kind) if kind != "dt" else 0.25 for kind in kinds]


@pytest.fixture(scope="module")
def robot() -> on.Robot:
    robot = make_arm()
    for question in DIRECT:
        getattr(robot, question)(*given(question))
    return robot


@pytest.mark.parametrize("question", DIRECT)
def test_machine_code_answers(robot: on.Robot, monkeypatch: pytest.MonkeyPatch, question: str) -> None:
    expected = robot.kernel(question)(*given(question))
    for general in (Kernels, "named"), (on.Kernel, "__call__"):
        monkeypatch.setattr(*general, lambda *a, **k: pytest.fail("not the fast path"))
    for _ in range(3):
        answer = getattr(robot, question)(*given(question))
        assert type(answer) is type(expected)
        assert np.array_equal(answer, expected)


def test_answers_are_new_arrays(robot: on.Robot) -> None:
    q = draw(ARM, "q")
    first = robot.mass_matrix(q)
    copy = first.copy()
    second = robot.mass_matrix(draw(ARM, "q", seed=1))
    assert not np.shares_memory(first, second)
    assert np.array_equal(first, copy)
    assert first.flags.owndata and first.flags.writeable and first.flags.c_contiguous


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.tolist(),
        lambda x: tuple(x.tolist()),
        lambda x: np.repeat(x, 2)[::2],
        lambda x: x[::-1].copy()[::-1],
        lambda x: x.astype(">f8"),
        lambda x: x.view(type("Mine", (np.ndarray,), {})),
        np.ma.array,
        lambda x: np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(float),
        lambda x: np.broadcast_to(x, x.shape),
        memoryview,
        lambda x: type("Lazy", (), {"__array__": lambda self, dtype=None, copy=None: x})(),
    ],
    ids=[
        "list",
        "tuple",
        "strided",
        "reversed",
        "swapped",
        "subclass",
        "masked",
        "misaligned",
        "view",
        "memory",
        "lazy",
    ],
)
@pytest.mark.parametrize("question", ["forward_dynamics", "mass_matrix", "kinetic_energy"])
def test_other_arguments_fall_back(robot: on.Robot, question: str, change: Callable[[np.ndarray], Any]) -> None:
    plain = given(question)
    expected = getattr(robot, question)(*plain)
    for k in range(len(plain)):
        mixed = [change(x) if j == k else x for j, x in enumerate(plain)]
        assert np.array_equal(getattr(robot, question)(*mixed), expected)


def test_other_types_fall_back(robot: on.Robot) -> None:
    q, v, a = given("forward_dynamics")
    single = robot.forward_dynamics(*(x.astype(np.float32) for x in (q, v, a)))
    assert single.dtype == np.float32
    extended = robot.forward_dynamics(*(x.astype(np.longdouble) for x in (q, v, a)))
    assert extended.dtype == np.longdouble
    whole = robot.bias_force(q, np.arange(5))
    assert np.array_equal(whole, robot.bias_force(q, np.arange(5.0)))
    assert np.array_equal(robot.integrate(q, v, 2), robot.integrate(q, v, 2.0))
    assert np.array_equal(robot.integrate(q, v, np.float64(2)), robot.integrate(q, v, 2.0))
    assert np.array_equal(robot.integrate(q, v, np.array(2.0)), robot.integrate(q, v, 2.0))
    assert np.array_equal(robot.integrate(q, v), robot.integrate(q, v, 1.0))


def test_keywords_and_batches_fall_back(robot: on.Robot) -> None:
    q, v, a = given("forward_dynamics")
    expected = robot.forward_dynamics(q, v, a)
    assert np.array_equal(robot.forward_dynamics(q, v, tau=a), expected)
    assert np.array_equal(robot.forward_dynamics(q=q, v=v, tau=a), expected)
    assert np.array_equal(robot.forward_dynamics(q, v, a, None), expected)
    assert np.array_equal(robot.forward_dynamics(q, v, a, external=None, method="articulated-body"), expected)
    assert np.array_equal(robot.forward_dynamics(q, v, a, threads=1), expected)
    out = np.empty(5)
    assert robot.forward_dynamics(q, v, a, out=out) is out
    assert np.array_equal(out, expected)
    assert np.array_equal(robot.forward_dynamics(q[None], v, a), expected[None])
    pulled = robot.forward_dynamics(q, v, a, {"tool": np.ones(6)})
    assert not np.allclose(pulled, expected)


def test_wrong_calls_have_their_errors(robot: on.Robot) -> None:
    q, v, a = given("forward_dynamics")
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'tau'"):
        robot.forward_dynamics(q, v)
    with pytest.raises(TypeError, match="missing 3 required positional arguments"):
        robot.forward_dynamics()
    with pytest.raises(TypeError, match="positional arguments"):
        robot.forward_dynamics(*[q] * 9)
    with pytest.raises(TypeError, match="unexpected keyword argument 'torque'"):
        robot.forward_dynamics(q, v, torque=a)
    with pytest.raises(on.ArgumentError, match=r"argument 'v' has shape \(4,\); for 'arm'"):
        robot.forward_dynamics(q, v[:4], a)
    with pytest.raises(on.ArgumentError, match="argument 'q'"):
        robot.forward_dynamics(None, v, a)
    with pytest.raises(on.ArgumentError, match=r"argument 'q' .*complex128"):
        robot.forward_dynamics(q.astype(complex), v, a)
    with pytest.raises(on.ArgumentError, match="argument 'dt'"):
        robot.integrate(q, v, "soon")
    for wrong in (np.empty((5, 0)), np.empty(0), np.empty((1, 1, 1, 1)), np.array(1.0)):
        with pytest.raises(on.ArgumentError, match="argument 'tau' has shape"):
            robot.forward_dynamics(q, v, wrong)


def test_an_error_leaves_the_fast_path_sound(robot: on.Robot) -> None:
    q, v, a = given("forward_dynamics")
    expected = robot.forward_dynamics(q, v, a)
    for _ in range(10):
        with pytest.raises(on.ArgumentError):
            robot.forward_dynamics(q, v, a[:2])
        assert np.array_equal(robot.forward_dynamics(q, v, a), expected)


def test_answers_without_dependence_stay_constant(robot: on.Robot) -> None:
    """What of an answer is constant is written once into the workspace, and must survive every call."""
    slider = (
        on.Builder("slider")
        .body("ground")
        .body("a", parent="ground", joint=on.Prismatic((1, 0, 0)), mass=2.0)
        .body("b", parent="a", joint=on.Prismatic((0, 1, 0)), mass=1.0)
        .build()
    )
    for _ in range(3):
        assert np.array_equal(slider.mass_matrix(np.array([0.1, 0.2])), [[3.0, 0.0], [0.0, 1.0]])
        slider.mass_matrix(np.full((5, 2), np.nan))
        slider.mass_matrix(np.array([np.nan, np.nan]))


def test_it_is_still_the_documented_method(robot: on.Robot) -> None:
    before = make_arm()
    for question in DIRECT:
        slow, fast = getattr(before, question), getattr(robot, question)
        assert fast.__name__ == question
        assert inspect.getdoc(fast) == inspect.getdoc(slow)
        shown, known = (inspect.signature(f).parameters for f in (fast, slow))
        assert [(p.name, p.default) for p in shown.values()] == [(p.name, p.default) for p in known.values()]


def test_methods_pickle_before_and_after(robot: on.Robot) -> None:
    """As `multiprocessing.Pool.map(robot.gravity_force, positions)` needs."""
    q = draw(ARM, "q")
    for one in (make_arm(), robot):
        again = pickle.loads(pickle.dumps(one.gravity_force))
        assert np.array_equal(again(q), robot.gravity_force(q))


def test_subclasses_keep_their_own_methods() -> None:
    class Doubled(on.Robot):
        def gravity_force(self, q: Any, *rest: Any, **more: Any) -> Any:
            return 2.0 * super().gravity_force(q, *rest, **more)

    robot, q = Doubled.of(ARM), draw(ARM, "q")
    for _ in range(3):
        assert np.array_equal(robot.gravity_force(q), 2.0 * ARM.gravity_force(q))


def test_other_methods_of_a_question_do_not_take_its_place() -> None:
    robot, q = make_arm(), draw(ARM, "q")
    robot.mass_matrix(q, method="composite-body")
    assert robot.mass_matrix(q.astype(np.float32)).dtype == np.float32
    assert np.array_equal(robot.mass_matrix(q), ARM.mass_matrix(q))


@pytest.mark.slow
def test_first_calls_of_two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both find that there is no shortcut yet, and set out to make it; both get their answers, and one stays."""
    robot, q, both = make_arm("contended"), draw(ARM, "q"), threading.Barrier(2)
    real = on.Kernel.fast

    def meet(self: on.Kernel, *rest: Any, **settings: Any) -> Any:
        with contextlib.suppress(threading.BrokenBarrierError):  # the other may be kept waiting, which is fine too
            both.wait(0.5)
        return real(self, *rest, **settings)

    monkeypatch.setattr(on.Kernel, "fast", meet)
    expected = ARM.gravity_force(q)
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda _: robot.gravity_force(q), range(2)))
    assert all(np.array_equal(x, expected) for x in answers)
    gc.collect()
    for given in (q, q.tolist(), q[None]):
        assert np.array_equal(robot.gravity_force(given).ravel(), expected)


def test_a_kernel_makes_any_number_of_functions() -> None:
    """Each has a fallback of its own, and none depends on another."""
    kernel, q = on.Kernel(ARM, "gravity_force"), draw(ARM, "q")
    expected = ARM.gravity_force(q)
    made = [kernel.fast(robot.gravity_force) for robot in (ARM, make_arm(), make_arm())]
    made.append(kernel.fast(ARM.mass_matrix))
    for k in (1, 0, 3, 2):
        assert np.array_equal(made[k](q), expected)
        assert made[k](q.tolist()).shape == ((5, 5) if k == 3 else (5,))
    del made[0], made[0]
    gc.collect()
    assert np.array_equal(made[0](q), expected)
    assert made[1](q.tolist()).shape == (5, 5)


def test_scalar_answers_on_python_objects() -> None:
    """Before and after the shortcut exists; the answer is then a plain Python number."""
    robot, q, v = make_arm(), draw(ARM, "q"), draw(ARM, "v")
    for _ in range(2):
        assert float(robot.kinetic_energy(q.astype(object), v.astype(object))) == pytest.approx(
            ARM.kinetic_energy(q, v), rel=1e-13
        )
        robot.kinetic_energy(q, v)
