"""Derivatives in the cache: another process loads them, and traces nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
import numpy as np
import ordern as on
arm = on.load("double-pendulum")
q, v, w = np.array([0.3, 0.2]), np.array([1.0, -0.5]), np.array([0.7, 0.1])
answers = [
    *arm.derivatives.forward_dynamics(q, v, w), *arm.vjp("inverse_dynamics", (q, v, w), w),
    arm.jvp("pose", (q,), (v,), frame=arm.bodies[-1].name), *arm.hvp("gravity_force", (q,), w, (v,)),
    *arm.hessian("forward_dynamics", (q, v, w), w), *arm.second_derivatives.inverse_dynamics(q, v, w),
]
print(any(name.startswith("ordern.compile.trace.unroll") for name in sys.modules))
print(float(sum(np.abs(x).sum() for x in answers)).hex())
"""


@pytest.mark.slow
def test_a_second_process_loads_derivatives(tmp_path: Path) -> None:
    settings = {**os.environ, "ORDERN_CACHE_DIR": str(tmp_path / "kept"), "ORDERN_CACHE": "on"}
    runs = [
        subprocess.run([sys.executable, "-c", PROGRAM], env=settings, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    (compiled, first), (compiled_again, second) = (run.stdout.split() for run in runs)
    assert (compiled, compiled_again) == ("True", "False")
    assert first == second
