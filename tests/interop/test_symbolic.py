"""Equations of motion as SymPy expressions."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import ordern as on
from tests.random_models import random_robot
from tests.tolerances import ROUNDING, assert_close


@pytest.fixture(scope="module")
def arm() -> on.Robot:
    return on.load("planar-3r")


def test_mass_matrix_of_the_planar_arm_in_closed_form(arm: on.Robot) -> None:
    """Against the derivation by hand: kinetic energy of three links in a plane."""
    M = on.symbolic(arm, "mass_matrix", parameters=True)
    q2, q3, c1, c2, c3 = sympy.symbols("q2 q3 c1x c2x c3x", real=True)
    l2, l3, m1, m2, m3, I1, I2, I3 = sympy.symbols("l2x l3x m1 m2 m3 I1zz I2zz I3zz", positive=True)
    tip = I3 + m3 * c3**2
    middle = I2 + m2 * c2**2 + m3 * (l3**2 + 2 * l3 * c3 * sympy.cos(q3)) + tip
    assert sympy.expand(M[2, 2] - tip) == 0
    assert sympy.expand(M[1, 1] - middle) == 0
    reach = m2 * l2**2 + 2 * m2 * l2 * c2 * sympy.cos(q2) + m3 * l2**2
    reach += 2 * m3 * l2 * (l3 * sympy.cos(q2) + c3 * sympy.cos(q2 + q3))
    assert sympy.expand(M[0, 0] - (I1 + m1 * c1**2 + middle + reach)) == 0


def test_torques_of_the_planar_arm_are_lagranges(arm: on.Robot) -> None:
    """d/dt dT/dv - dT/dq + dV/dq with T from the mass matrix and V from the heights, differentiated by SymPy."""
    tau = on.symbolic(arm, "inverse_dynamics", parameters=True, simplify=False)
    M = on.symbolic(arm, "mass_matrix", parameters=True, simplify=False)
    V = on.symbolic(arm, "potential_energy", parameters=True, simplify=False)
    q, v, a = (sympy.symbols(f"{x}1:4", real=True) for x in "qva")
    vs = sympy.Matrix(v)
    T = (vs.T * M * vs)[0] / 2
    for k in range(3):
        momentum = sympy.diff(T, v[k])
        rate = sum(sympy.diff(momentum, q[j]) * v[j] + sympy.diff(momentum, v[j]) * a[j] for j in range(3))
        wanted = rate - sympy.diff(T, q[k]) + sympy.diff(V, q[k])
        difference = sympy.lambdify(sorted((wanted - tau[k]).free_symbols, key=str), wanted - tau[k])
        rng = np.random.default_rng(k)
        assert abs(difference(*rng.uniform(0.5, 1.5, len((wanted - tau[k]).free_symbols)))) < 1e-12


def test_methods_agree_as_expressions() -> None:
    """Two methods give the same expressions, letter by letter: there is one form."""
    robot = on.load("planar-3r")
    one, other = (
        on.symbolic(robot, "inverse_dynamics", m, parameters=True) for m in ("newton-euler", "composite-inertia")
    )
    assert one == other


def test_textbook_form_of_two_links() -> None:
    tau = on.symbolic(on.load("double-pendulum"), "inverse_dynamics", parameters=True, gravity=True)
    wanted = (
        "a1*(I2yy + c2z**2*m2 + c2z*l2z*m2*cos(q2)) + a2*(I2yy + c2z**2*m2)"
        " - c2z*g*m2*sin(q1 + q2) + c2z*l2z*m2*v1**2*sin(q2)"
    )
    assert str(tau[1]) == wanted


@pytest.mark.slow
def test_assumptions_of_symbols() -> None:
    tau = on.symbolic(on.load("kuka-kr5"), "inverse_dynamics", parameters=True, gravity=True)
    found = {x.name: x for x in tau.free_symbols}
    assert all(x.is_real for x in found.values())
    assert all(found[name].is_positive for name in ("g", "m2", "I2zz", "l4x"))
    assert all(found[name].is_positive is None for name in ("q2", "v1", "c2x", "l4y"))
    assert "l4z" not in found  # 4e-17, a rounding of the table


@pytest.mark.slow
@pytest.mark.parametrize("question", ["inverse_dynamics", "forward_dynamics", "mass_matrix_inverse"])
def test_short_forms_keep_the_numbers(question: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Products, sums of angles, squares, and what is no polynomial; multiplied out or too long for that."""
    robot, rng = on.load("puma560" if question == "inverse_dynamics" else "planar-3r"), np.random.default_rng(1)
    kernel = robot.kernel(question)
    given = [robot.random(1) if p.kind == "q" else rng.uniform(-1.0, 1.0, robot.nv) for p in kernel.ports]
    names = [sympy.Symbol(f"{p.name}{k + 1}", real=True) for p in kernel.ports for k in range(robot.nv)]
    short = on.symbolic(robot, question)
    monkeypatch.setattr("ordern.interop.polynomials._MOST", 10)
    long = on.symbolic(robot, question)
    assert long == on.symbolic(robot, question, simplify=False) != short
    for form in (short, long):
        answer = np.array(sympy.lambdify(names, form, cse=True)(*np.concatenate(given)), float)
        assert_close(answer.reshape(kernel(*given).shape), kernel(*given), ROUNDING)


def test_gravity_keeps_its_direction() -> None:
    robot = on.Builder("ball", gravity=(3.0, 0.0, -4.0)).body("ground")
    ball = robot.body("ball", parent="ground", joint=on.Prismatic((0.0, 0.0, 1.0)), mass=2.0).build()
    assert on.symbolic(ball, "gravity_force", gravity=True)[0] == sympy.Symbol("g", positive=True) * sympy.Rational(
        8, 5
    )


def test_numbers_are_those_of_the_robot() -> None:
    robot = on.load("stanford-arm")
    M = on.symbolic(robot, "mass_matrix", simplify=False)
    q = robot.random(0)
    symbols = sympy.symbols(f"q1:{robot.nq + 1}", real=True)
    assert_close(np.array(M.subs(dict(zip(symbols, q, strict=True))), float), robot.mass_matrix(q), ROUNDING)


def test_the_inverse_is_an_inverse() -> None:
    robot = on.load("double-pendulum")
    M, inverse = (on.symbolic(robot, name, simplify=False) for name in ("mass_matrix", "mass_matrix_inverse"))
    product = sympy.lambdify(sympy.symbols("q1 q2", real=True), M * inverse)(0.3, 0.7)
    assert_close(product, np.eye(2), ROUNDING)


def test_frames_and_scalars() -> None:
    robot = on.load("double-pendulum")
    assert on.symbolic(robot, "pose", frame=robot.bodies[-1].name).shape == (4, 4)
    assert on.symbolic(robot, "kinetic_energy").is_Add


def test_what_iterates_has_no_expression() -> None:
    with pytest.raises(on.ArgumentError, match="it iterates"):
        on.symbolic(on.load("double-pendulum"), "forward_dynamics", "conjugate-gradient")


@pytest.mark.slow
@pytest.mark.parametrize("question", ["mass_matrix", "inverse_dynamics", "potential_energy", "integrate"])
@pytest.mark.parametrize(
    "robot",
    [
        random_robot(1, 1, (on.Revolute,), floating=True),
        random_robot(2, 4, (on.Revolute, on.Prismatic), mimic=True),
        random_robot(4, 2, (on.Universal, on.Helical)),
    ],
    ids=["floating", "mimic", "several freedoms"],
)
def test_short_forms_of_all_joints(robot: on.Robot, question: str) -> None:
    """Quaternions, angles times a ratio plus an offset, and axes in any direction."""
    kernel, rng = robot.kernel(question), np.random.default_rng(0)
    shapes = [on.model.core_shape(robot, p.kind) for p in kernel.ports]
    ports = list(zip(kernel.ports, shapes, strict=True))
    given = [robot.random(rng) if p.kind == "q" else rng.uniform(0.1, 1.0, shape) for p, shape in ports]
    arrays = [(p.name, np.ravel(x)) for (p, _), x in zip(ports, given, strict=True)]
    values = {f"{name}{k + 1}" if len(x) > 1 else name: y for name, x in arrays for k, y in enumerate(x)}
    found = on.symbolic(robot, question)
    symbols = sorted(found.free_symbols, key=str)
    answer = np.array(sympy.lambdify(symbols, found, cse=True)(*(values[x.name] for x in symbols)), float)
    assert_close(answer.reshape(np.shape(kernel(*given))), kernel(*given), ROUNDING)
