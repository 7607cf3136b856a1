"""Show or clear the compiled code that is kept on disk.

examples:
  ordern cache
  ordern cache --json
  ordern cache clear
  ordern cache path
"""

from __future__ import annotations

import argparse
import json

from .terminal import table, to_json

__all__ = ["arguments", "run"]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "action",
        nargs="?",
        default="show",
        choices=("show", "clear", "path"),
        help="show what is kept (usual), clear it, or print where it is",
    )


def run(args: argparse.Namespace) -> int:
    """Show, clear, or tell the place."""
    from ..compile.run import cache

    directory = cache.cache_directory()
    place = str(directory) if directory else ""
    if args.action == "path":
        print(json.dumps({"path": place}) if args.json else place or "the cache is turned off")
        return 0
    if args.action == "clear":
        removed = cache.clear()
        if args.json:
            print(json.dumps({"path": place, "removed": removed}))
        else:
            print(f"removed {removed} compiled functions from {place}" if directory else "the cache is turned off")
        return 0
    found = cache.entries()
    size = sum(entry.size for entry in found)
    if args.json:
        rows = [{"robot": e.robot, "question": e.question, "bytes": e.size} for e in found]
        print(to_json({"path": place, "bytes": size, "entries": rows}, indent=2))
        return 0
    if not directory:
        print("the cache is turned off (ORDERN_CACHE)")
        return 0
    print(f"{place}: {len(found)} compiled functions, {size / 1e6:.1f} MB of at most {cache.limit() / 1e6:g} MB")
    if directory.exists() and not cache.usable():
        print("others can write to this directory, or it is not yours: it is not used")
    robots: dict[str, list[int]] = {}
    for entry in found:
        robots.setdefault(entry.robot, []).append(entry.size)
    if robots:
        cells = [("robot", "functions", "MB")]
        cells += [(name, str(len(sizes)), f"{sum(sizes) / 1e6:.2f}") for name, sizes in sorted(robots.items())]
        print("\n".join(table(cells, right=(1, 2), head=True)))
    return 0
