"""Show or clear the compiled code that is kept on disk.

examples:
  ordern cache
  ordern cache --json
  ordern cache clear
  ordern cache path
"""

from __future__ import annotations

import argparse
from typing import Any

from .outputs import show
from .terminal import table

__all__ = ["arguments", "run"]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "action",
        nargs="?",
        default="show",
        choices=("show", "clear", "path"),
        help="show what is kept, clear it, or print its folder; show unless given",
    )


def run(args: argparse.Namespace) -> int:
    """Show or clear the cache, or print its path."""
    from ..compile.run import cache

    directory = cache.cache_directory()
    place = str(directory) if directory else ""
    data: dict[str, Any] = {"path": place}
    lines = [place]
    if args.action == "clear":
        data["removed"] = cache.clear()
        lines = [f"removed {data['removed']} compiled functions from {place}"]
    elif args.action == "show":
        found = cache.entries()
        data["bytes"] = size = sum(entry.size for entry in found)
        data["entries"] = [{"robot": e.robot, "question": e.question, "bytes": e.size} for e in found]
        limit = cache.limit() / 1e6
        lines = [f"{place}: {len(found)} compiled functions, {size / 1e6:.1f} MB of at most {limit:g} MB"]
        if directory and directory.exists() and not cache.usable():
            lines.append("others can write to this directory, or it is not yours: it is not used")
        robots: dict[str, list[int]] = {}
        for entry in found:
            robots.setdefault(entry.robot, []).append(entry.size)
        rows = [(name, str(len(sizes)), f"{sum(sizes) / 1e6:.2f}") for name, sizes in sorted(robots.items())]
        lines += table([("robot", "functions", "MB"), *rows], right=(1, 2), head=True) if rows else []
    show(args, data, lines if directory else ["the cache is turned off (ORDERN_CACHE)"])
    return 0
