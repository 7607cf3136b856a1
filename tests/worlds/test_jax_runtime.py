"""Handlers while JAX runs: devices, threads, memory, and functions that were exported."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

import ordern as on
from ordern.worlds.jax import handlers
from tests.worlds.jax_precision import double, precision  # noqa: F401

ARM = on.load("double-pendulum")

SHARDED = """
import jax, jax.numpy as jnp, numpy as np, ordern as on
from jax.sharding import PartitionSpec as P
jax.config.update("jax_enable_x64", True)
assert len(jax.devices()) == 2
robot, rng = on.load("double-pendulum"), np.random.default_rng(0)
q, v, tau = rng.standard_normal((3, 8, 2))
mesh = jax.sharding.Mesh(jax.devices(), ("batch",))
rows, whole = P("batch"), P()
def gradient(q, v, tau):
    return jax.grad(lambda q, tau: jnp.sin(robot.forward_dynamics(q, v, tau)).sum(), (0, 1))(q, tau)
expected = robot.forward_dynamics(q, v, tau[0])
slope = gradient(jnp.asarray(q), v, tau[0])
for check in (True, False):
    specs = {"in_specs": (rows, rows, whole), "out_specs": rows, "check_vma": check}
    sharded = jax.shard_map(robot.forward_dynamics, mesh=mesh, **specs)
    found = jax.jit(sharded)(q, v, tau[0])
    assert len(found.sharding.device_set) == 2
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
# tau is the same on all devices, so its gradient is the sum over them
sharded = jax.shard_map(gradient, mesh=mesh, in_specs=(rows, rows, whole), out_specs=(rows, whole))
for x, y in zip(jax.jit(sharded)(q, v, tau[0]), slope):
    np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)
print("same")
"""

EXPORTED = """
import sys, jax, jax.export, numpy as np, ordern as on
jax.config.update("jax_enable_x64", True)
robot = on.load("double-pendulum")
robot.forward_dynamics(*(jax.numpy.zeros(2),) * 3)  # tells JAX the function of this robot
function = jax.export.deserialize(bytearray(open(sys.argv[1], "rb").read()))
np.save(sys.argv[2], function.call(np.ones((4, 2)), np.ones((4, 2)), np.ones((4, 2))))
"""


def _python(code: str, *arguments: str, **variables: str) -> str:
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, check=False, env={**os.environ, **variables}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_batches_are_sharded_over_devices() -> None:
    assert "same" in _python(SHARDED, XLA_FLAGS="--xla_force_host_platform_device_count=2", JAX_PLATFORMS="cpu")


@pytest.mark.slow
@pytest.mark.needs("flatbuffers")
def test_exported_functions_run_in_another_process(tmp_path: Path) -> None:
    (count,) = jax.export.symbolic_shape("n")
    shape, function = jax.ShapeDtypeStruct((count, 2), jnp.float64), jax.jit(ARM.forward_dynamics)
    function(*(jnp.zeros((1, 2)),) * 3)
    checks = [jax.export.DisabledSafetyCheck.custom_call(name) for name in handlers()]
    exported = jax.export.export(function, disabled_checks=checks)(shape, shape, shape)
    (tmp_path / "function").write_bytes(exported.serialize())
    _python(EXPORTED, str(tmp_path / "function"), str(tmp_path / "found.npy"), JAX_PLATFORMS="cpu")
    ones = np.ones((4, 2))
    assert np.array_equal(np.load(tmp_path / "found.npy"), ARM.forward_dynamics(ones, ones, ones))


@pytest.mark.slow
def test_the_example_learns() -> None:
    example = Path(__file__).parents[2] / "examples/learning/policy_gradient.py"
    command = [sys.executable, str(example), "4"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    before, after = (float(x) for x in re.findall(r"mean cost ([\d.]+)", done.stdout))
    assert after < 0.9 * before


@pytest.mark.slow
def test_calls_from_several_threads_do_not_mix() -> None:
    rng = np.random.default_rng(1)
    batches = [rng.standard_normal((3, n, 2)) for n in (1, 7, 500, 40_000)]
    function = jax.jit(ARM.forward_dynamics)
    wrong: list[int] = []

    def run(k: int) -> None:
        expected = ARM.forward_dynamics(*batches[k])
        with precision(True):  # which each thread has for itself
            for _ in range(40):
                if not np.array_equal(function(*batches[k]), expected):
                    wrong.append(k)

    workers = [threading.Thread(target=run, args=(k % 4,)) for k in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


@pytest.mark.parametrize("count", [1, 3, 1000])
def test_threads_give_the_same(count: int) -> None:
    q, v, tau = np.random.default_rng(2).standard_normal((3, count, 2))
    expected = ARM.forward_dynamics(q, v, tau)
    for threads in (1, 2, 5):
        assert np.array_equal(ARM.forward_dynamics(jnp.asarray(q), v, tau, threads=threads), expected)
    assert ARM.forward_dynamics(jnp.zeros((0, 2)), v[0], tau[0]).shape == (0, 2)


@pytest.mark.slow
def test_memory_does_not_grow() -> None:
    resource = pytest.importorskip("resource")
    q, v, tau = (jnp.asarray(x) for x in np.random.default_rng(3).standard_normal((3, 2000, 2)))
    gradient = jax.jit(jax.grad(lambda q: ARM.forward_dynamics(q, v, tau).sum()))

    def used() -> int:
        return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

    def many() -> None:
        for k in range(300):
            gradient(q).block_until_ready()
            ARM.vary(mass=1.0 + 0.001 * jnp.ones(2) * k).gravity_force(q).block_until_ready()

    many()
    before = used()
    many()
    many()
    assert used() - before < 20_000  # kB


def test_robots_that_are_loaded_again_compile_nothing() -> None:
    """JAX keeps what it compiled for ever, so that equal robots share it; other names and frames are not mixed up."""
    compiled: list[str] = []
    jax.monitoring.register_event_duration_secs_listener(lambda event, _, **more: compiled.append(event))

    def ask(robot: on.Robot) -> int:
        before = sum("backend_compile" in event for event in compiled)
        q, v = jnp.zeros(robot.nq), jnp.zeros(robot.nv)
        last = {robot.bodies[-1].name: jnp.ones(6)}
        jax.grad(lambda q: robot.forward_dynamics(q, v, v, last).sum())(q)
        robot.rollout(q, v, steps=3, external=last)
        robot.forward_dynamics(q, v, v)
        robot.pose(q, robot.frames[-1].name)
        return sum("backend_compile" in event for event in compiled) - before

    def arm(mass: float = 1.0, name: str = "tip", x: float = 0.0) -> on.Robot:
        builder = on.Builder("arm").body("ground")
        builder.body(name, parent="ground", joint=on.Revolute((0, 1, 0)), mass=mass, com=(0, 0, -0.5))
        return builder.frame("end", name, at=(x, 0, -1)).build()

    assert ask(arm()) > 0
    assert ask(arm()) == 0
    assert ask(arm(mass=2.0)) > 0
    for gain, dt in ((1.0, 1e-3), (2.0, 1e-3), (2.0, 2e-3)):
        settings = {"steps": 20, "dt": dt, "every": 5, "feedback": (gain, 0.1, np.array([0.5]))}
        found = arm().rollout(jnp.array([0.3]), jnp.array([0.1]), **settings)
        np.testing.assert_allclose(found.q, arm().rollout([0.3], [0.1], **settings).q, rtol=1e-5, atol=1e-5)
    for name, x in (("bob", 0.0), ("tip", 0.25)):
        other, push = arm(name=name, x=x), {"end": np.array([0.0, 1.0, 0.0, 2.0, 0.0, 0.0])}
        expected = other.forward_dynamics([0.3], [0.0], [0.0], push), other.pose([0.3], "end")
        found = other.forward_dynamics(jnp.array([0.3]), [0.0], [0.0], push), other.pose(jnp.array([0.3]), "end")
        for one, two in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-5)
