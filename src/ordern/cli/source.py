"""What a command is given: files, names of robots, or `-` for standard input."""

from __future__ import annotations

import argparse
import sys

from ..io.source import UnreadableError

__all__ = ["given", "loops_argument"]


def loops_argument(parser: argparse.ArgumentParser) -> None:
    """The file with a robot's loops."""
    parser.add_argument("--loops", metavar="FILE", help="JSON file with loops that the robot's own file does not have")


def given(name: str) -> str:
    """What `load` takes: the name as it is, or the text that standard input has."""
    if name != "-":
        return name
    try:
        text = sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as e:
        raise UnreadableError(f"standard input is not in UTF-8: {e.reason} at byte {e.start}") from None
    if not text.lstrip("\ufeff \t\r\n").startswith("<"):
        fault = "is empty" if not text.strip() else f"begins with {text.strip()[:20]!r}"
        raise UnreadableError(f"standard input {fault}; expected the XML text of a robot")
    return text
