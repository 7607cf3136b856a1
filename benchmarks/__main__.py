"""Run the benchmarks whose names match a regular expression, or all of them."""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import re
import runpy
import shlex
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import ordern as on

from . import (
    batches,
    chain_gradients,
    chains,
    contact,
    contact_cases,
    contact_gripper,
    contact_gym,
    control,
    derivatives,
    ensembles,
    first_call,
    gradients,
    grasp,
    identify,
    jax_calls,
    linearise,
    loading,
    loops,
    mechanisms,
    memory,
    operations,
    parameters,
    rollout,
    second_derivatives,
    simulate,
    single,
    tensors,
    threads,
)
from .harness import CASES, MEASURED, ratio_table, settings
from .peer import pin

THEMES = (
    *(
        batches,
        single,
        tensors,
        derivatives,
        second_derivatives,
        linearise,
        rollout,
        gradients,
        parameters,
        ensembles,
        simulate,
        control,
        loops,
        mechanisms,
        grasp,
        identify,
        jax_calls,
    ),
    *(contact, contact_cases, contact_gripper, contact_gym),
    *(first_call, loading, chains, chain_gradients, operations, threads, memory),
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("regex", nargs="?", default="", help="which names to run (see --list); all of them if left out")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--quick", action="store_true", help="fewer robots and fewer rounds")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write the figures into docs/figures/MACHINE.json")
    options = parser.parse_args()
    if options.record and options.quick:
        parser.error("--record takes the figures of a full run, not of a --quick one")
    if options.record and not options.record.parent.is_dir():
        parser.error(f"--record: there is no folder {str(options.record.parent)!r}")
    try:
        wanted = re.compile(options.regex)
    except re.error as e:
        parser.error(f"{options.regex!r} is no regular expression: {e}")
    if options.quick:
        settings.hurry()
    themes = [theme.__name__ for theme in THEMES]
    cases = [c for c in CASES if wanted.search(c.name) and (c.quick or not options.quick)]
    cases.sort(key=lambda c: themes.index(c.function.__module__))
    if not cases:
        parser.error(f"no name matches {options.regex!r}{' in a quick run' * options.quick}; --list shows the names")
    if options.list:
        print(*(case.name for case in cases), sep="\n")
        return 0
    warnings.simplefilter("ignore", on.ModelWarning)  # mimic joints are free joints, as in Pinocchio
    started = time.perf_counter()
    print(f"# {machine()}")
    failed = 0
    for case in cases:
        try:
            for line in case.run():
                print(line, flush=True)
        except Exception as e:  # one that fails must not keep the others from running
            failed += 1
            print(f"{case.name} FAILED: {type(e).__name__}: {e}", flush=True)
    print(*ratio_table(), sep="\n")
    if options.record:
        command = shlex.join(["./dev", "bench", *filter(None, [options.regex])])
        today = datetime.date.today().isoformat()
        record = runpy.run_path(str(Path(__file__).parents[1] / "docs/measured.py"))["record"]
        record(options.record, machine(), command, today, MEASURED)
    print(f"# {len(cases)} benchmarks in {time.perf_counter() - started:.0f} s, {failed} failed")
    return int(failed > 0)


def machine() -> str:
    """Return a description of the machine and the versions, on which all figures depend."""
    peer = f"Pinocchio {pin.__version__}" if pin else "no Pinocchio (install `pin` to compare)"
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return (
        f"{_processor()}, {os.cpu_count()} cores{load}; Python {platform.python_version()}, NumPy {np.__version__}, "
        f"ordern {on.__version__}, {peer}"
    )


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as f:
            return next(line.split(":", 1)[1].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


if __name__ == "__main__":
    sys.exit(main())
