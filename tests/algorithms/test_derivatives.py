"""Derivatives of every question: against differences in 50 digits, between each other, and in all ways of running."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

import ordern as on
from ordern.algorithms import find
from ordern.errors import ArgumentError, UnknownNameError
from tests.random_models import ALL_JOINTS, random_robot
from tests.tolerances import assert_close

STEP = mpmath.mpf(10) ** -15
CLOSE = 1e-10
"""Relative; the differences in 50 digits have an error of 1e-30. Forward dynamics lose some digits."""
QUESTIONS = (
    *("inverse_dynamics", "forward_dynamics", "mass_matrix", "mass_matrix_inverse", "bias_force", "gravity_force"),
    *(
        "passive_force",
        "kinetic_energy",
        "potential_energy",
        "momentum",
        "pose",
        "velocity",
        "acceleration",
        "jacobian",
    ),
    *(
        "coriolis_matrix",
        "joint_wrenches",
        "integrate",
        "difference",
        "com",
        "centroidal_momentum",
        "operational_inertia_inverse",
    ),
)
BAD = np.zeros(3)
"""No tangent or cotangent of a robot with five freedoms."""
OF = "^derivatives of gravity_force: "
SETTINGS = {"frame": "tool", "axes": "frame", "kind": "classical"}


def _robot(seed: int, **more: Any) -> on.Robot:
    joints = [ALL_JOINTS[(seed + k) % len(ALL_JOINTS)] for k in range(4)]
    return random_robot(seed, 4, joints, armature=True, passive=True, **more)


def _arguments(robot: on.Robot, question: str, seed: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Random arguments of a question by name, and tangents of them."""
    rng = np.random.default_rng(seed)
    sizes = {"v": (robot.nv,), "f": (robot.nv,), "scalar": (), "bodies": (len(robot.bodies), 6), "motion": (6,)}
    given, along = {}, {}
    for port in find(question)[0].inputs:
        name, kind = port.name, port.kind
        if port.optional and name not in ("external", "base_velocity", "base_acceleration"):
            continue
        given[name] = robot.random(rng) if kind == "q" else np.abs(rng.normal(size=sizes[kind]))
        along[name] = rng.normal(size=(robot.nv,) if kind == "q" else sizes[kind])
    return given, along


def _settings(question: str) -> dict[str, Any]:
    return {x: SETTINGS[x] for x in find(question)[0].options}


def _precise(robot: on.Robot, question: str, given: dict[str, Any], along: dict[str, Any], h: Any) -> Any:
    """The answer with 50 digits, where all arguments have moved by h along their tangents."""
    kinds = {p.name: p.kind for p in find(question)[0].inputs}
    optional = tuple(p.name for p in find(question)[0].inputs if p.optional and p.name in given)
    kernel = robot.kernel(question, present=optional, way="interpreted", **_settings(question))
    many = np.vectorize(mpmath.mpf, otypes=[object])
    moved = []
    for name, x in given.items():
        x, dx = many(x), many(along[name])
        step = robot.kernel("integrate", way="interpreted")
        moved.append(step(x, dx * h, np.array(mpmath.mpf(1), object)) if kinds[name] == "q" else x + h * dx)
    return np.asarray(kernel(*(np.asarray(x) for x in moved)))


def _rate(robot: on.Robot, question: str, given: dict[str, Any], along: dict[str, Any]) -> np.ndarray:
    """The rate of the answer, by a central difference in 50 digits."""
    with mpmath.workdps(50):
        after, before = (_precise(robot, question, given, along, s * STEP) for s in (1, -1))
        rate = (after - before) / (2 * STEP)
        if question == "integrate":  # a tangent of the position that is reached
            difference = robot.kernel("difference", way="interpreted")
            here = _precise(robot, question, given, along, mpmath.mpf(0))
            rate = (difference(here, after) - difference(here, before)) / (2 * STEP)
        if question == "pose":
            here = _precise(robot, question, given, along, mpmath.mpf(0))
            W = here[:3, :3].T @ rate[:3, :3]
            rate = np.array([W[2, 1], W[0, 2], W[1, 0], *(here[:3, :3].T @ rate[:3, 3])])
        return np.asarray(rate, dtype=float)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("seed", [pytest.param(k, marks=pytest.mark.slow if k else ()) for k in range(4)])
def test_products_with_tangents_are_rates(question: str, seed: int) -> None:
    robot = _robot(seed, mimic=seed == 2, floating=seed == 1)
    given, along = _arguments(robot, question, seed)
    rate = _rate(robot, question, given, along)
    assert_close(robot.jvp(question, given, along, **_settings(question)), rate, CLOSE)


AT_REST = (
    *("inverse_dynamics", "forward_dynamics", "passive_force", "kinetic_energy"),
    *("pose", "acceleration", "integrate", "difference"),
)
QUICK = ("inverse_dynamics", "gravity_force", "pose", "integrate")


@pytest.mark.parametrize("question", [pytest.param(x, marks=() if x in QUICK else pytest.mark.slow) for x in QUESTIONS])
def test_gradients_and_matrices_fit_the_products(question: str) -> None:
    robot = _robot(3, floating=True)
    given, along = _arguments(robot, question, 0)
    settings = _settings(question)
    rate = robot.jvp(question, given, along, **settings)
    weights = np.random.default_rng(1).normal(size=rate.shape)
    gradient = robot.vjp(question, given, weights, **settings)
    assert gradient._fields == tuple(given)
    along_it = sum(np.sum(g * along[name]) for name, g in gradient._asdict().items())
    assert_close(along_it, np.sum(weights * rate), CLOSE)
    whole = getattr(robot.derivatives, question)(**given, **settings)
    summed = sum(np.tensordot(d, along[name], np.ndim(along[name])) for name, d in whole._asdict().items())
    assert_close(summed, rate, CLOSE)


@pytest.mark.slow
@pytest.mark.parametrize("question", ["inverse_dynamics", "forward_dynamics", "integrate", "pose"])
def test_ways_of_running_and_precision(question: str) -> None:
    robot = _robot(1)
    given, along = _arguments(robot, question, 1)
    given = {
        name: x for name, x in given.items() if name in [p.name for p in find(question)[0].inputs if not p.optional]
    }
    settings, wrt = _settings(question), " ".join(given)
    kernel = robot.kernel(f"jvp {question} by {wrt}", **settings)
    arguments = [*given.values(), *(along[x] for x in given)]
    usual = kernel(*arguments)
    assert_close(kernel.with_way("interpreted")(*arguments), usual, CLOSE)
    single = kernel(*(np.asarray(x, np.float32) for x in arguments))
    assert single.dtype == np.float32
    assert_close(single, usual, 2e-3)
    batch = kernel(*(np.stack([x] * 5) for x in map(np.asarray, arguments)))
    assert_close(batch, np.stack([usual] * 5), 1e-14)


def test_frames_of_one_name_are_told_apart() -> None:
    robot = _robot(1)
    q, tangent, place = robot.neutral(), np.ones(robot.nv), on.Placement(position=(0.0, 0.0, 1.0))
    here = robot.frame("tool")
    there = on.Frame("tool", here.body, here.placement @ place)
    for way in ("interpreted", "unrolled"):
        near, far = (robot.kernel("jvp pose by q", way=way, frame=f)(q, tangent) for f in (here, there))
        assert_close(near, robot.velocity(q, tangent, here), CLOSE)
        assert_close(far, robot.velocity(q, tangent, there), CLOSE)


@pytest.mark.slow
def test_long_robots_take_products_column_by_column() -> None:
    robot = random_robot(5, 30, ALL_JOINTS, floating=True)
    rng = np.random.default_rng(0)
    q, v, tau = robot.random(rng, (2, 1)), rng.normal(size=(3, robot.nv)), rng.normal(size=robot.nv)
    found = robot.derivatives.forward_dynamics(q, v, tau, wrt=("v", "tau"))
    assert found._fields == ("v", "tau")
    few = robot.derivatives.gravity_force(q[0].astype(np.float32))
    assert few.q.dtype == np.float32
    assert found.v.shape == (2, 3, robot.nv, robot.nv)
    assert_close(found.tau, np.broadcast_to(robot.mass_matrix_inverse(q), found.tau.shape), 1e-9)


def test_gradients_are_known_functions() -> None:
    robot = _robot(0, floating=True)
    rng = np.random.default_rng(0)
    q, v = robot.random(rng, 7), rng.normal(size=(7, robot.nv))
    assert_close(robot.vjp("potential_energy", (q,), np.ones(7)).q, robot.gravity_force(q), CLOSE)
    energy = robot.vjp("kinetic_energy", {"q": q, "v": v}, np.ones(7), wrt="v")
    assert_close(energy.v, robot.mass_matrix_product(q, v), CLOSE)
    assert_close(robot.derivatives.pose(q, frame="tool").q, robot.jacobian(q, "tool"), CLOSE)
    assert_close(robot.derivatives.velocity(q, v, frame="tool", wrt="v").v, robot.jacobian(q, "tool"), CLOSE)
    assert_close(robot.derivatives.com(q, subtree=None).q, robot.com_jacobian(q), CLOSE)


def test_gradients_of_forward_dynamics_take_two_answers() -> None:
    """In sweeps of their own, which give the same as inverse dynamics at the acceleration, and then M^-1 w."""
    arm = on.load("puma560")
    kernels = [arm.kernel(name) for name in ("forward_dynamics", "vjp forward_dynamics by q v tau")]
    answer, gradient = (kernel.counts().total for kernel in kernels)
    assert gradient <= 2.1 * answer
    robot = random_robot(1, 2, [on.Spherical, on.Universal], armature=True)
    given, _ = _arguments(robot, "forward_dynamics", 1)
    w = np.random.default_rng(2).normal(size=robot.nv)
    every, other = (robot.vjp("forward_dynamics", given, w, method=x) for x in (None, "composite-body"))
    for x, y in zip(every, other, strict=True):
        assert_close(x, y, 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("joint", [x for x in ALL_JOINTS if x is not on.Fixed])
def test_derivatives_are_finite_where_answers_are(joint: type[on.Joint]) -> None:
    """At rest, at zero angles, at half a turn, and beside them: where roots and quotients of zero lurk."""
    robot = random_robot(1, 1, [joint], passive=True, armature=True)
    half = np.pi * np.eye(robot.nv)[0]
    for turn in (np.zeros(robot.nv), half, np.full(robot.nv, 1e-9)):
        q, rest = robot.integrate(robot.neutral(), turn, 1.0), np.zeros(robot.nv)
        for question in AT_REST:
            ports = [p for p in find(question)[0].inputs if not p.optional]
            scalars = {"smoothing": 0.01, "dt": 0.1}
            given = {p.name: q if p.kind == "q" else np.array(scalars.get(p.name, rest)) for p in ports}
            along = {p.name: np.ones(() if p.kind == "scalar" else robot.nv) for p in ports}
            rate = robot.jvp(question, given, along, **_settings(question))
            gradient = robot.vjp(question, given, np.ones(rate.shape), **_settings(question))
            assert all(np.isfinite(x).all() for x in (rate, *gradient)), question


def test_loops_have_derivatives() -> None:
    robot = on.load("four-bar")
    q = robot.assemble().q
    assert_close(robot.derivatives.loop_residual(q).q, robot.loop_jacobian(q), CLOSE)
    rng = np.random.default_rng(0)
    v, tau = robot.project_velocity(q, rng.normal(size=robot.nv)), rng.normal(size=robot.nv)
    moved = robot.jvp("closed_dynamics", (q, v, tau), {"tau": tau})[: robot.nv]
    h = 1e-6
    ends = [robot.forward_dynamics(q, v, tau + s * h * tau) for s in (1, -1)]
    assert_close(moved, (ends[0] - ends[1]) / (2 * h), 1e-7)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda r, q: r.jvp("pose", (q,), (), frame="tool"), "give a tangent"),
        (lambda r, q: r.jvp("pose", (), (q,), frame="tool"), "the argument 'q' is missing"),
        (lambda r, q: r.vjp("gravity_force", (q,), q, wrt="v"), "unknown argument in `wrt` 'v'"),
        (lambda r, q: r.vjp("gravity_force", (q,), q, wrt=0), "`wrt` must be a name or several names, not 0"),
        (lambda r, q: r.derivatives.gravity_force(q, wrt=np.eye(2)), "`wrt` must be a name or several names"),
        (lambda r, q: r.derivatives.pose(q, "tool"), r"takes 1 arguments, not 2: q; .*frame=\.\.\."),
        (lambda r, q: r.vjp("gravity_force", q, q), "must be a tuple of at most 1"),
        (lambda r, q: r.vjp("forward_dynamics", q, q, q, q), "not ndarray: all arguments are one tuple"),
        (lambda r, q: r.derivatives.pose(q), "^derivatives of pose: it needs the setting 'frame'"),
        (lambda r, q: r.hvp("pose", (q,), q, (q,), axs=1), "unknown setting 'axs' in derivatives of pose"),
        (lambda r, q: r.derivatives.gravity_force(q, wrt="mass"), "part of the field 'inertia'.*docs/parameters"),
        (lambda r, q: r.jvp("gravity_force", (q,), {"com": q}), "part of the field 'inertia'"),
        (lambda r, q: r.jvp("gravity_force", {"p": q}, {"q": q}), "unknown name among the arguments 'p'"),
        (lambda r, q: r.derivatives.no_such_thing(q), "unknown question 'no_such_thing'"),
        (lambda r, q: r.derivatives.poses(q, frames="tool"), "must be a list of frames"),
        (lambda r, q: r.derivatives.forward_dynamics(q, q, q, method="conjugate-gradient"), "has no derivatives"),
        (
            lambda r, q: r.jvp("gravity_force", (q,), (BAD,)),
            OF + "the tangent of 'q' has shape",
        ),
        (lambda r, q: r.jvp("gravity_force", (q,), {"gravity": [1.0]}), "the tangent of 'gravity' has shape .1,."),
        (
            lambda r, q: r.vjp("gravity_force", (q,), BAD),
            OF + "`cotangent` has shape .3,.; for",
        ),
        (lambda r, q: r.vjp("gravity_force", (q,), "w"), "`cotangent` has data type"),
        (
            lambda r, q: r.vjp("gravity_force", (np.stack([q] * 2),), np.zeros((3, 5))),
            "argument 'q' .2,., `cotangent` .3,.",
        ),
        (lambda r, q: r.derivatives.gravity_force(BAD), OF + "argument 'q' has shape"),
        (lambda r, q: r.hvp("gravity_force", (q,), BAD, (q,)), OF + "`cotangent` has shape"),
        (lambda r, q: r.hvp("gravity_force", (q,), q, (q,), cotangent_tangent=BAD), "`cotangent_tangent` has shape"),
        (lambda r, q: r.hessian("forward_dynamics", (q, q, q), BAD), "^derivatives of forward_dynamics: `cotangent`"),
        (
            lambda r, q: r.second_derivatives.forward_dynamics(q, BAD, q),
            "of forward_dynamics: argument 'v'",
        ),
    ],
)
def test_wrong_calls_are_named(call: Any, words: str) -> None:
    robot = random_robot(0, 5, [on.Revolute])
    with pytest.raises((ArgumentError, UnknownNameError), match=words):
        call(robot, robot.neutral())


def test_repeated_calls_are_those_of_the_first() -> None:
    """Later calls skip most checks: other arguments, tangents and errors must not be taken for earlier ones."""
    robot, rng = random_robot(0, 5, [on.Revolute]), np.random.default_rng(0)
    q, v, a, w = rng.normal(size=(4, 5))
    ask = "inverse_dynamics"
    J = robot.derivatives.inverse_dynamics(q, v, a)
    for _ in range(2):
        assert_close(robot.jvp(ask, (q, v, a), (w, None, None)), J.q @ w, CLOSE)
        assert_close(robot.jvp(ask, (q, v, a), (None, w, None)), J.v @ w, CLOSE)
        assert_close(robot.jvp(ask, (q, v, a), (q, None, w)), J.q @ q + J.a @ w, CLOSE)
        assert_close(robot.vjp(ask, (q, v, a), w).v, w @ J.v, CLOSE)
        assert robot.vjp(ask, (q, v, a), w, wrt=("a",))._fields == ("a",)
        assert_close(robot.vjp(ask, (q, v, a), np.stack([w, q])).q, np.stack([w, q]) @ J.q, CLOSE)
        with pytest.raises(ArgumentError, match="of inverse_dynamics: argument 'a' has shape"):
            robot.vjp(ask, (q, v, BAD), w)
        with pytest.raises(ArgumentError, match="of inverse_dynamics: argument 'v' has shape"):
            robot.derivatives.inverse_dynamics(q, BAD, a)
        with pytest.raises(ArgumentError, match="the argument 'v' is missing"):
            robot.vjp(ask, (q, None, a), w)


def test_trees_of_robots_with_loops_have_derivatives() -> None:
    robot = on.load("four-bar")
    q, rest = robot.assemble().q, np.zeros(robot.nv)
    tree = robot.with_loops([])
    assert_close(tree.derivatives.forward_dynamics(q, rest, rest).tau, tree.mass_matrix_inverse(q), CLOSE)
    with pytest.raises(ArgumentError, match="tip_acceleration"):
        robot.derivatives.tip_acceleration(q, rest, rest, frame="coupler")


def test_defaults_are_those_of_the_functions() -> None:
    robot = random_robot(0, 4, [on.Revolute], passive=True)
    q, v = robot.neutral(), np.ones(robot.nv)
    for name in ("com", "momentum", "centroidal_map"):
        arguments = (q, v) if name == "momentum" else (q,)
        assert getattr(robot.derivatives, name)(*arguments).q.shape[-1] == robot.nv
    for _ in range(2):  # calls like earlier ones take a shorter way
        assert robot.derivatives.passive_force(q, v)._fields == ("q", "v")
    assert robot.derivatives.integrate(q, v)._fields == ("q", "v")
    part = robot.derivatives.kinetic_energy(q, v, subtree=robot.bodies[-1].name)
    assert part.v.shape == (robot.nv,)
    pushed = robot.derivatives.forward_dynamics(q, v, v, external={"tool": [0, 0, 0, 0, 0, 5.0]})
    assert pushed.external.shape == (robot.nv, len(robot.bodies), 6)


def test_lists_of_frames_have_derivatives() -> None:
    robot = random_robot(0, 3, [on.Revolute, on.Spherical])
    rng = np.random.default_rng(0)
    q, v = robot.random(rng), rng.normal(size=robot.nv)
    frames = ["tool", robot.bodies[0].name]
    found = robot.derivatives.poses(q, frames=frames)
    assert_close(found.q, robot.jacobians(q, frames), CLOSE)
    assert robot.derivatives.poses(q).q.shape == (len(robot.bodies), 6, robot.nv)
    weights = rng.normal(size=(2, 6))
    gradient = robot.vjp("velocities", (q, v), weights, frames=frames)
    assert_close(gradient.v, np.tensordot(weights, robot.jacobians(q, frames), 2), CLOSE)


def test_methods_say_what_is_compiled_as_loops() -> None:
    loops = {m.name: m.as_loops for m in on.methods("forward_dynamics")}
    assert loops["articulated-body"] == ("answer", "jvp", "vjp", "hvp")
    assert loops["conjugate-gradient"] == loops["kalman-scan"] == ()
    chain = on.chain(300)
    for ask in ("vjp gravity_force by q", "jvp vjp gravity_force by q by q"):
        assert chain.kernel(ask).code.way == "rolled"


def test_methods_say_how_they_are_differentiated() -> None:
    how = {(m.question, m.name): m.derivatives for m in on.methods()}
    assert how["inverse_dynamics", "newton-euler"] == how["forward_dynamics", "articulated-body"] == "analytic"
    assert how["forward_dynamics", "armstrong"] == "implicit"
    assert how["pose", "outward"] == "graph"
    assert how["forward_dynamics", "conjugate-gradient"] == ""


def test_derivatives_keep_many_digits() -> None:
    """A product with tangents in 50 digits, against a difference in 50 digits."""
    robot = random_robot(0, 2, [on.Universal, on.Revolute])  # without quaternions, which steps make units again
    given, along = _arguments(robot, "gravity_force", 0)
    many = np.vectorize(mpmath.mpf, otypes=[object])
    with mpmath.workdps(50):
        found = robot.jvp("gravity_force", {"q": many(given["q"])}, {"q": many(along["q"])})
        ends = [_precise(robot, "gravity_force", given, along, sign * STEP) for sign in (1, -1)]
        assert max(abs(found - (ends[0] - ends[1]) / (2 * STEP))) < mpmath.mpf(10) ** -25
