"""Show a robot: its tree, masses, joints, limits and actuators.

examples:
  ordern info panda.urdf
  ordern info --floating anymal.urdf
  ordern info --json puma560 | jq .joints
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable
from typing import Any

from ..model import BASE, Actuator, Connection, Loop, Model
from .outputs import show
from .source import loaded, robot_argument
from .terminal import paint, table

__all__ = ["arguments", "run"]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    robot_argument(parser)
    parser.add_argument("--no-merge", action="store_true", help="keep bodies behind fixed joints apart")


def run(args: argparse.Namespace) -> int:
    """Load and show a robot."""
    robot = loaded(args, merge=not args.no_merge)  # the notes are printed below
    show(args, _described(robot), _lines(robot))
    return 0


def _lines(m: Model) -> list[str]:
    title, *tree = m.summary(max(len(m.bodies), 1)).split("\n")
    driven = set(m.actuated)
    rows: list[tuple[str, ...]] = [("joint", "type", "q", "v", "motor", "range", "velocity", "effort")]
    for c in m.joints:
        slots = _slots(c.q_start, c.nq), _slots(c.v_start, c.nv)
        rows.append((c.name, _type(m, c), *slots, "yes" if c.name in driven else "-", *_limits(c)))
    for x in m.loops:
        kind = f"{type(x.type).__name__.lower()} (loop){'' if x.active else ', open'}"
        rows.append((x.name, kind, "-", "-", "-", *_limits(x)))
    driving = [("actuator", "kind", "drives", "gear", "force", "control"), *map(_driving, m.actuators)]
    actuators = ["", *table(driving, head=True)] if m.actuators else []
    counts = {"loops": len(m.loops), "couplings": len(m.couplings), "shapes": len(m.shapes), "constraints": m.nc}
    facts = [("gravity", " ".join(f"{x:g}" for x in m.gravity)), ("frames", str(len(m.frames)))]
    facts += [(name, str(n)) for name, n in counts.items() if n]
    facts += [("source", m.source)] if m.source else []
    noticed = ["", paint("noticed while reading", "bold"), *(f"  {note}" for note in m.notes)] if m.notes else []
    return [paint(title, "bold"), *tree, "", *table(rows, head=True), *actuators, "", *table(facts), *noticed]


def _type(m: Model, c: Connection) -> str:
    kind = type(c.type).__name__.lower()
    if c.mimic is None:
        return kind
    offset = f" {c.mimic.offset:+g}" if c.mimic.offset else ""
    return f"{kind} = {c.mimic.ratio:g} {m.joints[c.mimic.joint].name}{offset}"


def _driving(x: Actuator) -> tuple[str, ...]:
    """Return the row of an actuator: name, kind, joints, gear, limits of force and control."""
    gears = ", ".join(" ".join(f"{g:g}" for g in gear) for gear in x.gear) or "-"
    limits = (_listed([f"{low:.4g} .. {high:.4g}"], (low, high)) for low, high in (x.force_limits, x.control_limits))
    through = f" by {x.through}" if x.through and x.joints else ""
    return x.name, x.kind, (", ".join(x.joints) or x.through or "-") + through, gears, *limits


def _slots(start: int, n: int) -> str:
    return "-" if not n else str(start) if n == 1 else f"{start}:{start + n}"


def _limits(c: Connection | Loop) -> tuple[str, str, str]:
    """Return the range, the velocity limit and the effort limit."""
    ranges = (f"{lower:.4g} .. {upper:.4g}" for lower, upper in zip(c.lower, c.upper, strict=True))
    both = (c.velocity_limit, c.effort_limit)
    velocity, effort = (_listed([f"{x:.4g}" for x in limits], limits) for limits in both)
    return _listed(ranges, (*c.lower, *c.upper)), velocity, effort


def _listed(texts: Iterable[str], limits: Iterable[float]) -> str:
    return ", ".join(texts) if any(map(math.isfinite, limits)) else "-"


def _described(m: Model) -> dict[str, Any]:
    """Return the robot for JSON; limits that do not exist are infinite, and become null."""
    bodies = {BASE: m.base, **{k: b.name for k, b in enumerate(m.bodies)}}
    joints = {BASE: None, **{k: c.name for k, c in enumerate(m.joints)}}
    return {
        **_picked(m, "name source nq nv mass gravity base actuated"),
        "bodies": [_picked(b, "name mass com inertia where") for b in m.bodies],
        "joints": [
            {
                "name": c.name,
                "type": type(c.type).__name__,
                **{"parent": bodies[c.parent], "child": bodies[k]},
                **{"q": [c.q_start, c.q_start + c.nq], "v": [c.v_start, c.v_start + c.nv]},
                **_picked(c, "lower upper velocity_limit effort_limit damping friction armature"),
                "mimic": c.mimic and {**_picked(c.mimic, "joint ratio offset"), "joint": joints[c.mimic.joint]},
                "where": c.where,
            }
            for k, c in enumerate(m.joints)
        ],
        "actuators": [_picked(x, "name kind joints gear force_limits control_limits through") for x in m.actuators],
        "frames": [{"name": f.name, "body": bodies[f.body]} for f in m.frames],
        "loops": [
            {"name": x.name, "type": type(x.type).__name__, "parent": bodies[x.parent], "child": bodies[x.child]}
            | _picked(x, "active")
            for x in m.loops
        ],
        "constraints": m.nc,
        "couplings": [
            {"name": x.name, "joint": joints[x.joint], "other": joints[x.other]} | _picked(x, "coefficients active")
            for x in m.couplings
        ],
        "notes": [str(note) for note in m.notes],
    }


def _picked(x: object, names: str) -> dict[str, Any]:
    return {name: getattr(x, name) for name in names.split()}
