"""Parameters of a robot from a log: masses, inertias and friction that explain the measured forces.

A log has columns t, q.<joint> and tau.<joint>, and if they were measured v.<joint> and a.<joint>; or it is a recording
with messages of the type sensor_msgs/JointState. Without v and a, positions are filtered and differentiated. The part
--held-out of the samples, from the end, judges the estimate; the exit status is 1 if the estimate does not hold there.

The new file is the robot's own file with other numbers: comments and all else in it stay as they are.

examples:
  ordern identify log.mcap robot.urdf -o robot.identified.urdf --report report.html
  ordern identify log.csv arm.xml -o measured.xml --cutoff 20 --stribeck search --offsets
  ordern identify currents.parquet arm.urdf --force-scale shoulder=62.6,elbow=50 --only inertia damping joint_friction
  ordern identify log.npz arm.urdf --only gripper --json
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from .outputs import PAGES, check_folder, check_output, show
from .source import ROBOT, loaded, robot_options
from .terminal import table
from .values import UsageError, count, gain, positive

if TYPE_CHECKING:
    from ..identify.estimate import Estimate
    from ..identify.log import Log
    from ..robot import Robot

__all__ = ["arguments", "run"]

_LOGS = ".csv, .npz, .parquet, .h5, .mcap, .db3, or the folder of a bag of ROS 2"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("log", metavar="LOG", help=f"measured motions and forces: {_LOGS}")
    parser.add_argument("robot", metavar="FILE|NAME", help=ROBOT)
    robot_options(parser)
    parser.add_argument("-o", "--out", metavar="FILE", help="write the robot's file with the new numbers in place")
    parser.add_argument("--report", metavar="FILE", help="write a report with pictures: .html, .htm")
    parser.add_argument("--topic", action="append", metavar="NAME", help="topic of a recording; may be repeated")
    parser.add_argument(
        "--force-scale", metavar="X|LIST", help="factors of forces: gear ratios times torque constants of currents"
    )
    parser.add_argument("--lock", action="append", metavar="JOINT", help="joint that did not move; may be repeated")
    parser.add_argument("--cutoff", type=positive, metavar="HZ", help="filter of positions; by the motion unless given")
    parser.add_argument(
        "--average", type=count, metavar="N", help="samples that become a mean; by --cutoff unless given"
    )
    parser.add_argument("--outliers", action="store_true", help="replace single wrong samples first")
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", help="bodies, joints, or inertia, armature, damping, joint_friction"
    )
    parser.add_argument("--no-robust", action="store_true", help="count forces that are far off like all others")
    parser.add_argument("--offsets", action="store_true", help="estimate a constant force of each joint, too")
    parser.add_argument("--stribeck", metavar="V|search", help="velocity of friction near rest, or search for it")
    parser.add_argument("--least-squares", action="store_true", help="allow parameters that no body can have")
    parser.add_argument("--prior", type=positive, metavar="W", help="weight of the file's values; 0.01 unless given")
    parser.add_argument(
        "--held-out", type=float, default=0.2, metavar="PART", help="part that judges; 0.2 unless given"
    )


def run(args: argparse.Namespace) -> int:
    """Read, estimate, write; 1 if the estimate does not hold for what was held out."""
    if args.out:
        check_folder(args.out)
    if args.report:
        check_folder(args.report)
        if not args.report.lower().endswith(PAGES):
            check_output(args.report, PAGES)
    robot = loaded(args)
    if args.lock:
        robot = robot.lock(*args.lock)
    if args.out:
        from ..io.in_place import own_file

        own_file(robot, args.out)  # raises before the work is done
    log, cutoff = _log(args, robot)
    average = args.average or max(1, round(log.rate / (5.0 * cutoff)) if cutoff else 1)
    found = robot.identify(
        *log.motion, only=args.only, consistent=not args.least_squares, prior=args.prior or 0.01,
        held_out=args.held_out, average=average, robust=not args.no_robust, offsets=args.offsets,
        stribeck=_stribeck(args),
    )  # fmt: skip
    notes = [*log.notes]
    if cutoff:
        notes.append(f"positions filtered at {cutoff:.3g} Hz; means of {average} samples")
    if args.out:
        notes += _written(found, args.out)
    if args.report:
        found.save_report(args.report, log, notes[len(log.notes) :])
    show(args, _data(args, found, cutoff, average, notes), _lines(args, found), notes)
    return int(found.held_out is not None and not found.held_out.agrees)


def _log(args: argparse.Namespace, robot: Robot) -> tuple[Log, float | None]:
    """Return the log with velocities and accelerations, and the cutoff of its filter, if there was one."""
    log = robot.read_log(args.log, force_scale=_scale(args, robot), topics=args.topic)
    if log.tau is None:
        raise UsageError("the log has no forces: columns tau.<joint>, or the effort of messages", args.log)
    if args.outliers:
        log = log.without_outliers()
    if log.v is not None and log.a is not None and args.cutoff is None:
        return log, None
    cutoff = args.cutoff or log.cutoff
    return log.filtered(cutoff), cutoff


def _scale(args: argparse.Namespace, robot: Robot) -> Any:
    """Return factors of the forces; those of joints that are not named are one."""
    text = args.force_scale
    if text is None:
        return 1.0
    if "=" not in text:
        return gain(text, robot, "--force-scale")
    pairs = [word.partition("=") for word in text.split(",")]
    try:
        return {name.strip(): float(value) for name, _, value in pairs}
    except ValueError:
        raise UsageError(f"--force-scale: expected JOINT=NUMBER,..., not {text!r}") from None


def _stribeck(args: argparse.Namespace) -> Any:
    if args.stribeck in (None, "search"):
        return args.stribeck
    try:
        return positive(args.stribeck)
    except argparse.ArgumentTypeError as e:
        raise UsageError(f"--stribeck is a velocity, or search: {e}") from None


def _written(found: Estimate, path: str) -> list[str]:
    """Write the robot into its file, and return notes on what the file cannot say."""
    from ..io.in_place import write_in_place

    return [f"{path}: {x}" for x in write_in_place(found.robot, path, lossy=True)]


def _data(
    args: argparse.Namespace, found: Estimate, cutoff: float | None, average: int, notes: list[str]
) -> dict[str, Any]:
    held = found.held_out
    data: dict[str, Any] = {"robot": found.base.robot, "samples": found.samples, "condition": found.condition}
    data |= {"method": found.method, "consistent": found.consistent, "cutoff": cutoff, "average": average}
    data["base_parameters"] = [
        {"name": name, "value": x, "deviation": s, "before": b}
        for name, x, s, b in zip(found.names, found.values, found.deviations, found.before, strict=True)
    ]
    data["parameters"] = dict(zip(found.parameters.theta_labels, found.theta.tolist(), strict=True))
    if found.extra is not None:
        data["parameters"] |= dict(zip(found.extra.labels, found.extra_values.tolist(), strict=True))
    data["noise"] = dict(zip(found._forces, found.noise.tolist(), strict=True))
    if held is not None:
        data["held_out"] = {"agrees": held.agrees, "relative": held.relative.tolist(), "report": held.report}
    return data | {"remarks": [*found.remarks], "notes": notes, "output": args.out, "report": args.report}


def _lines(args: argparse.Namespace, found: Estimate) -> list[str]:
    held = found.held_out
    lines = [
        f"{found.base.robot}: {len(found.base)} base parameters from {found.samples} samples, by {found.method}, "
        f"condition number {found.condition:.3g}"
    ]
    cells = [("force", "noise", "held-out error", "of the force")]
    for k, name in enumerate(found._forces):
        more = (f"{held.rms[k]:.4g}", f"{100 * held.relative[k]:.3g} %") if held is not None else ("-", "-")
        cells.append((name, f"{found.noise[k]:.4g}", *more))
    lines += table(cells, right=(1, 2, 3), head=True)
    if held is not None:
        lines.append(held.report)
    lines += [f"remark: {x}" for x in found.remarks]
    if args.report:
        lines.append(f"written: {args.report}")
    return lines
