"""Ctrl-C ends native batches soon, whatever the number of threads: each of these would run for an hour."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

import numpy as np
import pytest

import ordern as on

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
ARM = on.load("double-pendulum")
STEPS = 2_000_000_000
STATES = np.zeros((1, 2))
WIDE = np.broadcast_to(STATES, (2_000_000_000, 2))
START = {"steps": STEPS, "every": STEPS}


def kernel(threads: int) -> object:
    out = np.lib.stride_tricks.as_strided(np.zeros(2), (2_000_000_000, 2), (0, 8))
    return ARM.kernel("forward_dynamics")(WIDE, WIDE, WIDE, out=out, threads=threads)


CALLS: dict[str, Callable[[int], object]] = {
    "kernel": kernel,
    "rollout": lambda n: ARM.rollout(np.zeros((64, 2)), np.zeros((64, 2)), threads=n, **START),
    "progress": lambda n: ARM.rollout(STATES, STATES, threads=n, progress=lambda x: None, **START),
    "contacts": lambda n: ARM.with_contacts(on.Ground(height=-9.0), points=["tip"]).rollout(STATES, STATES, **START),
    "jvp": lambda n: ARM.rollout_jvp(STATES, STATES, tangents={"q0": np.ones(2)}, threads=n, **START),
    "vjp": lambda n: ARM.rollout_vjp(STATES, STATES, q=np.ones((1, 2, 2)), threads=n, **START),
    "policy": lambda n: ARM.rollout(
        STATES, STATES, threads=n, policy=lambda q, v: np.zeros((1, 2)), hold=STEPS // 2, **START
    ),
    "ensemble": lambda n: on.Ensemble(
        ARM, members=4, starts={"q": on.distributions.uniform(-1.0, 1.0)}, dt=1e-3, steps=STEPS
    ).run(workers=n),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_ctrl_c_ends_a_batch(call: Callable[[int], object], threads: int) -> None:
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            call(threads)
    finally:
        timer.cancel()
