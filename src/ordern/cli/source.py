"""The robots of commands: files, names of bundled robots, or `-` for standard input."""

from __future__ import annotations

import argparse
import warnings
from typing import TYPE_CHECKING

from ..io.source import UnreadableError
from .standard import read_text
from .values import LIST

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["ROBOT", "bundled", "given", "loaded", "robot_argument", "robot_options", "start_options"]

ROBOT = "robot description, name of a bundled robot, or - for stdin"


def robot_argument(parser: argparse.ArgumentParser, help: str = ROBOT) -> None:
    """Declare the robot and its options."""
    parser.add_argument("robot", metavar="FILE|NAME", help=help)
    robot_options(parser)


def robot_options(parser: argparse.ArgumentParser) -> None:
    """Declare whether the robot floats, its loops, and the folder of files that it includes."""
    parser.add_argument("--floating", action="store_true", help="let the root float: give it a free joint")
    parser.add_argument("--loops", metavar="FILE", help="JSON file with loops that the robot's own file does not have")
    parser.add_argument("--root", metavar="FOLDER", help="folder from which the file may include others")


def start_options(parser: argparse._ActionsContainer) -> None:
    """Declare the state at the start."""
    parser.add_argument("--q0", metavar=LIST, help="positions at the start; neutral unless given")
    parser.add_argument("--v0", metavar=LIST, help="velocities at the start; zero unless given")


def loaded(args: argparse.Namespace, name: str = "", *, merge: bool = True) -> Robot:
    """Load the robot of this name, or the one that the arguments name. Only `ordern check` shows the warnings."""
    from .. import load

    floating, loops, root = getattr(args, "floating", False), getattr(args, "loops", None), getattr(args, "root", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load(given(name or args.robot), merge=merge, loops=loops, floating=floating, root=root)


def bundled(args: argparse.Namespace) -> str:
    """Return the name of the robot, if its named positions fit the robot that was loaded."""
    return "" if args.floating else str(args.robot)


def given(name: str) -> str:
    """Return what `load` takes: the name as it is, or the text of standard input."""
    if name != "-":
        return name
    text = read_text("the robot")
    if not text.lstrip("\ufeff \t\r\n").startswith("<"):
        fault = "is empty" if not text.strip() else f"begins with {text.strip()[:20]!r}"
        raise UnreadableError(f"standard input {fault}; expected the XML text of a robot")
    return text
