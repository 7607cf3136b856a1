"""Train a policy that balances a pole on a cart by gradients through the motion, with JAX (pip install ordern[jax])."""

import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

import ordern as on

UPDATES = int(sys.argv[1]) if len(sys.argv) > 1 else 150
STEPS, HOLD, DT = 200, 2, 0.01

cart = (
    on.Builder("cart-pole")
    .body("rail")
    .body("cart", parent="rail", joint=on.Prismatic((1, 0, 0)), joint_name="slide", mass=1.0)
    .body("pole", parent="cart", joint=on.Revolute((0, 1, 0)), joint_name="hinge", mass=0.1, com=(0, 0, 0.5))
    .build()
)


def network(rng: np.random.Generator) -> list[tuple[jax.Array, jax.Array]]:
    """Return the weights of a policy from four numbers of the state to one force."""
    sizes = [(4, 32), (32, 32), (32, 1)]
    return [(jnp.asarray(rng.normal(0, n**-0.5, (n, m))), jnp.zeros(m)) for n, m in sizes]


def forces(weights: list[tuple[jax.Array, jax.Array]], q: jax.Array, v: jax.Array) -> jax.Array:
    """Return the forces of all carts: up to 20 N on the cart, none on the hinge."""
    x = jnp.concatenate([q, v], axis=-1)
    for A, b in weights[:-1]:
        x = jnp.tanh(x @ A + b)
    A, b = weights[-1]
    return 20.0 * jnp.tanh(x @ A + b) * jnp.array([1.0, 0.0])


def cost(weights: list[tuple[jax.Array, jax.Array]], q0: jax.Array, v0: jax.Array, mass: jax.Array) -> jax.Array:
    """Return the mean cost of motions from many starts, with poles of different weights."""
    carts = cart.vary(mass={"pole": mass})
    q, v, _ = carts.rollout(q0, v0, steps=STEPS, dt=DT, policy=lambda q, v: forces(weights, q, v), hold=HOLD)
    return jnp.mean(q[..., 1] ** 2 + 0.1 * q[..., 0] ** 2 + 0.01 * (v**2).sum(-1))


@jax.jit
def update(k: int, state: tuple, *given: jax.Array) -> tuple:
    """Return weights after a step along the gradient through the motion, by Adam; long gradients are cut."""
    weights, mean, spread = state
    g = jax.grad(cost)(weights, *given)
    size = jnp.sqrt(sum(jnp.sum(x**2) for x in jax.tree.leaves(g)))
    g = jax.tree.map(lambda x: x / jnp.maximum(size, 1.0), g)
    mean = jax.tree.map(lambda m, x: 0.9 * m + 0.1 * x, mean, g)
    spread = jax.tree.map(lambda s, x: 0.999 * s + 0.001 * x**2, spread, g)
    rate = 0.01 * jnp.sqrt(1 - 0.999**k) / (1 - 0.9**k)
    return jax.tree.map(lambda w, m, s: w - rate * m / (jnp.sqrt(s) + 1e-8), weights, mean, spread), mean, spread


def starts(rng: np.random.Generator, count: int) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return states nearly upright, and masses of poles."""
    q, v, mass = rng.uniform(-0.4, 0.4, (count, 2)), rng.uniform(-0.4, 0.4, (count, 2)), rng.uniform(0.05, 0.3, count)
    return jnp.asarray(q), jnp.asarray(v), jnp.asarray(mass)


rng = np.random.default_rng(0)
weights, tests = network(rng), starts(rng, 256)
still = jax.tree.map(jnp.zeros_like, weights)
state = (weights, still, still)
print(f"before: mean cost {cost(weights, *tests):.4f}")
began = time.perf_counter()
for k in range(1, UPDATES + 1):
    state = update(k, state, *starts(rng, 64))
weights, seconds = jax.block_until_ready(state[0]), time.perf_counter() - began
print(f"after {UPDATES} updates in {seconds:.0f} s: mean cost {cost(weights, *tests):.4f}")

q0, v0, mass = tests
run = cart.vary(mass={"pole": mass}).rollout(
    q0, v0, steps=500, dt=DT, policy=lambda q, v: forces(weights, q, v), hold=HOLD
)
print(f"after 5 s, {100 * (abs(run.q[:, -1, 1]) < 0.1).mean():.0f} % of the poles are upright")
