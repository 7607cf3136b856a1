"""List the questions about a robot, and the methods that answer them.

examples:
  ordern methods
  ordern methods forward_dynamics
  ordern methods --json | jq '.[] | select(.order == "n") | .name'
"""

from __future__ import annotations

import argparse

from .outputs import show
from .terminal import table

__all__ = ["arguments", "run"]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("question", nargs="?", metavar="QUESTION", help="one question, such as forward_dynamics")


def run(args: argparse.Namespace) -> int:
    """Print the methods."""
    from ..algorithms import methods

    found = methods(args.question)
    keys = ("question", "name", "paper", "equations", "order", "alias_of", "derivatives")
    rows = [("question", "method", "order", "derivatives", "paper", "equations")]
    rows += [(m.question, m.name, m.order, m.derivatives, m.paper, m.equations) for m in found]
    show(args, [{key: getattr(m, key) for key in keys} for m in found], table(rows, head=True))
    return 0
