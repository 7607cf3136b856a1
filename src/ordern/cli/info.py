"""Show a robot: its tree, masses, joints and limits.

examples:
  ordern info panda.urdf
  ordern info --floating anymal.urdf
  ordern info --json puma560 | jq .joints
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import Any

from ..model import BASE, Connection, Loop, Model
from .source import loaded, robot_argument
from .terminal import paint, table, to_json

__all__ = ["arguments", "run"]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    robot_argument(parser)
    parser.add_argument("--no-merge", action="store_true", help="keep bodies behind fixed joints apart")


def run(args: argparse.Namespace) -> int:
    """Load and show a robot."""
    robot = loaded(args, merge=not args.no_merge)  # the notes are printed below
    print(to_json(_described(robot), indent=2) if args.json else "\n".join(_lines(robot)))
    return 0


def _lines(m: Model) -> list[str]:
    most = max(len(m.bodies), 1)
    lines = m.summary(most).split("\n")
    lines[0] = paint(lines[0], "bold")
    lines.append("")
    driven = set(m.actuated)
    rows = [("joint", "type", "q", "v", "motor", "range", "velocity", "effort")]
    rows.extend(
        (
            c.name,
            type(c.type).__name__.lower() + (f" = {_followed(m, c)}" if c.mimic else ""),
            _slots(c.q_start, c.nq),
            _slots(c.v_start, c.nv),
            "yes" if c.name in driven else "-",
            _range(c),
            _limit(c.velocity_limit),
            _limit(c.effort_limit),
        )
        for c in m.joints
    )
    rows.extend(
        (x.name, f"{type(x.type).__name__.lower()} (loop)" + ("" if x.active else ", open"), "-", "-", "-",
         _range(x), _limit(x.velocity_limit), _limit(x.effort_limit))
        for x in m.loops
    )  # fmt: skip
    lines.extend([*table(rows, head=True), ""])
    facts = [("gravity", " ".join(f"{x:g}" for x in m.gravity)), ("frames", str(len(m.frames)))]
    for name, parts in (("loops", m.loops), ("couplings", m.couplings), ("shapes", m.shapes)):
        if parts:
            facts.append((name, str(len(parts))))
    if m.nc:
        facts.append(("constraints", str(m.nc)))
    if m.source:
        facts.append(("source", m.source))
    noticed = ["", paint("noticed while reading", "bold"), *(f"  {note}" for note in m.notes)] if m.notes else []
    return [*lines, *table(facts), *noticed]


def _followed(m: Model, c: Connection) -> str:
    assert c.mimic is not None
    offset = f" {c.mimic.offset:+g}" if c.mimic.offset else ""
    return f"{c.mimic.ratio:g} {m.joints[c.mimic.joint].name}{offset}"


def _slots(start: int, n: int) -> str:
    return "-" if not n else str(start) if n == 1 else f"{start}:{start + n}"


def _range(c: Connection | Loop) -> str:
    if not any(map(math.isfinite, (*c.lower, *c.upper))):
        return "-"
    return ", ".join(f"{lower:.4g} .. {upper:.4g}" for lower, upper in zip(c.lower, c.upper, strict=True))


def _limit(limits: Sequence[float]) -> str:
    return ", ".join(f"{x:.4g}" for x in limits) if any(map(math.isfinite, limits)) else "-"


def _described(m: Model) -> dict[str, Any]:
    """Return the robot as JSON has it; limits that are not there are null."""
    names = {BASE: m.base, **{k: b.name for k, b in enumerate(m.bodies)}}
    return {
        "name": m.name,
        "source": m.source,
        "nq": m.nq,
        "nv": m.nv,
        "mass": m.mass,
        "gravity": list(m.gravity),
        "base": m.base,
        "actuated": list(m.actuated),
        "bodies": [
            {"name": b.name, "mass": b.mass, "com": list(b.com), "inertia": list(b.inertia), "where": b.where}
            for b in m.bodies
        ],
        "joints": [_joint(m, names, k, c) for k, c in enumerate(m.joints)],
        "frames": [{"name": f.name, "body": names[f.body]} for f in m.frames],
        "loops": [
            {
                "name": x.name,
                "type": type(x.type).__name__,
                "parent": names[x.parent],
                "child": names[x.child],
                "active": x.active,
            }
            for x in m.loops
        ],
        "constraints": m.nc,
        "couplings": [
            {
                "name": x.name,
                "joint": m.joints[x.joint].name,
                "other": m.joints[x.other].name if x.other != BASE else None,
                "coefficients": list(x.coefficients),
                "active": x.active,
            }
            for x in m.couplings
        ],
        "notes": [str(note) for note in m.notes],
    }


def _joint(m: Model, names: dict[int, str], k: int, c: Connection) -> dict[str, Any]:
    limits = ("lower", "upper", "velocity_limit", "effort_limit", "damping", "friction", "armature")
    followed = None
    if c.mimic:
        followed = {"joint": m.joints[c.mimic.joint].name, "ratio": c.mimic.ratio, "offset": c.mimic.offset}
    return {
        "name": c.name,
        "type": type(c.type).__name__,
        "parent": names[c.parent],
        "child": names[k],
        "q": [c.q_start, c.q_start + c.nq],
        "v": [c.v_start, c.v_start + c.nv],
        **{key: [x if math.isfinite(x) else None for x in getattr(c, key)] for key in limits},
        "mimic": followed,
        "where": c.where,
    }
