"""Make the papers' tables and figures again, with our methods.

It takes some minutes and reports its progress on standard error. Only the page "times" has times, with the date and the
machine of the measurement; all other pages are the same on every machine, except for rounding.

examples:
  ordern papers --out docs/papers
  ordern papers costs accuracy
  ordern papers --json methods
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from ..arguments import choice
from .outputs import show

__all__ = ["arguments", "run"]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    from ..papers import PAGES

    parser.add_argument("pages", nargs="*", metavar="PAGE", help=f"pages: {', '.join(PAGES)}; all unless given")
    parser.add_argument(
        "--out", default="papers", type=Path, metavar="FOLDER", help="folder to write to; papers unless given"
    )


def run(args: argparse.Namespace) -> int:
    """Write the pages."""
    from ..papers import PAGES, generate

    for page in args.pages:
        choice("page", page, PAGES)
    written: list[str] = []
    say = written.append if args.json else partial(print, flush=True)
    progress = partial(print, "ordern:", file=sys.stderr, flush=True)  # as lines, for a terminal or a file
    generate(args.out, args.pages or PAGES, say, progress, pause=2.0)
    if args.json:
        show(args, written, ())
    return 0
