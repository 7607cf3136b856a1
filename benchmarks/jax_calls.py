"""Calls from JAX: what a call costs inside `jit` beyond the kernel, batches and gradients against NumPy's.

The overhead is measured in a loop of JAX's own around one state, against the same call from Python with NumPy arrays,
and against a loop around a sine. Threads of XLA are at work, so the clock on the wall counts.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.util import find_spec
from typing import Any

import numpy as np

from .harness import Figures, benchmark, race, ratio, wall_clock
from .robots import load, random_state

CALLS, BATCH, STEPS = 1000, 4096, 100


def _double() -> AbstractContextManager[object]:
    """Return double precision for a while; the function's name depends on the version of JAX."""
    import jax
    import jax.experimental

    return jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64(True)


@benchmark("{robot}.jax.calls", robot=("panda7", "talos"), quick={"robot": ("panda7",)})
def calls(robot: str) -> Figures:
    if find_spec("jax"):
        with _double():
            yield from _calls(robot)


def _calls(robot: str) -> Figures:
    import jax
    import jax.numpy as jnp

    machine = load(robot)
    q, v, tau = random_state(machine, "forward_dynamics")

    def looped(step: Callable[[Any], Any]) -> Callable[[], Any]:
        function = jax.jit(lambda x: jax.lax.fori_loop(0, CALLS, lambda _, y: step(y), x))
        return lambda: function(tau).block_until_ready()

    one = jax.jit(machine.forward_dynamics)
    contestants: dict[str, Any] = {
        "loop": looped(lambda x: x + 1e-9 * machine.forward_dynamics(q, v, x)),
        "empty": looped(lambda x: x + 1e-9 * jnp.sin(x)),
        "numpy": lambda: [machine.forward_dynamics(q, v, tau) for _ in range(CALLS)],
        "jit": lambda: jax.block_until_ready([one(q, v, tau) for _ in range(CALLS)]),
    }
    t = {name: x / CALLS for name, x in race(contestants, clock=wall_clock).items()}
    yield "inside_jit.ns_per_call", 1e9 * t["loop"].min()
    yield "inside_jit.ns_beyond_numpy", 1e9 * float(t["loop"].min() - t["numpy"].min()), "at most 1000"
    yield "empty_loop.ns_per_turn", 1e9 * t["empty"].min()
    yield "from_python.ns_per_call", 1e9 * t["jit"].min()
    rng = np.random.default_rng(0)
    many = machine.random(rng, (BATCH,)), *rng.standard_normal((2, BATCH, machine.nv))
    on_device = [jnp.asarray(x) for x in many]
    gradient = jax.jit(jax.grad(lambda *x: machine.forward_dynamics(*x).sum(), (0, 1, 2)))
    weights = np.ones((BATCH, machine.nv))
    race_of_batches: dict[str, Any] = {
        "jax": lambda: one(*on_device).block_until_ready(),
        "numpy": lambda: machine.forward_dynamics(*many),
        "jax_gradient": lambda: jax.block_until_ready(gradient(*on_device)),
        "numpy_gradient": lambda: machine.vjp("forward_dynamics", many, weights),
    }
    t = race(race_of_batches, clock=wall_clock)
    yield f"batch{BATCH}.us", 1e6 * t["jax"].min()
    yield f"batch{BATCH}.per_numpy", ratio(t["jax"], t["numpy"])
    yield f"gradients{BATCH}.us", 1e6 * t["jax_gradient"].min()
    yield f"gradients{BATCH}.per_numpy", ratio(t["jax_gradient"], t["numpy_gradient"])


@benchmark("{robot}.jax.rollout", robot=("panda7",))
def rollouts(robot: str) -> Figures:
    if find_spec("jax"):
        with _double():
            yield from _rollouts(robot)


def _rollouts(robot: str) -> Figures:
    import jax

    machine, rng = load(robot), np.random.default_rng(0)
    q0, v0 = machine.random(rng, (BATCH,)), np.zeros((BATCH, machine.nv))
    tau = machine.gravity_force(q0)
    weights = np.ones((BATCH, 2, machine.nv))

    def end(q: Any, v: Any, tau: Any) -> Any:
        return machine.rollout(q, v, tau, steps=STEPS, dt=1e-3, every=STEPS)

    forward = jax.jit(lambda *x: end(*x).v)
    gradient = jax.jit(jax.grad(lambda *x: end(*x).v.sum(), (0, 1, 2)))
    contestants: dict[str, Any] = {
        "jax": lambda: forward(q0, v0, tau).block_until_ready(),
        "native": lambda: end(q0, v0, tau),
        "jax_gradient": lambda: jax.block_until_ready(gradient(q0, v0, tau)),
        "native_gradient": lambda: end(q0, v0, tau).vjp(v=weights, wrt=("q0", "v0", "tau")),
    }
    t = race(contestants, clock=wall_clock)
    states = BATCH * STEPS
    yield "ns_per_step", 1e9 * t["jax"].min() / states
    yield "per_native", ratio(t["jax"], t["native"])
    yield "gradient.ns_per_step", 1e9 * t["jax_gradient"].min() / states
    yield "gradient.per_native", ratio(t["jax_gradient"], t["native_gradient"])
