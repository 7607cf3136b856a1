"""Run a study of many members from a TOML file, and report on it.

The file names the robot, the number of members, what varies between them, and what is kept; the documentation page
*Ensembles* describes it. Results go to --out while they come, or to the place that the file names with `out`. A study
that was interrupted goes on with --resume, and the results are the same, bit for bit.

examples:
  ordern ensemble study.toml --dry-run
  ordern ensemble study.toml --out falls.zarr
  ordern ensemble study.toml --out falls.zarr --resume --dry-run
  ordern ensemble study.toml --out falls.zarr --resume --engine dask
  ordern ensemble study.toml --out falls --format lerobot --task "Swing to rest."
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import UnknownNameError
from .outputs import note, show
from .source import xacro_option
from .values import UsageError, count

__all__ = ["arguments", "run"]

FORMATS = ("zarr", "parquet", "lerobot", "csv")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("study", metavar="STUDY.toml", help="the file of the study")
    parser.add_argument("--out", metavar="FILE", help="store results: a name that ends in .zarr, .parquet or .csv")
    parser.add_argument("--format", choices=FORMATS, help="format of the results, for names with another ending")
    parser.add_argument("--task", metavar="TEXT", help="with --format lerobot: the task, as a sentence")
    parser.add_argument("--resume", action="store_true", help="go on with a study whose results exist in part")
    parser.add_argument("--dry-run", action="store_true", help="estimate time and size, with --resume of what is left")
    xacro_option(parser)
    parser.add_argument("--members", type=count, metavar="N", help="members, in the place of the number in the file")
    parser.add_argument(
        "--engine",
        choices=("threads", "gpu", "dask"),
        default="threads",
        help="what runs members; threads unless given",
    )
    parser.add_argument(
        "--workers", type=count, metavar="N", help="threads, or processes of Dask; all cores unless given"
    )


def run(args: argparse.Namespace) -> int:
    """Run the study and report; return 1 if members failed."""
    from ..ensembles.study_file import read_study
    from ..loading import load

    changes = {} if args.members is None else {"members": args.members}
    found = read_study(args.study, partial(load, xacro=args.xacro), changes)
    study, out = found.ensemble, found.out if args.out is None else Path(args.out)
    args.out = None if out is None or args.dry_run else str(out)  # `show` names what was written
    format, task = args.format or found.format, args.task or found.task
    if args.resume and out is None:
        raise UsageError("--resume goes on with stored results: give --out, or `out` in the file")
    if args.dry_run:
        with _naming(args.study):
            cost = study.estimate(out, format=format, task=task) if args.resume else study.estimate()
        data = {"members": cost.members, "seconds": cost.seconds, "bytes": cost.bytes}
        show(args, {**data, "blocks": cost.blocks, "blocks_done": cost.done}, [str(cost)])
        return 0
    if out is not None and out.exists() and not args.resume:
        raise UsageError("it exists: give --resume to go on with it, or another name", str(out))
    settings = {"engine": args.engine, "workers": args.workers, "progress": not args.json or None}
    try:
        with _naming(args.study):
            outcome = study.run(out=out, format=format, task=task, **settings)
    except KeyboardInterrupt:
        if out is not None and out.suffix != ".csv":
            note(f"stopped; the blocks that are done are in {out}, and --resume goes on from there")
        raise
    failed = outcome.failures()
    report: dict[str, Any] = {"robot": study.robot.name, "members": outcome.members, "seconds": outcome.seconds}
    report |= {"earlier": outcome.earlier, "failed": len(failed), "output": None if out is None else str(out)}
    report["reductions"] = {name: asdict(x) for name, x in outcome.reductions.items()}
    lines, run_now = [repr(outcome)], outcome.members - outcome.earlier
    if run_now:
        lines.append(f"  {run_now / max(outcome.seconds, 1e-9):,.0f} members per second")
    show(args, report, lines)
    if failed:
        first, reason = next(iter(failed.items()))
        note(f"{len(failed)} of {outcome.members} members failed, number {first} because {reason}")
    return int(bool(failed))


@contextlib.contextmanager
def _naming(study: str) -> Iterator[None]:
    """Name the file of the study in errors about unknown names: that of a frame is looked up when members run."""
    try:
        yield
    except UnknownNameError as e:
        raise UnknownNameError(f"{study}: {e}") from None
