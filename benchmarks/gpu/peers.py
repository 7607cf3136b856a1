"""MJX beside ours on the same GPU, in one run: forward dynamics and steps of the same robots, float32.

    python -m benchmarks.gpu.peers FOLDER

The folder has panda.urdf and talos_reduced.urdf. It needs `mujoco-mjx` and JAX with CUDA; MJX gets the file that
`robot.to_mjcf` writes. Both get JAX arrays that are on the GPU, and answer inside `jax.jit`. MJX has the faster of two
batches; ours has a million states, and 65,536 trajectories.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from mujoco import mjx

import ordern as on

_STEP, _STEPS = 1e-4, 100
_BATCHES = (16384, 65536)


def main(folder: Path) -> None:
    """Print a row for each robot and function."""
    warnings.simplefilter("ignore")
    print(f"{jax.devices()[0]}, JAX {jax.__version__}, MuJoCo {mujoco.__version__}; millions per second, float32")
    for name in ("panda", "talos_reduced"):
        robot = on.load(str(folder / f"{name}.urdf"), floating=name != "panda")
        model = mujoco.MjModel.from_xml_string(robot.to_mjcf())
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        model.geom_contype[:] = model.geom_conaffinity[:] = 0  # MJX refuses some pairs of shapes
        model.opt.timestep = _STEP
        for what, ours, theirs in (
            ("forward dynamics", _our_dynamics(robot, 1 << 20), _their_dynamics(model)),
            ("steps", _our_steps(robot, 1 << 16), _their_steps(model)),
        ):
            mine = _rate(*ours)
            best, first, at = max(((*_rate(*theirs(n)), n) for n in _BATCHES), key=lambda row: row[0])
            print(
                f"{what:18} {name:14} ordern {mine[0] / 1e6:9.1f} (first call {mine[1]:.1f} s)   MJX {best / 1e6:9.2f} "
                f"(batch {at}, first call {first:.1f} s)   ratio {mine[0] / best:.0f}",
                flush=True,
            )


def _rate(count: int, call: Callable[[], Any]) -> tuple[float, float]:
    """Return the states per second of a call for `count` states, and the seconds of its first call."""
    begun = time.perf_counter()
    jax.block_until_ready(call())
    first, best = time.perf_counter() - begun, np.inf
    for _ in range(4):
        begun = time.perf_counter()
        for _ in range(4):
            found = call()
        jax.block_until_ready(found)
        best = min(best, (time.perf_counter() - begun) / 4)
    return count / best, first


def _states(robot: Any, count: int) -> list[jax.Array]:
    rng = np.random.default_rng(0)
    q = np.resize(robot.random(rng, (4096,)), (count, robot.nq))
    v, tau = (np.resize(rng.normal(size=(4096, robot.nv)), (count, robot.nv)) for _ in range(2))
    return [jnp.asarray(x, jnp.float32) for x in (q, v, tau)]


def _our_dynamics(robot: Any, count: int) -> tuple[int, Callable[[], Any]]:
    states, run = _states(robot, count), jax.jit(robot.forward_dynamics)
    return count, lambda: run(*states)


def _our_steps(robot: Any, count: int) -> tuple[int, Callable[[], Any]]:
    q, v, _ = _states(robot, count)
    run = jax.jit(lambda q, v: robot.rollout(q, v, steps=_STEPS, dt=_STEP, every=_STEPS)[:2])
    return count * _STEPS, lambda: run(q, 0 * v)


def _their_dynamics(model: Any) -> Callable[[int], tuple[int, Callable[[], Any]]]:
    here = mjx.put_model(model)
    start = mjx.make_data(here)

    def answer(q: Any, v: Any, tau: Any) -> Any:
        return mjx.forward(here, start.replace(qpos=q, qvel=v, qfrc_applied=tau)).qacc

    run = jax.jit(jax.vmap(answer))

    def at(count: int) -> tuple[int, Callable[[], Any]]:
        given = _their_states(model, count)
        return count, lambda: run(*given)

    return at


def _their_steps(model: Any) -> Callable[[int], tuple[int, Callable[[], Any]]]:
    here = mjx.put_model(model)
    start = mjx.make_data(here)

    def answer(q: Any, v: Any) -> Any:
        data = start.replace(qpos=q, qvel=0 * v)
        end = jax.lax.fori_loop(0, _STEPS, lambda _, d: mjx.step(here, d), data)
        return end.qpos, end.qvel

    run = jax.jit(jax.vmap(answer))

    def at(count: int) -> tuple[int, Callable[[], Any]]:
        q, v, _ = _their_states(model, count)
        return count * _STEPS, lambda: run(q, v)

    return at


def _their_states(model: Any, count: int) -> list[jax.Array]:
    """Return random states in MuJoCo's order."""
    rng = np.random.default_rng(0)
    q = np.tile(model.qpos0, (count, 1))
    hinges = model.jnt_qposadr[model.jnt_type == mujoco.mjtJoint.mjJNT_HINGE]
    q[:, hinges] = rng.uniform(-1.0, 1.0, (count, len(hinges)))
    return [jnp.asarray(x, jnp.float32) for x in (q, *rng.normal(size=(2, count, model.nv)))]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
