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
import json
import sys
from pathlib import Path

from ..errors import unknown_name
from .values import asked

__all__ = ["arguments", "run"]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    from ..papers import PAGES

    parser.add_argument("pages", nargs="*", metavar="PAGE", help=f"of {', '.join(PAGES)}; all unless given")
    parser.add_argument("--out", default="papers", type=Path, help="folder to write to (papers)")


def _say(name: str) -> None:
    print(name, flush=True)


def _tell(text: str) -> None:
    """Print progress as lines, for a terminal or a file."""
    print(f"ordern: {text}", file=sys.stderr, flush=True)


def run(args: argparse.Namespace) -> int:
    """Write the pages."""
    from ..papers import PAGES, generate

    with asked():
        for page in args.pages:
            if page not in PAGES:
                raise unknown_name("page", page, PAGES)
    written: list[str] = []
    generate(args.out, args.pages or PAGES, written.append if args.json else _say, _tell, pause=2.0)
    if args.json:
        print(json.dumps(written, indent=2))
    return 0
