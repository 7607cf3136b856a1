"""Derivatives of functions that keep loops closed: against differences in 50 digits, of answers, and Pinocchio's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

import ordern as on
from ordern.errors import ArgumentError, InconsistentStateError, LoopError, SingularError, UnknownNameError
from tests.loops.closed_systems import LOOP_TYPES, closed_robot, motion_state
from tests.tolerances import FINITE_DIFFERENCE, PROXIMAL_PEER, assert_close

Array = NDArray[np.float64]
STEP = mpmath.mpf(10) ** -15
CLOSE = 1e-9
"""Relative, as the accelerations themselves: some mechanisms have condition numbers of 1e5."""
NAMES = ("q", "v", "tau")
_many = np.vectorize(mpmath.mpf, otypes=[object])


def _tangents(robot: on.Robot, seed: int, names: tuple[str, ...] = NAMES) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    shapes = {"external": (len(robot.bodies), 6), "t": (), "base_velocity": (6,), "base_acceleration": (6,)}
    return {x: np.asarray(rng.normal(size=shapes.get(x, (robot.nv,)))) for x in names}


def _precise(robot: on.Robot, given: dict[str, Any], along: dict[str, Any], h: Any, rows: Any) -> Any:
    """Accelerations and multipliers with 50 digits, by the dense equations with some combinations of rows.

    All arguments have moved by h along their tangents.
    """

    def ask(question: str, *arguments: Any, **optional: Any) -> Any:
        present = {x: y for x, y in optional.items() if y is not None}
        return np.asarray(
            robot.kernel(question, present=tuple(present), way="interpreted")(*arguments, *present.values())
        )

    moved = {}
    for name, x in given.items():
        dx = _many(along[name]) * h
        x = _many(x)
        moved[name] = ask("integrate", x, dx, np.array(mpmath.mpf(1), object)) if name == "q" else np.asarray(x + dx)
    q, v, tau, t = moved["q"], moved["v"], moved["tau"], moved.get("t")
    more = {x: moved.get(x) for x in ("external", "base_velocity", "base_acceleration")}
    M, f = ask("mass_matrix", q), tau - ask("bias_force", q, v, **more)
    K, k = rows @ ask("loop_jacobian", q, t=t), rows @ ask("loop_bias", q, v, t=t)
    nv, r = robot.nv, len(K)
    A = np.zeros((nv + r, nv + r), object)
    A[:nv, :nv], A[:nv, nv:], A[nv:, :nv] = M, -K.T, K
    x = mpmath.lu_solve(mpmath.matrix(A.tolist()), mpmath.matrix([*f, *(-k)]))
    return np.array([*x[:nv, 0], *(rows.T @ np.array(list(x[nv:, 0]), object))], object)


def _rate(robot: on.Robot, given: dict[str, Any], along: dict[str, Any]) -> Array:
    """The rate of accelerations and multipliers; constraints that depend on others are left out."""
    K = robot.loop_jacobian(given["q"], t=given.get("t"))
    U, s, _ = np.linalg.svd(K)
    rows = U.T[: int((s > 1e-6 * s[0]).sum())]
    exact = _many(np.eye(robot.nc) if len(rows) == robot.nc else rows)
    with mpmath.workdps(50):
        after, before = (_precise(robot, given, along, s * STEP, exact) for s in (1, -1))
        return np.asarray((after - before) / (2 * STEP), dtype=float)


def _mechanism(kind: str) -> tuple[on.Robot, Array]:
    """A random mechanism with loops of a kind, or a special one."""
    seed = 3 + len(kind)
    if kind in LOOP_TYPES:
        return closed_robot(seed, 6, (kind,), floating=kind == "distance")
    tree, q = closed_robot(seed, 5, ("spherical",), floating=True)
    builder = tree.builder()
    if kind == "coupled":
        single = [c.name for c in tree.joints if c.type.nq == 1][:2]
        builder.couple("gear", single[0], single[1], (0.3, 1.5, 0.7))
    elif kind == "driven":
        builder = on.Builder("driven").body("base")
        for k, parent in enumerate(("base", "b0", "b1")):
            joint = on.Revolute((0.2 * k, 1.0, 0.1 * k))
            builder.body(f"b{k}", parent=parent, joint=joint, at=(0.3 * k, 0.0, 0.5), mass=1.0, com=(0.1, 0.0, 0.3),
                         inertia=(0.1, 0.2, 0.3))  # fmt: skip
        turning = on.Driven(on.Revolute((0.0, 1.0, 0.0)), (0.4, 0.2), 0.3, 2.0)
        builder.loop("motor", turning, "base", "b0")
        builder.loop("wire", on.Distance(1.2), "base", "b2", at=(0.5, 0.1, 1.0))
        return builder.build(), np.array([turning.position(0.3), 0.3, -0.4])
    else:
        rolling = {"rolling": on.RollingBall(0.4), "knife": on.KnifeEdge(), "line": on.PointOnLine((1.0, 0.2, 0.0))}
        builder.loop("more", {**rolling, "plane": on.PointOnPlane((0.1, 0.9, 0.2))}[kind], "body0", "body3")
    return builder.build(), q


SPECIAL = ("coupled", "driven", "rolling", "knife", "line", "plane")
QUICK = ("driven",)


@pytest.mark.parametrize(
    "kind", [pytest.param(x, marks=() if x in QUICK else pytest.mark.slow) for x in (*LOOP_TYPES, *SPECIAL)]
)
def test_products_are_rates_also_where_loops_open(kind: str) -> None:
    """In any direction: the equations are defined for open loops, too."""
    robot, q = _mechanism(kind)
    v, tau = np.random.default_rng(1).normal(size=(2, robot.nv))
    redundant = np.linalg.matrix_rank(robot.loop_jacobian(q)) < robot.nc
    given: dict[str, Any] = {"q": q, "v": motion_state(robot, q, 1)[0] if redundant else v, "tau": tau}
    if kind == "driven":
        speed = 0.2 + 0.6 * np.cos(0.6)
        given |= {"v": np.array([speed, 0.2, 0.5]), "t": 0.3}
    else:
        given |= _tangents(robot, 2, ("external", "base_velocity", "base_acceleration"))
    along = _tangents(robot, 4, tuple(given))
    known = _rate(robot, given, along)
    rate = robot.jvp("closed_dynamics", given, along, check=False)
    compared = robot.nv if redundant else len(rate)  # redundant multipliers: see the next test
    assert_close(rate[:compared], known[:compared], CLOSE)
    assert_close(robot.jvp("forward_dynamics", given, along, check=False), known[: robot.nv], CLOSE)
    weights = np.random.default_rng(5).normal(size=rate.shape)
    gradient = robot.vjp("closed_dynamics", given, weights, check=False)
    assert gradient._fields == tuple(given)
    assert_close(sum(np.sum(g * along[x]) for x, g in gradient._asdict().items()), np.sum(weights * rate), CLOSE)
    whole = robot.derivatives.closed_dynamics(**given, check=False)
    summed = sum(np.tensordot(d, along[x], np.ndim(along[x])) for x, d in whole._asdict().items())
    assert_close(summed, rate, CLOSE)


def _hinged() -> on.Robot:
    """A planar four-bar whose last hinge, a joint, closes the loop."""
    builder = on.Builder("hinged").body("base")
    for name, parent, at in (("crank", "base", 0.0), ("rod", "crank", 0.4), ("arm", "rod", 0.9)):
        builder.body(name, parent=parent, joint=on.Revolute((0.0, 1.0, 0.0)), joint_name=f"{name}_joint",
                     at=(at, 0.0, 0.0), mass=1.0, com=(0.2, 0.0, 0.0), inertia=(0.1, 0.1, 0.1))  # fmt: skip
    closing = {"at": (1.0, 0.0, 0.0), "child_at": (0.6, 0.0, 0.0)}
    return builder.loop("pin", on.Revolute((0.0, 1.0, 0.0)), "base", "arm", **closing).build()  # type: ignore[arg-type]


def _bricard() -> tuple[on.Robot, Array, Array, Array]:
    robot = on.load("bricard")
    q = robot.assemble().q
    rng = np.random.default_rng(0)
    return robot, q, robot.project_velocity(q, rng.normal(size=robot.nv)), rng.normal(size=robot.nv)


@pytest.mark.slow
@pytest.mark.parametrize("question", ["forward_dynamics", "closed_dynamics", "joint_wrenches", "link_accelerations"])
def test_redundant_constraints(question: str) -> None:
    """Off the closed states by differences of the answer with the same rank; multipliers are those of least norm."""
    robot, q, v, tau = _bricard()
    along, h = _tangents(robot, 1), 1e-5

    def answer(s: float) -> Array:
        at = (robot.integrate(q, along["q"], s), v + s * along["v"], tau + s * along["tau"])
        motion = robot.closed_dynamics(*at, check=False, rank=4)
        if question == "joint_wrenches":
            return motion.joint_wrenches
        if question == "link_accelerations":
            return robot.accelerations(*at[:2], motion.a)
        return motion.a if question == "forward_dynamics" else np.concatenate([motion.a, motion.multipliers])

    known = (8.0 * (answer(h) - answer(-h)) - (answer(2 * h) - answer(-2 * h))) / (12.0 * h)
    given = {"q": q, "v": v, "tau": tau}
    rate = robot.jvp(question, given, along)
    assert_close(rate, known, FINITE_DIFFERENCE)
    weights = np.random.default_rng(5).normal(size=rate.shape)
    gradient = robot.vjp(question, given, weights)
    assert_close(sum(g @ along[x] for x, g in gradient._asdict().items()), np.sum(weights * rate), CLOSE)
    whole = getattr(robot.derivatives, question)(q, v, tau=tau)
    assert_close(sum(d @ along[x] for x, d in whole._asdict().items()), rate, CLOSE)


@pytest.mark.slow
def test_along_closed_states_of_a_redundant_mechanism() -> None:
    robot, q, v, tau = _bricard()
    (n,) = robot.mobility(q).motions.T
    h = 1e-4

    def answer(s: float) -> tuple[Array, Array]:
        there = robot.assemble(robot.integrate(q, n, s), tolerance=1e-14).q
        speed = robot.project_velocity(there, v)
        return np.concatenate([robot.difference(q, there), speed]), robot.forward_dynamics(there, speed, tau)

    ends = [answer(s * h) for s in (1, -1, 2, -2)]
    state, known = ((8.0 * (a - b) - (c - d)) / (12.0 * h) for a, b, c, d in zip(*ends, strict=True))
    rate = robot.jvp("forward_dynamics", (q, v, tau), (state[: robot.nv], state[robot.nv :]))
    assert_close(rate, known, FINITE_DIFFERENCE)


@pytest.mark.slow
def test_settings_and_batches() -> None:
    """Stabilisation and drives in loops vary with the state; batches broadcast; single precision stays."""
    robot = _hinged()
    q = robot.assemble([0.5, 0.3, 0.8]).q
    rng = np.random.default_rng(0)
    v, tau, h = robot.project_velocity(q, rng.normal(size=3)), rng.normal(size=(5, 3)), 1e-5
    dq, dv = rng.normal(size=(2, 3))
    for settings in ({"stabilise": (3.0, 4.0)}, {"loop_forces": {"pin": 2.0}}):
        ends = [robot.closed_dynamics(q + s * h * dq, v + s * h * dv, tau, check=False, **settings).a for s in (1, -1)]
        rate = robot.jvp("closed_dynamics", (q, v, tau), (dq, dv), **settings)[..., :3]
        assert rate.shape == (5, 3)
        assert_close(rate, (ends[0] - ends[1]) / (2.0 * h), FINITE_DIFFERENCE)
        d = robot.derivatives.closed_dynamics(q, v, tau, **settings)
        assert_close((d.q @ dq + d.v @ dv)[..., :3], rate, CLOSE)
        g = robot.vjp("closed_dynamics", (q, v, tau), np.ones((2, 5, 3 + robot.nc)), **settings)
        assert_close(g.q[1] @ dq, d.q.sum(axis=-2) @ dq, CLOSE)
    one = robot.derivatives.forward_dynamics(*(x.astype(np.float32) for x in (q, v, tau)), wrt="tau")
    assert one.tau.dtype == np.float32
    assert one.tau.shape == (5, 3, 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["redundant drives", "delta-robot"])
def test_inverse_dynamics_of_mechanisms(name: str) -> None:
    if name == "delta-robot":
        robot, actuated = on.load(name), None
    else:  # two drives for one freedom, one of them in the joint that closes the loop
        robot, actuated = _hinged(), ("crank_joint", "pin")
    q = robot.assemble(None if actuated is None else [0.5, 0.3, 0.8]).q
    rng = np.random.default_rng(0)
    v = robot.project_velocity(q, rng.normal(size=robot.nv))
    a = robot.project_acceleration(q, v, rng.normal(size=robot.nv))
    along, h = _tangents(robot, 1, ("q", "v", "a")), 1e-5

    def answer(s: float) -> Array:
        at = (robot.integrate(q, along["q"], s), v + s * along["v"], a + s * along["a"])
        return robot.actuation(*at, actuated, check=False).u

    known = (8.0 * (answer(h) - answer(-h)) - (answer(2 * h) - answer(-2 * h))) / (12.0 * h)
    rate = robot.jvp("actuation", (q, v, a), along, actuated=actuated)
    assert_close(rate, known, FINITE_DIFFERENCE)
    d = robot.derivatives.actuation(q, v, a, actuated=actuated)
    assert_close(d.q @ along["q"] + d.v @ along["v"] + d.a @ along["a"], rate, CLOSE)
    w = rng.normal(size=rate.shape)
    assert_close(robot.vjp("actuation", (q, v, a), w, actuated=actuated).a, w @ d.a, CLOSE)


@pytest.mark.slow
def test_states_without_derivatives_are_refused() -> None:
    robot = on.load("double-parallelogram")
    flat, rest = robot.assemble().q, np.zeros(robot.nv)
    with pytest.raises(SingularError, match=r"'double-parallelogram' is in a singular position: 2 of 4 constraints"):
        robot.derivatives.forward_dynamics(flat, rest, rest)
    with pytest.raises(SingularError, match=r"in state 1 of the batch"):
        start = np.array([robot.assemble([0.7, 0.7, 0.7, 0.7]).q, flat])
        robot.vjp("forward_dynamics", (start, rest, rest), rest)
    bricard, q, v, tau = _bricard()
    with pytest.raises(InconsistentStateError, match="no accelerations of 'bricard' keep its redundant"):
        bricard.derivatives.forward_dynamics(q, v + 1.0, tau, check=False, rank=4)
    four_bar = on.load("four-bar")
    at = (four_bar.assemble().q, np.zeros(3), np.zeros(3))
    with pytest.raises(LoopError, match=r"cannot drive every freedom of 'four-bar'"):
        on.Robot.of(replace(four_bar, gravity=(0.0, 0.0, 0.0))).derivatives.actuation(*at, actuated=[])
    with pytest.raises(ArgumentError, match=r"accelerations `a` alone do not determine"):
        four_bar.derivatives.joint_wrenches(*at)
    with pytest.raises(UnknownNameError, match="unknown setting 'frame'"):
        four_bar.derivatives.forward_dynamics(*at, frame="tool")
    with pytest.raises(ArgumentError, match=r"the tangent of 'q' has shape \(2,\)"):
        four_bar.jvp("forward_dynamics", at, (np.zeros(2),))
    with pytest.raises(ArgumentError, match="closed_dynamics"):
        four_bar.derivatives.tip_acceleration(*at, frame="coupler")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "kinds"),
    [
        *[(51, ("spherical",)), (52, ("fixed",)), (53, ("spherical", "spherical"))],  # with redundant constraints
        *[(55, ("spherical",)), (88, ("fixed",)), (61, ("spherical", "spherical"))],  # and without
    ],
)
def test_pinocchio(seed: int, kinds: tuple[str, ...]) -> None:
    """Along closed states, where its constraints and ours are the same; by forces in all directions."""
    import pinocchio as pin

    robot, q = closed_robot(seed, 9, kinds, joints=(on.Revolute, on.Prismatic))
    v, tau = motion_state(robot, q, seed)
    dq, dv, dtau = _pinocchio(pin, robot, q, v, tau)
    d = robot.derivatives.forward_dynamics(q, v, tau)
    assert_close(d.tau, dtau, PROXIMAL_PEER)
    K, N = robot.loop_jacobian(q), robot.mobility(q).motions
    assert_close(d.v @ N, dv @ N, PROXIMAL_PEER)
    turned = robot.derivatives.loop_rate(q, v, wrt="q").q @ N
    speed = -np.linalg.pinv(K, rcond=1e-9) @ turned
    assert_close(d.q @ N + d.v @ speed, dq @ N + dv @ speed, PROXIMAL_PEER)


def _pinocchio(pin: Any, robot: on.Robot, q: Array, v: Array, tau: Array) -> list[Array]:
    """The derivatives of `computeConstraintDynamicsDerivatives` by q, v and tau, in our order."""
    from ordern.model import BASE

    model = pin.buildModelFromXML(robot.opened().to_urdf(lossy=True))
    model.gravity.linear = np.array(robot.gravity)
    order = np.array([model.joints[model.getJointId(c.name)].idx_v for c in robot.joints])
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for loop in robot.loops:
        sides: list[Any] = []
        for body, at in ((loop.parent, loop.parent_placement), (loop.child, loop.child_placement)):
            joint = 0 if body == BASE else model.getJointId(robot.joints[body].name)
            sides += [joint, pin.SE3(np.array(at.R), np.array(at.p))]
        kind = pin.ContactType.CONTACT_3D if isinstance(loop.type, on.Spherical) else pin.ContactType.CONTACT_6D
        one = pin.RigidConstraintModel(kind, model, *sides, pin.ReferenceFrame.LOCAL)
        if hasattr(one, "corrector"):  # later releases have none unless asked for
            one.corrector.Kp[:] = 0.0
            one.corrector.Kd[:] = 0.0
        models.append(one)
        datas.append(one.createData())
    data = model.createData()
    try:
        pin.initConstraintDynamics(model, data, models, datas)
    except TypeError:  # before release 4
        pin.initConstraintDynamics(model, data, models)
    settings, theirs = pin.ProximalSettings(1e-12, 1e-10, 200), np.zeros((3, model.nv))
    for row, x in zip(theirs, (q, v, tau), strict=True):
        row[order] = x
    pin.constraintDynamics(model, data, *theirs, models, datas, settings)
    pin.computeConstraintDynamicsDerivatives(model, data, models, datas, settings)
    return [np.array(x)[np.ix_(order, order)] for x in (data.ddq_dq, data.ddq_dv, data.ddq_dtau)]


@pytest.mark.slow
def test_sets_of_parameters() -> None:
    """Derivatives of robots with sets of numbers have the leading shape of the sets."""
    robot = on.load("four-bar")
    q = robot.assemble().q
    v, tau = robot.project_velocity(q, [2.0, 0.0, 0.0], keep="drive"), np.ones((4, 1, 1, 3))
    gravity = [[0.0, 0.0, -9.8], [0.0, 0.0, -1.0], [0.0, 0.0, -3.0]]
    grid = robot.vary(mass={"coupler": [[0.1], [0.2]]}, gravity=gravity)
    one = grid.folded((1, 2))
    d, known = (x.derivatives.forward_dynamics(q, v, tau) for x in (grid, one))
    assert d.q.shape == (4, 2, 3, 3, 3)
    assert_close(d.q[2, 1, 2], known.q[2, 0, 0], CLOSE)
    dq = np.array([0.3, -0.2, 0.5])
    assert_close(grid.jvp("forward_dynamics", (q, v, tau), (dq,)), d.q @ dq, CLOSE)
    assert_close(grid.vjp("forward_dynamics", (q, v, tau), np.ones(3), wrt="q").q, d.q.sum(axis=-2), CLOSE)
    wrenches = grid.vjp("joint_wrenches", {"q": q, "v": v, "tau": tau[0, 0, 0]}, np.ones((3, 6)))
    assert wrenches.tau.shape == (2, 3, 3)
    for dt in (None, 0.01):
        whole = grid.linearise(q, v, dt=dt)
        assert whole.positions == one.linearise(q, v, dt=dt).positions
        assert_close(whole.A[1, 2], one.linearise(q, v, dt=dt).A, CLOSE)


@pytest.mark.slow
@pytest.mark.parametrize("question", ["closed_dynamics", "joint_wrenches", "link_accelerations"])
def test_parameters(question: str) -> None:
    """Against differences of robots with other numbers; placements change the loop, inertias the forces."""
    robot, h = on.load("four-bar"), 1e-5
    q = robot.assemble().q
    given = {"q": q, "v": robot.project_velocity(q, [2.0, 0.0, 0.0], keep="drive"), "tau": np.array([0.3, -0.2, 0.5])}
    rng, own = np.random.default_rng(0), robot.parameters
    fields = ("inertia", "joint_placement", "gravity")
    along = {x: rng.normal(size=getattr(own, x).shape) for x in fields}
    along["inertia"] = own.inertia * rng.normal(size=(len(own.inertia), 1))  # other densities are possible

    def answer(s: float) -> Array:
        other = robot.with_parameters(**{x: getattr(own, x) + s * along[x] for x in fields})
        motion = other.closed_dynamics(**given, check=False)
        if question == "joint_wrenches":
            return motion.joint_wrenches
        if question == "link_accelerations":
            return other.accelerations(given["q"], given["v"], motion.a)
        return np.concatenate([motion.a, motion.multipliers])

    known = (8.0 * (answer(h) - answer(-h)) - (answer(2 * h) - answer(-2 * h))) / (12.0 * h)
    rate = robot.jvp(question, given, along)
    assert_close(rate, known, FINITE_DIFFERENCE)
    whole = getattr(robot.derivatives, question)(**given, wrt=("q", *fields))
    assert whole._fields == ("q", "inertia", "joint_placement", "gravity")
    summed = sum(np.tensordot(getattr(whole, x), along[x], along[x].ndim) for x in fields)
    assert_close(summed, rate, CLOSE)
    weights = rng.normal(size=rate.shape)
    gradient = robot.vjp(question, given, weights, wrt=fields)
    assert_close(sum(np.sum(getattr(gradient, x) * along[x]) for x in fields), np.sum(weights * rate), CLOSE)


@pytest.mark.parametrize("question", ["forward_dynamics", "closed_dynamics"])
def test_second_order(question: str) -> None:
    """The rates of gradients, and whole arrays, have the rows of first order."""
    robot = on.load("four-bar")
    q = robot.assemble().q
    v, tau = robot.project_velocity(q, [2.0, 0.0, 0.0], keep="drive"), np.array([0.3, -0.2, 0.5])
    rows = robot.nv + (robot.nc if question == "closed_dynamics" else 0)
    w, dq, h = np.arange(1.0, rows + 1.0), np.array([0.3, -0.5, 0.7]), 1e-5
    product = robot.hvp(question, (q, v, tau), w, (dq, None, None))
    ends = [robot.vjp(question, (q + s * h * dq, v, tau), w, check=False) for s in (1, -1)]
    for x, after, before in zip(product, *ends, strict=True):
        assert_close(x, (after - before) / (2.0 * h), FINITE_DIFFERENCE)
    H, whole = robot.hessian(question, (q, v, tau), w), getattr(robot.second_derivatives, question)(q, v, tau)
    assert_close(H.q_v.T @ dq, product.v, CLOSE)
    assert whole.q_v.shape == (rows, 3, 3)
    for x, y in zip(H, whole, strict=True):
        assert_close(np.tensordot(w, y, 1), x, CLOSE)


def test_refusals_of_second_order() -> None:
    robot = on.load("four-bar")
    q, v = robot.assemble().q, np.zeros(3)
    with pytest.raises(ArgumentError, match=r"cotangent has shape \(6,\); its last dimension must be 5"):
        robot.hessian("closed_dynamics", (q, v, v), np.ones(6))
    with pytest.raises(ArgumentError, match=r"only 'forward_dynamics' and 'closed_dynamics'"):
        robot.second_derivatives.joint_wrenches(q, v, v)
    with pytest.raises(UnknownNameError, match="setting 'stabilise' in second derivatives of closed_dynamics"):
        robot.hvp("closed_dynamics", (q, v, v), np.ones(5), (v,), stabilise=True)
    with pytest.raises(InconsistentStateError, match="second derivatives of forward_dynamics"):
        robot.hessian("forward_dynamics", (q + 0.1, v, v), v)
    bricard, at, rate, force = _bricard()
    with pytest.raises(ArgumentError, match="depend on each other; such states have first derivatives only"):
        bricard.second_derivatives.closed_dynamics(at, rate, force)


def test_batches_without_states() -> None:
    robot, none = on.load("four-bar"), np.zeros((2, 0, 3))
    assert robot.derivatives.closed_dynamics(none, none, none).q.shape == (2, 0, 5, 3)
    assert robot.derivatives.joint_wrenches(none, none, tau=none).q.shape == (2, 0, 3, 6, 3)
    assert robot.derivatives.actuation(none, none, none, actuated=["drive"]).a.shape == (2, 0, 1, 3)
    assert robot.vjp("actuation", (none, none, none), np.ones(1), actuated=["drive"]).a.shape == (2, 0, 3)
    with pytest.raises(ArgumentError, match="linearise: q has no states"):
        robot.linearise(none)
