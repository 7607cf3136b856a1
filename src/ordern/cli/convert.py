"""Write a robot in another format. The name of the output tells which: .urdf, or .xml or .mjcf for MJCF.

What the format cannot say is an error that lists it, unless --lossy is given.

examples:
  ordern convert panda.urdf panda.xml
  ordern convert --lossy scene.xml robot.urdf
  ordern convert puma560 puma.urdf
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

__all__ = ["arguments", "run"]

_WRITERS = {
    ".urdf": ("export_urdf", "to_urdf"),
    ".xml": ("export_mjcf", "to_mjcf"),
    ".mjcf": ("export_mjcf", "to_mjcf"),
}
"""By suffix: the module in `ordern.io`, and its function that makes the text."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("input", metavar="IN", help="robot description, or the name of a bundled robot")
    parser.add_argument("output", metavar="OUT", type=_output, help=f"file to write: {', '.join(_WRITERS)}")
    parser.add_argument("--lossy", action="store_true", help="leave out what the format cannot say")
    parser.add_argument("--force", action="store_true", help="overwrite OUT if it exists")
    parser.add_argument("--json", action="store_true", help="print what was written as JSON")


def _output(name: str) -> Path:
    path = Path(name)
    if path.suffix.lower() not in _WRITERS:
        known = ", ".join(_WRITERS)
        raise argparse.ArgumentTypeError(f"{name!r} must end in one of {known}, which tells the format")
    return path


def run(args: argparse.Namespace) -> int:
    """Load a robot, write it."""
    from .. import load

    out: Path = args.output
    if out.exists() and not args.force:
        print(f"ordern: error: {out} exists already; --force overwrites it", file=sys.stderr)
        return 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `ordern check` tells them
        robot = load(args.input)
    module, function = _WRITERS[out.suffix.lower()]
    write: Callable[..., str] = getattr(import_module(f"..io.{module}", __package__), function)
    text = write(robot, lossy=args.lossy)
    out.write_text(text, encoding="utf-8")
    written = {"robot": robot.name, "output": str(out), "bodies": len(robot.bodies), "nq": robot.nq, "nv": robot.nv}
    print(json.dumps(written) if args.json else f"{out}: {robot.name}, {len(robot.bodies)} bodies, nv {robot.nv}")
    return 0
