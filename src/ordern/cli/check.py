"""Tell what is wrong, or suspicious, about robots: masses, inertias, limits, units, loops.

Every finding is one line, with file and line where they are known. Links behind fixed joints are looked at one by one.

examples:
  ordern check panda.urdf
  ordern check --floating anymal.urdf solo12.urdf
  ordern check --strict --json robots/*.urdf > report.json

exit status: 0 without errors, 1 with errors (with --strict, also with warnings), 2 if a file cannot be read.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import PurePath

from ..check import Finding, Report, check
from ..errors import OrdernError
from ..io.source import UnreadableError
from .terminal import paint

__all__ = ["arguments", "run"]

_COLOUR = {"error": "red", "warning": "yellow", "info": "blue"}
_MOST = 5
"""Findings of one kind that are shown without --all."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", nargs="+", metavar="FILE", help="robot description, or the name of a bundled robot")
    parser.add_argument("--strict", action="store_true", help="exit with 1 also for warnings")
    parser.add_argument("--floating", action="store_true", help="let the root float, and look at it too")
    parser.add_argument("--all", action="store_true", help=f"show all findings of a kind, not only the first {_MOST}")
    parser.add_argument("--json", action="store_true", help="print JSON: a list with one report per file")


def run(args: argparse.Namespace) -> int:
    """Check the files, print reports."""
    reports, unreadable = [], False
    for file in args.file:
        try:
            report = examine(file, floating=args.floating)
        except UnreadableError as e:
            print(f"ordern: error: {e}", file=sys.stderr)
            unreadable = True
            continue
        reports.append(report)
        if not args.json:
            print("\n".join(_lines(report, None if args.all else _MOST)))
    if args.json:
        print(json.dumps([r.to_dict() for r in reports], indent=2, ensure_ascii=False))
    if unreadable:
        return 2
    return int(any(not r.ok or (args.strict and r.warnings) for r in reports))


def examine(source: str, *, floating: bool = False) -> Report:
    """The report on a file; what keeps it from loading is a finding too."""
    from .. import load

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            robot = load(source, floating=floating, merge=False)
            report = check(robot)
        except UnreadableError:
            raise
        except OrdernError as e:
            where: str = getattr(e, "where", "")
            message = str(e).removeprefix(f"{where}: ")
            report = Report(source, (Finding("error", "load", "", message, "", where),), source)
    told = tuple(Finding("warning", "load", "", str(w.message)) for w in caught)
    return Report(report.robot, (*told, *report.findings), report.source or source)


def _lines(report: Report, most: int | None) -> list[str]:
    worst = "red" if report.errors else "yellow" if report.warnings else "green"
    lines = [paint(report.headline, "bold") if len(report) else paint(report.headline, worst)]
    width = max((len(_place(f)) for f in report), default=0)
    for group in report.groups():
        for f in group[:most]:
            severity = paint(f.severity.ljust(7), _COLOUR[f.severity])
            lines.append(f"  {severity}  {_place(f).ljust(width)}  {f.message} {paint(f'[{f.code}]', 'dim')}")
        if len(group[:most]) < len(group):
            lines.append(
                f"  {' ' * 9}... and {len(group) - len(group[:most])} more [{group[0].code}]; --all shows them"
            )
        advice = dict.fromkeys(f.suggestion for f in group[:most] if f.suggestion)
        lines.extend(paint(f"  {' ' * 9}-> {text}", "dim") for text in advice)
    return lines


def _place(f: Finding) -> str:
    """File and line; the path is in the headline."""
    return PurePath(f.where).name
