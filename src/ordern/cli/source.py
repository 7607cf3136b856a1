"""The robots of commands: files, names of bundled robots, or `-` for standard input."""

from __future__ import annotations

import argparse
import warnings
from typing import TYPE_CHECKING, Any

from ..io.source import UnreadableError
from .standard import read_text
from .values import LIST, UsageError

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = [
    "ROBOT",
    "bundled",
    "given",
    "load_options",
    "loaded",
    "robot_argument",
    "robot_options",
    "start_options",
    "xacro_option",
]

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
    parser.add_argument("--srdf", metavar="FILE", help="SRDF file with named positions and rotors of the robot")
    xacro_option(parser)
    parser.add_argument(
        "--arg", action="append", metavar="NAME=VALUE", help="argument of a xacro template; may be repeated"
    )


def xacro_option(parser: argparse.ArgumentParser) -> None:
    """Declare whether xacro templates are expanded."""
    parser.add_argument(
        "--xacro", action="store_true", help="expand a xacro template, whose expressions can run any command: trust it"
    )


def start_options(parser: argparse._ActionsContainer) -> None:
    """Declare the state at the start."""
    parser.add_argument("--q0", metavar=LIST, help="positions at the start; neutral unless given")
    parser.add_argument("--v0", metavar=LIST, help="velocities at the start; zero unless given")


def loaded(args: argparse.Namespace, name: str = "", *, merge: bool = True) -> Robot:
    """Load the robot of this name, or the one that the arguments name. Only `ordern check` shows the warnings."""
    from .. import load

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load(given(name or args.robot), merge=merge, **load_options(args))


def load_options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `load` that the arguments have."""
    options: dict[str, Any] = {key: getattr(args, key, None) for key in ("loops", "root", "srdf")}
    options["xacro"] = getattr(args, "xacro", False)
    options["xacro_args"] = _arguments(getattr(args, "arg", None))
    return options | {"floating": getattr(args, "floating", False)}


def _arguments(words: list[str] | None) -> dict[str, str] | None:
    """Return the arguments of a template, from words such as "side=left"."""
    if not words:
        return None
    pairs = [word.partition("=") for word in words]
    for name, equals, _ in pairs:
        if not (name and equals):
            raise UsageError(f"--arg takes NAME=VALUE, not {name!r}")
    return {name: value for name, _, value in pairs}


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
