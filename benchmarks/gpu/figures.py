"""The figures of `docs/performance.md` on a GPU, in one run: states and steps per second, and first calls.

    python -m benchmarks.gpu.figures FOLDER

The folder has panda.urdf, talos_reduced.urdf, g1.urdf, go2.urdf and anymal.urdf. Steps with contacts are those of
`contacts.py`: 65,536 robots, 100 steps with 5 sweeps. First calls are with an empty cache: from the robot
to the loaded code, without the start of the driver.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

os.environ["ORDERN_CACHE_DIR"] = tempfile.mkdtemp(prefix="ordern-figures-")

import numpy as np

import ordern as on
from ordern.cli.bench_gpu import _rollout, described
from ordern.gpu import find_device
from ordern.gpu.measure import measured
from ordern.simulate.rollout_device import device_loop

from .contacts import standing, starts, steps_per_second

ROWS = (
    ("forward_dynamics", ("panda", "go2", "talos_reduced", "g1"), ("float32", "float64")),
    ("rollout", ("panda", "talos_reduced"), ("float32",)),
    ("rollout with contacts", ("quadruped", "anymal"), ("float32", "float64")),
    ("closed_dynamics", ("stewart-platform",), ("float32", "float64")),
    ("inverse_dynamics", ("panda", "talos_reduced"), ("float32",)),
    ("mass_matrix", ("panda", "talos_reduced"), ("float32",)),
    ("forward_dynamics_derivatives", ("panda", "go2"), ("float32",)),
)


def main(folder: Path) -> None:
    """Print a line for each figure."""
    warnings.simplefilter("ignore")
    device = find_device()
    print("\n".join(described(device)), flush=True)
    for question, names, dtypes in ROWS:
        for name in names:
            file = folder / f"{name}.urdf"
            if name == "anymal" and not file.exists():
                continue
            robot = on.load(str(file), floating=name != "panda") if file.exists() else on.load(name)
            for dtype in dtypes:
                begun = time.perf_counter()
                try:
                    if question == "rollout with contacts":
                        walker, position = standing(str(file) if name == "anymal" else "")
                        loop = device_loop(walker, "semi-implicit-euler", None, np.dtype(dtype), frozenset(), device)
                        made = time.perf_counter() - begun
                        rate = steps_per_second(walker, *starts(walker, position, dtype, device), device)
                        note = f"{loop.loaded.attribute('registers')} registers"
                    elif question == "rollout":
                        row = _rollout(robot, device, dtype)
                        rate, made, note = row["states"], row["first_call"], f"{row['registers']} registers"
                    else:
                        kernel = robot.kernel(question).on(device)
                        kernel.program.loaded(np.dtype(dtype))
                        made = time.perf_counter() - begun
                        found = measured(kernel, 1 << 20, dtype)
                        rate, note = found.states, f"{found.registers} registers, {found.bound}"
                    print(
                        f"{question:30} {name:18} {dtype}  {rate / 1e9:9.4f} G/s  first {made:5.2f} s  {note}",
                        flush=True,
                    )
                except Exception as e:
                    print(f"{question:30} {name:18} {dtype}  FAILED {type(e).__name__}: {e}"[:200], flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
