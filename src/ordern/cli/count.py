"""Count the operations of a method for a robot, exactly.

examples:
  ordern count puma560 forward_dynamics
  ordern count panda.urdf inverse_dynamics --general
  ordern count stanford-arm forward_dynamics --method denoc --json
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from .outputs import show
from .questions import question_arguments, settings
from .source import loaded, robot_argument
from .terminal import table

if TYPE_CHECKING:
    from ..counting import PieceCounts
    from ..graph import Counts

__all__ = ["arguments", "run"]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    robot_argument(parser)
    question_arguments(parser)
    parser.add_argument("--general", action="store_true", help="with general link parameters, as papers count")


def run(args: argparse.Namespace) -> int:
    """Count and print."""
    from ..counting import PieceCounts, count

    robot = loaded(args)
    counts = count(robot, args.question, args.method, general=args.general, **settings(args, robot))
    if isinstance(counts, PieceCounts):
        show(args, counts.to_dict(), _pieces(counts))
    else:
        show(args, counts, table([(name, str(n)) for name, n in asdict(counts).items()]))
    return 0


def _pieces(counts: PieceCounts) -> list[str]:
    """Return the lines for a method that is made of other functions: the calls of each, and the total cost."""
    each = f"{counts.steps} steps in a random state" if counts.steps else "no steps"
    names = ("multiplications", "additions", "divisions", "negations", "other")
    rows: list[tuple[str, ...]] = [("function", "once", "each step", *names)]
    for p in counts.pieces:
        rows.append((f"{p.question} ({p.method})", str(p.once), str(p.each_step), *_numbers(p.counts)))
    rows.append(("all that is done once", "", "", *_numbers(counts.once)))
    if counts.steps:
        rows.append(("all of one step", "", "", *_numbers(counts.each_step)))
    title = f"{counts.question} by {counts.method!r} computes other functions, {each}:"
    return [title, *table(rows), "Operations on vectors and dense matrices between them are not counted."]


def _numbers(counts: Counts) -> tuple[str, ...]:
    return tuple(str(n) for n in asdict(counts).values())
