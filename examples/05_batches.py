"""Batches: leading shapes, broadcasting, float32, threads, and results written where you want them."""

import time
from pathlib import Path

import numpy as np

import ordern as on

robot = on.load(Path(__file__).parent / "robots" / "puma560.urdf")
rng = np.random.default_rng(3)

# Any leading shape works, and arguments broadcast as in NumPy: 50 positions, each with 20 velocities, zero forces.
q = robot.random(rng, (50, 1))
v = rng.normal(size=(20, robot.nv))
a = robot.forward_dynamics(q, v, np.zeros(robot.nv))
print("50 x 20 states:", a.shape)

# The result for a state does not depend on the rest of the batch: it is the same to the last bit.
alone = robot.forward_dynamics(q[7, 0], v[3], np.zeros(robot.nv))
print("state (7, 3) alone gives the same bits:", np.array_equal(alone, a[7, 3]))

# float32 in, float32 out; its code is compiled at the first call.
N = 200_000
q, (v, tau) = robot.random(rng, N), rng.normal(size=(2, N, robot.nv))
single = [x.astype(np.float32) for x in (q, v, tau)]
print("float32:", robot.forward_dynamics(*single).dtype)


def measure(name, *arguments, **keywords):
    robot.forward_dynamics(*arguments, **keywords)
    start = time.perf_counter()
    robot.forward_dynamics(*arguments, **keywords)
    print(f"{name:<36}{(time.perf_counter() - start) / N * 1e9:6.0f} ns per state")


# `out=` reuses memory. Large batches use several threads; `threads` sets their number.
out = np.empty_like(v)
measure("float64, 1 thread", q, v, tau, threads=1)
measure("float64, 1 thread, out=", q, v, tau, threads=1, out=out)
measure("float64, 2 threads, out=", q, v, tau, threads=2, out=out)
measure("float64, as many as are useful, out=", q, v, tau, out=out)
measure("float32, 1 thread", *single, threads=1)

# Slices and other views are not copied: here, blocks of columns of one large array.
log = np.concatenate([q, v, tau], axis=1)
nq, nv = robot.nq, robot.nv
same = robot.forward_dynamics(log[:, :nq], log[:, nq : nq + nv], log[:, nq + nv :])
print("views of one array give the same:", np.array_equal(same, out))
