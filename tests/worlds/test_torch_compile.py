"""Functions of robots under `torch.compile`, as one graph."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.autograd import forward_ad

import ordern as on
from tests.tolerances import HUNG, ROUNDING, assert_close

ARM = on.load("puma560")
STATE = [torch.linspace(k, k + 1, 6, dtype=torch.float64) for k in range(3)]
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "forward dynamics": lambda q, v, tau: 2.0 * ARM.forward_dynamics(q, v, tau),
    "a frame": lambda q, v, tau: ARM.pose(q, "flange")[:3, 3].sin(),
    "many frames": lambda q, v, tau: ARM.poses(q, ["flange", "hand"]),
    "forces by name": lambda q, v, tau: ARM.inverse_dynamics(q, v, tau, external={"flange": q}),
    "in place": lambda q, v, tau: ARM.gravity_force(q, out=torch.empty_like(v)),
    "arrays of NumPy": lambda q, v, tau: ARM.inverse_dynamics(q, v, ZEROS, external={"flange": np.ones(6)}),
    "a product of derivatives": lambda q, v, tau: ARM.vjp("gravity_force", (q,), v).q,
    "a kernel": lambda q, v, tau: KERNEL(q),
    "a transform": lambda q, v, tau: torch.func.grad(lambda x: ARM.kinetic_energy(x, v))(q),
    "a tangent": lambda q, v, tau: torch.func.jvp(lambda x: x + ARM.gravity_force(x), (q,), (v,))[1],
    "a Jacobian": lambda q, v, tau: torch.func.jacfwd(lambda x: x + ARM.gravity_force(x))(q),
    "a map": lambda q, v, tau: torch.vmap(ARM.com)(torch.stack([q, v])),
}
ZEROS = np.zeros(6)
KERNEL = ARM.kernel("mass_matrix")


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_compiled_functions_agree_and_have_gradients(name: str) -> None:
    function = FUNCTIONS[name]
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    with torch.no_grad():
        assert_close(compiled(*STATE), function(*STATE), ROUNDING)
    if name == "in place":
        return
    gradients = []
    for f in (function, compiled):
        given = [x.clone().requires_grad_() for x in STATE]
        f(*given).square().sum().backward()
        gradients.append([np.zeros(6) if x.grad is None else x.grad for x in given])
    assert_close(gradients[1], gradients[0], ROUNDING)


@pytest.mark.slow
def test_batches_of_other_sizes_use_the_same_graph() -> None:
    compiled = torch.compile(FUNCTIONS["forward dynamics"], fullgraph=True, backend="aot_eager", dynamic=True)
    for n in (3, 5, 8):
        given = [x.expand(n, 6) for x in STATE]
        assert_close(compiled(*given), FUNCTIONS["forward dynamics"](*given), ROUNDING)


def _along(q: torch.Tensor, v: torch.Tensor) -> Any:
    with forward_ad.dual_level():
        x = forward_ad.make_dual(q, v)
        return forward_ad.unpack_dual(x + ARM.gravity_force(x)).tangent


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_forward_mode_within_a_graph_and_around_it(backend: str) -> None:
    q, v, _ = STATE
    expected = _along(q, v)
    for function in (_along, FUNCTIONS["a tangent"], FUNCTIONS["a Jacobian"]):
        given = STATE if function is not _along else (q, v)
        compiled = torch.compile(function, fullgraph=True, backend=backend)
        assert_close(compiled(*given), function(*given), ROUNDING)
    compiled = torch.compile(lambda x: x + ARM.gravity_force(x), fullgraph=True, backend=backend)
    with forward_ad.dual_level():
        assert_close(forward_ad.unpack_dual(compiled(forward_ad.make_dual(q, v))).tangent, expected, ROUNDING)


PROGRAM = """
import numpy as np, ordern as on
arm = on.load("double-pendulum")
expected = arm.gravity_force(np.ones(2))  # machine code is now in the place of the method
import torch
x = torch.ones(2, dtype=torch.float64)
found = torch.compile(lambda q: arm.gravity_force(q), fullgraph=True, backend="aot_eager")(x)
assert np.array_equal(found.numpy(), expected)
"""


@pytest.mark.slow
def test_machine_code_in_the_place_of_methods_from_before_pytorch_was_imported() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=HUNG)


@pytest.mark.slow
def test_compiled_by_the_default_backend() -> None:
    compiled = torch.compile(FUNCTIONS["forward dynamics"], fullgraph=True)
    assert_close(compiled(*STATE), FUNCTIONS["forward dynamics"](*STATE), ROUNDING)
