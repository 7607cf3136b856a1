"""Trajectories in batches: against MuJoCo, loops in NumPy and closed forms; and what may be given."""

from __future__ import annotations

import threading

import mujoco
import numpy as np
import pytest

import ordern as on
from ordern.compile import program
from ordern.simulate import rollout as module
from ordern.simulate.integrators.native import FixedLoop
from ordern.simulate.integrators.numpy_machine import NumpyMachine
from ordern.simulate.integrators.rk_step import fixed_step
from ordern.simulate.integrators.tableaus import TABLEAUS
from tests.joints.test_rates import OwnBall
from tests.random_models import ALL_JOINTS, random_robot, random_state
from tests.tolerances import METHODS, ROUNDING, SINGLE, assert_close

ARM = on.load("puma560")
MIXED = random_robot(
    21, n=7, joints=(on.Revolute, on.Spherical, on.Planar, on.Helical, on.Universal), floating=True, passive=True
)
ROBOTS = {
    "arm": ARM,
    "mixed": MIXED,
    "mimic": random_robot(5, n=6, joints=(on.Revolute, on.Prismatic), mimic=True, passive=True),
    "own": on.Builder("own").body("base").body("ball", parent="base", joint=OwnBall(2.0), mass=1.0, com=(0.1, 0, 0.2),
        inertia=(0.1, 0.2, 0.15)).build(),
}  # fmt: skip


EXPLICIT = {"dynamics": "articulated-body"}
"""Makes rollouts take steps with explicit forces, as those that they are compared with."""


class Equations:
    """A robot under constant forces."""

    def __init__(self, robot: on.Robot, tau: np.ndarray) -> None:
        self.robot, self.tau = robot, tau

    def rates(self, t, q, v):
        return self.robot.forward_dynamics(q, v, self.tau + self.robot.passive_force(q, v)), 0.0, 0.0


def stepped(robot, q, v, tau, steps, dt, method):
    """One trajectory by the machine on arrays; a row of tau for each step."""
    qs, vs = [q], [v]
    for k in range(steps):
        m = NumpyMachine(Equations(robot, tau[k]), 0.0, dt)
        q, v = fixed_step(m, TABLEAUS[method], q, v)
        qs.append(q)
        vs.append(v)
    return np.array(qs), np.array(vs)


@pytest.mark.slow
@pytest.mark.parametrize("method", TABLEAUS)
@pytest.mark.parametrize("name", ROBOTS)
def test_as_step_by_step(name, method) -> None:
    robot, steps, dt = ROBOTS[name], 12, 2e-3
    q, v, _ = random_state(robot, 3, (5,))
    tau = np.random.default_rng(0).normal(size=(5, steps, robot.nv))
    found = robot.rollout(q, v, tau, dt=dt, method=method, **EXPLICIT)
    for k in range(5):
        wanted = stepped(robot, q[k], v[k], tau[k], steps, dt, method)
        assert_close(found.q[k], wanted[0], METHODS)
        assert_close(found.v[k], wanted[1], METHODS)


def test_as_mujoco() -> None:
    """Its Euler is semi-implicit too: the same numbers but for rounding."""
    arm = on.load("kuka-kr5")
    model = mujoco.MjModel.from_xml_string(arm.to_mjcf())
    model.opt.timestep, model.opt.integrator = 1e-3, mujoco.mjtIntegrator.mjINT_EULER
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT) | int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP)
    data = mujoco.MjData(model)
    q, v, tau = random_state(arm, 1, (4,))
    found = arm.rollout(q, v, tau, steps=200, dt=1e-3, every=50, **EXPLICIT)
    for k in range(4):
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q[k], v[k], tau[k]
        for n in range(1, 201):
            mujoco.mj_step(model, data)
            if n % 50 == 0:
                assert_close(found.q[k, n // 50], data.qpos, METHODS)
                assert_close(found.v[k, n // 50], data.qvel, METHODS)


def test_a_projectile() -> None:
    """What is thrown flies a parabola, exactly for methods of order two and more."""
    body = on.Builder("stone").body("ground").body("stone", parent="ground", joint=on.Free(), mass=2.0,
        inertia=(0.1, 0.1, 0.1)).build()  # fmt: skip
    q, v = body.neutral(), np.array([0.0, 0.0, 0.0, 3.0, 0.0, 4.0])
    found = body.rollout(q, v, steps=100, dt=0.01, method="rk4")
    t = found.t
    height = 4.0 * t - 0.5 * 9.81 * t**2
    assert_close(found.q[:, 4:], np.stack([3.0 * t, 0.0 * t, height], axis=1), ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["semi-implicit-euler", "rk4"])
def test_rolled(method, monkeypatch) -> None:
    """Long robots run as loops; here all are long. Every kernel of the step, for every joint."""
    robot = random_robot(13, n=13, joints=ALL_JOINTS, floating=True, passive=True)
    q, v, _ = random_state(robot, 0, (3,))
    monkeypatch.setenv("ORDERN_CACHE", "off")
    monkeypatch.setattr(program, "UNROLL_LIMIT", 0)
    loop = FixedLoop.of(robot, method, "articulated-body", "float64", False)
    assert {"dynamics", "passive", "rate", "normalize"} <= set(loop.rolled)
    found = robot.rollout(q, v, steps=5, dt=1e-3, method=method, **EXPLICIT)
    zero = np.zeros((5, robot.nv))
    for k in range(3):
        wanted = stepped(robot, q[k], v[k], zero, 5, 1e-3, method)
        assert_close(found.q[k], wanted[0], METHODS)
        assert_close(found.v[k], wanted[1], METHODS)


@pytest.mark.slow
def test_other_dynamics() -> None:
    q, v, tau = random_state(ARM, 0, (3,))
    usual = ARM.rollout(q, v, tau, steps=20)
    for dynamics in ("composite-body", "denoc"):
        assert_close(ARM.rollout(q, v, tau, steps=20, dynamics=dynamics).v, usual.v, METHODS)
    with pytest.raises(on.errors.UnknownNameError, match="unknown method 'lagrange' in forward_dynamics"):
        ARM.rollout(q, v, steps=1, dynamics="lagrange")
    with pytest.raises(on.errors.ArgumentError, match="'conjugate-gradient' is not compiled"):
        ARM.rollout(q, v, steps=1, dynamics="conjugate-gradient")


@pytest.mark.slow
def test_feedback() -> None:
    """kp (target - q) - kd v at every stage, along the manifold."""
    joints = (on.Revolute, on.Spherical, on.Helical, on.Universal)
    robot, dt, steps = random_robot(21, n=7, joints=joints, passive=True), 1e-3, 15
    q, v, tau = random_state(robot, 2, (3,))
    target = robot.random(np.random.default_rng(5), (steps,))
    kp, kd = np.linspace(1.0, 5.0, robot.nv), 0.3
    found = robot.rollout(q, v, tau, steps=steps, dt=dt, feedback=(kp, kd, target[None]), **EXPLICIT)
    for k in range(steps):
        force = tau + kp * robot.difference(q, target[k]) - kd * v + robot.passive_force(q, v)
        v = v + dt * robot.forward_dynamics(q, v, force)
        q = robot.integrate(q, v, dt)
        assert_close(found.q[:, k + 1], q, METHODS)


class TestBatches:
    def test_shapes(self) -> None:
        q, v, tau = random_state(ARM, 0, (2, 1, 3))
        found = ARM.rollout(q, v[0, 0, 0], tau, steps=7, dt=0.01, every=3)
        assert found.q.shape == found.v.shape == (2, 1, 3, 3, 6)
        assert found.t.tolist() == [0.0, 0.03, 0.06]
        assert np.array_equal(found.q[..., 0, :], q)
        q, v, t = found
        assert v is found.v
        assert t is found.t

    @pytest.mark.slow
    def test_a_place_in_the_batch_does_not_matter(self) -> None:
        q, v, tau = random_state(MIXED, 4, (21,))
        found = MIXED.rollout(q, v, tau, steps=10)
        for k in (0, 7, 20):
            alone = MIXED.rollout(q[k], v[k], tau[k], steps=10)
            assert np.array_equal(alone.q, found.q[k])
            assert np.array_equal(alone.v, found.v[k])

    def test_nor_do_threads_and_pieces(self, monkeypatch) -> None:
        q, v, tau = random_state(MIXED, 4, (50,))
        found = MIXED.rollout(q, v, tau, steps=40, every=4, threads=1)
        monkeypatch.setattr(module, "_PIECE_NS", 3e4)  # a few steps of a tile at a call
        for threads in (1, 3):
            again = MIXED.rollout(q, v, tau, steps=40, every=4, threads=threads)
            assert np.array_equal(again.q, found.q)
            assert np.array_equal(again.v, found.v)

    def test_from_several_threads(self) -> None:
        q, v, tau = random_state(ARM, 4, (9,))
        wanted, found = ARM.rollout(q, v, tau, steps=50).q, {}

        def run(k: int) -> None:
            found[k] = ARM.rollout(q, v, tau, steps=50).q

        threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(np.array_equal(found[k], wanted) for k in range(4))

    def test_every(self) -> None:
        q, v, tau = random_state(ARM, 4, (3,))
        all_steps = ARM.rollout(q, v, tau, steps=10)
        assert np.array_equal(ARM.rollout(q, v, tau, steps=11, every=5).q, all_steps.q[:, ::5])
        assert ARM.rollout(q, v, tau, steps=4, every=5).q.shape == (3, 1, 6)
        assert np.array_equal(ARM.rollout(q, v, tau, steps=0).q[:, 0], q)

    def test_forces_over_time(self) -> None:
        rng = np.random.default_rng(0)
        q, v, tau = random_state(ARM, 4, (3,))
        table = rng.normal(size=(8, 6))
        shared = ARM.rollout(q, v, table[None])
        own = ARM.rollout(q, v, np.broadcast_to(table, (3, 8, 6)))
        assert np.array_equal(shared.q, own.q)
        one = ARM.rollout(q[1], v[1], table)
        assert np.array_equal(one.q, shared.q[1])
        many = ARM.rollout(q[0], v[0], rng.normal(size=(5, 8, 6)))  # one start, many tables
        assert many.q.shape == (5, 9, 6)
        constant = ARM.rollout(q, v, tau, steps=8)
        assert np.array_equal(ARM.rollout(q, v, np.repeat(tau[:, None], 8, axis=1)).q, constant.q)
        assert np.array_equal(ARM.rollout(q, v, tau[:, None], steps=8).q, constant.q)

    def test_strange_layouts(self) -> None:
        q, v, tau = random_state(ARM, 4, (4,))
        wanted = ARM.rollout(q, v, tau, steps=6).q
        far = np.asfortranarray(np.repeat(q, 2, axis=1))[:, ::2]
        assert np.array_equal(ARM.rollout(far, v[::-1][::-1], np.asfortranarray(tau), steps=6).q, wanted)

    def test_single_precision(self) -> None:
        q, v, tau = (x.astype(np.float32) for x in random_state(ARM, 4, (9,)))
        found = ARM.rollout(q, v, tau, steps=20)
        assert found.q.dtype == found.v.dtype == np.float32
        assert_close(found.q, ARM.rollout(*(x.astype(float) for x in (q, v, tau)), steps=20).q, SINGLE)
        assert ARM.rollout(q, v.astype(float), steps=1).q.dtype == np.float64

    def test_out(self) -> None:
        q, v, _ = random_state(ARM, 4, (3,))
        wanted = ARM.rollout(q, v, steps=5)
        out = (np.empty((3, 6, 6)), np.empty((3, 6, 6)))
        found = ARM.rollout(q, v, steps=5, out=out)
        assert found.q is out[0]
        assert np.array_equal(out[1], wanted.v)

    def test_nothing_moves(self) -> None:
        statue = on.Builder("statue").body("base", mass=1.0).build()
        assert statue.rollout([], [], steps=3).q.shape == (4, 0)
        assert ARM.rollout(np.zeros((0, 6)), np.zeros((0, 6)), steps=3).q.shape == (0, 4, 6)


def test_what_diverges_is_told() -> None:
    q, v, _ = random_state(ARM, 0, (2, 3))
    v[1, 2] = 1e200
    found = ARM.rollout(q, v, steps=20, every=2)
    assert found.diverged.dtype == bool and found.diverged.shape == (2, 3)
    assert np.argwhere(found.diverged).tolist() == [[1, 2]]
    assert (found.diverged_at[~found.diverged] == -1).all()
    first = found.diverged_at[1, 2]
    assert np.isfinite(found.v[1, 2, first - 1]).all()
    assert not np.isfinite(found.v[1, 2, first]).all()
    assert np.isfinite(found.v[0]).all()


def test_the_second_time_code_comes_from_the_cache(tmp_path, monkeypatch) -> None:
    from ordern.compile.timeloops import fixed

    monkeypatch.setenv("ORDERN_CACHE_DIR", str(tmp_path))
    q, v, _ = random_state(ARM, 0)
    wanted = on.load("puma560").rollout(q, v, steps=3).q
    monkeypatch.setattr(fixed, "compile_rollout", None)
    assert np.array_equal(on.load("puma560").rollout(q, v, steps=3).q, wanted)


BAD = [
    ({"q0": np.zeros(5)}, r"q0 has shape \(5,\); its last dimension must be 6"),
    ({"q0": "zero"}, "q0 has data type <U4; give real numbers"),
    ({"q0": [[0.0], [1.0, 2.0]]}, "q0 is not an array"),
    ({"v0": [0, 0, np.nan, 0, 0, 0]}, r"v0 must be finite, but v0\[2\] is nan"),
    ({"tau": np.full(6, np.inf)}, r"tau must be finite, but tau\[0\] is inf"),
    ({"tau": np.zeros(4)}, r"tau has shape \(4,\); for 'puma560' its last dimension must be 6"),
    ({"tau": np.zeros((7, 6))}, r"tau has 7 rows over time, but there are 10 steps"),
    ({"q0": np.zeros((3, 6)), "tau": np.zeros((10, 6))}, r"do not broadcast: \(3,\), \(\), \(10,\).*table\[None\]"),
    ({"q0": np.zeros((3, 6)), "tau": np.zeros((10, 6))}, r"tau of shape \(10, 6\) is read as .* give tau\[None\]"),
    ({"q0": np.zeros((3, 6)), "tau": np.zeros((10, 6)), "steps": None}, r"give `steps`.* give tau\[None\]"),
    ({"tau": on.Table([0.0, 1.0], np.zeros((2, 6)))}, "rollout takes arrays, not Table: give tau of shape"),
    ({"tau": ([0.0, 1.0], np.zeros((2, 6)))}, "rollout takes arrays, not tuple"),
    ({"tau": lambda t, q, v: v}, "rollout takes arrays, not function"),
    ({"steps": -1}, "`steps` must be a whole number from 0 on, not -1"),
    ({"steps": 2.5}, "`steps` must be a whole number"),
    ({"steps": None}, "give `steps`, or a tau with a row for each step"),
    ({"dt": 0.0}, "`dt` must be a finite number above zero, not 0"),
    ({"dt": np.nan}, "`dt` must be a finite number above zero"),
    ({"every": 0}, "`every` must be a whole number from 1 on"),
    ({"threads": 0}, "`threads` must be a whole number from 1 on"),
    ({"steps": 10**13}, r"the result would take .* GB, and this machine has .* GB; store fewer steps \(every=1 now\)"),
    ({"out": np.zeros((11, 6))}, "`out` must be a pair of arrays"),
    ({"out": (np.zeros((11, 6)), np.zeros((11, 5)))}, r"`out` must have an array of float64 \(11, 6\), not float64"),
    ({"out": (np.zeros((11, 6), order="F"), np.zeros((11, 6)))}, "must be C-contiguous and writeable"),
    ({"out": (np.zeros((2, 11, 6))[0],) * 2}, "overlap"),
    ({"feedback": (np.zeros(2), 0.0, np.zeros(6))}, r"feedback: kp has shape \(2,\); give a number, or 6"),
    ({"feedback": (1.0, 0.0, np.zeros(3))}, r"feedback: the target has shape \(3,\)"),
    ({"feedback": 3.0}, "`feedback` must be"),
    ({"smoothing": -1.0}, "`smoothing` must be a finite number above zero"),
]


@pytest.mark.parametrize(("arguments", "words"), BAD)
def test_bad_arguments(arguments, words) -> None:
    given = {"q0": np.zeros(6), "v0": np.zeros(6), "steps": 10, **arguments}
    with pytest.raises(on.errors.ArgumentError, match=words):
        ARM.rollout(**given)


def test_an_unknown_method_lists_those_that_exist() -> None:
    with pytest.raises(
        on.errors.UnknownNameError, match=r"unknown method 'rk5' in rollout.*semi-implicit-euler, plain-euler, rk4"
    ):
        ARM.rollout(np.zeros(6), np.zeros(6), steps=1, method="rk5")


class TestPolicies:
    @pytest.mark.parametrize(("hold", "every"), [(1, 1), (4, 2), (2, 4), (3, 2)])
    def test_as_one_control_step_after_the_other(self, hold, every) -> None:
        q, v, _ = random_state(MIXED, 3, (2, 3))
        table = np.random.default_rng(1).normal(size=(11, MIXED.nv))
        seen = []

        def policy(q, v):
            seen.append(q.shape)
            return -2.0 * v

        found = MIXED.rollout(q, v, table[None, None], policy=policy, hold=hold, every=every, dt=2e-3)
        assert seen == [(2, 3, MIXED.nq)] * -(-11 // hold)
        states = [(q, v)]
        for first in range(0, 11, hold):
            part = table[first : first + hold] - 2.0 * v[..., None, :]
            each = MIXED.rollout(q, v, part, part.shape[-2], dt=2e-3)
            q, v = each.q[..., -1, :], each.v[..., -1, :]
            states += [(each.q[..., k, :], each.v[..., k, :]) for k in range(1, len(each.t))]
        wanted = states[::every]
        # dry friction begins each rollout without impulses, so that the last digits differ
        assert_close(found.q, np.stack([q for q, _ in wanted], axis=-2), METHODS)
        assert_close(found.v, np.stack([v for _, v in wanted], axis=-2), METHODS)
        at = [states[min(k, 10) // hold * hold][1] for k in range(0, 12, every)]  # the last row repeats the last forces
        assert_close(found.tau, -2.0 * np.stack(at, axis=-2), METHODS)

    def test_a_controller_is_a_policy(self) -> None:
        q, v, _ = random_state(ARM, 3, (4,))
        hold = on.controllers.PD(ARM, q[0], 50.0, 5.0, gravity=True)
        found = ARM.rollout(q, v, steps=6, policy=hold)
        assert np.array_equal(found.tau[:, 0], hold(0.0, q, v))
        wanted = ARM.rollout(q, v, steps=6, policy=lambda q, v: hold(0.0, q, v))
        assert np.array_equal(found.q, wanted.q)
        alone = ARM.rollout(q[0], v[0], steps=6, policy=hold)
        assert np.array_equal(alone.q, found[0].q)

    def test_noise_has_its_size_and_its_seed(self) -> None:
        q, v, n = np.zeros((2000, 6)), np.zeros((2000, 6)), {}

        def policy(q, v):
            n["q"], n["v"] = q.copy(), v.copy()
            return np.zeros_like(v)

        noise = {"q": 1e-3, "v": {"waist": 0.1}, "tau": [0.0, 0.0, 0.0, 0.0, 0.0, 2.0]}
        found = ARM.rollout(q, v, steps=1, policy=policy, noise=noise, seed=4)
        assert_close(n["q"].std(axis=0), np.full(6, 1e-3), 0.1)
        assert_close(n["v"].std(axis=0), [0.1, 0, 0, 0, 0, 0], 0.1)
        assert_close(found.tau[:, 0].std(axis=0), [0, 0, 0, 0, 0, 2.0], 0.1)
        again, other = (ARM.rollout(q, v, steps=3, noise={"tau": 1.0}, hold=2, seed=k) for k in (4, 5))
        assert np.array_equal(again.q, ARM.rollout(q, v, steps=3, noise={"tau": 1.0}, hold=2, seed=4).q)
        assert not np.array_equal(again.q, other.q)

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"policy": lambda q: q}, r"called with \(q, v\), or with \(t, q, v\), but takes \(q\)"),
            ({"policy": 3.0}, r"`policy` must be a function of \(q, v\), not 3.0"),
            ({"policy": lambda q, v: v[:2]}, r"at t = 0 s the policy returned an array of shape \(2, 6\).*\(3, 6\)"),
            ({"policy": lambda q, v: "no"}, "the policy returned 'no'"),
            ({"policy": lambda q, v: v / 0.0}, r"the policy returned \[nan.* for state 0 of the batch"),
            ({"policy": on.controllers.PD(ARM, np.zeros(6), 1.0, 1.0, period=0.01)}, "give hold=10"),
            ({"noise": {"q": 1.0}}, "noise of 'q' and 'v' is in what a policy sees"),
            ({"noise": 0.1}, 'noise is a dictionary, noise={"q": 1e-3'),
            ({"noise": {"a": 0.1}}, "'a'.*q, v, tau"),
            ({"noise": {"tau": -1.0}}, "noise of 'tau' must not be below zero"),
            ({"noise": {"tau": 1.0}, "seed": "x"}, "seed must be a NumPy Generator, a seed that is a whole number"),
            ({"hold": 0}, "`hold` must be a whole number from 1 on"),
        ],
    )
    def test_bad_ones_are_told(self, arguments, words) -> None:
        with pytest.raises((on.ArgumentError, on.UnknownNameError), match=words), np.errstate(all="ignore"):
            ARM.rollout(np.zeros((3, 6)), np.zeros((3, 6)), steps=2, **arguments)


def test_trajectories_by_index() -> None:
    q, v, _ = random_state(ARM, 3, (2, 3))
    run = ARM.rollout(q, v, steps=4, noise={"tau": 1.0})
    assert np.array_equal(run[1].q, run.q[1]) and np.array_equal(run[1, 2].tau, run.tau[1, 2])
    assert np.array_equal(run[..., 2].v, run.v[:, 2]) and run[1:, ::2].q.shape == (1, 2, 5, 6)
    assert np.array_equal(run[~run.diverged].q, run.q.reshape(6, 5, 6)) and np.array_equal(run[1].t, run.t)
    with pytest.raises(on.ArgumentError, match=r"trajectories of a batch of shape \(2, 3\).*index 2 is out of bounds"):
        run[2]
    with pytest.raises(on.ArgumentError, match=r"one trajectory: index its arrays"):
        run[1, 2][0]


@pytest.mark.parametrize(
    ("arguments", "constant", "table"),
    [
        ({"tau": np.ones((5, 6))}, "tau[..., None, :]", "tau[None]"),
        ({"feedback": (1.0, 1.0, np.ones((5, 6)))}, "target[..., None, :]", "target[None]"),
        ({"external": np.ones((5, 6, 6))}, "external[..., None, :, :]", "external[None]"),
    ],
)
def test_rows_for_trajectories_or_for_steps(arguments, constant, table) -> None:
    with pytest.raises(on.ArgumentError) as problem:
        ARM.rollout(np.zeros((5, 6)), np.zeros((5, 6)), steps=5, **arguments)
    assert constant in str(problem.value) and table in str(problem.value)
    tau = np.random.default_rng(0).normal(size=(5, 6))
    one, other = (ARM.rollout(np.zeros((5, 6)), np.zeros((5, 6)), x, steps=5) for x in (tau[..., None, :], tau[None]))
    assert np.array_equal(one[2].q, ARM.rollout(np.zeros(6), np.zeros(6), tau[2], steps=5).q)
    assert np.array_equal(other[2].q, ARM.rollout(np.zeros(6), np.zeros(6), tau).q)
