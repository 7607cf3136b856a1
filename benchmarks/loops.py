"""Closed loops: the time of each method, batches beside Pinocchio, trajectories, and accuracy near singularities."""

from __future__ import annotations

from typing import Any

import numpy as np

import ordern as on
from ordern import robots
from ordern.algorithms.closed_loop import kkt, null_space, null_space_elimination
from ordern.loops.dynamics import METHODS
from ordern.model import BASE

from .harness import Figures, benchmark, difference, race, ratio, settings, wall_clock
from .peer import Peer, pin

Array = np.ndarray
STATES = 32
MECHANISMS = ("four-bar", "delta-robot", "stewart-platform", "four-bar-chain-5", "four-bar-chain-20")
CHAINS = ("chain-20-1", "chain-100-1", "chain-400-1", "chain-100-10", "chain-100-50")


def chain(n: int, loops: int) -> on.Robot:
    """A chain of n links that hangs from the ground, with so many rods from links along it to the ground."""
    builder = on.Builder(f"chain-{n}-{loops}").body("ground")
    for k in range(n):
        builder.body(
            f"link{k}",
            parent=f"link{k - 1}" if k else "ground",
            joint=on.Revolute(((0, 1, 0), (1, 0, 0))[k % 2]),
            at=(0, 0, -0.1 if k else 0),
            mass=0.2,
            com=(0, 0, -0.05),
            inertia=(2e-4, 2e-4, 2e-5),
        )
    for j in range(loops):
        at = (j + 1) * n // loops - 1
        builder.loop(
            f"rod{j}", on.Distance(0.5), "ground", f"link{at}", at=(0.5, 0.0, -0.1 * (at + 1)), child_at=(0, 0, -0.1)
        )
    return builder.build()


def mechanism(name: str, count: int) -> tuple[on.Robot, Array, Array]:
    """A robot with loops, and states in which they are closed and stay so."""
    if name.startswith("chain-"):
        n, loops = (int(x) for x in name.split("-")[1:])
        robot, q = chain(n, loops), np.zeros(n)
    else:
        robot, q = on.load(name), np.array(robots.positions(name)["assembled"], float)
    v = robot.project_velocity(q, 0.3 * np.random.default_rng(0).normal(size=(count, robot.nv)))
    return robot, np.broadcast_to(q, (count, robot.nq)).copy(), v


@benchmark(
    "loops.{robot}", robot=(*MECHANISMS, *CHAINS), quick={"robot": ("four-bar", "stewart-platform", "chain-100-1")}
)
def methods(robot: str) -> Figures:
    """Microseconds per state of each method, in batches of 32; and of one state by the usual one."""
    machine, q, v = mechanism(robot, STATES)
    tau = np.zeros(machine.nv)
    yield "nv", machine.nv
    yield "nc", machine.nc
    times = race({m: lambda m=m: machine.closed_dynamics(q, v, tau, method=m) for m in METHODS}, clock=wall_clock)
    for m, t in times.items():
        yield f"{m}.us", 1e6 * t.min() / STATES
    q0, v0 = q[0].copy(), v[0].copy()
    yield "single.us", 1e6 * race({"one": lambda: machine.forward_dynamics(q0, v0, tau)}, clock=wall_clock)["one"].min()


@benchmark("loops.{robot}.batch.{batch}", robot=MECHANISMS[:3], batch=(4096,))
def batches(robot: str, batch: int) -> Figures:
    """One core, beside Pinocchio's constraintDynamics called state by state from Python, to a residual of 1e-10."""
    machine, q, v = mechanism(robot, batch)
    tau = np.zeros((batch, machine.nv))
    some = 32
    states = [(q[k].copy(), v[k].copy(), tau[k].copy()) for k in range(some)]
    machine.forward_dynamics(*states[0])
    alone = machine.forward_dynamics  # by now, machine code for one state

    def one_by_one() -> None:
        for x in states:
            alone(*x)

    contestants: dict[str, Any] = {
        "ours": lambda: machine.forward_dynamics(q, v, tau, threads=1),
        "one": one_by_one,
    }
    if pin:
        theirs, answer = _pinocchio(machine, q[:some], v[:some], tau[:some])
        ours = machine.forward_dynamics(q[:some], v[:some], tau[:some])
        apart = difference(ours, answer)
        assert apart < 1e-6, f"differs from Pinocchio by {apart:.1e}"
        yield "pinocchio.difference", apart
        contestants["pinocchio"] = theirs
    times = race(contestants)
    yield "ns", 1e9 * times["ours"].min() / batch
    yield "one.us", 1e6 * times["one"].min() / some
    if "pinocchio" in times:
        yield "pinocchio.us", 1e6 * times["pinocchio"].min() / some
        yield "vs_pinocchio", ratio(times["pinocchio"] / some, times["ours"] / batch)
        yield "one.vs_pinocchio", ratio(times["pinocchio"], times["one"])


def _pinocchio(robot: on.Robot, q: Array, v: Array, tau: Array) -> tuple[Any, Array]:
    """Return a loop over states, and its results; loops are contacts in three directions, at the same points."""
    types: dict[type, Any] = {
        on.Revolute: lambda j: pin.JointModelRevoluteUnaligned(np.array(j.axis)),
        on.Prismatic: lambda j: pin.JointModelPrismaticUnaligned(np.array(j.axis)),
        on.Universal: lambda j: pin.JointModelUniversal(np.array(j.axis), np.array(j.axis2)),
        on.Spherical: lambda j: pin.JointModelSpherical(),
        on.Free: lambda j: pin.JointModelFreeFlyer(),
    }
    model = pin.Model()
    model.gravity.linear = np.array(robot.gravity)
    for c, b in zip(robot.joints, robot.bodies, strict=True):
        k = model.addJoint(c.parent + 1, types[type(c.type)](c.type), pin.SE3(c.placement.R, c.placement.p), c.name)
        model.appendBodyToJoint(k, pin.Inertia(b.mass, np.array(b.com), b.inertia_matrix), pin.SE3.Identity())
    loops, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for loop in robot.loops:
        ends = [
            x
            for body, at in ((loop.parent, loop.parent_placement), (loop.child, loop.child_placement))
            for x in (0 if body == BASE else body + 1, pin.SE3(np.array(at.R), np.array(at.p)))
        ]
        loops.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, *ends, pin.ReferenceFrame.LOCAL))
    datas.extend([x.createData() for x in loops])
    peer, data = Peer(robot, model), model.createData()
    pin.initConstraintDynamics(model, data, loops, datas)
    states = list(zip(peer.positions(q), peer.velocities(v), peer.velocities(tau), strict=True))
    settings = pin.ProximalSettings(1e-12, 1e-10, 50)

    def run() -> list[Array]:
        return [pin.constraintDynamics(model, data, *s, loops, datas, settings).copy() for s in states]

    return run, np.array(run())[:, peer.order]


@benchmark("loops.{robot}.rollout.{method}", robot=MECHANISMS[:3], method=("rk4", "semi-implicit-euler"))
def rollout(robot: str, method: str) -> Figures:
    """4,096 trajectories, 200 steps of 1 ms, all cores."""
    machine, q, v = mechanism(robot, 4096)
    steps = 20 if settings.quick else 200
    run = lambda: machine.rollout(q, v, steps=steps, dt=1e-3, method=method, every=steps)  # noqa: E731
    end = run()
    seconds = []
    for _ in range(3):
        started = wall_clock()
        run()
        seconds.append(wall_clock() - started)
    yield "ns_per_step", 1e9 * min(seconds) / len(q) / steps
    yield "open", float(np.abs(machine.loop_residual(end.q[:, -1])).max())


@benchmark("loops.stability.masses_{heavy:g}.sigma_{sigma:g}", heavy=(1.0, 1e6), sigma=(1e-1, 1e-3, 1e-5, 1e-6))
def stability(heavy: float, sigma: float) -> Figures:
    """Errors of the three dense methods against 50 digits, with constraints ever nearer to dependent ones."""
    solvers = {"kkt": kkt.solve, "null-space": null_space.solve, "elimination": null_space_elimination.solve}
    errors: dict[str, list[float]] = {name: [] for name in solvers}
    for seed in range(5 if settings.quick else 20):
        M, f, K, c, a = _case(seed, heavy, sigma)
        for name, solve in solvers.items():
            found = solve(M[None], f[None], K[None], c[None])[0][0]
            errors[name].append(float(np.abs(found - a).max() / np.abs(a).max()))
    for name, x in errors.items():
        yield f"{name}.error", float(np.median(x))


def _case(seed: int, heavy: float, sigma: float) -> tuple[Array, ...]:
    """Random equations with masses that differ by a factor and rows that are nearly dependent; solved in 50 digits."""
    import mpmath

    rng = np.random.default_rng(seed)
    n, r = 8, 4
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    M = Q @ np.diag(np.geomspace(1.0, heavy, n)) @ Q.T
    M = 0.5 * (M + M.T)
    U, V = np.linalg.qr(rng.normal(size=(r, r)))[0], np.linalg.qr(rng.normal(size=(n, n)))[0][:, :r]
    K = U @ np.diag([1.0, 0.7, 0.5, sigma]) @ V.T
    f, c = rng.normal(size=n), K @ rng.normal(size=n)
    whole = np.block([[M, K.T], [K, np.zeros((r, r))]])
    with mpmath.workdps(50):
        x = mpmath.lu_solve(mpmath.matrix(whole.tolist()), mpmath.matrix([*f.tolist(), *c.tolist()]))
        a = np.array([float(x[i]) for i in range(n)])
    return M, f, K, c, a
