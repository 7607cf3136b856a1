"""Derivatives as loops: the answers of the interpreter, for every question, joint and way of storing numbers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.algorithms import find, registry
from ordern.compile.pipeline import Request, layout_of
from ordern.compile.program import choose_way
from ordern.compile.trace import rolled_replay
from ordern.compile.trace.roll import trace_rolled
from ordern.errors import CompileError
from ordern.graph import sin
from ordern.model import Tree, core_shape
from ordern.spatial import Freedoms, Real
from tests.algorithms.test_derivatives import QUESTIONS
from tests.compile.asking import relative
from tests.compile.rolled_rules import check
from tests.compile.test_c import compare
from tests.compile.test_rolled_check import SETTINGS, SWEEPS
from tests.compile.test_ways import chain, revolute
from tests.random_models import ALL_JOINTS, CUSTOM_JOINTS, Wrist, random_robot
from tests.tolerances import INVERSION, LONG_CHAIN, SINGLE, assert_close

ROBOTS = {
    "all joints": random_robot(51, 9, ALL_JOINTS, floating=True, armature=True, passive=True),
    "own joints": random_robot(52, 6, (*CUSTOM_JOINTS, Wrist, on.RollingDisc), armature=True),
    "coupled": random_robot(53, 8, (on.Revolute, on.Prismatic, on.Spherical), passive=True, mimic=True),
    "chain": random_robot(54, 5, (on.Revolute,), chain=True),
}
ASKED = (*(x for x in QUESTIONS if x != "coriolis_matrix"), "body_poses")
"""The matrix of Coriolis forces takes the interpreter minutes."""
FORWARD = "vjp forward_dynamics"
STATES = 11
"""More than two vectors of states: what one tile leaves behind must not reach the next."""


def name_of(mode: str, question: str) -> str:
    return f"{mode} {question} by {' '.join(p.name for p in find(question)[0].inputs)}"


def arguments(robot: on.Robot, name: str, seed: int = 0) -> list[np.ndarray]:
    """Random arguments of a question about derivatives, all that it has."""
    rng = np.random.default_rng(seed)
    shapes = ((p.kind, core_shape(robot, p.kind)) for p in find(name)[0].inputs)
    return [
        robot.random(rng, STATES) if kind == "q" else np.abs(rng.normal(size=(STATES, *shape)))
        for kind, shape in shapes
    ]


def asked(robot: on.Robot, name: str, way: str, method: str | None = None) -> on.Kernel:
    settings = {x: {"frame": "tool", "axes": "world", "kind": "classical"}[x] for x in find(name, method)[0].options}
    return robot.kernel(name, method, way=way, **settings)


QUICK = {("chain", "mass_matrix"), ("coupled", "pose")}


@pytest.mark.parametrize(
    ("robot", "question"),
    [
        pytest.param(robot, question, marks=() if (robot, question) in QUICK else pytest.mark.slow)
        for robot in ROBOTS
        for question in ASKED
    ],
)
def test_loops_are_straight_line_code(robot: str, question: str) -> None:
    for mode in ("jvp", "vjp"):
        name = name_of(mode, question)
        given = arguments(ROBOTS[robot], name)
        kernel = asked(ROBOTS[robot], name, "rolled")
        expected = asked(ROBOTS[robot], name, "interpreted")(*given)
        assert kernel.code.way == "rolled"
        assert relative(kernel(*given), expected) <= INVERSION, mode


@pytest.mark.slow
@pytest.mark.parametrize("question", ["inverse_dynamics", "forward_dynamics", "mass_matrix", "integrate"])
def test_single_precision(question: str) -> None:
    robot = ROBOTS["all joints"]
    for mode in ("jvp", "vjp"):
        name = name_of(mode, question)
        given = [x.astype(np.float32) for x in arguments(robot, name)]
        answer = asked(robot, name, "rolled")(*given)
        assert answer.dtype == np.float32
        exact = asked(robot, name, "interpreted")(*(x.astype(float) for x in given))
        assert relative(answer, exact) <= 10 * SINGLE, mode


METHODS = [
    *(("mass_matrix", m) for m in ("unit-acceleration", "operator", "denoc")),
    ("coriolis_matrix", "saha"),
    *(("mass_matrix_factor", m) for m in ("ltl", "ltdl", "udu")),
    *(("forward_dynamics", m) for m in ("bae-haug", "two-sweep", "vereshchagin")),
    ("inverse_dynamics", "newton-euler-absolute"),
]
"""Methods whose loops are nested, or lead along paths, or overwrite matrices in place."""


@pytest.mark.slow
@pytest.mark.parametrize(("question", "method"), METHODS)
def test_loops_over_freedoms_and_walks(question: str, method: str) -> None:
    robot = random_robot(55, 5, (on.Revolute, on.Universal, on.Prismatic), armature=True)
    for mode in ("jvp", "vjp"):
        name = f"{mode} {question} by q"
        given = [x for x in arguments(robot, name) if x is not None]
        required = [x for p, x in zip(find(name, method)[0].inputs, given, strict=True) if not p.optional]
        expected = asked(robot, name, "interpreted", method)(*required)
        assert relative(asked(robot, name, "rolled", method)(*required), expected) <= INVERSION, mode


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "jvp vjp forward_dynamics by q v tau by q v",
        "vjp jvp inverse_dynamics by q v by q v",
        "jvp vjp mass_matrix by q by q",
        "jvp jvp pose by q by q",
    ],
)
def test_derivatives_of_derivatives(name: str) -> None:
    robot = random_robot(57, 4, (on.Revolute, on.Spherical, on.Planar), chain=True, armature=True)
    given = [x for p, x in zip(find(name)[0].inputs, arguments(robot, name), strict=True) if not p.optional]
    kernel, expected = asked(robot, name, "rolled"), asked(robot, name, "interpreted")(*given)
    assert relative(kernel(*given), expected) <= INVERSION
    assert kernel.code.object


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["push", "pull"])
@pytest.mark.parametrize(
    "asked_by", ["forward_dynamics by q v tau", "integrate by q v dt", "euler_velocity by q v a dt"]
)
def test_derivatives_by_the_numbers_of_arguments(mode: str, asked_by: str) -> None:
    robot, name = random_robot(58, 5, (on.Revolute, on.Planar, on.Prismatic), armature=True), f"{mode} {asked_by}"
    given = [x for p, x in zip(find(name)[0].inputs, arguments(robot, name), strict=True) if not p.optional]
    expected = robot.kernel(name, way="interpreted")(*given)
    assert relative(robot.kernel(name, way="rolled")(*given), expected) <= INVERSION


@pytest.mark.slow
def test_all_methods_keep_the_rules() -> None:
    robot, count = random_robot(42, 4, (on.Revolute, on.Prismatic), passive=True, mimic=True), 0
    for method in SWEEPS:
        base = find(method.question)[0]
        if (method.refuses and method.refuses(robot)) or not base.inputs or {"frames", "subtree"} & {*base.options}:
            continue
        if any(x not in SETTINGS for x in base.options):
            continue
        for mode in ("jvp", "vjp"):
            question, algorithm = find(f"{mode} {base.name} by {base.inputs[0].name}", method.name)
            options = tuple((x, SETTINGS[x]) for x in sorted(base.options))
            request = Request(robot, question, algorithm, frozenset(), options, "rolled")
            layout = layout_of(request, 1)
            if layout.output.size:
                check(trace_rolled(request, layout), layout)
                count += 1
    assert count > 120


@pytest.fixture
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    registry.import_all()
    monkeypatch.setattr(registry, "_ALGORITHMS", dict(registry._ALGORITHMS))
    yield


@pytest.mark.usefixtures("_own_registry")
def test_numbers_that_are_overwritten() -> None:
    """Fields that change at their own body, at the parent, and along a chain; a register; a result that is read."""

    @on.algorithm("gravity_force", "overwritten")
    def overwritten(tree: Tree, q: Any) -> Any:
        E, total, out = tree.field(Real), tree.register(1.0), tree.output("v")
        for i, _ in tree.outward():
            E[i] = sin(q[i][0]) + 2.0
        for i, p in tree.outward():
            E[i] = E[i] * E[i] + E[p]
            out[i] = Freedoms((E[i] * q[i][0],))
        for i, p in tree.inward():
            E[p] = E[p] * E[i] / 100.0 + q[i][0]
            total.value = total.value * E[i] / 10.0
            out[i] = out[i] * out[i][0]
        for i, _ in tree.outward():
            out[i] = Freedoms((out[i][0] * total.value + E[tree.base] * E[i],))
        return out

    robot = ROBOTS["chain"]
    for mode in ("jvp", "vjp"):
        name = f"{mode} gravity_force by q"
        given = arguments(robot, name)
        ways = [robot.kernel(name, "overwritten", way=way)(*given) for way in ("rolled", "interpreted")]
        assert relative(*ways) <= INVERSION, mode


@pytest.mark.slow
def test_robots_with_numbers_that_vary() -> None:
    robot = random_robot(59, 12, (on.Revolute, on.Spherical), floating=True)
    mass, gravity = np.linspace(1.0, 3.0, STATES), np.random.default_rng(0).normal(size=(STATES, 3))
    varied = robot.vary(mass={robot.bodies[4].name: mass}, gravity=gravity)
    for name in (name_of("vjp", "forward_dynamics"), name_of("vjp", "inverse_dynamics")):
        given = arguments(robot, name)
        answer = varied.kernel(name, way="rolled")(*given)
        for k in (0, STATES - 1):
            one = robot.vary(mass={robot.bodies[4].name: mass[k]}, gravity=gravity[k])
            expected = one.kernel(name, way="interpreted")(*(x[k] for x in given))
            assert_close(answer[k], expected, INVERSION)


@pytest.mark.slow
@pytest.mark.parametrize("question", ["inverse_dynamics", "forward_dynamics"])
def test_a_thousand_links_against_differences(question: str) -> None:
    """Along random directions, by differences in longdouble, whose error is 1e-12."""
    robot, rng = chain(1000, revolute), np.random.default_rng(1)
    q, v, x, w, *along = (rng.normal(size=(2, 1000)) for _ in range(7))
    kernel = robot.kernel(question, way="interpreted")
    h = np.longdouble(1e-7)

    def moved(sign: int) -> np.ndarray:
        return kernel(*(np.longdouble(y) + sign * h * dy for y, dy in zip((q, v, x), along, strict=True)))

    rate = (moved(1) - moved(-1)) / (2 * h)
    gradient = robot.vjp(question, (q, v, x), w)
    summed = sum(np.sum(g * dy, axis=1) for g, dy in zip(gradient, along, strict=True))
    assert_close(robot.jvp(question, (q, v, x), along), np.asarray(rate, float), LONG_CHAIN)
    assert_close(summed, np.sum(w * rate, axis=1).astype(float), 10 * LONG_CHAIN)
    names = [p.name for p in find(question)[0].inputs][:3]
    assert robot.kernel(f"vjp {question} by {' '.join(names)}").code.way == "rolled"


@pytest.mark.slow
def test_operations_and_memory_grow_with_the_number_of_links() -> None:
    kernels = [on.chain(n).kernel(f"{FORWARD} by q v tau") for n in (500, 1000, 1500)]
    operations = [k.counts().total for k in kernels]
    numbers = [k.code.workspace for k in kernels]
    assert operations[2] - operations[1] == operations[1] - operations[0] > 0
    assert numbers[2] - numbers[1] == numbers[1] - numbers[0] <= 500 * 60
    assert operations[0] < 2.1 * on.chain(500).kernel("forward_dynamics").counts().total
    assert [k.code.way for k in kernels] == ["rolled"] * 3
    by_force, solve = (on.chain(500).kernel(x, way="rolled") for x in (f"{FORWARD} by tau", "mass_matrix_solve"))
    assert by_force.counts() == solve.counts()  # what the result does not need is dropped


def test_a_tape_that_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rolled_replay, "_LARGEST_TAPE", 100)
    monkeypatch.setenv("ORDERN_CACHE", "off")
    robot = random_robot(56, 12, (on.Revolute,), chain=True)
    kernel = on.Kernel(robot, "vjp mass_matrix by q", way="rolled")
    with pytest.raises(CompileError, match=r"keep more than 100 numbers of each state in memory\. Choose"):
        kernel(robot.neutral(), np.eye(robot.nv))
    assert choose_way(on.Kernel(robot, "vjp mass_matrix by q").request) == "unrolled"


@pytest.mark.slow
def test_c_code(tmp_path: Path) -> None:
    """Its workspace holds NaN at first: an adjoint that is read before it is set shows."""
    short = ("inverse_dynamics", "kinetic_energy", "pose", "velocity", "jacobian", "integrate", "mass_matrix")
    names = [f"{mode} {question} by q" for mode in ("jvp", "vjp") for question in short]
    compare([asked(ROBOTS["coupled"], name, "rolled") for name in names], tmp_path, way="interpreted")
