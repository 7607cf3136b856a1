"""Machine code reads and writes nothing beyond its arguments, its result and its workspace."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.memory.test_ownership import ROOT

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows protects pages by other means")


def test_a_guard_ends_a_program_that_goes_out_of_bounds() -> None:
    program = (
        "import ctypes, numpy as np; from tests.memory.guarded import Room\n"
        "a = Room(100).array((10,), np.float64, True); a[:] = 1; print('inside', flush=True)\n"
        "ctypes.c_double.from_address(a.ctypes.data + 80).value"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.stdout == "inside\n" and done.returncode < 0


@pytest.mark.campaign
def test_guarded_calls(campaign: Callable[[int, int], int]) -> None:
    """Batches of 1 to 70 states, one state, strides, broadcasting, both data types, rollouts."""
    count = campaign(5_000, 1_000_000)
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.memory.guarded", str(count), "0"]
    done = subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.PIPE, text=True)  # stderr has a bar
    print(done.stdout.strip())
    assert done.returncode == 0
