"""The matrix: whatever meets in a robot, all ways to compute its motion agree with definitions and differences.

Values are those of the interpreter, derivatives those of central differences, and other libraries those of NumPy. What
is not supported is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import numpy as np
import pytest

import ordern as on
from tests.compile.ptx_tools import rollout_here
from tests.everywhere import DT, KINDS, SMOOTHING, STEPS, TERMS, Case, definition, expected, rates, rollout
from tests.gpu.conftest import gpu, install  # noqa: F401
from tests.tolerances import FINITE_DIFFERENCE, INVERSION, METHODS, SINGLE, assert_close

QUICK = (Case("sprung loop", touching=True), Case("tree", varied=True))
WHOLE = tuple(Case(*x, "all") for x in product(KINDS, (False, True), (False, True)))
EVERY = WHOLE + tuple(
    Case(kind, bool((i + j) & 1), bool((i + j) & 2), term)
    for (i, kind), (j, term) in product(enumerate(KINDS), enumerate(TERMS[:-1]))
)
"""Everything at once for each robot, and each term alone in one of four ways."""


def over(cases: Iterable[Case], quick: Iterable[Case] = QUICK) -> Any:
    """Return the parametrization over cases, of which some are in the quick run."""
    marked = [pytest.param(x, marks=() if x in quick else pytest.mark.slow, id=str(x)) for x in cases]
    return pytest.mark.parametrize("case", marked)


def ends(run: Any) -> tuple[Any, Any]:
    """Return the state after the last step."""
    return run.q[..., -1, :], run.v[..., -1, :]


def scaled(found: Iterable[Any], known: Iterable[Any], allowed: float) -> None:
    """Compare arrays relative to the largest number of all."""
    found, known = list(found), list(known)
    size = max(1.0, *(float(np.abs(x).max()) for x in known))
    for x, y in zip(found, known, strict=True):
        assert_close(np.asarray(x) / size, np.asarray(y) / size, allowed)


def weighted(weights: Iterable[Any], state: Iterable[Any]) -> Any:
    """Return the weighted sum of a state."""
    return sum((w * x).sum() for w, x in zip(weights, state, strict=True))


@over(EVERY)
def test_rollouts(case: Case) -> None:
    robot, given, along = case.robot(), case.arguments(), case.tangents()
    run = rollout(robot, given, **({} if case.touching else {"method": "rk4"}))
    assert not case.touching or (run.contact_impulses != 0.0).any()
    scaled(ends(run), expected(case), INVERSION if case.touching else METHODS)
    run, chart = rollout(robot, given), Case(case.kind).robot()
    found = run.jvp(**along)

    def moved(robot: on.Robot, given: dict[str, Any]) -> tuple[Any, Any]:
        there = rollout(robot, given)
        return chart.difference(run.q, there.q), there.v

    scaled(found, rates(case, moved), FINITE_DIFFERENCE)
    weights = np.random.default_rng(0).normal(size=(2, *run.v.shape))
    gradient = run.vjp(*weights, wrt=tuple(along))
    total = sum(np.sum(getattr(gradient, x) * along[x]) for x in along)
    scaled([total], [np.sum(weights[0] * found.q + weights[1] * found.v)], METHODS)


@over(WHOLE, [Case("tree", touching=True)])
def test_rollouts_in_single_precision(case: Case) -> None:
    given, along = case.arguments(), case.tangents()
    run, known = rollout(case.robot(), in_single(given)), rollout(case.robot(), given)
    assert run.v.dtype == (np.float64 if case.robot().nc else np.float32)  # loops take double precision
    scaled(ends(run), ends(known), SINGLE)
    scaled(run.jvp(**along), known.jvp(**along), 10 * SINGLE)


def in_single(given: dict[str, Any]) -> dict[str, Any]:
    return {name: x if name == "dt" else np.asarray(x, np.float32) for name, x in given.items()}


@over(WHOLE, [Case("sprung loop", touching=True), Case("tree", varied=True)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rollouts_on_a_device(case: Case, dtype: str, gpu: Any) -> None:  # noqa: F811
    given = case.arguments() if dtype == "float64" else in_single(case.arguments())
    found = rollout(case.robot(), given, device="cuda")
    scaled(ends(found), ends(rollout(case.robot(), given)), INVERSION if dtype == "float64" else SINGLE)


@over([x for x in EVERY if not x.touching and x.term != "feedback"], [Case("mimic")])
@pytest.mark.parametrize("method", ["semi-implicit-euler", "rk4"])
def test_linearized_steps(case: Case, method: str) -> None:
    robot, here, along = case.robot(), case.arguments(), case.tangents()
    settings = {"method": method, "external": here.get("external"), "smoothing": SMOOTHING}
    found = robot.linearise(here["q0"], here["v0"], here["tau"], DT, **settings)

    def step(_: on.Robot, given: dict[str, Any]) -> Any:
        return ends(robot.rollout(given["q0"], given["v0"], given["tau"], 1, DT, **settings))

    q, v = step(robot, here)
    scaled((found.q, found.v), (q, v), METHODS)
    chart, start = Case(case.kind).robot(), np.concatenate([along["q0"], along["v0"]])
    moved = rates(case, lambda r, x: (chart.difference(q, (end := step(r, x))[0]), end[1]))
    rows = [*found.positions, *(robot.nv + k for k in found.velocities)]
    change = found.A @ start[rows] + found.B @ along["tau"]
    scaled([change], [np.concatenate(moved, axis=-1)[..., rows]], FINITE_DIFFERENCE)


@pytest.mark.slow
def test_a_simulation_by_inertias_that_are_zero() -> None:
    case = Case("tree", varied=True, term="plain")
    robot, given, change = case.robot().folded(0).vary(mass=1.1), case.arguments(), case.heavier[0]

    def run(robot: on.Robot) -> on.Result:
        return robot.simulate(given["q0"], given["v0"], until=0.1)

    result, inertia, h = run(robot), robot.parameters.inertia, 1e-3
    v = [run(robot.with_parameters(inertia=inertia + s * change)).v[-1].sum() for s in (h, -h)]
    weights = np.r_[np.zeros((len(result.t) - 1, robot.nv)), np.ones((1, robot.nv))]
    found = np.sum(result.vjp(v=weights, wrt="inertia").inertia * change), result.jvp(inertia=change).v[-1].sum()
    assert_close(found, np.full(2, (v[0] - v[1]) / (2.0 * h)), FINITE_DIFFERENCE)


@pytest.mark.slow
def test_a_friction_of_contacts_that_varies() -> None:
    """It slides, so that its velocity at the end depends on friction."""
    case = Case("tree", touching=True, term="plain")
    given = {name: x for name, x in case.arguments().items() if name != "contact_friction"}

    def run(friction: float) -> on.Rollout:
        return rollout(case.robot().vary(contact_friction=[friction]), given)

    weights = np.r_[np.zeros((4, 5)), np.ones((1, 5))]
    slope = (run(0.5 + 1e-5).v[-1].sum() - run(0.5 - 1e-5).v[-1].sum()) / 2e-5
    assert abs(slope) > 1.0
    gradient = run(0.5).vjp(v=weights)
    assert "contact_friction" in gradient._fields
    assert_close(gradient.contact_friction[0], slope, FINITE_DIFFERENCE)


@over(
    [Case(kind, varied, term="damping") for kind, varied in product(KINDS, (False, True))],
    [Case("mimic", term="damping")],
)
@pytest.mark.parametrize("question", ["forward_dynamics", "inverse_dynamics"])
def test_dynamics(case: Case, question: str) -> None:
    """Of first and second order. At a closed state, stabilised accelerations are those of closed loops."""
    robot, along = case.robot(), case.tangents()
    names = ["q", "v", "tau" if question == "forward_dynamics" else "a", *(["inertia"] if case.varied else [])]
    change = {name: along[x] for name, x in zip(names, ("q0", "v0", "tau", "inertia"), strict=False)}

    def at(given: dict[str, Any]) -> tuple[Any, ...]:
        return given["q0"], given["v0"], given["tau"]

    here = at(case.arguments())
    closed = robot.nc > 0 and question == "forward_dynamics"
    known = definition(robot, "stabilised_dynamics" if closed else question, **dict(zip(names, here, strict=False)))
    found, weights = robot.jvp(question, here, change), np.random.default_rng(0).normal(size=known.shape)
    scaled([getattr(robot, question)(*here)], [known], INVERSION)
    scaled([found], rates(case, lambda r, x: (getattr(r, question)(*at(x)),)), FINITE_DIFFERENCE)
    gradient = robot.vjp(question, here, weights, wrt=names)
    scaled([weighted((getattr(gradient, x) for x in names), change.values())], [np.sum(weights * found)], METHODS)
    refused = "depend on each other" if case.kind.endswith("loop") else "not by 'inertia'" if case.varied else ""
    if closed and refused:
        with pytest.raises(on.OrdernError, match=f"second derivatives of forward_dynamics.*{refused}"):
            robot.hvp(question, here, weights, change, wrt=names)
        return
    second = rates(case, lambda r, x: tuple(r.vjp(question, at(x), weights, wrt=names)))
    scaled(robot.hvp(question, here, weights, change, wrt=names), second, FINITE_DIFFERENCE)


def test_passive_forces_of_mechanisms_are_those_of_tree_and_loops() -> None:
    """A follower's force counts once in the sum, as in its parts."""
    builder = Case("sprung loop").robot().builder()
    builder.body("fin", mass=0.1, inertia=(0.01, 0.01, 0.01), damping=0.5, parent="trunk", joint=on.Revolute((0, 1, 0)),
        joint_name="flap", mimic=("drive", 0.5, 0.1))  # fmt: skip
    robot, given = builder.build(), Case("sprung loop").arguments()
    q, v = given["q0"], given["v0"]
    whole = robot.kernel("all_passive_force")(q, v, 0.1)
    assert_close(whole, robot.passive_force(q, v, 0.1) + robot.loop_passive_force(q, v, 0.1), METHODS)


def numbers_of(case: Case) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return all that varies and its rates, by the numbers of positions."""
    given, along, chart = case.arguments(), case.tangents(), Case(case.kind).robot()
    along |= {x: chart.position_rate(given[x], along[x]) for x in ("q0", "target") if x in given}
    return {**given, **({"inertia": case.robot().parameters.inertia.copy()} if case.varied else {})}, along


def state_of(case: Case) -> Callable[[dict[str, Any]], Any]:
    """Return the function from all that varies to the state at the end."""
    robot = Case(case.kind, False, case.touching, case.term).robot()

    def answer(given: dict[str, Any]) -> Any:
        rest = {name: x for name, x in given.items() if name != "inertia"}
        return ends(rollout(robot.with_parameters(inertia=given["inertia"]) if case.varied else robot, rest))

    return answer


def of_numpy(case: Case) -> tuple[Any, Any, Any]:
    """Return the state at the end, its rate by numbers, and weights."""
    run, chart = rollout(case.robot(), case.arguments()), Case(case.kind).robot()
    (q, v), (dq, dv) = ends(run), ends(run.jvp(**case.tangents()))
    rng = np.random.default_rng(0)
    return (q, v), (chart.position_rate(q, dq), dv), (rng.normal(size=q.shape), rng.normal(size=v.shape))


@pytest.mark.needs("jax")
@over(WHOLE, ())
def test_jax(case: Case) -> None:
    import jax
    import jax.numpy as jnp

    from tests.worlds.jax_precision import precision

    known, moved, weights = of_numpy(case)
    with precision(True):
        x, dx = (jax.tree_util.tree_map(jnp.asarray, y) for y in numbers_of(case))

        def cost(x: Any) -> Any:
            return weighted(weights, state_of(case)(x))

        values, along = jax.jvp(state_of(case), (x,), (dx,))
        gradient = jax.grad(cost)(x)
        total = sum((gradient[name] * dx[name]).sum() for name in x)
    scaled((*values, *along, total), (*known, *moved, weighted(weights, moved)), METHODS)


@pytest.mark.slow
@pytest.mark.needs("jax")
def test_second_derivatives_of_rollouts_in_jax() -> None:
    """Products with the Hessian of the state at the end: differences of first derivatives."""
    import jax

    from tests.worlds.jax_precision import precision

    case, h = Case("sprung loop", touching=True, term="plain"), 1e-5
    (x, dx), weights = numbers_of(case), of_numpy(case)[2]

    def cost(x: Any) -> Any:
        return weighted(weights, state_of(case)(x))

    with precision(True):
        _, second = jax.jvp(jax.grad(cost), (x,), (dx,))
        found = float(weighted(second.values(), (dx[name] for name in second)))
        ends = [jax.jvp(cost, ({name: x[name] + s * dx[name] for name in x},), (dx,))[1] for s in (h, -h)]
        known = float(ends[0] - ends[1]) / (2.0 * h)
    assert abs(found) > 0.01
    scaled([found], [known], FINITE_DIFFERENCE)


@pytest.mark.needs("torch")
@over(WHOLE, ())
def test_torch(case: Case) -> None:
    import torch

    known, moved, weights = of_numpy(case)
    x, dx = ({name: torch.tensor(y, dtype=torch.float64) for name, y in some.items()} for some in numbers_of(case))

    def answer(*given: Any) -> Any:
        return state_of(case)(dict(zip(x, given, strict=True)))

    values, along = torch.func.jvp(answer, tuple(x.values()), tuple(dx[name] for name in x))
    cost = weighted(map(torch.tensor, weights), answer(*(y.requires_grad_() for y in x.values())))
    gradient = torch.autograd.grad(cost, list(x.values()))
    total = sum((g * dx[name]).sum() for g, name in zip(gradient, x, strict=True))
    found = (y.detach().numpy() for y in (*values, *along, total))
    scaled(found, (*known, *moved, weighted(weights, moved)), METHODS)


@over([x for x in WHOLE if not x.varied], [Case("sprung loop", touching=True)])
def test_code_for_gpus(case: Case) -> None:
    """Its text, run on this machine."""
    robot, given = case.robot(), case.arguments()
    run, h = rollout(robot, given), given["dt"]
    damping = given["kd"] + h * given["kp"]  # gains are implicit
    rows = {"q0": given["q0"], "v0": given["v0"], "tau": given["tau"][None], "goal": given["target"][None]}
    rows["external"] = given["external"].reshape(1, -1)
    if case.touching:
        rows |= {"pushes0": np.zeros(run.contacts.pushes.shape[-1]), "limits": np.r_[robot.lower, robot.upper]}
        rows["surfaces"] = np.r_[given["contact_friction"], 0.0, given["ground_height"]]
    arrays = {name: np.ascontiguousarray(x[None]) for name, x in rows.items()}
    effort = np.full(robot.nv, np.inf)
    arrays["numbers"] = np.r_[h, SMOOTHING, 0.0, 0.0, 1.0, given["kp"], damping, effort]
    found = rollout_here(robot, "semi-implicit-euler", arrays, STEPS, STEPS)
    scaled((x[0, -1] for x in found[:2]), ends(run), INVERSION)
