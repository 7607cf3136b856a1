"""What the fuzzer of calls calls: the public functions, with good values for their parameters."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

import ordern as on
from tests.examples.test_reference import INTERNAL

__all__ = ["TARGETS", "Target"]


@dataclass(frozen=True)
class Target:
    """A function, and good values for its parameters."""

    label: str
    call: Callable[..., Any]
    parameters: Mapping[str, inspect.Parameter]
    good: Mapping[str, tuple[Any, ...]]
    weight: float = 1.0
    settings: tuple[str, ...] = ()
    """Keywords that it passes on."""


LEFT_OUT = {
    "view": "opens a page in the browser",
    "plot": "draws with matplotlib, whose errors are its own",
    "animate": "draws with matplotlib, whose errors are its own",
    "show": "opens a page in the browser",
    "function": "is the user's own",
    "effect": "is the user's own",
    "values": "takes the uniform numbers that an ensemble draws",
}
"""Functions that are not called."""
HEAVY = {
    **dict.fromkeys(("identify", "exciting_trajectory", "calibrate", "identifiability", "simulate"), 0.05),
    **dict.fromkeys(("base_parameters", "inverse_kinematics", "hessian", "hvp", "symbolic", "assemble"), 0.05),
    **dict.fromkeys(("linearise", "with_contacts", "check", "load", "chain", "tree", "builder", "positions"), 0.2),
    **dict.fromkeys(("rollout", "rollout_jvp", "rollout_vjp", "contact_forces", "whole_body", "count"), 0.2),
    **dict.fromkeys(("randomise", "vary", "with_parameters", "attach", "lock", "Kernel", "kernel", "build"), 0.3),
    **dict.fromkeys(("to_xarray", "to_arrow", "to_pandas", "save", "save_rerun"), 0.05),
}
"""Functions that take milliseconds are called less often."""
CLASSES = """Builder Body ModelJoint Frame Link Mimic Placement Shape Loop Coupling Drag EllipsoidDrag Actuator Note
Ground Revolute Continuous Prismatic Helical Cylindrical Universal Planar Spherical Free Fixed Composite RollingDisc
RollingBall Distance PointOnLine PointOnPlane Driven KnifeEdge Event Switch Table Kernel Ensemble"""
FUNCTIONS = "load chain tree from_dh load_result convert count grasp methods symbolic"
MODULES = {
    "rotations": "rotations",
    "trajectories": "control.trajectories",
    "controllers": "control.controllers",
    "tasks": "contact.tasks",
    "contacts": "grasping.contacts",
    "distributions": "ensembles.distributions",
    "keep": "ensembles.keep",
    "robots": "robots",
}


def _good(robot: on.Robot, q: Any) -> dict[str, tuple[Any, ...]]:
    """Return good values by the names of parameters of the methods of a robot."""
    nv, n = robot.nv, len(robot.bodies)
    v, last, first = np.linspace(0.1, 0.2, nv), robot.bodies[-1].name, robot.joints[0].name
    frames = tuple(f.name for f in robot.frames[:2])
    batch = np.stack([q, q])
    numbers = (v, list(v), np.stack([v, v]), v.astype(np.float32))
    return {
        **dict.fromkeys(("q", "q0", "q1", "positions"), (q, list(q), batch, q.astype(np.float32))),
        **dict.fromkeys(("v", "v0", "a", "tau", "x", "cotangent", "motors"), numbers),
        **dict.fromkeys(("frame", "subtree", "to", "tip"), (*frames, last)),
        **dict.fromkeys(("frames", "paths"), (list(frames), [last])),
        "axes": ("frame", "world"), "kind": ("classical", "spatial"), "contact": ("frame", "point"),
        "external": ({last: np.ones(6)}, np.zeros((n, 6))), "threads": (1, 2), "device": ("cpu",),
        "base_velocity": (np.zeros(6),), "base_acceleration": (np.zeros(6),), "check": (True, False),
        "smoothing": (0.01, 0.1), "dt": (1e-3, 0.01), "steps": (1, 3), "until": (0.01, [0.0, 0.01]), "step": (0.005,),
        "s": (0.5, [0.0, 1.0]), "tolerance": (1e-9, 1e-6), "t": (0.0,), "method": (None,), "every": (1,), "hold": (1,),
        "feedback": ((1.0, 0.1, q),), "policy": (lambda q, v: 0.0 * v,), "noise": ({"q": 0.01}, 1.0), "seed": (0, 1),
        "events": ((), (on.Event(lambda t, q, v: v[0], "turn"),)), "limits": ("ignore", True), "drift": ("project",),
        "rtol": (1e-6,), "atol": (1e-6,), "restitution": (0.0, 0.5), "dense": (True, False), "native": (None, False),
        "contact_friction": (0.5,), "ground_height": (0.0,), "friction": (0.5,), "height": (0.0,), "iterations": (3,),
        "touching": ([True],), "name": (last, first, "x"), "joint": (first,), "joints": ((first,), [first], first),
        "question": ("forward_dynamics", "mass_matrix"), "arguments": ([q, v, v], {"q": q, "v": v, "tau": v}),
        "tangents": ([q[:nv], v, v], {"v": v}), "wrt": ("v", ["q"]), "present": ((), ("external",)),
        "pose": (np.eye(4), robot.pose(q, last)), "rng": (0, 1), "shape": (2, (1, 2)), "restarts": (0, 1),
        "weights": (np.ones(6), {first: 1.0}), "ground": (on.Ground(), on.Ground(0.5)),
        "points": ([last], {last: 0.1}),
        "bodies": ([last],), "pairs": ([],), "mass": ({last: 1.5}, 0.1), "com": ({last: np.zeros(3)}, 0.1),
        "inertia": ({last: np.ones(6)},), "damping": (0.1, {first: 0.2}), "armature": (0.1, {first: 0.2}),
        "stiffness": (0.1, {first: 0.2}), "joint_friction": (0.1,), "gravity": ([0.0, 0.0, -9.81],),
        "fold": (True, False),
        "placement": ({first: [0.0, 0.1, 0.0]},), "at": ([0.0, 0.0, 0.1], on.Placement()), "other": ("tool",),
        "only": ([last],), "of": ("inverse_dynamics",), "harmonics": (1,), "duration": (1.0, 2.0),
        "path": ("x.urdf", "x.xml"),
        "active": ({}, []), "along": (np.zeros(0),), "index": ((), 0), "motion": (), "impulses": (), "target": (q,),
        "keep": ([first], ()), "actuated": ([first],), "most": (3,), "lossy": (True, False),
        "measured": (v, np.eye(4)),
        "source": ({"t": [0.0, 1.0]}, "x.csv"), "tasks": ([on.tasks.CentreOfMass(acceleration=[0, 0, 1])],),
        "robot": (robot,), "model": (robot,), "kp": (1.0, v), "kd": (1.0, v), "period": (0.01, None), "null": (q,),
    }  # fmt: skip


def _subjects() -> dict[str, tuple[Any, Mapping[str, tuple[Any, ...]]]]:
    """Return objects whose methods are called, by names for messages, with good values for their parameters."""
    arm = on.load("double-pendulum")
    q, v = np.array([0.3, -0.2]), np.array([0.1, 0.2])
    good = _good(arm, q)
    ball = on.Builder("ball").body("ball", mass=1.0, inertia=(0.004, 0.004, 0.004)).build(floating=True)
    touching = ball.with_contacts(on.Ground(0.5), points={"ball": 0.1})
    place = np.array([1.0, 0, 0, 0, 0, 0, 0.1])
    bar = on.load("four-bar")
    closed = bar.assemble(check=False).q
    varied = arm.vary(mass={"lower": [1.0, 2.0]})
    moved = arm.simulate(q, v, until=0.02, step=0.01, method="rk4")
    rolled = arm.rollout(q, v, steps=4)
    path = on.trajectories.quintic(arm, q, q + 0.1, 1.0)
    puma = on.load("puma560")
    held = on.grasp([puma, puma], (2.0, (0, 0, 0), (0.1, 0.1, 0.1)), bases=[(0, 0, 0), (1.0, 0, 0)], q=[[0.3] * 6] * 2)
    found: dict[str, tuple[Any, Mapping[str, tuple[Any, ...]]]] = {
        "arm": (arm, good),
        "ball": (touching, _good(touching, place)),
        "four_bar": (bar, _good(bar, closed)),
        "varied": (varied, good | {"q": (q,), "v": (v,)}),
        "builder": (_Fresh(arm), good | _BUILDER),
        "result": (
            moved,
            good | {"name": ("q", "shoulder"), "times": ([0.0, 0.01],), "t": (0.005,), "path": ("r.npz", "r.csv")},
        ),
        "rolled": (rolled, good),
        "kernel": (arm.kernel("forward_dynamics"), good),
        "derivatives": (arm.derivatives, good),
        "second": (arm.second_derivatives, good),
        "parameters": (arm.parameters, good),
        "linear": (arm.linearise(q), good),
        "operators": (arm.operators(q, v), good),
        "operator": (arm.operators(q, v).M, good),
        "path": (path, good | {"t": (0.5, [0.0, 1.0])}),
        "base": (arm.base_parameters(), good),
        "report": (arm.check(), good),
        "control": (on.controllers.PD(arm, q, 1.0, 0.1), good | {"t": (0.0,)}),
        "computed": (on.controllers.ComputedTorque(arm, path, 1.0), good | {"t": (0.0,)}),
        "ground": (on.Ground(), good),
        "table": (on.Table([0.0, 1.0], np.zeros((2, 2))), good),
        "event": (on.Event(lambda t, q, v: v[0], "turn"), good | {"lower": (0.0,)}),
        "normal": (on.distributions.normal(0.0, 1.0), good),
        "grasp": (held, good | {"q": ([[0.3] * 6] * 2,), "v": (np.zeros((2, 6)),), "tau": (np.zeros((2, 6)),)}),
        "study": (on.Ensemble(arm, members=2, steps=2, seed=0), good),
    }
    return found


class _Fresh:
    """Methods of a builder, each called on one of its own."""

    def __init__(self, robot: on.Robot) -> None:
        self._robot = robot

    def __dir__(self) -> list[str]:
        return [x for x in dir(on.Builder) if not x.startswith("_")]

    def __getattr__(self, name: str) -> Any:
        method = getattr(on.Builder, name)

        @functools.wraps(method)
        def call(*given: Any, **named: Any) -> Any:
            return getattr(self._robot.builder(), name)(*given, **named)

        if inspect.ismethod(method) or not callable(method):
            return method
        signature = inspect.signature(method)
        call.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])  # type: ignore[attr-defined]
        return call


_BUILDER: dict[str, tuple[Any, ...]] = {
    "name": ("new", "x"), "parent": ("lower", "base"), "child": ("lower", "new"), "type": (on.Revolute(), on.Free()),
    "mass": (1.0,), "com": ((0.0, 0.0, 0.1),), "inertia": ((0.1, 0.1, 0.1),), "joint": ("elbow", on.Revolute()),
    "lower": (-1.0,), "upper": (1.0,), "velocity_limit": (2.0,), "effort_limit": (3.0,), "damping": (0.1,),
    "friction": (0.1,), "armature": (0.1,), "stiffness": (0.1,), "rest": (0.1,), "mimic": ("shoulder",),
    "to": ("lower",),
    "kind": ("sphere", "motor"), "size": ((0.1,),), "joints": (["elbow"], {"elbow": 0.1}), "other": ("shoulder",
    "tool"),
    "coefficients": ((0.0, 1.0),), "ratio": (2.0,), "q": (0.1,), "floating": (True, False), "body": ("lower",),
    "axis": ((0.0, 0.0, 1.0),), "gear": ((1.0,),), "displaced": ((0.1, (0.0, 0.0, 0.0)),), "drag": (on.Drag(),),
    "message": ("m",), "active": (True,), "on": ("upper",),
}  # fmt: skip
_MAKING: dict[str, tuple[Any, ...]] = {
    "axis": ((0.0, 0.0, 1.0), "x"), "pitch": (0.1,), "radius": (0.1,), "length": (1.0,), "n": (2, 3), "depth": (1, 2),
    "branching": (2,), "joint": (on.Revolute, "shoulder"), "times": ([0.0, 1.0],),
    "points": ([[0.0, 0.1], [0.1, 0.2]],),
    "durations": ([1.0],), "degree": (3,), "law": ("cycloidal",), "acceleration": (1.0,), "velocity": (1.0,),
    "source": ("double-pendulum",), "rows": ([(0.1, 0.2, 0.3, 0.4)],), "controller": (lambda t, q, v: 0.0 * v,),
    "function": (lambda t, q, v: q[0],), "direction": (0, 1), "values": ([[0.0, 0.0], [1.0, 1.0]],), "hold": (False,),
    "gains": (1.0,), "R": (np.eye(3),), "S": (np.eye(3),), "T": (np.eye(4),), "vector": (np.ones(3),), "angle": (0.1,),
    "twist": (np.ones(6),), "direction_": (), "rpy": (np.zeros(3),), "M": (np.eye(3),), "p": (np.ones(3),),
    "low": (0.0,), "high": (1.0,), "mean": (0.0,), "std": (1.0,), "median": (1.0,), "sigma": (0.1,), "body": (0,),
    "kind": ("sphere",), "members": (2,), "goal": ([0.0, 0.0, 0.0],), "parts": (on.Revolute(),), "bins": (3,),
    "range": ((0.0, 1.0),), "placement": (on.Placement(),), "coefficients": ((0.0, 1.0),),
    "rotation": ((1.0, 0, 0, 0, 1.0, 0, 0, 0, 1.0),),
    "position": ((0.0, 0.0, 0.0),), "normal": ((0.0, 0.0, 1.0),), "size": ((0.1,),), "event": ("turn",),
    "name": ("four-bar", "x"),
}  # fmt: skip


def _target(label: str, function: Any, good: Mapping[str, tuple[Any, ...]], scale: float = 1.0) -> Target | None:
    try:
        parameters = dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return None
    name = label.rpartition(".")[2]
    open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    settings = ("frame", "axes", "lower", "damping", "mass", "until", "length", "seed") if open_ended else ()
    return Target(label, function, parameters, good, scale * HEAVY.get(name, 1.0), settings)


@functools.cache
def TARGETS() -> tuple[Target, ...]:
    """Return everything that is called."""
    found: list[Target | None] = []
    subjects = _subjects()
    _, good = subjects["arm"]
    for label, (subject, some) in subjects.items():
        bases = (
            on.Builder.__mro__
            if label == "builder"
            else (subject if inspect.isclass(subject) else type(subject)).__mro__
        )
        internal = set().union(*(INTERNAL.get(base.__name__, ()) for base in bases))
        for name in dir(subject):
            if name.startswith("_") or name in LEFT_OUT or name in internal:
                continue
            method = inspect.getattr_static(type(subject), name, None) if label != "builder" else None
            if isinstance(method, (property, functools.cached_property)):
                continue
            function = getattr(subject, name)
            if (
                callable(function)
                and not inspect.isclass(function)
                and not (isinstance(subject, tuple) and hasattr(tuple, name))
            ):
                found.append(
                    _target(f"{label}.{name}", function, some, 0.3 if label in ("varied", "ball", "four_bar") else 1.0)
                )
        if callable(subject) and not inspect.isclass(subject):
            found.append(_target(f"{label}.__call__", subject, some))
    making = {**good, **_MAKING}
    for name in CLASSES.split():
        found.append(_target(f"on.{name}", getattr(on, name), making, 0.5))
    for name in FUNCTIONS.split():
        found.append(_target(f"on.{name}", getattr(on, name), making))
    for label, path in MODULES.items():
        module = import_module(f"ordern.{path}")
        for name in module.__all__:
            function = getattr(module, name)
            if callable(function) and name not in LEFT_OUT:
                found.append(_target(f"{label}.{name}", function, making, 0.5))
    return tuple(x for x in found if x is not None)
