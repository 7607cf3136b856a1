"""Check robots for errors and suspicious values: masses, inertias, limits, units, loops.

Every finding is one line, with file and line if they are known. Links behind fixed joints are checked one by one.

examples:
  ordern check panda.urdf
  ordern check --floating anymal.urdf solo12.urdf
  ordern check --strict --json robots/*.urdf > report.json
  xacro arm.xacro | ordern check -

exit status: 0 without errors, 1 with errors (with --strict, also with warnings), 2 if a file cannot be read.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import PurePath
from typing import Any

from ..check import Finding, Report, check
from ..check.report import by_suggestion
from ..errors import OrdernError
from ..io.source import UnreadableError
from ..io.warnings import ModelWarning
from .source import ROBOT, given, load_options, robot_options
from .terminal import complain, paint, to_json

__all__ = ["arguments", "run"]

_COLOUR = {"error": "red", "warning": "yellow", "info": "blue"}
_MOST = 5
"""Findings of one kind that are shown without --all."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", nargs="+", metavar="FILE|NAME", help=ROBOT)
    parser.add_argument("--strict", action="store_true", help="exit with 1 for warnings too")
    robot_options(parser)
    parser.add_argument("--all", action="store_true", help=f"show all findings of a kind, not only the first {_MOST}")


def run(args: argparse.Namespace) -> int:
    """Check the files, print reports."""
    reports, unreadable = [], False
    for file in args.file:
        try:
            report = examine(given(file), **load_options(args))
        except UnreadableError as e:
            complain(str(e))
            unreadable = True
            reports.append(_unloaded(file, e))
            continue
        reports.append(report)
        if not args.json:
            print("\n".join(_lines(report, None if args.all else _MOST)))
    if args.json:
        print(to_json([r.to_dict() for r in reports], indent=2))
    if unreadable:
        return 2
    return int(any(not r.ok or (args.strict and r.warnings) for r in reports))


def examine(source: str, **options: Any) -> Report:
    """Return the report on a file, or on the text of one; `options` are those of `load`.

    An error while loading is a finding too.
    """
    from .. import load

    name = "<string>" if source.lstrip("\ufeff \t\r\n").startswith("<") else source
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            report = check(load(source, merge=False, **options))
        except UnreadableError:
            raise
        except OrdernError as e:
            report = _unloaded(name, e)
    # A ModelWarning has the notes of the loader, which are findings already.
    messages = [str(w.message) for w in caught if not issubclass(w.category, ModelWarning)]
    warned = (Finding("warning", "load", "", message) for message in messages)
    return Report(report.robot, (*warned, *report.findings), report.source or name)


def _unloaded(name: str, e: OrdernError) -> Report:
    where: str = getattr(e, "where", "")
    return Report(name, (Finding("error", "load", "", str(e).removeprefix(f"{where}: "), "", where),), name)


def _lines(report: Report, most: int | None) -> list[str]:
    lines = [paint(report.headline, "bold" if len(report) else "green")]
    width = max((len(_place(f)) for f in report), default=0)
    for group in report.groups():
        for suggestion, findings in by_suggestion(group[:most]):
            for f in findings:
                severity = paint(f.severity.ljust(7), _COLOUR[f.severity])
                lines.append(f"  {severity}  {_place(f).ljust(width)}  {f.message} {paint(f'[{f.code}]', 'dim')}")
            if suggestion:
                lines.append(paint(f"  {' ' * 9}-> {suggestion}", "dim"))
        if len(group[:most]) < len(group):
            more = len(group) - len(group[:most])
            lines.append(f"  {' ' * 9}... and {more} more [{group[0].code}]; --all shows them")
    return lines


def _place(f: Finding) -> str:
    """Return file and line; the path is in the headline."""
    return PurePath(f.where).name
