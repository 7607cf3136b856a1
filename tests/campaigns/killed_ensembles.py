"""Ensembles whose processes are killed at random moments; this module is also the program that is killed.

`python -m tests.campaigns.killed_ensembles OUT ENGINE` runs the study, and goes on with it after it was killed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import ordern as on

__all__ = ["ENGINES", "killed", "same", "study"]

ENGINES = ("threads", "processes", "dask")
KEPT = ("q_final", "v_final", "energy_change", "fastest", "failed")
PAUSE = 0.03
"""Seconds that each block takes at least, so that kills hit runs at work."""


def _fastest(members: Any) -> Any:
    time.sleep(PAUSE)
    return np.abs(members.v_final).max(axis=1)


def study() -> on.Ensemble:
    """Return a study of 300 blocks; some members fail."""
    v = np.zeros((9600, 2))
    v[::1000] = 1e200
    return on.Ensemble(
        on.load("double-pendulum"),
        starts={"q": on.distributions.uniform(-2.0, 2.0), "v": v},
        steps=40,
        dt=1e-2,
        block=32,
        keep=["final", "energy", on.keep.value("fastest", _fastest), on.keep.moments("energy_change")],
    )


def same(a: on.ensembles.Outcome, b: on.ensembles.Outcome) -> bool:
    """Return whether two outcomes have the same bits."""
    bits = all(np.asarray(a[x]).tobytes() == np.asarray(b[x]).tobytes() for x in KEPT)
    return bits and a["energy_change_moments"] == b["energy_change_moments"] and a.failures() == b.failures()


def killed(out: Path, engine: str, kills: int, seed: int) -> dict[str, int]:
    """Run the study in processes of which some are killed, until it is complete; return what was killed how often."""
    rng = np.random.default_rng(seed)
    counts = {"workers": 0, "runs": 0}
    groups: list[int] = []
    try:
        while True:
            command = [sys.executable, "-m", "tests.campaigns.killed_ensembles", str(out), engine]
            program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
            groups.append(program.pid)
            with program:
                assert program.stdout is not None
                assert program.stdout.readline() == "ready\n"
                while sum(counts.values()) < kills and program.poll() is None:
                    if rng.random() < 0.8:
                        _wait_for_work(program, out)
                    time.sleep(rng.uniform(0.0, 0.5))
                    _kill(program, engine, rng, counts)
                program.stdout.close()
                if program.wait() == 0 and sum(counts.values()) >= kills:
                    return counts
    finally:
        for group in groups:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)  # workers that have outlived their run


def _wait_for_work(program: subprocess.Popen[str], out: Path) -> None:
    """Wait until the run has done some more blocks, or has ended."""
    journal = out.with_name(f"{out.name}.journal")
    before = len(list(journal.glob("*.npz")))
    while program.poll() is None and len(list(journal.glob("*.npz"))) == before:
        time.sleep(0.02)


def _kill(program: subprocess.Popen[str], engine: str, rng: np.random.Generator, counts: dict[str, int]) -> None:
    """Kill a worker, or the whole run with or without its workers."""
    workers = [] if engine == "threads" else _children(program.pid)
    if workers and counts["workers"] < 2 * (counts["runs"] + 1):
        os.kill(int(rng.choice(workers)), signal.SIGKILL)
        counts["workers"] += 1
    elif program.poll() is None:
        if rng.random() < 0.5:
            program.kill()
        else:
            os.killpg(program.pid, signal.SIGKILL)
        program.wait()
        counts["runs"] += 1


def _children(parent: int) -> list[int]:
    """Return the processes that a process has started and that run Python code of a worker."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
            command = path.with_name("cmdline").read_text()
        except OSError:
            continue  # it has ended
        if int(fields[1]) == parent and fields[0] != "Z" and "resource_tracker" not in command:
            found.append(int(path.parent.name))
    return found


def main(out: str, engine: str) -> None:
    """Run the study on an engine; a pool of processes that breaks is made anew."""
    print("ready", flush=True)
    settings = {"out": out, "shard": 0.05}
    if engine == "threads":
        study().run(workers=2, **settings)
    elif engine == "processes":
        while True:
            try:
                with ProcessPoolExecutor(2) as pool:
                    study().run(engine=pool, **settings)
                return
            except on.OrdernError as e:
                if "a worker process died" not in str(e):
                    raise
    else:
        from distributed import Client, LocalCluster

        warnings.simplefilter("ignore")
        cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50)
        with cluster, Client(cluster) as client:
            study().run(engine=client, **settings)


if __name__ == "__main__":
    main(*sys.argv[1:])
