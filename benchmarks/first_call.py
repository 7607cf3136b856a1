"""From nothing to the first answer, each time in a fresh process: cache off, and cache warm.

Python's own bytecode is kept in both cases, as it is for a package that pip installed. The clock is that of the thread:
the process has another one from NumPy, of its linear algebra, that waits for work in a loop for the first 30 ms.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from .harness import Figures, benchmark, settings
from .robots import SOURCES

SCRIPT = """
import json, operator, sys, time, warnings
clock = time.thread_time
start = clock()
import numpy as np
numpy = clock()
import ordern as on
imported = clock()
warnings.simplefilter("ignore", on.ModelWarning)
robot = on.load(sys.stdin.read(), floating=sys.argv[1] == "floating")
loaded = clock()
rest = np.zeros(robot.nv)
operator.attrgetter(sys.argv[2])(robot)(robot.neutral(), rest, rest)
done = clock()
print(json.dumps({"numpy": numpy - start, "import": imported - start, "load": loaded - imported,
                  "first_call": done - imported, "first_call_with_import": done - start}))
"""


def fresh(robot: str, function: str = "forward_dynamics", **environment: str) -> dict[str, float]:
    """Return the seconds of each step in a new process, up to the first answer of a function of q, v and tau."""
    source = SOURCES[robot]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, "floating" if source.floating else "fixed", function],
        input=source.text,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip().rpartition("\n")[2])
    seconds: dict[str, float] = json.loads(done.stdout)
    return seconds


FUNCTIONS = {"first_call": "forward_dynamics", "first_derivatives": "derivatives.forward_dynamics"}


@benchmark("{robot}.{what}", robot=SOURCES, what=FUNCTIONS, quick={"robot": ("panda", "talos_full")})
def first_call(robot: str, what: str) -> Figures:
    """`first_derivatives` are all matrices of forward dynamics: by position, velocity and force."""
    function = FUNCTIONS[what]
    with tempfile.TemporaryDirectory() as folder:
        bytecode = {"PYTHONPYCACHEPREFIX": os.path.join(folder, "bytecode")}
        cold = {"ORDERN_CACHE": "off", **bytecode}
        warm = {"ORDERN_CACHE": "on", "ORDERN_CACHE_DIR": os.path.join(folder, "cache"), **bytecode}
        fresh(robot, function, **warm)
        rounds = range(1 if settings.quick else 3)
        runs = [(fresh(robot, function, **cold), fresh(robot, function, **warm)) for _ in rounds]
    uncached, cached = ({k: min(run[n][k] for run in runs) for k in runs[0][n]} for n in (0, 1))
    yield "load_s", uncached["load"]
    asked = ["at most 3.5"] if (robot, what) == ("talos", "first_derivatives") else []
    yield "uncached_s", uncached["first_call"], *asked
    yield "cached_s", cached["first_call"]
    yield "uncached.with_import_s", uncached["first_call_with_import"]
    yield "cached.with_import_s", cached["first_call_with_import"]


@benchmark("import")
def import_time() -> Figures:
    with tempfile.TemporaryDirectory() as folder:
        runs = [fresh("ur5", PYTHONPYCACHEPREFIX=folder) for _ in range(1 + settings.rounds)]
    yield "ordern_s", min(run["import"] for run in runs)
    yield "numpy_alone_s", min(run["numpy"] for run in runs)
