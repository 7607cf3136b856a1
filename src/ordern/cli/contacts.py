"""Contacts on the command line: what touches the ground, and which ground it is."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError
from ..io.remarks import some
from .outputs import note
from .values import UsageError, count, start

if TYPE_CHECKING:
    from ..arguments import Array
    from ..model.contacts import Ground
    from ..robot import Robot
    from ..simulate.rollout import Rollout

__all__ = [
    "contact_lines",
    "contact_options",
    "contact_series",
    "contact_summary",
    "note_overlap",
    "start_of_contacts",
    "touching",
]

GROUND = "--ground FRICTION[,HEIGHT]"
_OVERLAP = 1e-4
"""Contacts that overlap by more at the start, in m, are noted."""
_NEEDS_CONTACTS = ("ground", "slope", "points", "bodies", "self_collision", "scene", "sweeps")
_WORDS = {
    "with_contacts: ": "",
    "give on.Ground(...), or pairs of bodies": f"give {GROUND}",
    "give frames in points=[...], or pairs of bodies": "give --points FRAME=RADIUS,...",
    "give on.Ground(friction=...)": f"give {GROUND}",
    "give on.Ground(...)": f"give {GROUND}",
    "give points=[...], frames with radii": "give --points FRAME=RADIUS,...",
    "bodies=[...]": "--bodies",
    "give scene=True": "give --scene",
    "scene=False": "--no-scene",
    "Ground: ": "--ground: ",
}
"""Words of the library's messages, and of the command line."""


def contact_options(parser: argparse.ArgumentParser, models: tuple[str, ...] = ()) -> None:
    """Declare what touches: for a simulation with the models of contact, for a rollout without."""
    group = parser.add_argument_group("contacts")
    if models:
        what = "let the robot touch the ground: springs and dampers, or rigid contacts from impact to impact"
        group.add_argument("--contacts", choices=models, help=what)
    else:
        what = "let the robot touch the ground: rigid contacts with friction; joints stop at their limits"
        group.add_argument("--contacts", action="store_true", help=what)
    group.add_argument("--ground", metavar="FRICTION[,HEIGHT]", help="flat ground; the plane of the file unless given")
    group.add_argument(
        "--slope", type=float, metavar="DEGREES", help="angle of --ground, which goes down along x; 0 unless given"
    )
    group.add_argument(
        "--points",
        metavar="FRAMES",
        help="frames that touch it, with radii of spheres: foot1,foot2=0.02; all collision shapes unless given",
    )
    group.add_argument("--bodies", metavar="NAMES", help="bodies whose collision shapes touch it: foot1,foot2")
    group.add_argument(
        "--self-collision", action="store_true", help="let bodies touch each other too, by the rules of the file"
    )
    group.add_argument(
        "--scene",
        action=argparse.BooleanOptionalAction,
        help="let moving bodies touch static geometry, such as tables and stairs; they do unless --points are given",
    )
    if not models:
        group.add_argument("--sweeps", type=count, metavar="N", help="iterations in a step; 10 unless given")


def touching(args: argparse.Namespace, robot: Robot) -> Robot:
    """Return the robot with the contacts that the options ask for."""
    if not args.contacts:
        useless = next((name for name in _NEEDS_CONTACTS if getattr(args, name, None)), None)
        if useless is not None:
            raise UsageError(f"--{useless.replace('_', '-')} is for contacts: give --contacts, too")
        return robot
    options: dict[str, Any] = {"self_collision": args.self_collision, "sweeps": getattr(args, "sweeps", None) or 10}
    options["scene"] = args.scene
    options["points"] = None if args.points is None else dict(_point(word) for word in _words(args.points, "--points"))
    options["bodies"] = None if args.bodies is None else _words(args.bodies, "--bodies")
    try:
        return robot.with_contacts(_ground(args), **options)
    except ArgumentError as e:
        text = str(e)
        for word, own in _WORDS.items():
            text = text.replace(word, own)
        raise UsageError(text, "" if isinstance(e, UsageError) else f"--contacts of {robot.name!r}") from None


def _words(text: str, option: str) -> list[str]:
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise UsageError(f"{option} are names with commas between them, not {text!r}")
    twice = [word for k, word in enumerate(words) if word in words[:k]]
    if twice:
        raise UsageError(f"{option} has {some(twice, 3)} twice")
    return words


def _point(word: str) -> tuple[str, float]:
    """Return the name of a frame, and the radius of the sphere there."""
    name, equals, radius = word.rpartition("=")
    if not equals:
        return word, 0.0
    return name, _number(radius, f"--points: the radius of {name!r}")


def _ground(args: argparse.Namespace) -> Ground | None:
    """Return the ground; None for that of the file."""
    from ..model.contacts import Ground

    if args.ground is None:
        if args.slope is not None:
            raise UsageError(f"--slope is that of a ground: give {GROUND}")
        return None
    numbers = [_number(word, "--ground") for word in args.ground.split(",")]
    if len(numbers) > 2:
        raise UsageError(f"--ground has a friction and a height, not {len(numbers)} numbers")
    friction, height = (*numbers, 0.0)[:2]
    angle = 0.0 if args.slope is None else args.slope
    if not abs(angle) < 90.0:
        raise UsageError(f"--slope is an angle below 90 degrees, not {angle:g}")
    normal = (math.sin(math.radians(angle)), 0.0, math.cos(math.radians(angle)))
    return Ground(friction, args.restitution, normal, height)


def _number(text: str, what: str) -> float:
    try:
        x = float(text)
    except ValueError:
        x = math.nan
    if not math.isfinite(x):
        raise UsageError(f"{what} must be a finite number, not {text!r}")
    return x


def start_of_contacts(args: argparse.Namespace, robot: Robot, source: str) -> Array:
    """Return the position at the start; with contacts and without --q0, free bodies are where their file has them."""
    q: Array = start(args.q0, robot, "--q0", source)
    if robot.contacts is None or args.q0 is not None or robot.nc:
        return q
    import numpy as np

    from ..joints import Free

    q = np.array(q)
    for c in robot.joints:
        if isinstance(c.type, Free):
            q[c.q] = c.rest
    return q


def contact_series(runs: list[Rollout]) -> dict[str, Any]:
    """Return what contacts did in pieces of a rollout, (batch, rows, ...); nothing for robots without contacts."""
    import numpy as np

    if runs[0].contacts is None or not runs[0].contacts.names:
        return {}
    pieces = {
        "contact_forces": [r.contact_forces for r in runs],
        "residual": [r.certificate.residual for r in runs],
        "penetration": [r.certificate.penetration for r in runs],
        "leveling": [r.certificate.leveling for r in runs],
        "uncertified": [r.uncertified for r in runs],
    }
    return {name: np.concatenate(found) for name, found in pieces.items()}


def contact_summary(series: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of a report on contacts; nothing without them."""
    import numpy as np

    if not series:
        return {}
    pushes, flagged = series["contact_forces"][..., 2] > 0.0, series["uncertified"][:, 1:]
    landed = pushes[:, 1:] & ~pushes[:, :-1]
    return {
        "contacts": pushes.shape[-1],
        "touches": int(landed.sum()),
        "touching_at_the_end": float(pushes[:, -1].sum(axis=-1).mean()),
        "penetration": float(np.nanmax(series["penetration"], initial=0.0)),
        "residual": float(np.nanmax(series["residual"], initial=0.0)),
        "leveling": float(np.nanmax(series["leveling"], initial=0.0)),
        "uncertified": float(flagged.mean()) if flagged.size else 0.0,
        "uncertified_trajectories": int(flagged.any(axis=1).sum()),
        "kept_states": int(flagged.size),
    }


def contact_lines(about: dict[str, Any], every: int) -> list[str]:
    """Return the report on contacts in words; `every` is the number of steps of which a kept state tells."""
    if not about:
        return []
    touches = f"{about['touches']:,} touches, " if every == 1 else ""
    each = "" if every == 1 else f", each of {every:,} steps,"
    share = f"{100.0 * about['uncertified']:.3g} % of {about['kept_states']:,} kept states{each} uncertified"
    worst = f"penetration up to {about['penetration']:.2g} m, residual up to {about['residual']:.2g} m/s"
    return [
        f"  {about['contacts']} contacts: {touches}{about['touching_at_the_end']:.3g} touch at the end on average",
        f"  {worst}, leveling up to {about['leveling']:.2g} m/s",
        f"  {share}, in {about['uncertified_trajectories']:,} trajectories",
    ]


def note_overlap(robot: Robot, q: Array) -> None:
    """Print a note if contacts overlap at the start, such as feet that begin below the ground."""
    import numpy as np

    if robot.contacts is None:
        return
    gap = np.atleast_2d(robot.contact_points(q).gap).min(axis=0)
    k = int(np.argmin(gap))
    if gap[k] < -_OVERLAP:
        name = robot.contacts.pairs[k].name
        note(f"at the start, contact {name!r} overlaps by {-gap[k]:.2g} m; give another position, --q0")
