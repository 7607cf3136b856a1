"""Make the plots of the documentation: python examples/figures.py [folder] [names ...]

Without names, all of them; the folder is docs/images. Needs `ordern[plot]`. Pictures in 3-D are made by gallery.py.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

import ordern as on
from ordern import plot

ROOT = Path(__file__).resolve().parents[1]
START = [0.3, 1.2, -0.9, 0.2, 0.4, 0.0]


def motion():
    """The usual picture of a motion."""
    return on.load("puma560").simulate(START, until=2.0).plot(title="A PUMA 560, let go")


def tip():
    """Where the hand goes, and phase portraits."""
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


FIGURES = {f.__name__: f for f in (motion, tip, many, matrix, complexity, methods, bounce, control)}


def main(arguments):
    folder = Path(arguments[0]) if arguments and arguments[0] not in FIGURES else ROOT / "docs" / "images"
    names = [name for name in arguments if name in FIGURES] or list(FIGURES)
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        path = folder / f"plot-{name}.png"
        plot.save(FIGURES[name](), path, dpi=130)
        print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
