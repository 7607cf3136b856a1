"""One long chain on a GPU: `kalman-scan`, beside the sequential sweep on the same GPU and on one core.

    python -m benchmarks.gpu.scan [links ...]

The sweep on the GPU is one thread. Times of the GPU are of the device alone, without copies.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import ordern as on
from ordern.gpu import find_device
from ordern.gpu.array_programs import ArrayKernel
from ordern.robots import chain


def main(lengths: list[int]) -> None:
    """Print a row for each length."""
    device = find_device()
    print(f"{device.name}; times in ms, float64 unless said; errors relative to the largest acceleration")
    print(
        f"{'links':>8} {'scan':>8} {'float32':>8} {'core':>8} {'one thread':>10} {'error':>8} {'error f32':>9} kernels"
    )
    for n in lengths:
        start = time.perf_counter()
        robot = on.Robot.of(chain(n, seed=1).build())
        rng = np.random.default_rng(0)
        state = rng.uniform(-3, 3, n), rng.normal(size=n), rng.normal(size=n)
        built = time.perf_counter() - start
        exact = robot.forward_dynamics(*state)
        core = min(_seconds(lambda: robot.forward_dynamics(*state)) for _ in range(3))  # noqa: B023
        kernel = robot.kernel("forward_dynamics", "kalman-scan")
        on_gpu = kernel.on(device)
        assert isinstance(on_gpu, ArrayKernel)
        found = {}
        start = time.perf_counter()
        for dtype in ("float64", "float32"):
            answer = on_gpu(*(x.astype(dtype) for x in state))
            run = on_gpu.run(dtype, 1)
            found[dtype] = run.seconds(), np.abs(answer - exact).max() / np.abs(exact).max(), run.launched
        first = time.perf_counter() - start
        swept = np.nan
        if n <= 1_000_000:
            sweep = robot.kernel("forward_dynamics", way="rolled").on(device)
            sweep(*state)
            swept = _seconds(lambda: sweep(*state))  # noqa: B023
        (scan, error, kernels), (single, error_single, _) = found["float64"], found["float32"]
        print(
            f"{n:>8} {1e3 * scan:8.3f} {1e3 * single:8.3f} {1e3 * core:8.2f} {1e3 * swept:10.1f} {error:8.1e} "
            f"{error_single:9.1e} {kernels}   (model {built:.0f} s, first scans {first:.1f} s)",
            flush=True,
        )


def _seconds(call: object) -> float:
    start = time.perf_counter()
    call()  # type: ignore[operator]
    return time.perf_counter() - start


if __name__ == "__main__":
    main([int(x) for x in sys.argv[1:]] or [1_000, 10_000, 100_000])
