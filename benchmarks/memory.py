"""Memory that calls leave behind, and memory that a large batch needs beyond its arguments and its result."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from .harness import Figures, benchmark, settings
from .robots import SOURCES

# A process of its own has no history. Its peak is read from /proc: getrusage counts the parent's peak, too.
SCRIPT = """
import json, sys
import numpy as np
import ordern as on

robot = on.load(sys.stdin.read())
calls, states = map(int, sys.argv[1:])

def status(field):
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) / 1024 for line in f if line.startswith(field))

def grown(function, *arguments, **more):
    for _ in range(calls // 10):
        function(*arguments, **more)
    before = status("VmRSS")
    for _ in range(calls):
        function(*arguments, **more)
    return status("VmRSS") - before

rng = np.random.default_rng(0)
one, eight = rng.random((3, robot.nv)), rng.random((3, 8, robot.nv))
found = {"single": grown(robot.forward_dynamics, *one), "batch8": grown(robot.forward_dynamics, *eight)}
q, v, tau, out = (np.empty((states, robot.nv)) for _ in range(4))
for a in (q, v, tau, out):
    rng.random(out=a)
found["arrays"] = 4 * q.nbytes / 2**20
before = status("VmHWM")
robot.forward_dynamics(q, v, tau, out=out, threads=1)
found["extra"] = status("VmHWM") - before
robot.forward_dynamics(q, v, tau, out=out)
found["extra_threads"] = status("VmHWM") - before
print(json.dumps(found))
"""


@benchmark("panda.forward_dynamics.memory")
def memory() -> Figures:
    if not Path("/proc/self/status").exists():
        return  # elsewhere there is no peak that a process can read of itself
    calls, states = (100_000, 100_000) if settings.quick else (1_000_000, 1_000_000)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, str(calls), str(states)],
        input=SOURCES["panda"].text,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip().rpartition("\n")[2])
    found = json.loads(done.stdout)
    yield f"growth_over_{calls}_single_calls_MB", found["single"]
    yield f"growth_over_{calls}_calls_of_8_MB", found["batch8"]
    yield f"batch{states}.in_and_out_MB", found["arrays"]
    yield f"batch{states}.extra_MB", found["extra"]
    yield f"batch{states}.extra_with_threads_MB", found["extra_threads"]
