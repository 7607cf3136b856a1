"""Write a robot in another format, by the name of the output: .urdf, or .xml or .mjcf for MJCF.

Parts that the format cannot express are an error that lists them. With --lossy they are left out, and listed in a
comment at the top of the document and on standard error.

examples:
  ordern convert panda.urdf panda.xml
  ordern convert --floating anymal.urdf anymal.xml
  ordern convert --lossy scene.xml robot.urdf
  ordern convert stanford-arm stanford.urdf
  xacro arm.xacro | ordern convert - arm.xml
  ordern convert --to mjcf stanford-arm - | less
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..errors import ModelError
from .outputs import note, show
from .source import ROBOT, loaded, robot_options
from .values import UsageError

__all__ = ["arguments", "run"]

_SUFFIXES = (".urdf", ".xml", ".mjcf")
_FORMATS = {"urdf": ".urdf", "mjcf": ".mjcf"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("input", metavar="IN", help=ROBOT)
    parser.add_argument(
        "output", metavar="OUT", type=_output, help=f"file to write: {', '.join(_SUFFIXES)}; or - for stdout"
    )
    parser.add_argument("--to", choices=_FORMATS, help="format, if OUT is -")
    robot_options(parser)
    parser.add_argument("--lossy", action="store_true", help="leave out parts that the format cannot express")
    parser.add_argument("--force", action="store_true", help="overwrite OUT if it exists")


def _output(name: str) -> Path:
    path = Path(name)
    if name != "-" and path.suffix.lower() not in _SUFFIXES:
        known = ", ".join(_SUFFIXES)
        raise argparse.ArgumentTypeError(f"{name!r} must end in one of {known}, which selects the format")
    return path


def run(args: argparse.Namespace) -> int:
    """Load a robot, write it."""
    from ..io.writing import LossError, write, written

    out: Path = args.output
    stdout = str(out) == "-"
    fault = _misuse(args, out, stdout)
    if fault:
        raise UsageError(fault)
    robot = loaded(args, args.input)
    try:
        if stdout:
            text, losses = written(robot, _FORMATS[args.to], Path(), lossy=args.lossy)
            _print(text)
        else:
            losses = write(robot, out, lossy=args.lossy)
    except LossError as e:
        raise ModelError(f"{e.message}; with --lossy this is left out, and listed in a comment", e.where) from None
    for what in losses.summary:
        print(f"ordern: left out: {what}", file=sys.stderr)
    for text in losses.notes:
        note(text)
    if not stdout:
        data = {"robot": robot.name, "output": str(out), "bodies": len(robot.bodies), "nq": robot.nq, "nv": robot.nv}
        data |= {"left_out": losses.left_out, "notes": losses.notes}
        show(args, data, [f"{out}: {robot.name}, {len(robot.bodies)} bodies, nv {robot.nv}"])
    return 0


def _print(text: str) -> None:
    """Write a document to standard output in UTF-8, the default encoding of XML."""
    sys.stdout.flush()
    if hasattr(sys.stdout, "buffer"):
        sys.stdout.buffer.write(text.encode())
    else:
        sys.stdout.write(text)


def _misuse(args: argparse.Namespace, out: Path, stdout: bool) -> str:
    """Return the fault of a combination of arguments, or ""."""
    if stdout and args.to is None:
        return "to standard output (-), --to must name the format: urdf or mjcf"
    if stdout and args.json:
        return "--json is printed to standard output, and so would be the robot; give the name of a file"
    if not stdout and args.to is not None and (args.to == "urdf") != (out.suffix.lower() == ".urdf"):
        return f"{out} is not the name of a file of the format of --to, {args.to}"
    if not stdout and out.exists() and not args.force:
        return f"{out} exists already; --force overwrites it"
    return ""
