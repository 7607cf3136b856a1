"""Saha's examples: torques and free falls against derivations by hand, Pinocchio with SciPy, and 50 digits."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import sympy

import ordern as on
from ordern.papers import denoc_counts, others, saha, step_counts
from ordern.papers.costs import revolute_arm
from ordern.papers.many_digits import extrapolated
from ordern.papers.planar import SAHA, falling
from tests.tolerances import FREE_FALL, KEPT_ENERGY, PEER, REQUESTED, ROUNDING, assert_close

TIMES = [0.25, 0.5, 0.75, 1.0]
STANFORD_TAU = (13.3416, 11.3796)
"""tau_2 at the start of (39), by statics, with the mass centre of link 4 .1 m beyond the next origin, and as it would
be with the other sign."""


def test_the_trajectories_are_those_of_the_paper() -> None:
    t, (q, v, a), _ = saha.planar_torques()
    x = 2.0 * np.pi * t[:, None] / 10.0
    assert_close(q, np.tile(0.5 * (x - np.sin(x)), 3), ROUNDING)
    assert_close(v, np.tile(0.5 * np.pi / 5.0 * (1.0 - np.cos(x)), 3), ROUNDING)
    assert_close(a, np.tile(0.5 * (np.pi / 5.0) ** 2 * np.sin(x), 3), ROUNDING)
    _, (q, v, _), _ = saha.stanford_torques()
    assert_close(np.degrees(q[0, [0, 1, 3, 4, 5]]), [0, 90, 0, 0, 0], ROUNDING)
    assert_close(np.degrees(q[-1, [0, 1, 3, 4, 5]]), [60] * 5, ROUNDING)
    assert_close([q[0, 2], q[-1, 2], *v[0], *v[-1]], [0, 0.1, *[0] * 12], ROUNDING)


def test_planar_torques() -> None:
    """Figure 5: by hand, and by Pinocchio."""
    _, motion, tau = saha.planar_torques()
    assert_close(tau, SAHA.torques(*motion), ROUNDING)
    assert_close(tau, others.torques(others.planar, *motion), PEER)


def test_the_equations_in_closed_form_are_those_derived_by_hand() -> None:
    """In 30 digits, with lengths and masses as symbols, at a point that is nothing special."""
    tau = on.symbolic(on.load("planar-3r"), "inverse_dynamics", "newton-euler", parameters=True, simplify=False)
    rng = np.random.default_rng(0)
    names = sorted({s.name for x in tau for s in x.free_symbols})
    values = {n: sympy.Rational(int(rng.integers(100, 999)), 500) for n in names}
    n = range(1, 4)
    l = [values["l2x"], values["l3x"], 0]
    m, c, I = ([values[f"{a}{k}{b}"] for k in n] for a, b in (("m", ""), ("c", "x"), ("I", "zz")))
    p, w, u = (np.cumsum([values[f"{x}{k}"] for k in n]) for x in "qva")
    mass, g = [sum(m[k + 1 :]) for k in range(3)], sympy.Float(9.81, 40)
    b = [m[k] * c[k] + mass[k] * l[k] for k in range(3)]
    A = [[l[min(i, j)] * b[max(i, j)] for j in range(3)] for i in range(3)]
    for k in range(3):
        A[k][k] = I[k] + m[k] * c[k] ** 2 + mass[k] * l[k] ** 2
    terms = [
        sum(A[i][j] * (sympy.cos(p[i] - p[j]) * u[j] + sympy.sin(p[i] - p[j]) * w[j] ** 2) for j in range(3))
        + g * b[i] * sympy.cos(p[i])
        for i in range(3)
    ]
    for k in range(3):
        mine = tau[k].subs({s: values[s.name] for s in tau[k].free_symbols}).evalf(30)
        assert abs(mine - sum(terms[k:]).evalf(30)) < ROUNDING


def test_stanford_torques() -> None:
    """Figure 8: by Pinocchio, and by statics at the start."""
    _, motion, tau = saha.stanford_torques()
    assert_close(tau, others.torques(others.stanford, *motion), PEER)
    g, arm = 9.81, 0.6
    right, wrong = (g * (1.0 * (arm + s * 0.1) + (0.6 + 0.5) * arm) for s in (1, -1))
    assert_close([right, wrong], STANFORD_TAU, ROUNDING)
    assert_close(tau[0, 1], right, PEER)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "until"), [("planar-3r", 10.0), ("stanford-arm", 1.0)])
def test_energy_is_kept_in_free_fall(name: str, until: float) -> None:
    result = saha.free_fall(name, until)
    energy = result.robot.kinetic_energy(result.q, result.v) + result.robot.potential_energy(result.q)
    kinetic = result.robot.kinetic_energy(result.q, result.v).max()
    assert result.t[-1] == until
    assert np.abs(energy - energy[0]).max() / kinetic < KEPT_ENERGY


@pytest.mark.slow
@pytest.mark.parametrize("name", ["planar-3r", "stanford-arm"])
def test_free_fall_is_that_of_scipy_around_pinocchio(name: str) -> None:
    """Figures 6 and 9."""
    model = {"planar-3r": others.planar, "stanford-arm": others.stanford}[name]()
    q, v = others.motion(model, on.robots.positions(name)["initial"], TIMES)
    result = saha.free_fall(name, TIMES)
    assert_close(result.q, q, FREE_FALL)
    assert_close(result.v, v, FREE_FALL)


@pytest.mark.slow
def test_planar_free_fall_is_that_of_fifty_digits() -> None:
    exact = falling(SAHA, (0, 0, 0), TIMES[:2]).astype(float)
    result = saha.free_fall("planar-3r", TIMES[:2])
    assert_close(np.concatenate([result.q, result.v], axis=1), exact, REQUESTED)
    assert result.q[0, 0] < 0.0  # as the paper notes


@pytest.mark.slow
def test_fifty_digits_do_not_depend_on_the_digits() -> None:
    one, other = (falling(SAHA, (0, 0, 0), [0.3], digits) for digits in (50, 60))
    assert max(abs(float(a - b)) for a, b in zip(one[0], other[0], strict=True)) < 1e-23


@pytest.mark.slow
def test_stanford_free_fall_is_that_of_fifty_digits() -> None:
    start = on.robots.positions("stanford-arm")["initial"]
    exact, left = extrapolated(on.load("stanford-arm"), start, 0.05, 2, columns=5)
    assert left < REQUESTED**1.5
    result = saha.free_fall("stanford-arm", [0.05])
    assert_close(np.concatenate([result.q[0], result.v[0]]), exact.astype(float), REQUESTED)


@pytest.mark.slow
def test_the_paper_s_arms_take_as_many_steps_by_every_method() -> None:
    """Rounding apart, which is far below these tolerances."""
    found = step_counts.cases()
    for name in ("the planar arm, 2 s", "the Stanford arm, 1 s"):
        runs = [step_counts.step_counts(*found[name], m, [1e-6, 1e-8]) for m in ("denoc", "composite-body")]
        tried = np.array([[r.steps + r.rejected for r in run] for run in runs])
        assert np.abs(tried[0] - tried[1]).max() <= 2
        assert all(r.drift < 1e-5 for run in runs for r in run)


@pytest.mark.slow
def test_a_heavy_tip_takes_more_steps_with_a_factorised_mass_matrix() -> None:
    case = next(x for name, x in step_counts.cases().items() if "heavy" in name)
    one, other = (step_counts.step_counts(*case, m, [1e-12])[0] for m in ("articulated-body", "composite-body"))
    assert other.steps + other.rejected > 4 * (one.steps + one.rejected)


@pytest.mark.slow
def test_the_classes_of_operations_are_all_of_them() -> None:
    """Of both texts, and as many as the counter finds."""
    for n in (6, 8):
        found = denoc_counts.classes("denoc", n)
        whole = on.count(revolute_arm(n), "forward_dynamics", "denoc")
        assert found["whole"] == (whole.multiplications + whole.divisions, whole.additions)
        for k in (0, 1):
            assert sum(found[name][k] for name in denoc_counts.CLASSES) == found["whole"][k]
            assert found["inertia"][k] + found["sweeps"][k] == found["given phi"][k]


def test_given_phi_the_classes_are_those_of_solving_with_the_mass_matrix() -> None:
    """Of `articulated-body`, at rest and without gravity, nothing else is left; that is another text."""
    solved = on.count(revolute_arm(6), "mass_matrix_solve")
    expected = (solved.multiplications + solved.divisions, solved.additions)
    assert denoc_counts.classes("articulated-body", 6)["given phi"] == expected


@pytest.mark.slow
def test_what_one_link_takes_is_what_the_class_grows_by() -> None:
    """All multiplications of the class; of additions, those to the parent's inertia are left."""
    link, (M, A) = denoc_counts.one_link(), denoc_counts.formulas("denoc", "inertia")
    assert M.startswith(f"{link['eliminate'][0] + link['move'][0]}n")
    more = int(A.split("n")[0]) - link["eliminate"][1] - link["move"][1]
    assert 0 < more <= 21


@pytest.mark.slow
def test_the_explanation_has_his_numbers_and_ours() -> None:
    text = denoc_counts.section()
    for words in ("201n - 335", "193n - 361", "289n - 419", "871 / 797", "2077 / 1955", "191n - 294"):
        assert words in text


def test_what_the_page_says_of_steps_is_what_its_tables_say() -> None:
    page = (Path(__file__).parents[2] / "docs" / "papers" / "saha.md").read_text(encoding="utf-8")
    found, methods = {}, [*step_counts.LINEAR, *step_counts.CUBIC]
    for name in step_counts.cases():
        after = page.partition(f"{name[0].upper()}{name[1:]}:\n")[2]
        lines = [line for line in after.splitlines() if line.startswith("| `")][: len(methods)]
        rows = [line.strip("| ").split(" | ") for line in lines]
        assert [row[0].strip("`") for row in rows] == methods
        cells = [[re.split(r" \+ |, ", x) for x in row[2:]] for row in rows]
        runs = [[step_counts.Run(int(a), int(b), float(c)) for a, b, c in row] for row in cells]
        found[name] = dict(zip(methods, runs, strict=True))
    assert step_counts.verdict(found) in page
