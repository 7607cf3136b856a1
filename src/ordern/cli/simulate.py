"""Simulate a robot, and report on the run: steps, energy balance, exceeded limits.

By default the robot starts at rest in the neutral position (with closed loops, in the closed position next to it) and
falls freely. It can be driven by constant forces, by forces over time from a file (columns t and tau.<joint>), by
springs and dampers to a position, or by forces that hold it against gravity. Damping, friction and springs of the model
act.

With --contacts the robot touches the ground: that of its file, or --ground. All collision shapes touch it, or the
frames of --points. --restitution is that of --ground, too. Without --q0, free bodies start where the file has them.

A run with --checkpoint can be killed; the same command continues it.

examples:
  ordern simulate stanford-arm --q0 initial --until 1 --out fall.npz --plot fall.png
  ordern simulate double-pendulum --q0 1.5,-0.5 --until 10 --save pendulum.html
  ordern simulate puma560 --q0 ready --pd 500 50 --target elbow=0.5 --gravity-compensation --until 3
  ordern simulate arm.urdf --tau-file tau.csv --until 2 --limits bounce --rate 100 --out motion.csv
  ordern simulate arm.urdf --pd 500 50 --follow motion.csv --gravity-compensation --until 2
  ordern simulate arm.urdf --q0 @fall.npz:last --v0 @fall.npz:last --until 1 --out - | head
  ordern simulate cart.urdf --floating --contacts compliant --ground 0.8 --points left=0.1,right=0.1 --slope 5
  ordern simulate scene.xml --contacts rigid --until 2 --out run.npz --save run.html
  ordern simulate planar-3r --method variational --step 1e-3 --until 100 --checkpoint run.ckpt --json
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..io.writing import UnwritableError
from .contacts import contact_options, note_overlap, start_of_contacts, touching
from .outputs import MOTIONS, PICTURES, RECORDINGS, TABLES, check_output, check_view, note, noted, show
from .source import bundled, loaded, robot_argument, start_options
from .terminal import figures, paint
from .values import LIST, UsageError, gain, names_of, positive, vector

if TYPE_CHECKING:
    from ..arguments import Array
    from ..control.controller import Controller
    from ..control.trajectory import Trajectory
    from ..robot import Robot
    from ..simulate.forces import Table
    from ..simulate.results.result import Result

__all__ = ["arguments", "run"]

_MOST = 20
"""Rows of a table that are shown."""
_OPTIONS = ("method", "step", "rtol", "atol", "tolerance", "limits", "restitution", "dynamics", "drift", "contacts")
"""Options that are arguments of `robot.simulate`, as is the checkpoint."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    robot_argument(parser)
    ends = parser.add_argument_group("start and end")
    start_options(ends)
    ends.add_argument("--until", type=positive, default=1.0, metavar="S", help="seconds; 1 unless given")
    drives = parser.add_argument_group("forces")
    drives.add_argument("--tau", metavar=LIST, help="constant joint forces")
    drives.add_argument(
        "--tau-file", metavar="FILE", help=f"joint forces over time, linear in between: {', '.join(TABLES)}"
    )
    drives.add_argument(
        "--pd",
        nargs=2,
        metavar=("KP", "KD"),
        help="stiffness and damping of springs at the joints: a number for all, or a LIST",
    )
    drives.add_argument("--target", metavar=LIST, help="where the springs of --pd pull to; the start unless given")
    drives.add_argument(
        "--follow", metavar="FILE", help="motion that the springs of --pd follow; the start is its first position"
    )
    drives.add_argument(
        "--gravity-compensation", action="store_true", help="add the forces that hold the robot against gravity"
    )
    how = parser.add_argument_group("integration")
    how.add_argument(
        "--method", metavar="NAME", help="integrator; dormand-prince-8 unless given, with compliant contacts radau"
    )
    how.add_argument("--step", type=positive, metavar="S", help="length of steps; the longest one, if steps adapt")
    how.add_argument("--rtol", type=float, default=1e-10, metavar="X", help="relative tolerance; 1e-10 unless given")
    how.add_argument("--atol", type=float, default=1e-10, metavar="X", help="absolute tolerance; 1e-10 unless given")
    how.add_argument(
        "--tolerance",
        default="motion",
        choices=("motion", "step"),
        help="error that they bound: of the motion, or of each step; motion unless given",
    )
    how.add_argument(
        "--limits",
        choices=("ignore", "stop", "bounce"),
        help="effect of joint limits; ignore unless given, with compliant contacts bounce, with rigid ones stop",
    )
    how.add_argument(
        "--restitution",
        type=float,
        default=0.0,
        metavar="E",
        help="speed after a bounce, relative to that before; 0 unless given",
    )
    how.add_argument(
        "--dynamics", metavar="NAME", help="method of forward dynamics; `ordern methods forward_dynamics` lists them"
    )
    how.add_argument(
        "--drift",
        default="project",
        choices=("project", "baumgarte", "none"),
        help="way to keep loops closed; project unless given",
    )
    how.add_argument("--checkpoint", metavar="FILE", help="save the run to this file, and continue from it")
    contact_options(parser, ("compliant", "rigid"))
    out = parser.add_argument_group("output")
    out.add_argument("--rate", type=positive, metavar="HZ", help="samples per second; every step unless given")
    out.add_argument("--out", metavar="FILE", help=f"write the motion: {', '.join((*MOTIONS, *RECORDINGS))}")
    out.add_argument("--plot", metavar="FILE", help=f"draw motion and energies: {', '.join(PICTURES)}")
    out.add_argument("--save", metavar="FILE", help="write a page that plays the motion, or a film: .html, .gif, .mp4")


def run(args: argparse.Namespace) -> int:
    """Simulate and report; 1 if the run did not come to its end, 130 if it was interrupted."""
    from ..simulate.results.report import SimulationWarning

    check_output(args.out, (*MOTIONS, *RECORDINGS))
    check_output(args.plot, PICTURES)
    check_view(args.save)
    _check_checkpoint(args.checkpoint)
    robot = touching(args, loaded(args))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulationWarning)  # the report says the same
        result = _simulated(args, robot)
    _write(args, result)
    show(args, _described(args, result), _lines(result))
    report = result.report
    if not report.ok:
        note(f"the run ended before its time: {report.message}")
    return 0 if report.ok else 130 if report.stopped == "interrupted" else 1


def _check_checkpoint(path: str | None) -> None:
    """Raise early if the checkpoint cannot be a file."""
    if path is not None and (Path(path).is_dir() or not Path(os.path.realpath(path)).parent.is_dir()):
        raise UnwritableError("a checkpoint is a file in a folder that exists", path)


def _simulated(args: argparse.Namespace, robot: Robot) -> Result:
    import numpy as np

    followed = _followed(args, robot)
    q0 = followed(0.0)[0] if followed and args.q0 is None else start_of_contacts(args, robot, bundled(args))
    v0 = followed(0.0)[1] if followed and args.v0 is None else vector(args.v0, robot, "v", "--v0")
    note_overlap(robot, q0)
    if args.step is None and (args.method == "variational" or _fixed(args.method)):
        raise UsageError(f"the method {args.method!r} takes steps of a fixed length: give --step, in seconds")
    until: Any = args.until
    if args.rate:
        steps = args.until * args.rate
        if steps > 1e8:
            raise UsageError(f"--rate {args.rate:g} would give {steps:.3g} samples; give a lower one")
        times = np.arange(int(steps * (1.0 + 1e-12)) + 1) / args.rate
        until = np.unique(np.append(times, args.until).clip(0, args.until))
    options: dict[str, Any] = {name: getattr(args, name) for name in (*_OPTIONS, "checkpoint")}
    return robot.simulate(q0, v0, _drive(args, robot, followed or q0), until, **options, progress=True)


def _followed(args: argparse.Namespace, robot: Robot) -> Trajectory | None:
    """Return the motion that springs and dampers follow, if there is one: a spline through the rows of a file."""
    if args.follow is None:
        return None
    if not args.pd or args.target is not None:
        raise UsageError("--follow is for the springs of --pd KP KD, in the place of --target")
    from ..control import trajectories
    from .motions import read

    rows = read(args.follow, robot, "q", partial=("v",))
    if rows.t is None or rows.q is None:
        raise UsageError("a motion to follow needs the columns t and q.<joint>", args.follow)
    for text in rows.notes:
        note(text)
    v0, v1 = (None, None) if rows.v is None else (rows.v[0], rows.v[-1])
    return trajectories.spline(robot, rows.t - rows.t[0], rows.q, v0=v0, v1=v1)


def _fixed(method: str | None) -> bool:
    from ..simulate.integrators.tableaus import TABLEAUS

    return method in TABLEAUS and not TABLEAUS[method].adaptive


def _drive(args: argparse.Namespace, robot: Robot, goal: Array | Trajectory) -> Array | Table | Controller | None:
    """Return the argument `tau` of `simulate`. The springs of --pd pull to the `goal`, unless --target is given."""
    given = [option for option in ("tau", "tau_file", "pd") if getattr(args, option) is not None]
    if len(given) > 1 or (args.gravity_compensation and given and given != ["pd"]):
        both = [f"--{option.replace('_', '-')}" for option in given]
        both += ["--gravity-compensation"] * args.gravity_compensation
        raise UsageError(f"{' and '.join(both[:2])} do not go together: give one of them")
    if args.target is not None and not args.pd:
        raise UsageError("--target is where the springs of --pd pull to: give their stiffness and damping, --pd KP KD")
    if args.tau is not None:
        return vector(args.tau, robot, "tau", "--tau")
    if args.tau_file is not None:
        return _table(args.tau_file, robot)
    if args.pd or args.gravity_compensation:
        from ..control import controllers

        if not args.pd:
            return controllers.GravityCompensation(robot)
        target = goal if args.target is None else vector(args.target, robot, "q", "--target", bundled(args))
        kp, kd = (gain(text, robot, "--pd") for text in args.pd)
        return controllers.PD(robot, target, kp, kd, gravity=args.gravity_compensation)
    return None


def _table(path: str, robot: Robot) -> Table:
    from ..simulate.forces import Table
    from .motions import read

    found = read(path, robot, "tau", partial=("tau",))
    if found.t is None or found.tau is None:
        raise UsageError("forces over time need the columns t and tau.<joint>", path)
    for text in found.notes:
        note(text)
    return Table(found.t, found.tau)


def _write(args: argparse.Namespace, result: Result) -> None:
    if args.out:
        result.save(args.out)
    if args.plot:
        result.plot(save=args.plot)
    if args.save:
        with noted():
            result.view(save=args.save)


def _lines(result: Result) -> list[str]:
    """Return the report, and the range of each coordinate."""
    title, *report = str(result.report).split("\n")
    lines = [paint(title, "bold"), *report, ""]
    if len(result):
        named = zip(names_of(result.robot, "q"), result.q.T, strict=True)
        rows = ((name, (q[0], q[-1], q.min(), q.max())) for name, q in named)
        lines += figures(("position", "start", "end", "least", "largest"), rows, most=_MOST)
    lines += [f"{event.time:.9g} s: {event.name}" for event in result.events[:_MOST]]
    if len(result.events) > _MOST:
        lines.append(f"... and {len(result.events) - _MOST} more events")
    return lines


def _described(args: argparse.Namespace, result: Result) -> dict[str, Any]:
    last = result[-1] if len(result) else None
    return {
        "report": result.report.to_dict(),
        "samples": len(result),
        "names": {kind: names_of(result.robot, kind) for kind in "qv"},
        "final": None if last is None else {"t": last.t, "q": last.q, "v": last.v},
        "events": [{"time": e.time, "name": e.name} for e in result.events],
        **{"output": args.out, "plot": args.plot, "page": args.save},
    }
