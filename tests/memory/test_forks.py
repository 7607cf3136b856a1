"""A child process can compile and compute, whatever the threads of its parent did when it was forked."""

from __future__ import annotations

import os

import pytest

from tests.memory.test_ownership import run

pytestmark = [pytest.mark.forks, pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")]

COMPILING = """
import os, signal, sys, threading, time, warnings
import numpy as np, ordern as on
warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of any fork beside threads

stop = False
def compile_all_the_time():
    k = 0
    while not stop:
        k += 1
        robot = on.load(("puma560", "planar-3r", "double-pendulum")[k % 3])
        q = np.ones((20_000 * (k % 2) + 1, robot.nv))
        robot.gravity_force(q), robot.mass_matrix(q)

threads = [threading.Thread(target=compile_all_the_time, daemon=True) for _ in range(2)]
for t in threads:
    t.start()
time.sleep(0.3)
"""

CHILDREN = """
def child(k):
    signal.alarm(100)  # ends a child that hangs
    robot = on.load(("puma560", "planar-3r", "double-pendulum")[k % 3])
    q = np.ones(robot.nv)
    a, b = robot.forward_dynamics(q, q, q), robot.forward_dynamics(np.stack([q, q]), q, q)
    robot.mass_matrix(np.ones((20_000, robot.nv)))
    os._exit(0 if np.array_equal(a, b[1]) else 1)

states = []
for k in range(6):
    pid = os.fork()
    if pid == 0:
        child(k)
    states.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
stop = True
assert states == [0] * 6, states
"""


@pytest.mark.slow
@pytest.mark.parametrize("cache", ["off", ""], ids=["compiling", "loading"])
def test_forks_while_other_threads_compile(cache: str) -> None:
    run(COMPILING + CHILDREN, ORDERN_CACHE=cache)


@pytest.mark.slow
@pytest.mark.parametrize("wait", [0.1, 0.2])
def test_forks_while_other_threads_import(wait: float) -> None:
    """An import of LLVM needs its lock: a fork that held it while it waited for the import took half of a module."""
    run(COMPILING.replace("time.sleep(0.3)", f"time.sleep({wait})") + CHILDREN, ORDERN_CACHE="off")


@pytest.mark.slow
def test_a_pool_that_forks_and_one_that_spawns_beside_a_compiling_thread() -> None:
    program = """
import multiprocessing
robot = on.load("puma560")
q = np.full((4, 6), 0.2)
for way in ("fork", "spawn"):
    with multiprocessing.get_context(way).Pool(2) as pool:
        found = pool.starmap_async(robot.forward_dynamics, [(q, q, q)] * 4).get(timeout=200)
    assert all(np.array_equal(a, robot.forward_dynamics(q, q, q)) for a in found), way
stop = True
"""
    main = f"if __name__ == '__main__':\n{_indented(COMPILING + program)}"
    run(main, ORDERN_CACHE="off")


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


@pytest.mark.slow
def test_a_fork_that_is_made_while_this_thread_compiles() -> None:
    """A joint of one's own, or a `__del__`, may fork in the middle of tracing."""
    run(
        """
import os, warnings
warnings.simplefilter("ignore", DeprecationWarning)
import numpy as np, ordern as on
from ordern.forking import COMPILING
with COMPILING:
    pid = os.fork()
    if pid == 0:
        q = np.ones(6)
        on.load("puma560").forward_dynamics(q, q, q)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
"""
    )


@pytest.mark.slow
def test_a_process_ends_while_daemon_threads_compile() -> None:
    """LLVM was taken down while a thread was inside: one of six such processes crashed when it ended."""
    for wait in (0.15, 0.3, 0.45, 0.6, 0.75, 0.9, 1.05, 1.2):
        run(COMPILING.replace("time.sleep(0.3)", f"time.sleep({wait})"), ORDERN_CACHE="off")
