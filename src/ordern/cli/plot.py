"""Draw a motion from a file: positions, velocities, forces, energies, paths.

What is drawn: q, v, a, tau, energy, momentum, phase, tip, tip-3d, or series by their names, such as q.elbow, work or
position.tool.z; without any, positions, velocities, forces and energies.

The file is one that a simulation wrote (.npz, .csv, .parquet), or a table with the columns t, q.<joint>, v.<joint>;
for one that does not contain its robot, give it by --robot. The picture goes beside it unless --out names another
place: fall.npz is drawn to fall.png, which is not replaced if it is there already, unless --force is given.

examples:
  ordern plot fall.npz
  ordern plot fall.npz q tau energy --out fall.svg
  ordern plot fall.npz tip --out path.png
  ordern plot recorded.csv q v --robot arm.urdf --json
"""

from __future__ import annotations

import argparse
from pathlib import Path

from .outputs import PICTURES, check_output, show
from .source import loaded
from .values import UsageError

__all__ = ["arguments", "run"]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", metavar="FILE", help="a motion: .npz, .csv, .parquet")
    parser.add_argument("what", nargs="*", metavar="WHAT", help="what to draw: q, v, tau, energy, tip ...")
    parser.add_argument(
        "--out", metavar="FILE", help=f"picture: {', '.join(PICTURES)}; FILE with the suffix .png unless given"
    )
    parser.add_argument("--force", action="store_true", help="without --out: replace the picture if it exists")
    parser.add_argument("--robot", metavar="FILE|NAME", help="robot, if the file does not contain it")
    parser.add_argument("--joint", action="append", metavar="NAME", help="draw this joint only; may be repeated")
    parser.add_argument("--frame", action="append", metavar="NAME", help="draw this frame's path; may be repeated")


def run(args: argparse.Namespace) -> int:
    """Read a motion and draw it."""
    from .motions import saved

    named, args.out = args.out is not None, args.out or str(Path(args.file).with_suffix(".png"))
    check_output(args.out, PICTURES)
    if not named and not args.force and Path(args.out).exists():
        raise UsageError("the picture exists already; --force replaces it, --out names another", args.out)
    result = saved(args.file, loaded(args) if args.robot else None, "--robot FILE|NAME")
    result.plot(*args.what, joints=args.joint, frames=args.frame, save=args.out)
    show(args, {"robot": result.robot.name, "samples": len(result), "what": args.what, "output": args.out}, [])
    return 0
