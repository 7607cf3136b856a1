"""The operations as machine code, with and without fused multiply-add, against exact values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import mpmath
import numpy as np
import pytest

from ordern.graph import SINCOS_RANGE
from tests.graph.functions import MACHINES, Compiled, compiled_for
from tests.tolerances import ATAN2_ULPS, SINCOS_FAR, SINCOS_FAR_WITHOUT_FMA, SINCOS_ULPS

DTYPES = ("float64", "float32")
SIN, COS, ATAN2, SQRT, QUOTIENT, CHOICE = range(6)


@pytest.fixture(scope="module", params=MACHINES)
def compiled(request) -> Iterator[Compiled]:
    with compiled_for(request.param) as call:
        yield call


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def _angles(dtype: str) -> dict[str, np.ndarray]:
    """Angles of many sizes, within the range of sin and cos."""
    rng, limit = _rng(), SINCOS_RANGE[dtype]
    tiny = math.log10(float(np.finfo(dtype).tiny))
    many = {
        "every size": 10 ** rng.uniform(tiny, math.log10(limit), 1000) * rng.choice([-1.0, 1.0], 1000),
        "a turn": rng.uniform(-7.0, 7.0, 1000),
        "the whole range": rng.uniform(-limit, limit, 1000),
        "multiples of a quarter": rng.integers(-0.6 * limit, 0.6 * limit, 500) * (np.pi / 2),
        "small multiples of a quarter": np.arange(-100, 100) * (np.pi / 2),
        "between quarters": (np.arange(-100, 100) + 0.5) * (np.pi / 2),
        "nothing, and nearly nothing": np.array([0.0, 5e-324, -5e-324, 1e-310, 1e-45, -1e-40, 1e-30]),
    }
    found = {}
    for name, x in many.items():
        x = x.astype(dtype)
        if "multiples" in name:
            x = np.concatenate([x, np.nextafter(x, x.dtype.type(0)), np.nextafter(x, x.dtype.type(limit))])
        found[name] = x
    return found


def _error(got: np.ndarray, exact: Sequence[mpmath.mpf]) -> np.ndarray:
    return np.array([float(abs(mpmath.mpf(float(g)) - e)) for g, e in zip(got, exact, strict=True)])


def _spacing(exact: Sequence[mpmath.mpf], dtype: str) -> np.ndarray:
    return np.spacing(np.abs(np.array([float(e) for e in exact])).astype(dtype)).astype(float)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("angles", _angles("float64"))
def test_sin_and_cos(compiled, dtype, angles) -> None:
    x = _angles(dtype)[angles]
    found = compiled(x)
    far = (SINCOS_FAR if compiled.has_fma else SINCOS_FAR_WITHOUT_FMA)[dtype]
    with mpmath.workprec(150):
        for column, function in ((SIN, mpmath.sin), (COS, mpmath.cos)):
            exact = [function(mpmath.mpf(float(t))) for t in x]
            allowed = SINCOS_ULPS * _spacing(exact, dtype) + far * np.abs(x).astype(float)
            error = _error(found[..., column], exact)
            worst = np.argmax(error - allowed)
            assert (error <= allowed).all(), f"{function.__name__}({x[worst]!r}) is off by {error[worst]:.3g}"


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_range_of_sin_and_cos_includes_its_ends(compiled, dtype) -> None:
    end = np.array([SINCOS_RANGE[dtype], -SINCOS_RANGE[dtype]], dtype)
    found = compiled(end)
    assert np.allclose(found[..., SIN], np.sin(end.astype(float)), atol=1e-6)
    assert np.allclose(found[..., COS], np.cos(end.astype(float)), atol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_beyond_their_range_sin_and_cos_are_not_a_number(compiled, dtype) -> None:
    end = np.dtype(dtype).type(SINCOS_RANGE[dtype])
    beyond = [1.00001 * end, 2 * end, 1e30, np.inf, np.nan]
    with np.errstate(all="ignore"):
        found = compiled(np.array([sign * x for x in beyond for sign in (1.0, -1.0)], dtype))
    assert np.isnan(found[..., [SIN, COS]]).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_bad_angle_does_not_touch_its_neighbours(compiled, dtype) -> None:
    x = np.linspace(-3.0, 3.0, 37).astype(dtype)
    good = compiled(x)
    for bad in (np.nan, np.inf, 1e20):
        mixed = x.copy()
        mixed[17] = bad
        with np.errstate(all="ignore"):
            found = compiled(mixed)
        assert np.isnan(found[17, SIN])
        others = np.arange(37) != 17
        assert (found[others] == good[others]).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_number_that_is_none_passes_without_a_warning(compiled, dtype) -> None:
    """As in NumPy: NaN in, NaN out; warnings are errors in these tests."""
    nan = np.full(5, np.nan, dtype)
    assert np.isnan(compiled(nan, nan, nan, nan)).all()


def _points(dtype: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    rng = _rng()
    angle, radius = rng.uniform(-np.pi, np.pi, 1500), 10 ** rng.uniform(-10.0, 10.0, 1500)
    slope = 10 ** rng.uniform(-8, 8, 500) * rng.choice([-1.0, 1.0], 500)
    axes = np.array([-2.0, 0.0, 3.0])
    octants = (np.arange(16) * np.pi / 8)[:, None] + np.linspace(-1e-3, 1e-3, 21)
    large = float(np.finfo(dtype).max) / 4
    sizes = np.array([float(np.finfo(dtype).tiny), 1e-3, 1.0, large])
    pairs = {
        "all directions": (radius * np.sin(angle), radius * np.cos(angle)),
        "all slopes": (slope, np.ones(500)),
        "axes": (axes[:, None], axes[None, :]),
        "edges of octants": (np.sin(octants), np.cos(octants)),
        "extreme sizes": (sizes[:, None], np.concatenate([sizes, -sizes])[None, :]),
    }
    return {name: tuple(np.ravel(a).astype(dtype) for a in np.broadcast_arrays(*p)) for name, p in pairs.items()}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("points", _points("float64"))
def test_atan2(compiled, dtype, points) -> None:
    y, x = _points(dtype)[points]
    with np.errstate(all="ignore"):  # for the quotient, which is in the same code
        found = compiled(y, x)[..., ATAN2]
    with mpmath.workprec(150):
        exact = [mpmath.atan2(mpmath.mpf(float(b)), mpmath.mpf(float(a))) for b, a in zip(y, x, strict=True)]
        smallest = float(np.finfo(dtype).tiny)  # the quotient of what is less is not exact
        allowed = ATAN2_ULPS * _spacing(exact, dtype) + 2 * smallest
        error = _error(found, exact)
        worst = np.argmax(error - allowed)
        assert (error <= allowed).all(), f"atan2({y[worst]!r}, {x[worst]!r}) is off by {error[worst]:.3g}"


@pytest.mark.parametrize("dtype", DTYPES)
def test_atan2_of_infinities_and_nan(compiled, dtype) -> None:
    y = np.array([1.0, -1.0, np.inf, -np.inf, 1.0, np.nan, 1.0, np.nan], dtype)
    x = np.array([np.inf, -np.inf, 1.0, -1.0, 0.0, 1.0, np.nan, np.nan], dtype)
    with np.errstate(all="ignore"):
        found = compiled(y, x)[..., ATAN2]
    assert np.allclose(found, np.arctan2(y, x), rtol=1e-6, equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sqrt_and_quotient_are_rounded_once(compiled, dtype) -> None:
    rng = _rng()
    a, b, c = (10 ** rng.uniform(-15.0, 15.0, (3, 2000))).astype(dtype)
    found = compiled(a, b, c)
    assert (found[..., SQRT] == np.sqrt(c)).all()
    assert (found[..., QUOTIENT] == a / b).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_sqrt_and_quotient_of_special_numbers(compiled, dtype) -> None:
    special = np.array([0.0, np.inf, np.nan, -1.0, 4.0, -np.inf], dtype)
    a, b = (x.ravel() for x in np.meshgrid(special, special))
    with np.errstate(all="ignore"):
        found = compiled(a, b, a)
        np.testing.assert_array_equal(found[..., SQRT], np.sqrt(a))
        np.testing.assert_array_equal(found[..., QUOTIENT], a / b)


@pytest.mark.parametrize("dtype", DTYPES)
def test_where_less(compiled, dtype) -> None:
    numbers = np.array([-np.inf, -1.0, -0.0, 0.0, 5e-324, 1.0, np.inf, np.nan], dtype)
    a, b = (x.ravel() for x in np.meshgrid(numbers, numbers))
    c, d = _rng().uniform(1.0, 2.0, (2, a.size)).astype(dtype)
    with np.errstate(all="ignore"):
        found = compiled(a, b, c, d)[..., CHOICE]
        np.testing.assert_array_equal(found, np.where(a < b, c, d))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_states_answer_does_not_depend_on_its_place(compiled, dtype) -> None:
    x = _rng().uniform(-30.0, 30.0, 67).astype(dtype)
    together = compiled(x, x + 1)
    for size in (1, 2, 3, 5, 8, 13):
        assert (compiled(x[:size], x[:size] + 1) == together[:size]).all()
    assert (compiled(x[::-1].copy(), x[::-1] + 1) == together[::-1]).all()
