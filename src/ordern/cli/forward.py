"""Accelerations of one state, or of many from a file.

Damping, friction and springs of the model act, as they do in a simulation, unless --no-passive is given.

A file has the columns q.<joint> and, where they are not zero, v.<joint> and tau.<joint>; a column t is kept.

examples:
  ordern forward puma560 --q ready
  ordern forward double-pendulum --q 0.5,-0.2 --v 1,0 --tau elbow=2
  ordern forward arm.urdf --q shoulder=30deg --method composite-body --json
  ordern forward arm.urdf --states states.csv --out accelerations.csv
"""

from __future__ import annotations

import argparse
import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING

from .outputs import MOTIONS, TABLES, check_output, note, show
from .source import bundled, loaded, robot_argument
from .terminal import figures
from .values import LIST, UsageError, names_of, start, vector

if TYPE_CHECKING:
    from ..arguments import Array
    from ..robot import Robot
    from .motions import Table

__all__ = ["arguments", "run"]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    robot_argument(parser)
    parser.add_argument("--q", metavar=LIST, help="positions; neutral, with loops closed, unless given")
    parser.add_argument("--v", metavar=LIST, help="velocities; zero unless given")
    parser.add_argument("--tau", metavar=LIST, help="joint forces; zero unless given")
    parser.add_argument("--states", metavar="FILE", help=f"many states: {', '.join(TABLES)}")
    parser.add_argument(
        "--method", metavar="NAME", help="method of forward dynamics; `ordern methods forward_dynamics` lists them"
    )
    parser.add_argument("--no-passive", action="store_true", help="leave out damping, friction and springs")
    parser.add_argument("--out", metavar="FILE", help=f"write states and accelerations: {', '.join(MOTIONS)}")


def run(args: argparse.Namespace) -> int:
    """Compute and show; 1 if an acceleration is not finite."""
    import numpy as np

    check_output(args.out, MOTIONS)
    robot = loaded(args)
    names = names_of(robot, "v")
    q, v, tau, states = _states(args, robot)
    method = args.method or _usual(robot)
    if not robot.nc:
        robot.kernel("forward_dynamics", method)
    applied = tau if args.no_passive else tau + robot.passive_force(q, v)
    if robot.nc and not args.no_passive:
        applied = applied + robot.loop_passive_force(q, v)
    a = robot.forward_dynamics(q, v, applied, method=method)
    notes = list(states.notes) if states else []
    if not args.no_passive and (applied != tau).any():
        notes.append("damping, friction and springs of the robot act; --no-passive leaves them out")
    arrays = {"q": q, "v": v, "tau": tau, "a": a}
    if args.out:
        _save(args.out, robot, states.t if states else None, {kind: np.atleast_2d(x) for kind, x in arrays.items()})
    if a.ndim == 1:
        each = np.stack([v, tau, a], axis=-1)
        lines = figures(("joint", "v", "tau", "acceleration"), zip(names, each, strict=True), digits=10)
    else:
        rows = ((name, (x.min(), x.max(), (x**2).mean() ** 0.5)) for name, x in zip(names, a.T, strict=True))
        title = f"{robot.name}: accelerations of {len(a)} states"
        lines = [title, *figures(("joint", "least", "largest", "rms"), rows)]
    about = {"robot": robot.name, "method": method, "joints": names, "notes": notes}
    show(args, {**about, **arrays, "output": args.out}, lines, notes)
    bad = ~np.isfinite(a)
    if bad.any():
        name = names[int(np.argwhere(bad)[0][-1])]
        note(f"the acceleration of {name!r} is not finite: is there a body without mass?")
    return int(bad.any())


def _usual(robot: Robot) -> str:
    """Return the default method."""
    if not robot.nc:
        return "articulated-body"
    from ..loops.dynamics import usual_method

    return usual_method(robot)


def _states(args: argparse.Namespace, robot: Robot) -> tuple[Array, Array, Array, Table | None]:
    """Return positions, velocities and forces, and the table from which they are."""
    import numpy as np

    if not args.states:
        v, tau = vector(args.v, robot, "v", "--v"), vector(args.tau, robot, "tau", "--tau")
        return start(args.q, robot, "--q", bundled(args)), v, tau, None
    for option in ("q", "v", "tau"):
        if getattr(args, option) is not None:
            raise UsageError(f"--{option} has no meaning with --states, which has the states")
    from .motions import read

    found = read(args.states, robot, "q", partial=("v", "tau"))
    if found.q is None:
        raise UsageError("the file has no columns of positions, such as q.<joint>", args.states)
    zero = np.zeros((found.count, robot.nv))
    v, tau = (zero if x is None else x for x in (found.v, found.tau))
    return found.q, v, tau, found


def _save(path: str, robot: Robot, t: Array | None, arrays: dict[str, Array]) -> None:
    """Write a motion if there are times, else a plain table or archive. The file is whole, or not written."""
    import numpy as np

    from ..io.writing import replacing

    if t is not None:
        from ..simulate.results.result import Result

        Result(robot, t, arrays["q"], arrays["v"], arrays["a"], arrays["tau"]).save(path)
        return
    suffix = Path(path).suffix.lower()
    if suffix == ".parquet":
        raise UsageError("states without times are written to .csv or .npz; or give a column t", path)
    with replacing(path) as file:
        if suffix == ".npz":
            np.savez(file, **arrays)  # type: ignore[arg-type]
            return
        text = io.TextIOWrapper(file, "utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([f"{kind}.{name}" for kind in arrays for name in names_of(robot, kind)])
        writer.writerows(np.concatenate(list(arrays.values()), axis=1).tolist())
        text.detach()
