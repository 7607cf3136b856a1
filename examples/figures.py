"""Make the plots of the documentation: python examples/figures.py [folder] [names ...]

Without names, such as plot-motion or mechanism-four-bar, all of them; the folder is docs/images. Needs `ordern[plot]`.
Pictures in 3-D are made by gallery.py.
"""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from matplotlib import image

import ordern as on
from ordern import plot, robots
from ordern.plot import style
from ordern.robots.mechanisms import MECHANISMS

ROOT = Path(__file__).resolve().parents[1]
START = [0.3, 1.2, -0.9, 0.2, 0.4, 0.0]


def motion():
    """The usual picture of a motion."""
    return on.load("puma560").simulate(START, until=2.0).plot(title="A PUMA 560, let go")


def tip():
    """Draw the path of the hand, and phase portraits."""
    result = on.load("puma560").simulate(START, until=2.0)
    return result.plot("tip", "phase", joints=["waist", "shoulder", "elbow"], title="A PUMA 560, let go")


def many():
    """Joints with several coordinates, and more than fit into one pair of axes."""
    robot = on.load("yamane-branched-30")
    result = robot.simulate(robot.random(0), until=0.5, method="dormand-prince", rtol=1e-8)
    return result.plot("q", title="Ten spherical joints")


def matrix():
    """Which freedoms a branched robot couples."""
    return plot.mass_matrix(on.load("yamane-branched-30"))


def complexity():
    """Order n against order n cubed."""
    robots = [on.chain(n) for n in (2, 4, 8, 16, 32)]
    methods = ["articulated-body", "composite-body", "denoc", "virtual-work"]
    return plot.complexity(robots, methods=methods, title="Forward dynamics of a chain")


def methods():
    """Energy errors of methods at one step, on a double pendulum that is chaotic."""
    robot = on.load("double-pendulum")
    names = ("semi-implicit-euler", "rk4", "variational", "dormand-prince-8")
    runs = {name: robot.simulate([1.2, 0.5], until=30.0, method=name, step=0.01) for name in names}
    return plot.compare(runs, "q.elbow", "drift", title="A double pendulum, steps of at most 10 ms")


def bounce():
    """Hard stops."""
    robot = on.load("double-pendulum")
    joints = [replace(c, lower=(-0.5,), upper=(0.5,), damping=(0.02,)) for c in robot.joints]
    stopped = replace(robot, joints=tuple(joints))
    result = stopped.simulate([0.3, 0.2], [2.5, -1.0], until=3.0, limits="bounce", restitution=0.7)
    return result.plot("q", "v", "energy", title="A double pendulum between hard stops")


def control():
    """Two controllers follow one motion with a load that they do not know."""
    robot = on.load("puma560")
    home = np.array([0.0, 0.8, -2.2, 0.0, 0.6, 0.0])
    move = on.trajectories.cycloidal(robot, home, home + 0.6, 1.0)
    link = {"parent": "flange", "joint": on.Fixed(), "at": (0, 0, 0.1)}
    loaded = robot.builder().body("load", mass=2.0, inertia=(4e-3, 4e-3, 4e-3), **link).build()
    M = robot.mass_matrix(home).diagonal()
    laws = {
        "PD": on.controllers.PD(robot, move, 400 * M, 40 * M, gravity=True),
        "computed torque": on.controllers.ComputedTorque(robot, move, kp=400.0),
    }
    runs = {name: loaded.simulate(home, tau=law, until=1.5, rtol=1e-6, atol=1e-6) for name, law in laws.items()}
    t = np.linspace(0.0, 1.5, 400)
    q, v, a = move(t)
    runs["wanted"] = on.Result(loaded, t, q, v, a, loaded.inverse_dynamics(q, v, a))
    return plot.compare(runs, "q.elbow", "tau.elbow", title="A PUMA 560 with 2 kg that its controllers do not know of")


FIGURES = {f"plot-{f.__name__}": f for f in (motion, tip, many, matrix, complexity, methods, bounce, control)}


def mechanism(name):
    """A mechanism with closed loops, in its assembled position."""
    return plot.mechanism(on.load(name), robots.positions(name)["assembled"], title=name)


FIGURES |= {f"mechanism-{name}": partial(mechanism, name) for name in (*MECHANISMS, "four-bar-chain-4")}


def drift():
    """Draw the errors of a loop and of the energy with and without corrections, at steps that are too long."""
    robot = on.load("four-bar")
    made = style.figure(style.WIDTH, 2.9)
    left, right = made.subplots(1, 2)
    for kind, colour in zip(("none", "baumgarte", "project"), style.COLOURS, strict=False):
        q = robots.positions("four-bar")["assembled"]
        run = robot.simulate(q, until=10.0, method="rk4", step=0.004, drift=kind)
        residual = np.linalg.norm(robot.loop_residual(run.q), axis=-1)
        left.semilogy(run.t, np.maximum(residual, 1e-17), color=colour, label=f'drift="{kind}"', lw=0.8)
        right.plot(run.t, (run["energy"] - run["energy"][0]) / run["kinetic"].max(), color=colour, lw=0.8)
    style.dress(left, "How far the loop is open", "time in s", "m")
    style.dress(right, "The error of the energy", "time in s", "part of the largest kinetic energy")
    right.set_yscale("symlog", linthresh=1e-6)
    made.legend(loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    return made


def nearly_tied(apart):
    """A chain of nine hinges whose last link is held by a ball and, so far beside it, by a pin in a slot."""
    chain = on.chain(9)
    q, last = 0.4 * np.random.default_rng(3).standard_normal(9), chain.bodies[-1].name
    pose, builder = chain.pose(q, last), chain.builder()
    turn, ground = tuple(pose[:3, :3].ravel()), builder.bodies[0]
    beside = tuple(pose[:3, 3] + apart * pose[:3, 0])
    builder.loop("ball", on.Spherical(), ground, last, at=on.Placement(turn, tuple(pose[:3, 3])))
    slot = {"at": on.Placement(turn, beside), "child_at": (apart, 0.0, 0.0)}
    return builder.loop("pin", on.PointOnLine((1, 0, 0)), ground, last, **slot).build(), q


def exact_acceleration(M, f, K, c):
    """Equation (20) with 50 digits."""
    import mpmath

    with mpmath.workdps(50):
        A = mpmath.matrix(np.block([[M, K.T], [K, np.zeros((len(K), len(K)))]]).tolist())
        x = mpmath.lu_solve(A, mpmath.matrix([*f.tolist(), *c.tolist()]))
        return np.array([float(x[i]) for i in range(len(M))])


def stability():
    """Errors of the methods with constraints ever nearer to dependent ones, against 50 digits."""
    names = ("kkt", "multipliers", "null-space", "proximal")
    distances = 10.0 ** -np.arange(1.0, 6.5, 0.5)
    errors = {name: [] for name in names}
    for apart in distances:
        robot, q = nearly_tied(apart)
        rng, found = np.random.default_rng(1), {name: [] for name in names}
        K, M = robot.loop_jacobian(q), robot.mass_matrix(q)
        for _ in range(10):
            v, tau = robot.project_velocity(q, rng.standard_normal(9)), rng.standard_normal(9)
            known = exact_acceleration(M, tau - robot.bias_force(q, v), K, -robot.loop_bias(q, v))
            for name in names:
                off = np.abs(robot.closed_dynamics(q, v, tau, method=name).a - known).max()
                found[name].append(off / np.abs(known).max())
        for name in names:
            errors[name].append(np.median(found[name]))
    made = style.figure(style.WIDTH, 3.2)
    axes = made.subplots()
    for name, marker, colour in zip(names, "osvx", style.COLOURS, strict=False):
        axes.loglog(distances, errors[name], marker=marker, ms=4, lw=1.0, color=colour, label=name)
    axes.invert_xaxis()
    style.dress(
        axes, "Nearly dependent constraints", "distance of ball and pin in m", "relative error of accelerations"
    )
    axes.legend(fontsize=8, frameon=False)
    return made


def pushed():
    """Draw the contacts of a quadruped that is pushed to the side."""
    robot, stand = on.load("quadruped"), robots.positions("quadruped")["stand"]
    walker = robot.with_contacts(on.Ground(0.8), points=["lf_foot", "rf_foot", "lh_foot", "rh_foot"])
    springs = np.repeat([0.0, 200.0], [6, 12]), np.repeat([0.0, 5.0], [6, 12]), stand
    push = np.zeros((1000, 13, 6))
    push[250:300, 0, 4] = 120.0
    run = walker.rollout(stand, np.zeros(18), steps=1000, dt=2e-3, feedback=springs, external=push)
    return plot.contacts(run, width=6.0)


def uneven():
    """A quadruped that has landed on stairs, and on a height field."""
    robot, stand = on.load("quadruped"), robots.positions("quadruped")["stand"]
    springs = np.repeat([0.0, 200.0], [6, 12]), np.repeat([0.0, 5.0], [6, 12]), stand
    x = np.linspace(-2.0, 2.0, 41)
    waves = 0.06 * np.sin(4 * x[:, None]) * np.cos(5 * x) + 0.03 * np.random.default_rng(0).random((41, 41))
    grounds = (
        on.Ground(0.8, steps=[(0.15, 0.08), (0.45, 0.16), (0.75, 0.24)]),
        on.Ground(0.8, heights=waves, size=(4.0, 4.0)),
    )
    made = style.figure(7.2, 2.7)
    with TemporaryDirectory() as folder:
        for axes, ground in zip(made.subplots(1, 2), grounds, strict=True):
            walker = robot.with_contacts(ground, points=["lf_foot", "rf_foot", "lh_foot", "rh_foot"], sweeps=20)
            start = stand + 0.15 * np.eye(19)[6]
            run = walker.rollout(start, np.zeros(18), steps=500, dt=2e-3, feedback=springs)
            walker.view(run.q[-1], motion=run, save=f"{folder}/still.png", size=(960, 720), paths=[])
            axes.imshow(image.imread(f"{folder}/still.png"))
            axes.set_axis_off()
    return made


SCENE = """<mujoco><option timestep="0.002" cone="{cone}"/><worldbody>
<geom type="plane" size="50 50 1" euler="0 {angle} 0" friction="0.5 0 0" priority="1"/>
<body pos="{x} 0 {z}" euler="0 {angle} 0"><freejoint/><geom type="box" size="0.1 0.1 0.05" mass="2"/></body>
</worldbody></mujoco>"""


def block_of_mujoco(angle, cone):
    """Return where a block of 2 kg is along a slope, and above it, in 1000 steps; it needs the package mujoco."""
    import mujoco

    up, down = np.array([np.sin(angle), 0.0, np.cos(angle)]), np.array([np.cos(angle), 0.0, -np.sin(angle)])
    scene = SCENE.format(cone=cone, angle=np.degrees(angle), x=0.05 * up[0], z=0.05 * up[2])
    model = mujoco.MjModel.from_xml_string(scene)
    data, places = mujoco.MjData(model), []
    for _ in range(1000):
        mujoco.mj_step(model, data)
        places.append(data.qpos[:3].copy())
    return np.array(places) @ down, np.array(places) @ up - 0.05


def block_of_ours(angle):
    """Return the same for a block of the same size with rigid contacts."""
    builder = on.Builder("block")
    builder.body("block", mass=2.0, inertia=(0.0083, 0.0083, 0.0133))
    builder.shape("block", "box", (0.2, 0.2, 0.1), role="collision")
    up, down = np.array([np.sin(angle), 0.0, np.cos(angle)]), np.array([np.cos(angle), 0.0, -np.sin(angle)])
    robot = builder.build(floating=True).with_contacts(on.Ground(0.5, normal=tuple(up)))
    q = np.array([np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0, *(0.05 * up)])
    run = robot.rollout(q, np.zeros(6), steps=1000, dt=2e-3)
    return run.q[1:, 4:] @ down, run.q[1:, 4:] @ up - 0.05


def artefacts():
    """A block that should rest on a slope of 20 degrees, and one that should slide on 35 degrees."""
    made = style.figure(7.2, 2.6)
    rests, slides = made.subplots(1, 2)
    t = 2e-3 * np.arange(1, 1001)
    for k, (name, cone) in enumerate((("MuJoCo", "pyramidal"), ("MuJoCo, elliptic cones", "elliptic"), ("here", ""))):
        for axes, degrees, which in ((rests, 20.0, 0), (slides, 35.0, 1)):
            angle = np.radians(degrees)
            found = block_of_mujoco(angle, cone) if cone else block_of_ours(angle)
            axes.plot(t, 1e3 * found[which], label=name, **style.curve(k))
    style.dress(rests, "Creep of a block at rest, 20 degrees", x="time, s", y="mm")
    style.dress(slides, "Height of a block that slides, 35 degrees", x="time, s", y="mm")
    rests.legend(fontsize=7, frameon=False)
    return made


FIGURES |= {"loops-drift": drift, "loops-stability": stability}
FIGURES |= {"contact-plot": pushed, "contact-terrain": uneven, "contact-artefacts": artefacts}


def main(arguments):
    folder = Path(arguments[0]) if arguments and arguments[0] not in FIGURES else ROOT / "docs" / "images"
    names = [name for name in arguments if name in FIGURES] or list(FIGURES)
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        path = folder / f"{name}.png"
        plot.save(FIGURES[name](), path, dpi=130)
        print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
