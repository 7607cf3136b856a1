"""sin, cos and atan2 as inline vector code.

Library calls would cost more than all the rest of a robot's dynamics, and none exists for vectors on every
machine. The functions here are branch-free, so that they work on a vector of states at a time.

sin and cos are defined for |x| <= `SINCOS_RANGE[dtype]`; beyond it, and for infinities and NaN, they give NaN:
an angle of a billion radians has too few digits in double precision to be of use.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..compile.emit.nodes import TextEmitter

__all__ = ["SINCOS_RANGE", "atan2", "cos", "sin"]

SINCOS_RANGE = {"float64": 1e9, "float32": 1e5}

# floor(pi/2 * 2**120)
_PI_2_SCALED = 1570796326794896619231321691639751442098584699687552910487 * 2**120 // 10**57
# pi/2 is the sum of these, each the nearest number to what the ones before leave over
_PI_2 = {
    "float64": (1.5707963267948966, 6.123233995736766e-17),
    "float32": (1.57079637050628662109375, -4.37113882867379e-8, -1.7151245100058819e-15),
}
# pi/2 in pieces so short that a multiple of each within the range is exact, for machines without fused
# multiply-add: 23 bits each (30 are left to the multiple) and 8 bits each (16 are left)
_PI_2_SHORT_BITS = {"float64": (23, 4), "float32": (8, 4)}

_SIN = {
    "float64": (
        1.58962301576546568060e-10,
        -2.50507477628578072866e-8,
        2.75573136213857245213e-6,
        -1.98412698295895385996e-4,
        8.33333333332211858878e-3,
        -1.66666666666666307295e-1,
    ),
    "float32": (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1),
}
_COS = {
    "float64": (
        -1.13585365213876817300e-11,
        2.08757008419747316778e-9,
        -2.75573141792967388112e-7,
        2.48015872888517045348e-5,
        -1.38888888888730564116e-3,
        4.16666666666665929218e-2,
    ),
    "float32": (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2),
}
# adding and subtracting this rounds to an integer, whose lowest bits are then those of the sum
_ROUNDER = {"float64": 6755399441055744.0, "float32": 12582912.0}

_ATAN_P = (
    -8.750608600031904122785e-1,
    -1.615753718733365076637e1,
    -7.500855792314704667340e1,
    -1.228866684490136173410e2,
    -6.485021904942025371773e1,
)
_ATAN_Q = (
    1.0,
    2.485846490142306297962e1,
    1.650270098316988542046e2,
    4.328810604912902668951e2,
    4.853903996359136964868e2,
    1.945506571482613964425e2,
)


def sin(e: TextEmitter, x: str) -> str:
    """Emit the sine of x; the work is shared with its cosine."""
    return _sincos(e, x)[0]


def cos(e: TextEmitter, x: str) -> str:
    """Emit the cosine of x; the work is shared with its sine."""
    return _sincos(e, x)[1]


def _sincos(e: TextEmitter, x: str) -> tuple[str, str]:
    key = ("sincos", x)
    if key not in e.memo:
        e.memo[key] = _emit_sincos(e, x)
    return e.memo[key]


def _emit_sincos(e: TextEmitter, x: str) -> tuple[str, str]:
    """Reduce by the nearest multiple n of pi/2 (Cody and Waite), two short polynomials, pick by n mod 4."""
    limit = e.constant(SINCOS_RANGE[e.dtype])
    x = e.select_less(limit, e.intrinsic("fabs", x), e.constant(math.nan), x)
    shifted = _fused(e, x, e.constant(2.0 / math.pi), e.constant(_ROUNDER[e.dtype]))
    n = e.binary("fsub", shifted, e.constant(_ROUNDER[e.dtype]))
    quarter = e.bits(shifted)
    r = x
    for piece in _PI_2[e.dtype] if e.has_fma else _short_pieces(e.dtype):
        r = _fused(e, n, e.constant(-piece), r)

    r2 = e.binary("fmul", r, r)
    s = _polynomial(e, _SIN[e.dtype], r2)
    s = _fused(e, e.binary("fmul", s, r2), r, r)
    c = _polynomial(e, _COS[e.dtype], r2)
    c = _fused(e, e.binary("fmul", c, r2), r2, _fused(e, r2, e.constant(-0.5), e.constant(1.0)))

    top = e.integer(62 if e.dtype == "float64" else 30)  # moves bit 1 to the sign
    two = e.integer(2)
    sine = e.select_odd(quarter, c, s)
    cosine = e.select_odd(quarter, s, c)
    after = e.integer_binary("add", quarter, e.integer(1))
    sine_sign = e.integer_binary("shl", e.integer_binary("and", quarter, two), top)
    cosine_sign = e.integer_binary("shl", e.integer_binary("and", after, two), top)
    return _flip(e, sine, sine_sign), _flip(e, cosine, cosine_sign)


def atan2(e: TextEmitter, y: str, x: str) -> str:
    """Emit the angle of (x, y): a rational approximation on [0, 1], then unfold the octants."""
    zero, one = e.constant(0.0), e.constant(1.0)
    ax, ay = e.intrinsic("fabs", x), e.intrinsic("fabs", y)
    large = e.select_less(ax, ay, ay, ax)
    small = e.select_less(ax, ay, ax, ay)
    t = e.binary("fdiv", small, e.select_less(zero, large, large, e.binary("fadd", large, one)))
    high = e.constant(0.66)
    reduced = e.binary("fdiv", e.binary("fsub", t, one), e.binary("fadd", t, one))
    u = e.select_less(high, t, reduced, t)
    z = e.binary("fmul", u, u)
    ratio = e.binary("fdiv", _polynomial(e, _ATAN_P, z), _polynomial(e, _ATAN_Q, z))
    angle = _fused(e, e.binary("fmul", z, ratio), u, u)
    angle = e.binary("fadd", angle, e.select_less(high, t, e.constant(math.pi / 4), zero))
    steep = e.binary("fsub", e.constant(math.pi / 2), angle)
    angle = e.select_less(ax, ay, steep, angle)
    angle = e.select_less(x, zero, e.binary("fsub", e.constant(math.pi), angle), angle)
    return e.select_less(y, zero, e.negate(angle), angle)


def _fused(e: TextEmitter, a: str, b: str, c: str) -> str:
    """Emit a * b + c, rounded once if the machine has a fused instruction, else twice."""
    if e.has_fma:
        return e.intrinsic("fma", a, b, c)
    return e.binary("fadd", e.binary("fmul", a, b), c)


def _polynomial(e: TextEmitter, coefficients: Sequence[float], x: str) -> str:
    value = e.constant(coefficients[0])
    for c in coefficients[1:]:
        value = _fused(e, value, x, e.constant(c))
    return value


def _flip(e: TextEmitter, a: str, sign: str) -> str:
    return e.float_of_bits(e.integer_binary("xor", e.bits(a), sign))


def _short_pieces(dtype: str) -> list[float]:
    """Return pi/2 cut into pieces of few bits, the last one with all that fit."""
    bits, count = _PI_2_SHORT_BITS[dtype]
    rest, pieces = _PI_2_SCALED, []
    for k in range(count):
        drop = 121 - bits * (k + 1)
        head = rest if k == count - 1 else (rest >> drop) << drop
        pieces.append(math.ldexp(float(head), -120))
        rest -= head
    return pieces
