"""Every question, run in every way, gives the interpreter's answer."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

import ordern as on
from ordern.compile import pipeline, program
from ordern.compile.emit.entry_points import attributes
from ordern.compile.emit.target import target
from tests.compile.asking import EVERYTHING, arguments, name_of, relative
from tests.random_models import ALL_JOINTS, CUSTOM_JOINTS, Wrist, random_robot, random_state
from tests.tolerances import EXTENDED, INVERSION, LONG_CHAIN, ROUNDING, SINGLE, assert_close

OTHERS = (on.Continuous, on.Prismatic, on.Helical, on.Cylindrical, on.Universal, on.Fixed)
ROBOTS = {
    "tree": random_robot(21, 6, (*CUSTOM_JOINTS, Wrist, on.Planar, on.Free), armature=True),
    "floating tree": random_robot(22, 6, OTHERS, floating=True, merge=False),
    "coupled tree": random_robot(
        24, 8, (on.Revolute, on.Prismatic, on.RollingDisc, on.Spherical), passive=True, mimic=True
    ),
}
COMPILED = ("unrolled", "rolled")


@pytest.fixture(params=ROBOTS, scope="module")
def robot(request: pytest.FixtureRequest) -> on.Robot:
    return ROBOTS[request.param]


def tolerance(question: str) -> float:
    return INVERSION if question == "forward_dynamics" else ROUNDING


def test_robots_have_every_type_of_joint() -> None:
    assert {type(c.type) for robot in ROBOTS.values() for c in robot.joints} == {*ALL_JOINTS, on.RollingDisc}
    assert sum(c.mimic is not None for c in ROBOTS["coupled tree"].joints) > 1


@pytest.mark.slow
@pytest.mark.parametrize("asked", EVERYTHING, ids=name_of)
def test_compiled_is_interpreted(robot: on.Robot, asked: Any) -> None:
    question, present, options = asked
    given = arguments(robot, question, present, 11)
    expected = robot.kernel(question, present=present, way="interpreted", **options)(*given)
    for way in COMPILED:
        kernel = robot.kernel(question, present=present, way=way, **options)
        answer = kernel(*given)
        assert answer.dtype == np.float64
        assert relative(answer, expected) <= tolerance(question), way
        assert kernel.code.way == way


@pytest.mark.slow
@pytest.mark.parametrize("asked", EVERYTHING, ids=name_of)
def test_single_precision_is_double_precision_rounded(robot: on.Robot, asked: Any) -> None:
    question, present, options = asked
    given = [x.astype(np.float32) for x in arguments(robot, question, present, 19)]
    exact = [x.astype(np.float64) for x in given]
    expected = robot.kernel(question, present=present, way="interpreted", **options)(*exact)
    for way in COMPILED:
        answer = robot.kernel(question, present=present, way=way, **options)(*given)
        assert answer.dtype == np.float32
        assert relative(answer, expected) <= SINGLE, way


@pytest.mark.slow
@pytest.mark.parametrize("asked", EVERYTHING, ids=name_of)
def test_double_precision_is_longdouble_rounded(robot: on.Robot, asked: Any) -> None:
    question, present, options = asked
    given = arguments(robot, question, present, 5)
    kernel = robot.kernel(question, present=present, way="interpreted", **options)
    extended = kernel(*(x.astype(np.longdouble) for x in given))
    assert extended.dtype == np.longdouble
    assert relative(kernel(*given), extended) <= tolerance(question)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("question", ["forward_dynamics", "mass_matrix", "jacobian"])
def test_more_trees(seed: int, question: str) -> None:
    robot = random_robot(100 + seed, 3 + seed, floating=seed % 2 == 1, armature=seed % 3 == 0)
    options = {"frame": "tool", "axes": "frame"} if question == "jacobian" else {}
    given = arguments(robot, question, (), 5)
    expected = robot.kernel(question, way="interpreted", **options)(*given)
    for way in COMPILED:
        assert relative(robot.kernel(question, way=way, **options)(*given), expected) <= tolerance(question), way


@pytest.mark.slow
@pytest.mark.parametrize("way", COMPILED)
@pytest.mark.parametrize("asked", [a for a in EVERYTHING if "frame" in a[2]], ids=name_of)
def test_frames_on_the_base(asked: Any, way: str) -> None:
    """There is no way to walk, and the answer is a constant."""
    question, present, options = asked
    robot = random_robot(23, 3)
    given = arguments(robot, question, present, 3)
    options = {**options, "frame": robot.base}
    answer = robot.kernel(question, present=present, way=way, **options)(*given)
    if present:
        expected = robot.kernel(question, present=present, way="interpreted", **options)(*given)
        assert relative(answer, expected) <= ROUNDING
        assert answer.any()
    else:
        assert (answer == (np.eye(4) if question == "pose" else np.zeros(answer.shape[1:]))).all()


def exact_robot() -> on.Robot:
    """Every placement is a shift and quarter turns: doubles hold its rotations exactly."""
    builder = on.Builder("exact").body("body0")
    joints = (on.Revolute((0, 1, 0)), on.Spherical(), on.Prismatic((1, 0, 0)), on.Free(), on.Continuous())
    for k, joint in enumerate(joints, 1):
        turned = np.eye(4)
        turned[:3, :3], turned[:3, 3] = np.roll(np.eye(3), k, axis=0), (0.3, 0.1 * k, -0.2)
        builder.body(
            f"body{k}",
            parent=f"body{k - 1 - k // 4}",
            joint=joint,
            at=turned,
            mass=1.0 + k,
            com=(0.1, 0.2, -0.1 * k),
            inertia=(0.5, 0.6, 0.7, 0.01 * k, 0.02, -0.03),
            armature=0.1 * (k % 2),
        )
    return builder.frame("tool", "body5", at=(0.1, 0.2, 0.3)).build()


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(), (2,)])
def test_many_digits(shape: tuple[int, ...]) -> None:
    """On mpmath numbers the functions fit together to 30 digits: nothing passes through double precision."""
    robot = exact_robot()
    with mpmath.workdps(30):
        q, v, a = (_mp(x) for x in random_state(robot, 0, shape))
        for c in robot.joints:
            if c.nq in (4, 7):
                w = q[..., c.q_start : c.q_start + 4]
                length = (w * w).sum(axis=-1, keepdims=True)
                w /= np.frompyfunc(mpmath.sqrt, 1, 1)(length)
        tau = robot.inverse_dynamics(q, v, a)
        assert tau.shape == (*shape, robot.nv)
        assert tau.dtype == object and isinstance(tau.flat[0], mpmath.mpf)
        small = mpmath.mpf(10) ** -26
        assert _distance(robot.forward_dynamics(q, v, tau), a) < small
        M = robot.mass_matrix(q)
        assert _distance((M @ a[..., None])[..., 0] + robot.bias_force(q, v), tau) < small
        energy = robot.kinetic_energy(q, v)
        assert _distance(energy, (v * (M @ v[..., None])[..., 0]).sum(axis=-1) / 2) < small
        J = robot.jacobian(q, "tool", axes="world")
        assert _distance((J @ v[..., None])[..., 0], robot.velocity(q, v, "tool", axes="world")) < small
        assert _distance(robot.difference(q, robot.integrate(q, v)), v) < small


@pytest.mark.slow
def test_many_digits_are_those_of_longdouble() -> None:
    robot = random_robot(24, 4, (on.Revolute, on.Prismatic, on.Spherical, on.Free), armature=True, passive=True)
    with mpmath.workdps(30):
        for question, present, options in EVERYTHING:
            drawn = arguments(robot, question, present, 2)
            kernel = robot.kernel(question, present=present, **options)
            exact = kernel(*map(_mp, drawn))
            extended = _mp(kernel(*(x.astype(np.longdouble) for x in drawn)))
            assert _distance(exact, extended) / np.abs(extended).max() < EXTENDED, question


def _mp(x: np.ndarray) -> np.ndarray:
    """Exactly these numbers: a longdouble is the sum of two doubles."""
    high = np.asarray(x, np.float64)
    low = (np.asarray(x) - high).astype(np.float64)
    return np.vectorize(lambda h, l: mpmath.mpf(float(h)) + mpmath.mpf(float(l)), otypes=[object])(high, low)


def _distance(a: np.ndarray, b: np.ndarray) -> Any:
    return np.abs(np.atleast_1d(np.asarray(a) - np.asarray(b))).max()


LANES = (1, 2, 4, 8, 16)


@pytest.mark.slow
@pytest.mark.parametrize("way", COMPILED)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("lanes", LANES)
def test_vectors_of_every_width(monkeypatch: pytest.MonkeyPatch, lanes: int, dtype: str, way: str) -> None:
    """Batches shorter and longer than a vector, contiguous or not, and matrices in and out."""
    real = pipeline.code_for
    monkeypatch.setattr(pipeline, "code_for", lambda request, dtype: real(request, dtype, lanes))
    robot = random_robot(25, 3, (on.Revolute, on.Spherical, on.Prismatic))
    kernel = on.Kernel(robot, "inverse_dynamics", present=("external",), way=way)
    masses = on.Kernel(robot, "mass_matrix", way=way)
    oracle = robot.kernel("inverse_dynamics", present=("external",), way="interpreted")
    limit = SINGLE if dtype == "float32" else ROUNDING
    for count in (1, 2, 3, 7, 8, 9, 17, 33):
        given = [x.astype(dtype) for x in arguments(robot, "inverse_dynamics", ("external",), count)]
        expected = oracle(*(x.astype(float) for x in given))
        answer = kernel(*given)
        assert answer.dtype == dtype
        assert relative(answer, expected) <= limit
        strided = [np.stack([x, x], axis=-1)[..., 0] for x in given]
        assert (kernel(*strided) == answer).all()
        M = masses(given[0])
        into = np.empty((robot.nv, count, robot.nv), dtype).transpose(1, 2, 0)
        assert (masses(given[0], out=into) == M).all()
        assert relative(M, robot.kernel("mass_matrix", way="interpreted")(given[0].astype(float))) <= limit
    assert kernel._runner.machine(dtype).lanes == lanes


class Refusal:
    """Where calls would go that the emitted function does not answer itself."""

    def answer(self, *_: Any) -> None:
        pytest.fail("not the fast path")


@pytest.mark.slow
@pytest.mark.parametrize("way", COMPILED)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_answers_do_not_depend_on_the_place_in_a_batch(robot: on.Robot, dtype: str, way: str) -> None:
    """Bitwise: alone, in any batch, at any place in it, with any strides, and through any number of threads."""
    kernel = robot.kernel("forward_dynamics", way=way)
    given = [x.astype(dtype) for x in arguments(robot, "forward_dynamics", (), 40)]
    whole = kernel(*given)
    assert np.isfinite(whole).all()
    for k in range(40):
        assert (kernel(*(x[k] for x in given)) == whole[k]).all()
    for start, stop in [(0, 1), (1, 3), (5, 12), (3, 20), (7, 40), (0, 33)]:
        assert (kernel(*(x[start:stop] for x in given)) == whole[start:stop]).all()
    assert (kernel(*(x[::-1] for x in given)) == whole[::-1]).all()
    assert (kernel(*(np.asfortranarray(x) for x in given)) == whole).all()
    assert (kernel(*given, threads=2) == whole).all()
    if dtype == "float64":
        fast = kernel.fast(Refusal().answer)
        for k in range(40):
            assert (fast(*(np.ascontiguousarray(x[k]) for x in given)) == whole[k]).all()


@pytest.mark.slow
def test_the_emitted_function_answers_every_question_as_batches_do(robot: on.Robot) -> None:
    for question, present, options in EVERYTHING:
        if present or question in ("integrate", "passive_force"):  # a number of their own has no fast path
            continue
        given = arguments(robot, question, present, 3)
        for way in COMPILED:
            kernel = robot.kernel(question, way=way, **options)
            fast = kernel.fast(Refusal().answer)
            whole = kernel(*given)
            for k in range(3):
                answer = fast(*(np.ascontiguousarray(x[k]) for x in given))
                assert type(answer) is type(whole[k])
                assert np.array_equal(answer, whole[k]), (question, way)


def chain(n: int, joint: Any, spread: float = 1.0) -> on.Robot:
    """Bodies in series, with joints made by joint(k)."""
    rng = np.random.default_rng(n)
    builder = on.Builder(f"chain of {n}").body("body0")
    for k in range(1, n + 1):
        builder.body(
            f"body{k}",
            parent=f"body{k - 1}",
            joint=joint(k),
            at=((0.3, 0.1 * rng.normal(), 0.1 * rng.normal()), spread * rng.normal(size=3)),
            mass=rng.uniform(0.5, 1.5),
            com=0.1 * rng.normal(size=3),
            inertia=rng.uniform(0.1, 0.2, 3),
        )
    return builder.frame("tool", f"body{n}", at=(0.1, 0.2, 0.3)).build()


def revolute(k: int) -> on.Joint:
    return on.Revolute(np.eye(3)[k % 3])


@pytest.fixture(scope="module")
def long_chain() -> on.Robot:
    return chain(300, revolute)


@pytest.mark.slow
@pytest.mark.parametrize("question", ["inverse_dynamics", "forward_dynamics"])
@pytest.mark.parametrize("n", [300, 1000])
def test_dynamics_of_long_chains(n: int, question: str) -> None:
    robot = chain(n, revolute)
    kernel = robot.kernel(question)
    given = arguments(robot, question, (), 5)
    exact = robot.kernel(question, way="interpreted")(*(x[:2].astype(np.longdouble) for x in given))
    assert relative(kernel(*given)[:2], exact) <= LONG_CHAIN
    assert kernel.code.way == "rolled"


@pytest.mark.slow
@pytest.mark.parametrize("asked", [a for a in EVERYTHING if "frame" in a[2] or "energy" in a[0]], ids=name_of)
def test_kinematics_and_energies_of_a_long_chain(long_chain: on.Robot, asked: Any) -> None:
    question, present, options = asked
    given = arguments(long_chain, question, present, 5)
    kernel = long_chain.kernel(question, present=present, way="rolled", **options)
    expected = long_chain.kernel(question, present=present, way="interpreted", **options)(*given)
    assert relative(kernel(*given), expected) <= ROUNDING


@pytest.mark.slow
def test_mass_matrix_of_a_long_chain() -> None:
    robot = chain(80, revolute)
    given = arguments(robot, "mass_matrix", (), 3)
    kernel = robot.kernel("mass_matrix", way="rolled")
    assert relative(kernel(*given), robot.kernel("mass_matrix", way="interpreted")(*given)) <= ROUNDING


@pytest.mark.slow
def test_hundred_spherical_joints_in_series() -> None:
    """Where articulated inertias that are not kept symmetric lose every digit."""
    robot = chain(100, lambda k: on.Spherical())
    given = arguments(robot, "forward_dynamics", (), 4)
    exact = robot.forward_dynamics(*(x.astype(np.longdouble) for x in given))
    tau = robot.inverse_dynamics(*(x.astype(np.longdouble) for x in given[:2]), exact)
    assert_close(tau, given[2].astype(np.longdouble), LONG_CHAIN)
    for way in (None, "rolled", "interpreted"):
        answer = robot.kernel("forward_dynamics", way=way)(*given)
        assert relative(answer, exact) <= LONG_CHAIN, way


@pytest.mark.slow
def test_short_robots_are_unrolled_and_long_ones_rolled(monkeypatch: pytest.MonkeyPatch, long_chain: on.Robot) -> None:
    assert random_robot(26, 3).kernel("forward_dynamics").code.way == "unrolled"
    assert long_chain.kernel("integrate").code.way == "unrolled"
    assert long_chain.kernel("forward_dynamics").code.way == "rolled"
    twenty = chain(20, revolute)
    assert twenty.kernel("inverse_dynamics").code.way == "unrolled"
    monkeypatch.setattr(program, "UNROLL_LIMIT", 100)
    monkeypatch.setenv("ORDERN_CACHE", "off")
    assert on.Kernel(twenty, "inverse_dynamics").code.way == "rolled"


def test_way_that_does_not_exist() -> None:
    with pytest.raises(on.UnknownNameError, match=r"unknown way of running 'unroled'. Did you mean 'unrolled'\?"):
        ROBOTS["tree"].kernel("forward_dynamics", way="unroled")


@pytest.mark.parametrize(("lanes", "bytes_"), [(1, 0), (2, 0), (4, 32), (8, 64)])
def test_vectors_on_the_stack_do_not_lie_across_lines(lanes: int, bytes_: int) -> None:
    """LLVM aligns the stack for 16 bytes, unless it is told: with wider ones, batches took a tenth longer by chance."""
    text = attributes(target("float64", lanes))
    assert (f"alignstack={bytes_} " in text) == bool(bytes_)
    assert ("alignstack" in text) == bool(bytes_)
