"""Batches at the end of a program, when no new threads start."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.tolerances import HUNG

PROGRAM = """
import atexit, threading, time
import numpy as np
import ordern as on
robot = on.load("puma560")
q, z = robot.random(0, 40_000), np.zeros(6)
expected = robot.forward_dynamics(q, z, z, threads=1)
if {warm}:
    robot.forward_dynamics(q, z, z, threads=2)

def work():
    time.sleep(0.3)
    for _ in range(3):
        assert (robot.forward_dynamics(q, z, z, threads=2) == expected).all()
    print("done", flush=True)

{start}
"""


@pytest.mark.slow
@pytest.mark.parametrize("warm", [True, False])
@pytest.mark.parametrize("start", ["threading.Thread(target=work).start()", "atexit.register(work)"])
def test_batches_do_without_help(start: str, warm: bool) -> None:
    program = PROGRAM.format(start=start, warm=warm)
    found = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=HUNG)
    assert (found.returncode, found.stdout, found.stderr) == (0, "done\n", "")
