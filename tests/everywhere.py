"""Five small robots, and all that acts on them, as functions of one number s: for `test_agrees_everywhere`.

Everything moves with s along a smooth path, on which loops and couplings stay closed. So the difference of any function
at two values of s is the oracle of its derivatives, whatever they are derivatives by.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

import ordern as on
from ordern.algorithms.registry import find_question
from ordern.loops.dynamics import BAUMGARTE

__all__ = ["DT", "KINDS", "SMOOTHING", "STEPS", "TERMS", "Case", "definition", "expected", "rates", "rollout"]

KINDS = ("tree", "mimic", "loop", "sprung loop", "coupling")
TERMS = ("plain", "feedback", "external", "friction", "damping", "all")
STEPS, DT, SMOOTHING = 4, 4e-3, 0.3
SETS = 2
"""The sets of parameters of a varied robot."""
PASSIVE = {"friction": {"friction": 0.4}, "damping": {"damping": 0.6}}
PASSIVE["all"] = {**PASSIVE["friction"], **PASSIVE["damping"], "stiffness": 3.0}
Y = on.Revolute((0.0, 1.0, 0.0))
EPSILON = 1e-5


@cache
def _leg(kind: str, term: str) -> on.Robot:
    """Return a leg below a trunk on a vertical slide: two links, or a parallelogram of four bars."""
    b, more = on.Builder(kind), PASSIVE.get(term, {})
    light = {"mass": 0.6, "com": (0.02, 0.0, -0.1), "inertia": (0.01, 0.012, 0.004), **more}
    slide = {"parent": "world", "joint": on.Prismatic((0.0, 0.0, 1.0))}
    b.body("world").body("trunk", mass=3.0, inertia=(0.05, 0.06, 0.07), **slide, **more)
    if kind.endswith("loop"):
        b.body("thigh", parent="trunk", joint=Y, joint_name="hip", **light)
        b.body("crank", parent="trunk", joint=Y, joint_name="drive", at=(0.3, 0.0, 0.0), **light)
        b.body("shin", parent="crank", joint=Y, joint_name="pin", at=(0.0, 0.0, -0.3), **light)
        spring = {"stiffness": 30.0, "damping": 0.4, "rest": 0.2} if kind == "sprung loop" else {}
        b.loop("close", Y, "thigh", "shin", at=(0.0, 0.0, -0.3), child_at=(-0.3, 0.0, 0.0), **spring)
    else:
        hip = on.Spherical() if kind == "tree" else Y
        b.body("thigh", parent="trunk", joint=hip, joint_name="hip", **light)
        mimic = {"mimic": ("hip", -1.5, 0.3)} if kind == "mimic" else {}
        b.body("shin", parent="thigh", joint=Y, joint_name="knee", at=(0.0, 0.0, -0.3), **light, **mimic)
        if kind == "coupling":
            b.couple("gear", "knee", "hip", (0.3, -1.5, 0.2))
    return b.frame("foot", "shin", (0.0, 0.0, -0.2)).build()


@cache
def _touching(kind: str, term: str) -> on.Robot:
    """Return the same leg, whose foot touches the ground."""
    return _leg(kind, term).with_contacts(on.Ground(0.5), points={"foot": 0.02}, limits=False)


class Case(NamedTuple):
    """A robot, and what acts on it."""

    kind: str
    varied: bool = False
    touching: bool = False
    term: str = "all"

    def __str__(self) -> str:
        flags = (("varied", self.varied), ("touching", self.touching))
        return "-".join([self.kind, *(x for x, holds in flags if holds), self.term])

    def robot(self, s: float = 0.0) -> on.Robot:
        """Return the robot; at another s, all inertias are others, those that are zero too."""
        robot = _touching(self.kind, self.term) if self.touching else _leg(self.kind, self.term)
        if not self.varied:
            return robot
        some = robot.vary(mass=np.linspace(0.8, 1.2, SETS)[:, None] * [x.mass for x in robot.bodies])
        return some if s == 0.0 else some.with_parameters(inertia=some.parameters.inertia + s * self.heavier)

    @property
    def heavier(self) -> np.ndarray:
        """The rate of all inertias."""
        return 1e-3 * np.random.default_rng(1).normal(size=(SETS, len(_leg(self.kind, self.term).bodies), 10))

    def arguments(self, s: float = 0.0) -> dict[str, Any]:
        """Return the arguments of a rollout, by the names of `Rollout.jvp`."""
        robot = _leg(self.kind, self.term)
        rng, nv, n = np.random.default_rng(2), robot.nv, len(robot.bodies)
        hip, w = 0.4 + 0.5 * s, 1.0 - 0.7 * s
        knee, ratio = {"coupling": (0.3 - 1.5 * hip + 0.2 * hip**2, 0.4 * hip - 1.5)}.get(self.kind, (0.2 + s, 0.5))
        angles, turning = {"mimic": ((hip,), (w,)), "loop": ((hip, hip, -hip), (w, w, -w))}.get(
            self.kind.split()[-1], ((hip, knee), (w, ratio * w))
        )
        q, v = np.array([0.42 + 0.1 * s, *angles]), np.array([-0.5 + s, *turning])
        if self.kind == "tree":
            q = robot.integrate(robot.neutral(), [q[0], 0.1, hip, -0.2 + s, knee])
            v = np.array([v[0], 0.3, w, 0.2 * s, v[-1]])
        tau, loads, goal, kp, kd, more = (rng.normal(size=(2, *x)) for x in ((nv,), (n, 6), (nv,), (nv,), (nv,), ()))
        found = {"q0": q, "v0": v, "tau": tau[0] + s * tau[1], "dt": DT * (1.0 + s)}
        if self.term in ("external", "all"):
            found["external"] = loads[0] + s * loads[1]
        if self.term in ("feedback", "all"):
            found["target"] = robot.integrate(q, 0.2 * goal[0] + s * goal[1])
            found |= {"kp": 20.0 + kp[0] + s * kp[1], "kd": 1.0 + 0.1 * (kd[0] + s * kd[1])}
        if self.touching:
            found |= {"contact_friction": np.array([0.5 + s * more[0]]), "ground_height": np.array([0.03 + s])}
        return found

    def tangents(self) -> dict[str, Any]:
        """Return the rates of all arguments, and of the inertia of a varied robot."""
        robot, here = _leg(self.kind, self.term), self.arguments()
        after, before = self.arguments(EPSILON), self.arguments(-EPSILON)
        place = {
            x: robot.difference(here[x], after[x]) - robot.difference(here[x], before[x])
            for x in ("q0", "target")
            if x in here
        }
        found = {x: place.get(x, np.subtract(after[x], before[x])) / (2.0 * EPSILON) for x in here}
        return {**found, "inertia": self.heavier} if self.varied else found


def rollout(robot: on.Robot, given: dict[str, Any], **more: Any) -> Any:
    """Return the rollout of arguments."""
    x = dict(given)
    fed = (x.pop("kp"), x.pop("kd"), x.pop("target")) if "kp" in x else None
    start = x.pop("q0"), x.pop("v0"), x.pop("tau")
    return robot.rollout(*start, STEPS, feedback=fed, smoothing=SMOOTHING, **x, **more)


def rates(case: Case, answer: Any) -> Any:
    """Return the derivative of `answer(robot, arguments)`, a tuple of arrays, by s: a central difference."""
    ends = (answer(case.robot(s), case.arguments(s)) for s in (EPSILON, -EPSILON))
    return [(x - y) / (2.0 * EPSILON) for x, y in zip(*ends, strict=True)]


def definition(robot: on.Robot, question: str, **given: Any) -> Any:
    """Return the answer of the definition, run on plain numbers."""
    names = [p.name for p in find_question(question).inputs if p.name in given]
    options = {"alpha": BAUMGARTE} if question == "stabilised_dynamics" else {}
    return robot.kernel(question, way="interpreted", **options)(*(given[x] for x in names))


def _force(robot: on.Robot, x: dict[str, Any], q: Any, v: Any) -> Any:
    """Return all joint forces at a state, from their definitions; steps with contacts solve for dry friction."""
    own = "passive_force" if robot.contacts is None else "step_passive_force"
    total = x["tau"] + definition(robot, own, q=q, v=v, smoothing=SMOOTHING)
    if robot.loops and robot.contacts is None:
        total = total + definition(robot, "loop_passive_force", q=q, v=v, smoothing=SMOOTHING)
    if "kp" in x:
        total = total + x["kp"] * definition(robot, "difference", q0=q, q1=x["target"]) - x["kd"] * v
    if "external" in x:
        total = total + definition(robot, "external_force", q=q, external=x["external"])
    return total


def expected(case: Case) -> tuple[Any, Any]:
    """Return the states at the end: of steps with contacts, or of rk4, whose forces are those of its stages."""
    robot, x = case.robot(), case.arguments()
    q, v, h = x["q0"], x["v0"], x["dt"]
    drag = x["kd"] + h * x["kp"] if "kp" in x else np.zeros(robot.nv)
    surfaces = np.array([[*x.get("contact_friction", [0.0]), 0.0, *x.get("ground_height", [0.0])]])
    pushed: Any = np.zeros((1, 3)), np.zeros(robot.nv)
    question = "stabilised_dynamics" if robot.nc else "forward_dynamics"

    def rate(q: Any, v: Any) -> Any:
        a = definition(robot, question, q=q, v=v, tau=_force(robot, x, q, v))
        return definition(robot, "position_rate", q=q, v=v), a

    for _ in range(STEPS):
        if case.touching:
            given = {"tau": _force(robot, x, q, v) - (h * x["kp"] * v if "kp" in x else 0.0), "drag": drag}
            bounds = {"lower": robot.lower, "upper": robot.upper, "impulses": pushed[0], "stops": pushed[1]}
            found = definition(robot, "contact_step", q=q, v=v, dt=h, surfaces=surfaces, **given, **bounds)
            nq, nv = robot.nq, robot.nv
            q, v, impulses, stops, _ = np.split(found, np.cumsum([nq, nv, 3, nv]), axis=-1)
            pushed = impulses.reshape(*found.shape[:-1], 1, 3), stops
            continue
        k1 = rate(q, v)
        k2, k3 = None, None
        k2 = rate(q + 0.5 * h * k1[0], v + 0.5 * h * k1[1])
        k3 = rate(q + 0.5 * h * k2[0], v + 0.5 * h * k2[1])
        k4 = rate(q + h * k3[0], v + h * k3[1])
        q, v = (y + h / 6.0 * (a + 2.0 * b + 2.0 * c + d) for y, a, b, c, d in zip((q, v), k1, k2, k3, k4, strict=True))
        q = definition(robot, "normalize", q=q)
    return q, v
