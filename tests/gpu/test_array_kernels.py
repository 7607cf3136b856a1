"""Methods on arrays of all bodies, as `kalman-scan`, on a device: memory, graphs of launches, and threads."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.gpu.array_programs import ArrayKernel
from tests.compile.asking import relative
from tests.tolerances import INVERSION, SINGLE

from .stand_in import StandIn


def _scan(robot: on.Robot) -> ArrayKernel:
    """Return the scan as it is for long robots; that of a short one is a single kernel."""
    found = robot.kernel("forward_dynamics", "kalman-scan", way="rolled").on("cuda")
    assert isinstance(found, ArrayKernel)
    return found


def _states(robot: on.Robot, *batch: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=(3, *batch, robot.nv))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_scans_equal_the_sweep(gpu: StandIn, dtype: str) -> None:
    robot = on.chain(6)
    scan = _scan(robot)
    for batch in ((), (2,), (2, 1)):
        given = _states(robot, *batch).astype(dtype)
        found = scan(*given)
        assert found.dtype == dtype and found.shape == (*batch, 6)
        assert relative(found, robot.forward_dynamics(*given)) <= (INVERSION if dtype == "float64" else SINGLE)
    assert scan(*_states(robot, 0)).shape == (0, 6)
    out = np.empty((2, 6))
    given = _states(robot, 2)
    assert scan(*given, out=out) is out
    assert relative(out, robot.forward_dynamics(*given)) <= INVERSION
    assert not gpu.captures and not any(gpu.contexts.values())


@pytest.mark.slow
def test_threads_that_share_a_scan_do_not_mix_their_states(gpu: StandIn) -> None:
    robot = on.chain(3)
    states = [_states(robot, seed=k) for k in range(4)]
    scan = _scan(robot)
    scan(*states[0])
    found: dict[tuple[int, int], Any] = {}

    def run(k: int) -> None:
        for j in range(5):
            found[k, j] = scan(*states[k])

    workers = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for (k, _), a in found.items():
        assert relative(a, robot.forward_dynamics(*states[k])) <= INVERSION
    assert len(found) == 20


def test_what_scans_do_not_take_says_so(gpu: StandIn) -> None:
    robot = on.chain(3)
    q, v, tau = _states(robot)
    with pytest.raises(on.ArgumentError, match="does not run on a GPU with parameters that vary"):
        _scan(robot.vary(mass=np.ones(3)))
    with pytest.raises(on.ArgumentError, match=r"'v' has shape \(2,\)"):
        _scan(robot)(q, v[:2], tau)
    with pytest.raises(on.ArgumentError, match="float32 and float64, not with"):
        _scan(robot)(*(x.astype(np.longdouble) for x in (q, v, tau)))
    with pytest.raises(on.ArgumentError, match="'kalman-scan' takes NumPy arrays, and copies them to the GPU"):
        _scan(robot)(on.gpu.array(q), v, tau)
