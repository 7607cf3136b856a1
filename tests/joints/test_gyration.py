"""The force that turns a momentum along with a joint, against Lagrange's equations.

Near q0 a joint has the coordinates x of q = integrate(q0, x), and its velocity is W(x) x'. A kinetic energy T(v) with
the momentum h = dT/dv then gives the forces, at x = 0, where W is one,

    d/dt (W^T h) - (d/dx)(h^T W x')  =  dh/dt + sum over j of h^T (dW_k/dx_j - dW_j/dx_k) v_j        for freedom k

whose second term is `gyration`; W_k is column k of W.
"""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import ordern as on
from ordern.errors import ModelError
from ordern.spatial import Freedoms
from tests.joints.poses import MOVING, SEEDS, as_float, digits, rate, sample
from tests.tolerances import ROUNDING, assert_close

Array = np.ndarray
JOINTS = (*MOVING, on.Composite)


def drawn(type: type[on.Joint], seed: int) -> tuple[on.Joint, Freedoms, Freedoms]:
    """A joint, a position and a velocity; composites have parts of which two have a gyration."""
    if type is not on.Composite:
        return sample(type, seed)
    (one, p, v), (other, q, w) = sample(on.Planar, seed), sample(on.Spherical, seed)
    return on.Composite((one, (other, (0.1, 0.2, 0.3)))), Freedoms((*p, *q)), Freedoms((*v, *w))


def change_of_columns(joint: on.Joint, q: Freedoms, j: int, k: int) -> Array:
    """dW_k/dx_j at x = 0."""
    ej, ek = (Freedoms(mpmath.mpf(r == c) for r in range(joint.nv)) for c in (j, k))

    def column(t: mpmath.mpf) -> Array:
        start = joint.integrate(q, ej * t)
        return rate(lambda s: joint.difference(start, joint.integrate(q, ej * t + ek * s)))

    return rate(column, step=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("type", JOINTS, ids=lambda t: t.__name__)
def test_it_is_that_of_lagranges_equations(type: type[on.Joint], seed: int) -> None:
    joint, q, v = drawn(type, seed)
    h = np.random.default_rng(seed).normal(size=joint.nv)
    with mpmath.workdps(60):
        d = {(j, k): change_of_columns(joint, digits(q), j, k) for j in range(joint.nv) for k in range(joint.nv)}
        expected = [sum(h @ (d[j, k] - d[k, j]) * v[j] for j in range(joint.nv)) for k in range(joint.nv)]
    assert_close(as_float(joint.gyration(q, v, Freedoms(h.tolist()))), as_float(expected), ROUNDING)


@pytest.mark.parametrize("type", [*JOINTS, on.RollingDisc], ids=lambda t: t.__name__)
def test_it_does_no_work(type: type[on.Joint]) -> None:
    joint, q, v = drawn(type, 0)
    h = np.random.default_rng(1).normal(size=joint.nv)
    assert_close(as_float(v) @ as_float(joint.gyration(q, v, Freedoms(h.tolist()))), 0.0, ROUNDING)


def test_those_that_have_one() -> None:
    found = set()
    for type in JOINTS:
        joint, q, v = drawn(type, 0)
        if any(joint.gyration(q, v, Freedoms(range(1, joint.nv + 1)))):
            found.add(type)
    assert found == {on.Planar, on.Spherical, on.Free, on.Composite}


def test_one_of_a_wrong_length_is_refused() -> None:
    class Wrong(on.Spherical):
        def gyration(self, q: Freedoms, v: Freedoms, h: Freedoms) -> Freedoms:
            return Freedoms((0.0,))

    builder = on.Builder().body("a").body("b", parent="a", joint=Wrong(), joint_name="ball", mass=1.0)
    with pytest.raises(ModelError, match="joint 'ball': its class Wrong has nv = 3, but `gyration` gives 1 number"):
        _ = builder.build().tables
