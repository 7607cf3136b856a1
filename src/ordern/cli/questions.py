"""A question about a robot on the command line: its name, its method and its settings."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ..algorithms.registry import CHOICES
from .values import UsageError

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["question_arguments", "settings"]


def question_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the question, its method and its settings."""
    parser.add_argument("question", metavar="QUESTION", help="such as forward_dynamics; `ordern methods` lists all")
    parser.add_argument("--method", metavar="NAME", help="method that answers it; the default method unless given")
    parser.add_argument(
        "--frame",
        action="append",
        metavar="NAME",
        help="frame, for questions about one; the last body unless given; repeated for questions about several",
    )
    parser.add_argument(
        "--axes", choices=CHOICES["axes"], default="frame", help="axes of the answer; frame unless given"
    )
    parser.add_argument(
        "--kind", choices=CHOICES["kind"], default="classical", help="kind of acceleration; classical unless given"
    )


def settings(args: argparse.Namespace, robot: Robot) -> dict[str, Any]:
    """Return the settings that the question takes."""
    from ..algorithms import find

    frames = args.frame or [robot.bodies[-1].name]
    options = find(args.question, args.method)[0].options
    if len(frames) > 1 and "frames" not in options:
        raise UsageError(f"--frame: {args.question} is not about several frames, but {len(frames)} are given")
    given = {"frame": frames[0], "frames": frames, "axes": args.axes, "kind": args.kind}
    return {name: given[name] for name in options if name in given}
