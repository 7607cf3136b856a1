"""Polynomials as short SymPy expressions, in the form of textbooks.

A sum is collected by the arguments that enter as products (accelerations, velocities, forces, g), then by sines and
cosines, then by parameters. Sines and cosines of joints with parallel axes become those of sums of angles where that is
shorter, and squares of cosines those of sines.
"""

from __future__ import annotations

import cmath
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from ..graph import OPS
from .polynomials import Polynomial, Ring

__all__ = ["Writer"]

_NOISE = 1e-13
"""Coefficients below this, relative to the largest one, are rounding."""

Wave = tuple[str, tuple[tuple[str, int], ...]]
"""The sine or cosine of a sum of angles, each a whole number of times; ("", ()) is one."""
Trig = tuple[int, Wave]
"""A monomial of sines, cosines and positions, times a wave."""
_ONE: Wave = ("", ())


class Writer:
    """Writes polynomials of one ring."""

    def __init__(
        self,
        ring: Ring,
        symbol: Callable[[str], Any],
        motions: Collection[str],
        positions: Collection[str],
        parallel: Sequence[Sequence[str]],
        sympy: Any,
    ) -> None:
        """Write symbols by `symbol`. `motions` and `positions` are names of arguments; each of the groups in `parallel`
        has the angles of joints whose axes are parallel.
        """
        self._ring, self._symbol, self._sympy = ring, symbol, sympy
        # SymPy takes most of the time: what was written is kept
        self._generators: dict[int, Any] = {}
        self._products: dict[int, Any] = {}
        self._waves: dict[Wave, Any] = {}
        self._angles: dict[str, tuple[int, int]] = {}  # the generators of cosine and sine, by the name of the angle
        self._masks = dict.fromkeys(("outer", "motion", "trig"), 0)
        turning: dict[Any, dict[str, int]] = {}
        for k, g in enumerate(ring.generators):
            name = g.data if g.kind == "leaf" else ""
            part = "motion" if name in motions else "trig" if name in positions else ""
            if g.kind in ("sin", "cos"):
                part = "trig"
                turning.setdefault(tuple(g.data[1][0].items()), {})[g.kind] = k
            elif g.kind == "other":
                part = "outer"
            if part:
                self._masks[part] |= 255 << 8 * k
        for angle, pair in turning.items():
            if len(angle) == 1 and angle[0][1] == 1.0:
                [(k, power)] = ring.powers(angle[0][0])
                if power == 1 and ring.generators[k].kind == "leaf":
                    self._angles[ring.generators[k].data] = pair["cos"], pair["sin"]
        groups = ([name for name in group if name in self._angles] for group in parallel)
        self._groups = [group for group in groups if len(group) > 1]

    def expression(self, polynomial: Polynomial) -> Any:
        """Return a polynomial as an expression."""
        p = _without_noise(polynomial)
        collected: dict[int, dict[int, dict[int, dict[int, float]]]] = {}
        for m, x in p.items():
            outer, motion, trig = (m & self._masks[part] for part in ("outer", "motion", "trig"))
            rest = m - outer - motion - trig
            collected.setdefault(outer, {}).setdefault(motion, {}).setdefault(rest, {})[trig] = x
        exact = all(abs(x * 1e6 - round(x * 1e6)) < 1e-6 for x in p.values())
        terms = []
        for outer, by_motion in collected.items():
            inside = (self._product(motion) * self._sum(found, exact) for motion, found in by_motion.items())
            terms.append(self._product(outer) * self._sympy.Add(*inside))
        return self._sympy.Add(*terms)

    def _sum(self, found: dict[int, dict[int, float]], exact: bool) -> Any:
        """Return the sum over parameters of sums over sines and cosines, collected by the latter."""
        by_trig: dict[Trig, dict[int, float]] = {}
        for rest, trigs in found.items():
            for trig, x in self._shortest(trigs).items():
                by_trig.setdefault(trig, {})[rest] = x
        # one product of all factors: SymPy would multiply a number into a sum that stands alone
        return self._sympy.Add(
            *(
                self._sympy.Mul(self._product(monomial), self._wave(wave), *self._factors(coefficients, exact))
                for (monomial, wave), coefficients in by_trig.items()
            )
        )

    def _factors(self, coefficients: Polynomial, exact: bool) -> tuple[Any, ...]:
        """Return the factors of a sum of parameters: those that all terms have, and what is left of the sum."""
        powers = [dict(self._ring.powers(m)) for m in coefficients]
        least = {k: min(p.get(k, 0) for p in powers) for k in powers[0]}
        common = sum(self._ring.monomial(k, n) for k, n in least.items())
        smallest, largest = (f(map(abs, coefficients.values())) for f in (min, max))
        factor = largest if largest - smallest <= _NOISE * largest else 1.0
        factor = -factor if all(x < 0.0 for x in coefficients.values()) else factor
        inside = (self._number(x / factor, exact) * self._product(m - common) for m, x in coefficients.items())
        return self._number(factor, exact), self._product(common), self._sympy.Add(*inside)

    def _number(self, x: float, exact: bool) -> Any:
        """Return a short decimal number as a fraction if all are such, and whole numbers and halves always."""
        text = f"{x:.15g}"  # without the last digit, which is rounding
        whole = float(text) * 2 == round(float(text) * 2) and abs(x) < 1e6
        return self._sympy.Rational(text) if exact or whole else self._sympy.Float(float(text))

    def _product(self, monomial: int) -> Any:
        """Return a monomial as an expression."""
        if monomial not in self._products:
            factors = (self._generator(k) ** power for k, power in self._ring.powers(monomial))
            self._products[monomial] = self._sympy.Mul(*factors)
        return self._products[monomial]

    def _generator(self, k: int) -> Any:
        if k not in self._generators:
            self._generators[k] = self._written(k)
        return self._generators[k]

    def _written(self, k: int) -> Any:
        g = self._ring.generators[k]
        if g.kind == "leaf":
            return self._symbol(g.data)
        op, operands = g.data
        inside = [self.expression(x) for x in operands]
        return 1 / inside[0] if op == "inverse" else OPS[op].evaluate(*inside)

    def _wave(self, wave: Wave) -> Any:
        if wave not in self._waves:
            kind, angles = wave
            total = self._sympy.Add(*(n * self._symbol(name) for name, n in angles))
            self._waves[wave] = getattr(self._sympy, kind)(total) if kind else self._sympy.S.One
        return self._waves[wave]

    # forms of sines and cosines ------------------------------------------------------------------------------------

    def _shortest(self, trigs: Polynomial) -> dict[Trig, float]:
        """Return a sum of products of sines and cosines in the form with the fewest terms, and then factors."""
        forms: list[dict[Trig, float]] = [{(m, _ONE): x for m, x in trigs.items()}]
        for cosine, sine in self._angles.values():
            if any(m >> 8 * cosine & 254 for m in trigs):
                forms.append({(m, _ONE): x for m, x in self._with_sines(trigs, cosine, sine).items()})
        forms += (self._with_sums(trigs, group) for group in self._groups)
        return min(forms, key=self._length)

    def _length(self, form: dict[Trig, float]) -> tuple[int, int]:
        """Return the number of terms of a form, and that of the sines and cosines in it."""
        return len(form), sum(bool(wave[0]) + sum(n for _, n in self._ring.powers(m)) for m, wave in form)

    def _with_sines(self, trigs: Polynomial, cosine: int, sine: int) -> Polynomial:
        """Return the same sum with cos^2 = 1 - sin^2 of one angle."""
        found: Polynomial = {}
        for m, x in trigs.items():
            power = m >> 8 * cosine & 255
            part: Polynomial = {m - self._ring.monomial(cosine, power - power % 2): x}
            for _ in range(power // 2):
                square = {n + self._ring.monomial(sine, 2): -y for n, y in part.items()}
                part = self._ring.add(part, square)
            found = self._ring.add(found, part)
        return found

    def _with_sums(self, trigs: Polynomial, group: Iterable[str]) -> dict[Trig, float]:
        """Return the same sum with sines and cosines of sums of the angles of a group."""
        pairs = [(name, *self._angles[name]) for name in group]
        mask = sum(255 << 8 * k for _, *pair in pairs for k in pair)
        amplitudes: dict[tuple[int, tuple[int, ...]], complex] = {}
        for m, x in trigs.items():
            part: dict[tuple[int, ...], complex] = {(): complex(x)}
            for _, cosine, sine in pairs:
                one = _exponentials(m >> 8 * cosine & 255, m >> 8 * sine & 255)
                part = {(*key, n): a * b for key, a in part.items() for n, b in one.items()}
            for key, a in part.items():
                amplitudes[m & ~mask, key] = amplitudes.get((m & ~mask, key), 0.0) + a
        found: dict[Trig, float] = {}
        for (rest, key), a in amplitudes.items():
            first = next((n for n in key if n), 0)
            if first < 0:
                continue  # the conjugate of one that is counted
            angles = tuple((pair[0], n) for pair, n in zip(pairs, key, strict=True) if n)
            if first:
                found[rest, ("cos", angles)], found[rest, ("sin", angles)] = 2.0 * a.real, -2.0 * a.imag
            else:
                found[rest, _ONE] = a.real
        return _without_noise(found)


def _exponentials(cosine: int, sine: int) -> dict[int, complex]:
    """Return cos(x)^m sin(x)^n as a sum of exponentials: the factor of exp(i k x) for each k."""
    found = {0: complex(1.0)}
    factors = [((1, 0.5), (-1, 0.5))] * cosine + [((1, -0.5j), (-1, 0.5j))] * sine
    for factor in factors:
        product: dict[int, complex] = {}
        for n, a in found.items():
            for step, b in factor:
                product[n + step] = product.get(n + step, 0.0) + a * b
        found = {n: a for n, a in product.items() if not cmath.isclose(a, 0.0, abs_tol=1e-300)}
    return found


def _without_noise(p: dict[Any, float]) -> dict[Any, float]:
    """Return the terms that are more than rounding."""
    largest = max(map(abs, p.values()), default=0.0)
    return {m: x for m, x in p.items() if abs(x) > _NOISE * largest}
