"""The cases of SimBenchmark beside MuJoCo, with errors against known answers: `rollout`, one core.

SimBenchmark (Kang and Hwangbo, ETH Zurich) compares simulators by scenes whose answers are known. The scenes here are
written anew, from MJCF text that both load:

* rolling: a heavy plate on the ground is pulled along a diagonal, with balls on it that roll. The error is that of the
  speeds of plate and balls at the end, relative to the exact ones.
* bouncing: balls fall from different heights. The error is that of their energy, relative to the one at the start, on
  average over time. Semi-implicit steps change the energy in free flight, too.
* 666: balls without friction that lose no energy fall onto the ground and each other, at most 27 in place of
  6 x 6 x 6. The error is that of the energy, as before. MuJoCo has its time for 216 balls as well.
* ANYmal: it stands, held by springs and dampers in its joints (error: the speed of the trunk over the last half second,
  which is zero; depth of the feet), and it moves its legs without gravity (error: the change of momentum).

MuJoCo has its default contacts, the stiffest that it recommends, and, where balls bounce, springs and dampers in
contacts that give this restitution; it has no coefficient of restitution.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import ordern as on

from .contact import FRICTION, contacts, standing
from .contact_gym import depths
from .contact_race import peer_run, raced, stiffest, touching_model
from .harness import Array, Figures, benchmark
from .mujoco_peer import mujoco

G = 9.81
Errors = Callable[[Array, Array], Mapping[str, float]]
"""Named errors of positions and velocities of shape (batch, steps, ...)."""


def compared(
    robot: on.Robot, models: Mapping[str, Any], q0: Array, v0: Array, steps: int, dt: float, errors: Errors,
    tau: Array | None = None, control: Array | None = None,
) -> Figures:  # fmt: skip
    """Yield times and errors of ours and of MuJoCo's models."""
    given = (tau,) if tau is not None else ()
    length = {} if given else {"steps": steps}
    ours = {"ours": lambda: robot.rollout(q0, v0, *given, dt=dt, threads=1, **length)}
    peers = {name: peer_run(robot, model, q0, v0, steps, control) for name, model in models.items()}
    yield from raced(ours, peers, len(q0) * steps)
    run = ours["ours"]()
    states = {"ours": (run.q[:, 1:], run.v[:, 1:])}
    for name, model in models.items():
        states[name] = peer_states(robot, model, peers[name]()[0])
    for name, found in states.items():
        for error, value in errors(*found).items():
            yield f"{name}.{error}", value


def peer_states(robot: on.Robot, model: Any, states: Any) -> tuple[Array, Array]:
    """Return states of MuJoCo's rollout as ours."""
    x, nq = np.asarray(states), model.nq
    q, v = on.convert(robot, model).from_peer(x[..., 1 : 1 + nq], x[..., 1 + nq : 1 + nq + model.nv])
    return q, v


def elastic(model: Any, restitution: float) -> Any:
    """Return a model whose contacts are springs and dampers that give a restitution, over ten steps."""
    made = stiffest(model)
    stiffness = (math.pi / (10.0 * model.opt.timestep)) ** 2
    lost = -math.log(restitution)
    made.geom_solref[:] = -stiffness, -2.0 * lost / math.hypot(math.pi, lost) * math.sqrt(stiffness)
    return made


def scene(bodies: list[str], friction: float, dt: float, more: str = "") -> tuple[on.Robot, Any]:
    """Return free bodies over a plane, ours and MuJoCo's."""
    dim = 3 if friction else 1
    text = (
        f'<mujoco model="scene"><option timestep="{dt}"/><default><geom condim="{dim}"/></default><worldbody>'
        f'<geom type="plane" size="50 50 1" friction="{friction} 0 0"/>{"".join(bodies)}</worldbody>{more}</mujoco>'
    )
    return on.load(text), mujoco.MjModel.from_xml_string(text)


def body(name: str, shape: str, size: str, mass: float, friction: float) -> str:
    """Return a free body of one shape as MJCF text."""
    geom = f'<geom type="{shape}" size="{size}" mass="{mass}" friction="{friction} 0 0"/>'
    return f'<body name="{name}"><freejoint name="free {name}"/>{geom}</body>'


# the cases ----------------------------------------------------------------------------------------------------------


@benchmark("simbenchmark.anymal.standing")
def anymal_standing() -> Figures:
    batch, steps, dt = 16, 1500, 2e-3
    machine, q = standing("anymal")
    robot = contacts(machine, "anymal")
    model = touching_model(robot, dt, FRICTION)
    rng = np.random.default_rng(0)
    q0 = machine.integrate(q, 0.02 * rng.standard_normal((batch, machine.nv)))

    def errors(q: Array, v: Array) -> dict[str, float]:
        speed = np.linalg.norm(v[:, -250:, 3:6], axis=-1)
        return {"speed": float(speed.max()), "depth": float(depths(robot, q[:, -250:]).max())}

    models = {"mujoco": model, "mujoco_stiff": stiffest(model)}
    yield from compared(robot, models, q0, np.zeros((batch, robot.nv)), steps, dt, errors)


@benchmark("simbenchmark.anymal.momentum")
def anymal_momentum() -> Figures:
    batch, steps, dt = 16, 500, 2e-3
    machine, q = standing("anymal")
    builder = machine.builder()
    builder.gravity = (0.0, 0.0, 0.0)
    robot = builder.build().with_contacts(on.Ground(FRICTION, height=-10.0), points=["LF_FOOT"], limits=False)
    model = copy.copy(touching_model(robot, dt, FRICTION))
    model.opt.gravity[:] = 0.0
    rng = np.random.default_rng(0)
    q0, v0 = np.tile(q, (batch, 1)), np.zeros((batch, robot.nv))
    v0[:, 6:] = 2.0 * rng.standard_normal((batch, robot.nv - 6))
    start = robot.momentum(q0, v0)

    def errors(q: Array, v: Array) -> dict[str, float]:
        change = robot.momentum(q[:, -1], v[:, -1]) - start
        parts = {"angular": slice(0, 3), "linear": slice(3, 6)}
        return {
            f"{name}_error": float(
                np.mean(np.linalg.norm(change[:, x], axis=-1) / np.linalg.norm(start[:, x], axis=-1))
            )
            for name, x in parts.items()
        }

    yield from compared(robot, {"mujoco": model}, q0, v0, steps, dt, errors)


@benchmark("simbenchmark.bouncing.{restitution}", restitution=(0.8, 1.0))
def bouncing(restitution: float) -> Figures:
    steps, dt, radius = 1000, 2e-3, 0.1
    robot, model = scene([body("ball", "sphere", str(radius), 1.0, 0.0)], 0.0, dt)
    robot = robot.with_contacts(on.Ground(0.0, restitution=restitution))
    heights = np.linspace(0.5, 1.5, 25)
    q0, v0 = np.tile(robot.neutral(), (25, 1)), np.zeros((25, 6))
    q0[:, 6] = heights + radius
    t, fall = dt * np.arange(1, steps + 1), np.sqrt(2.0 * heights / G)[:, None]
    bounces = sum(
        (t >= fall * (1.0 + 2.0 * sum(restitution**j for j in range(1, k + 1)))).astype(int) for k in range(9)
    )
    exact = G * heights[:, None] * restitution ** (2.0 * bounces)

    def errors(q: Array, v: Array) -> dict[str, float]:
        energy = G * (q[..., 6] - radius) + 0.5 * (v[..., 3:] ** 2).sum(-1)
        return {"energy_error": float(np.mean(np.abs(energy - exact) / (G * heights[:, None])))}

    models = {"mujoco": model, "mujoco_stiff": stiffest(model), "mujoco_elastic": elastic(model, restitution)}
    yield from compared(robot, models, q0, v0, steps, dt, errors)


def stacked(balls: int, dt: float) -> tuple[on.Robot, Any, Array]:
    """Return balls in layers above the ground that do not quite lie above each other, ours, MuJoCo's, and the place."""
    robot, model = scene([body(f"ball {k}", "sphere", "0.1", 1.0, 0.0) for k in range(balls)], 0.0, dt)
    side, off = max(2, round(balls ** (1 / 3))), 0.02 * np.random.default_rng(0).standard_normal((balls, 3))
    places = np.array([[k % side, k // side % side, k // side**2] for k in range(balls)])
    q = robot.neutral().reshape(balls, 7)
    q[:, 4:] = 0.25 * places[:, :: -1 if balls < 8 else 1] + [0.0, 0.0, 0.5] + off  # few balls: above each other first
    return robot, model, q.ravel()


@benchmark("simbenchmark.666.{balls}", balls=(2, 4, 8, 27), quick={"balls": (2, 4)})
def elastic_balls(balls: int) -> Figures:
    batch, steps, dt = 8, 1000, 1e-3
    robot, model, q = stacked(balls, dt)
    names = [f"ball {k}" for k in range(balls)]
    pairs = [(a, b) for k, a in enumerate(names) for b in names[:k]]
    robot = robot.with_contacts(on.Ground(0.0, restitution=1.0), pairs=pairs, friction=0.0, restitution=1.0)
    q0, v0 = np.tile(q, (batch, 1)), np.zeros((batch, robot.nv))
    start = G * q[6::7].sum() - G * 0.1 * balls

    def errors(q: Array, v: Array) -> dict[str, float]:
        energy = G * (q[..., 6::7] - 0.1).sum(-1) + 0.5 * (v**2).reshape(*v.shape[:2], balls, 6)[..., 3:].sum((-1, -2))
        return {"energy_error": float(np.mean(np.abs(energy / start - 1.0)))}

    models = {"mujoco": model, "mujoco_stiff": stiffest(model), "mujoco_elastic": elastic(model, 1.0)}
    yield "contacts", len(robot.contacts.pairs)
    yield from compared(robot, models, q0, v0, steps, dt, errors)


@benchmark("simbenchmark.666.216", quick=False)
def mujoco_alone() -> Figures:
    """Time MuJoCo with all balls, which are too many pairs for our step."""
    robot, model, q = stacked(216, 1e-3)
    models = {"mujoco": model, "mujoco_elastic": elastic(model, 1.0)}
    start = q[None], np.zeros((1, robot.nv))
    yield from raced({}, {name: peer_run(robot, x, *start, 1000) for name, x in models.items()}, 1000)


@benchmark("simbenchmark.rolling.{balls}", balls=(1, 4, 9, 25), quick={"balls": (1, 4)})
def rolling(balls: int) -> Figures:
    batch, steps, dt, mass, below, above = 8, 500, 4e-3, 10.0, 0.4, 0.8
    names, side = [f"ball {k}" for k in range(balls)], math.isqrt(balls)
    bodies = [body("plate", "box", "10 10 0.5", mass, below), *(body(n, "sphere", "0.5", 1.0, above) for n in names)]
    motors = "".join(f'<motor joint="free plate" gear="{axis} 0 0 0 0"/>' for axis in ("1 0", "0 1"))
    robot, model = scene(bodies, below, dt, f"<actuator>{motors}</actuator>")
    builder, corners = robot.builder(), []
    for x, y in ((-10, -10), (-10, 10), (10, -10), (10, 10)):
        corners.append(f"corner {x} {y}")
        builder.frame(corners[-1], "plate", (x, y, -0.5))
    pairs = [(name, "plate") for name in names]
    robot = builder.build().with_contacts(on.Ground(below), points=corners, pairs=pairs, friction=above)
    q = robot.neutral()
    q[robot.joint("free plate").q][6] = 0.5
    for k, name in enumerate(names):
        q[robot.joint(f"free {name}").q][4:] = 2 * (k % side) - side + 1, 2 * (k // side) - side + 1, 1.5
    weight = (mass + balls) * G
    force = 150.0 / 35.0 / G * weight  # 150 N with the 25 balls of SimBenchmark
    tau, at = np.zeros((batch, steps, robot.nv)), robot.joint("free plate").v.start
    tau[..., at + 3 : at + 5] = force / math.sqrt(2.0)
    control = np.full((batch, steps, 2), force / math.sqrt(2.0))
    speed = (force - below * weight) / (mass + 2.0 / 7.0 * balls) * steps * dt

    def errors(q: Array, v: Array) -> dict[str, float]:
        found = {name: np.linalg.norm(v[:, -1, robot.joint(f"free {name}").v][:, 3:], axis=-1) for name in names}
        plate = np.linalg.norm(v[:, -1, at + 3 : at + 6], axis=-1)
        rolled = max(float(np.abs(x / (2.0 / 7.0 * speed) - 1.0).max()) for x in found.values())
        return {"plate_error": float(np.abs(plate / speed - 1.0).max()), "ball_error": rolled}

    models = {"mujoco": model, "mujoco_stiff": stiffest(model)}
    start = np.tile(q, (batch, 1)), np.zeros((batch, robot.nv))
    yield from compared(robot, models, *start, steps, dt, errors, tau, control)
