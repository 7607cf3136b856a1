"""Accelerations of one state, or of many from a file.

Damping, friction and springs of the model act, as they do in a simulation, unless --no-passive is given.

A file has the columns q.<joint> and, where they are not zero, v.<joint> and tau.<joint>; a column t is kept. With one
state, lists are numbers (0,0.5,-1), names with values (elbow=0.5; the others are zero, or neutral), or @file.

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

from .outputs import MOTIONS, check_output, note, show
from .source import bundled, loaded, robot_argument
from .terminal import table
from .values import LIST, UsageError, asked, names_of, negative_lists, vector

if TYPE_CHECKING:
    from ..robot import Robot
    from .motions import Array, Table

__all__ = ["arguments", "run"]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    negative_lists(parser)
    robot_argument(parser)
    parser.add_argument("--q", metavar=LIST, help="positions; neutral, with loops closed, unless given")
    parser.add_argument("--v", metavar=LIST, help="velocities; zero unless given")
    parser.add_argument("--tau", metavar=LIST, help="joint forces; zero unless given")
    parser.add_argument("--states", metavar="FILE", help="many states: .csv, .npz, .parquet")
    parser.add_argument("--method", help="of forward dynamics, see `ordern methods forward_dynamics`")
    parser.add_argument("--no-passive", action="store_true", help="leave out damping, friction and springs")
    parser.add_argument("--out", metavar="FILE", help=f"write states and accelerations: {', '.join(MOTIONS)}")


def run(args: argparse.Namespace) -> int:
    """Compute and show; 1 if an acceleration is not finite."""
    import numpy as np

    check_output(args.out, MOTIONS)
    robot = loaded(args)
    with asked():
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
    if args.out:
        _save(args.out, robot, states.t if states else None, np.atleast_2d(q), *map(np.atleast_2d, (v, tau, a)))
    about = {"robot": robot.name, "method": method, "joints": names_of(robot, "v"), "notes": notes}
    lines = _one(robot, v, tau, a) if a.ndim == 1 else _many(robot, a)
    show(args, {**about, "q": q, "v": v, "tau": tau, "a": a, "output": args.out}, lines, notes)
    bad = ~np.isfinite(a)
    if bad.any():
        name = names_of(robot, "v")[int(np.argwhere(bad)[0][-1])]
        note(f"the acceleration of {name!r} is not finite: is there a body without mass?")
    return int(bad.any())


def _usual(robot: Robot) -> str:
    """Return the default method."""
    if not robot.nc:
        return "articulated-body"
    from ..loops.dynamics import usual_method

    return usual_method(robot)


def _states(args: argparse.Namespace, robot: Robot) -> tuple[Array, Array, Array, Table | None]:
    import numpy as np

    given = {"--q": args.q, "--v": args.v, "--tau": args.tau}
    if not args.states:
        q, v, tau = (vector(text, robot, option[2:], option, bundled(args)) for option, text in given.items())
        if robot.nc and args.q is None:
            from ..simulate.constraints.start import assembled

            q = assembled(robot)
        return q, v, tau, None
    for option, text in given.items():
        if text is not None:
            raise UsageError(f"{option} has no meaning with --states, which has the states")
    from .motions import read

    found = read(args.states, robot, "q", partial=("v", "tau"))
    if found.q is None:
        raise UsageError("the file has no columns of positions, such as q.<joint>", args.states)
    zero = np.zeros((found.count, robot.nv))
    v, tau = (zero if x is None else x for x in (found.v, found.tau))
    return found.q, v, tau, found


def _one(robot: Robot, v: Array, tau: Array, a: Array) -> list[str]:
    rows: list[tuple[str, ...]] = [("joint", "v", "tau", "acceleration")]
    rows += [(name, *(f"{x[k]:.10g}" for x in (v, tau, a))) for k, name in enumerate(names_of(robot, "v"))]
    return table(rows, right=(1, 2, 3), head=True)


def _many(robot: Robot, a: Array) -> list[str]:
    rows = [("joint", "least", "largest", "rms")]
    rows += [
        (name, f"{x.min():.6g}", f"{x.max():.6g}", f"{(x**2).mean() ** 0.5:.6g}")
        for name, x in zip(names_of(robot, "v"), a.T, strict=True)
    ]
    return [f"{robot.name}: accelerations of {len(a)} states", *table(rows, right=(1, 2, 3), head=True)]


def _save(path: str, robot: Robot, t: Array | None, q: Array, v: Array, tau: Array, a: Array) -> None:
    """Write a motion if there are times, else a plain table or archive. The file is whole, or not written."""
    import numpy as np

    from ..io.writing import replacing

    if t is not None:
        from ..simulate.results.result import Result

        Result(robot, t, q, v, a, tau).save(path)
        return
    arrays = {"q": q, "v": v, "tau": tau, "a": a}
    suffix = Path(path).suffix.lower()
    if suffix == ".parquet":
        raise UsageError("states without times are written to .csv or .npz; or give a column t", path)
    data = io.BytesIO()
    if suffix == ".npz":
        np.savez(data, **arrays)  # type: ignore[arg-type]
    else:
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([f"{kind}.{name}" for kind in arrays for name in names_of(robot, kind)])
        writer.writerows(np.concatenate(list(arrays.values()), axis=1).tolist())
        data.write(text.getvalue().encode())
    with replacing(path) as file:
        file.write(data.getbuffer())
