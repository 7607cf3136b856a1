"""Look at a robot in the browser: move its joints, play its motion; or write a page that does so anywhere.

The page is served to this machine only, until Ctrl-C. With --save nothing is served: one HTML file is written, which
holds all that it needs and plays without a network.

examples:
  ordern view panda.urdf
  ordern view stanford-arm --position initial
  ordern view puma560 --q 0 0.8 -0.5 0 0.3 0
  ordern view puma560 --q elbow=30deg,shoulder=-1
  ordern view puma560 --motion fall.npz
  ordern view fall.npz --save fall.html
  ordern view fall.npz --save fall.mp4
  ordern view --floating --no-browser --port 8090 anymal.urdf
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .outputs import MOTIONS, check_view, note, noted
from .source import ROBOT, bundled, loaded, robot_argument
from .standard import named as named_stream
from .standard import report_stream
from .terminal import to_json
from .values import LIST, named, vector

if TYPE_CHECKING:
    from ..arguments import Array
    from ..robot import Robot
    from ..simulate.results.result import Result
    from ..view.motion import Motion

__all__ = ["arguments", "run"]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    robot_argument(parser, f"{ROBOT}; or a motion that was saved with its robot")
    parser.add_argument("--motion", metavar="FILE", help=f"motion to play: {', '.join(MOTIONS)}")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--q", nargs="+", metavar=LIST, help="position; its numbers may be separate words")
    where.add_argument("--position", metavar="NAME", help='position of a bundled robot, such as "ready"')
    parser.add_argument("--path", action="append", metavar="FRAME", help="draw the path of this frame; may be repeated")
    parser.add_argument(
        "--save", metavar="FILE", help="write a page (.html), a picture (.png) or a film (.gif, .mp4); serve nothing"
    )
    parser.add_argument("--port", type=int, metavar="N", help="port; the first that is free from 8080 on unless given")
    parser.add_argument(
        "--origin", action="append", metavar="URL", help="let pages of this origin connect too; may be repeated"
    )
    parser.add_argument("--no-browser", action="store_true", help="do not open the browser")


def run(args: argparse.Namespace) -> int:
    """Load a robot and show it."""
    from ..view import show

    check_view(args.save)
    options = {"save": args.save, "port": args.port, "browser": not args.no_browser, "paths": args.path}
    with noted() as caught:
        robot, motion = _loaded(args)
        caught.clear()  # `ordern info` and `ordern check` show what was noticed while reading
        q = _position(args, robot)
        viewer = show(robot, motion, q=q, wait=False, origins=args.origin or (), **options)
    if viewer is None:
        size = Path(args.save).stat().st_size
        data: dict[str, Any] = {"robot": robot.name, "output": args.save, "bytes": size}
        line = f"{named_stream(args.save)}: {robot.name}, {size / 1e6:.1f} MB"
        print(to_json(data) if args.json else line, file=report_stream())
        return 0
    data = {"robot": robot.name, "url": viewer.url}
    line = to_json(data) if args.json else f"{robot.name}: {viewer.url} (Ctrl-C ends)"
    print(line, flush=True)
    viewer.wait()
    return 0


def _loaded(args: argparse.Namespace) -> tuple[Robot, Result | Motion | None]:
    """Return the robot, and its motion if there is one."""
    from .motions import played, saved

    if Path(args.robot).suffix.lower() in MOTIONS:
        result = saved(args.robot, None, "ordern view FILE|NAME --motion FILE")
        return result.robot, result
    robot = loaded(args)
    if not args.motion:
        return robot, None
    motion, notes = played(args.motion, robot)
    for text in notes:
        note(text)
    return robot, motion


def _position(args: argparse.Namespace, robot: Robot) -> Array | None:
    if args.position is not None:
        return named(args.position, robot, bundled(args))
    return None if args.q is None else vector(" ".join(args.q), robot, "q", "--q", bundled(args))
