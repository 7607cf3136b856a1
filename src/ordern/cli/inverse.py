"""Joint forces along a motion: a trajectory between two positions, or samples from a file.

Of each joint the largest force, when it is needed, and the root of the mean square are shown; limits that the motion
exceeds are warnings. Damping, friction and springs of the model are overcome too, unless --no-passive is given.

A file has the columns t, q.<joint> and, if they are known, v.<joint> and a.<joint>, as results of simulations do.

examples:
  ordern inverse planar-3r --to 3.14,1.57,1.57 --duration 10
  ordern inverse puma560 --trajectory quintic --from ready --to shoulder=45deg,elbow=-1 --duration 2 --out tau.csv
  ordern inverse arm.urdf --trajectory trapezoidal --to @goal.txt --acceleration 2 --velocity 1 --plot tau.png
  ordern inverse arm.urdf --motion recorded.csv --json | jq .joints
  ordern inverse arm.urdf --motion points.csv --trajectory spline --samples 2001 --out tau.npz
"""

from __future__ import annotations

import argparse
import math
import sys
from typing import TYPE_CHECKING, Any

from .outputs import MOTIONS, PICTURES, TABLES, check_output, show
from .source import bundled, loaded, robot_argument
from .terminal import table
from .values import LIST, UsageError, count, gain, names_of, positive, vector

if TYPE_CHECKING:
    from ..arguments import Array
    from ..control.trajectory import Trajectory
    from ..robot import Robot
    from ..simulate.results.result import Result

__all__ = ["arguments", "run"]

_KINDS = ("cycloidal", "minimum-jerk", "quintic", "trapezoidal", "spline")
_SAMPLES = 1001


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    robot_argument(parser)
    parser.add_argument("--trajectory", choices=_KINDS, help="kind of trajectory; cycloidal unless given")
    parser.add_argument("--from", dest="start", metavar=LIST, help="position at the start; neutral unless given")
    parser.add_argument("--to", dest="end", metavar=LIST, help="position at the end")
    parser.add_argument(
        "--duration", type=positive, metavar="S", help="seconds; for trapezoidal as few as possible unless given"
    )
    parser.add_argument(
        "--velocity", metavar="X|LIST", help="for trapezoidal: largest velocities; the robot's limits unless given"
    )
    parser.add_argument("--acceleration", metavar="X|LIST", help="for trapezoidal: largest accelerations")
    parser.add_argument("--motion", metavar="FILE", help=f"motion, or points of a spline: {', '.join(TABLES)}")
    parser.add_argument(
        "--samples", type=count, metavar="N", help=f"samples of the trajectory; {_SAMPLES} unless given"
    )
    parser.add_argument("--method", metavar="NAME", help="method of inverse dynamics; newton-euler unless given")
    parser.add_argument("--no-passive", action="store_true", help="leave out damping, friction and springs")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a limit is exceeded")
    parser.add_argument("--out", metavar="FILE", help=f"write the motion and its forces: {', '.join(MOTIONS)}")
    parser.add_argument("--plot", metavar="FILE", help=f"draw positions and forces: {', '.join(PICTURES)}")


def run(args: argparse.Namespace) -> int:
    """Compute the forces and show them; 1 if limits are exceeded and --strict is given."""
    check_output(args.out, MOTIONS)
    check_output(args.plot, PICTURES)
    robot = loaded(args)
    t, q, v, a, notes = _motion(args, robot)
    method = args.method or "newton-euler"
    robot.kernel("inverse_dynamics", method)  # raises first of all if the name is unknown
    tau = robot.inverse_dynamics(q, v, a, method=method)
    if not args.no_passive:
        passive = robot.passive_force(q, v)
        if passive.any():
            notes.append("damping, friction and springs of the robot are overcome too; --no-passive leaves them out")
        tau = tau - passive
    from ..control.checks import exceeded
    from ..simulate.results.result import Result

    result = Result(robot, t, q, v, a, tau)
    found = list(exceeded(robot, t, q, v, tau))
    if args.out:
        result.save(args.out)
    if args.plot:
        result.plot("q", "tau", save=args.plot)
    rows = _summary(result)
    data = {"robot": robot.name, "method": method, "samples": len(result), "duration": result.duration, "joints": rows}
    data |= {"exceeded": found, "notes": notes, "output": args.out, "plot": args.plot}
    show(args, data, _lines(result, method, rows), notes)
    for x in found:
        print(f"ordern: warning: {x}", file=sys.stderr)
    return int(bool(found) and args.strict)


def _motion(args: argparse.Namespace, robot: Robot) -> tuple[Array, Array, Array, Array, list[str]]:
    """Return times, positions, velocities, accelerations, and notes."""
    import numpy as np

    _consistent(args)
    if args.motion and args.trajectory is None:
        from .motions import motion

        return motion(args.motion, robot)
    trajectory = _trajectory(args, robot)
    t = np.linspace(0.0, trajectory.duration, args.samples or _SAMPLES)
    return t, *trajectory(t), []


def _consistent(args: argparse.Namespace) -> None:
    """Raise if options exclude each other."""
    spline = args.trajectory == "spline"
    if args.motion and args.trajectory not in (None, "spline"):
        raise UsageError(f"--motion does not go with a {args.trajectory} trajectory; leave out one of them")
    for option, value in (("--from", args.start), ("--to", args.end), ("--duration", args.duration)):
        if args.motion and value is not None:
            raise UsageError(f"{option} has no meaning with --motion, which has positions and times")
    if args.motion and not spline and args.samples:
        raise UsageError("--samples has no meaning with --motion alone; with --trajectory spline it has")
    if spline and not args.motion:
        raise UsageError("a spline goes through points: give them by --motion FILE, with columns t and q.<joint>")
    if not args.motion and args.end is None:
        raise UsageError("the end is not given: give --to, or a motion by --motion FILE")
    if args.trajectory != "trapezoidal":
        for option, value in (("--velocity", args.velocity), ("--acceleration", args.acceleration)):
            if value is not None:
                raise UsageError(f"{option} is for --trajectory trapezoidal")


def _trajectory(args: argparse.Namespace, robot: Robot) -> Trajectory:
    from ..control import trajectories

    if args.motion:
        from .motions import read

        points = read(args.motion, robot, "q")
        if points.t is None or points.q is None:
            raise UsageError("points of a spline need the columns t and q.<joint>", args.motion)
        return trajectories.spline(robot, points.t - points.t[0], points.q)
    start, end = (
        vector(text, robot, "q", option, bundled(args)) for text, option in ((args.start, "--from"), (args.end, "--to"))
    )
    if args.trajectory == "trapezoidal":
        if args.acceleration is None:
            raise UsageError("a trapezoidal trajectory needs --acceleration: one number, or one for each joint")
        acceleration = gain(args.acceleration, robot, "--acceleration")
        velocity = None if args.velocity is None else gain(args.velocity, robot, "--velocity")
        return trajectories.trapezoidal(robot, start, end, args.duration, acceleration=acceleration, velocity=velocity)
    if args.duration is None:
        raise UsageError("the duration is not given: give --duration, in seconds")
    make: Any = getattr(trajectories, (args.trajectory or "cycloidal").replace("-", "_"))
    made: Trajectory = make(robot, start, end, args.duration)
    return made


def _summary(result: Result) -> list[dict[str, Any]]:
    """Return for each freedom: the largest force and its time, the root mean square, the limit."""
    import numpy as np

    from ..model.units import coordinate_units

    robot, t, tau = result.robot, result.t, result.tau
    peak = np.abs(tau).argmax(axis=0)
    squares = tau[0] ** 2
    if t[-1] > t[0]:
        squares = 0.5 * np.diff(t) @ (tau[1:] ** 2 + tau[:-1] ** 2) / (t[-1] - t[0])
    columns = {
        "name": names_of(robot, "v"),
        "peak": tau[peak, np.arange(robot.nv)].tolist(),
        "time": t[peak].tolist(),
        "rms": np.sqrt(squares).tolist(),
        "limit": [x for c in robot.independent for x in c.effort_limit],
        "unit": coordinate_units(robot, "tau"),
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _lines(result: Result, method: str, rows: list[dict[str, Any]]) -> list[str]:
    title = f"{result.robot.name}: {len(result)} samples over {result.duration:g} s, forces by {method}"
    cells = [("joint", "peak", "at", "rms", "limit", "")]
    for row in rows:
        limit = f"{row['limit']:.6g}" if math.isfinite(row["limit"]) else "-"
        numbers = f"{row['peak']:.6g}", f"{row['time']:.4g} s", f"{row['rms']:.6g}"
        cells.append((row["name"], *numbers, limit, row["unit"]))
    return [title, *table(cells, right=(1, 2, 3, 4), head=True)]
