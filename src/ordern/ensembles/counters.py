"""Random numbers that belong to a member of an ensemble, not to the worker that runs it.

The numbers of member m are those at place m of a counter-based generator (Philox), so any range of members can be drawn
at any time, in any process, with the same bits. Only sums, products, quotients, square roots and operations on integers
are used: these are exact in IEEE arithmetic, while functions such as `np.log` differ between processors in the last
bit.

References: Salmon et al. 2011, Parallel random numbers: as easy as 1, 2, 3. Wichura 1988, The percentage points of the
normal distribution (AS 241).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..arguments import Array

__all__ = ["member_seeds", "normal_quantile", "permuted", "uniforms"]

_WORDS = 4
"""Philox makes this many words of 64 bits for each value of its counter."""


def _key(seed: int, stream: str) -> NDArray[np.uint64]:
    """Return the key of a stream of random numbers: one for each seed and each quantity that is drawn."""
    digest = hashlib.sha256(f"{seed}\0{stream}".encode()).digest()
    return np.frombuffer(digest[:16], "<u8").astype(np.uint64)


def _words(seed: int, stream: str, first: int, last: int, count: int) -> NDArray[np.uint64]:
    """Return `count` words of 64 bits for each member from `first` to before `last`, of shape (members, count)."""
    each = -(-count // _WORDS)
    counter = first * each
    parts = [(counter >> (64 * k)) & (2**64 - 1) for k in range(4)]
    generator = np.random.Philox(counter=np.array(parts, np.uint64), key=_key(seed, stream))
    raw = generator.random_raw((last - first) * each * _WORDS)
    return np.asarray(raw, np.uint64).reshape(last - first, each * _WORDS)[:, :count]


def uniforms(seed: int, stream: str, first: int, last: int, count: int) -> Array:
    """Return numbers between 0 and 1, both excluded, of shape (last - first, count)."""
    words = _words(seed, stream, first, last, count)
    return np.asarray(((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53)


def member_seeds(seed: int, stream: str, first: int, last: int) -> NDArray[np.uint64]:
    """Return a whole number of 64 bits for each member, to seed a generator of its own."""
    return _words(seed, stream, first, last, 1)[:, 0]


def permuted(seed: int, stream: str, members: NDArray[np.int64], count: int, columns: int) -> NDArray[np.int64]:
    """Return the places of members under random permutations of `count`, one for each column, of shape (m, columns).

    A Feistel network permutes the next power of four; members that leave the range walk on until they are back in it.
    """
    half = max(1, -(-max(1, count - 1).bit_length() // 2))
    mask = np.uint64(2**half - 1)
    keys = np.stack([_words(seed, f"{stream} {round}", 0, columns, 1)[:, 0] for round in range(8)])
    x = np.repeat(members.astype(np.uint64)[:, None], columns, axis=1)
    walking = np.ones(x.shape, bool)
    while walking.any():
        moved = _feistel(x, keys, half, mask)
        x = np.where(walking, moved, x)
        walking &= x >= np.uint64(count)
    return x.astype(np.int64)


def _feistel(x: NDArray[np.uint64], keys: NDArray[np.uint64], half: int, mask: np.uint64) -> NDArray[np.uint64]:
    left, right = x >> np.uint64(half), x & mask
    for key in keys:
        mixed = (right + key) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        left, right = right, left ^ ((mixed ^ (mixed >> np.uint64(32))) & mask)
    return np.asarray((left << np.uint64(half)) | right)


def normal_quantile(p: Array) -> Array:
    """Return the values below which a standard normal variable lies with probability p, to about 1e-16 relative."""
    q = p - 0.5
    r = 0.180625 - q * q
    found = q * _ratio(_CENTRE, np.maximum(r, 0.0))
    tail = np.abs(q) > 0.425
    if tail.any():
        side = q[tail]
        least = np.where(side < 0.0, p[tail], 1.0 - p[tail])
        r = np.sqrt(-_log(least))
        far = r > 5.0
        value = np.where(far, _ratio(_FAR, r - 5.0), _ratio(_TAIL, r - 1.6))
        found[tail] = np.where(side < 0.0, -value, value)
    return found


def _ratio(coefficients: tuple[Sequence[float], Sequence[float]], x: Array) -> Array:
    over, under = (np.full_like(x, c[-1]) for c in coefficients)
    for a, b in zip(reversed(coefficients[0][:-1]), reversed(coefficients[1][:-1]), strict=True):
        over = over * x + a
        under = under * x + b
    return over / under


def _log(x: Array) -> Array:
    """Return the natural logarithm of positive numbers, by arithmetic that is the same on every processor."""
    m, e = np.frexp(x)
    low = m < 0.7071067811865476
    m, e = np.where(low, 2.0 * m, m), e - low
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    total = np.full_like(z, 1.0 / 23.0)
    for k in range(21, 0, -2):
        total = total * z + 1.0 / k
    return e * 0.6931471805599453 + 2.0 * s * total


_CENTRE = (
    (3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
     4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3),
    (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
     2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3),
)  # fmt: skip
_TAIL = (
    (1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
     1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
     1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9),
)  # fmt: skip
_FAR = (
    (6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
     2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15),
)  # fmt: skip
