"""Reference motions in closed form or to 25 digits, independent of the library."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import Array
from ..joints import Free
from ..loading import load
from ..records import dataclass
from ..robot import Builder, Robot
from ..robots import free_top
from .planar import DOUBLE_PENDULUM, SAHA, falling

if TYPE_CHECKING:
    from ..simulate.results.result import Result

__all__ = ["ADAPTIVE", "KNOWN", "Known", "double_pendulum", "error", "planar_arm", "projectile", "top"]

ADAPTIVE = ("dormand-prince-8", "dormand-prince", "cash-karp", "radau")
"""The methods that choose their steps by a tolerance."""
DIGITS = 50


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A reference motion."""

    name: str
    how: str
    robot: Robot
    q0: Array
    v0: Array
    times: Array
    states: Array
    """Positions and velocities at the times, (N, nq + nv)."""

    def run(self, method: str, tolerance: float, **options: Any) -> Result:
        """Simulate the motion."""
        return self.robot.simulate(
            self.q0, self.v0, until=self.times, method=method, rtol=tolerance, atol=tolerance, **options
        )

    def growth(self) -> float:
        """Return the growth of an error of the initial state, in the norm of `error`, by central differences."""

        def states(change: Array) -> Array:
            result = self.robot.simulate(
                self.robot.integrate(self.q0, change[: self.robot.nv]),
                self.v0 + change[self.robot.nv :],
                until=self.times,
                rtol=1e-12,
                atol=1e-12,
            )
            return np.concatenate([result.q, result.v], axis=1)

        step = 1e-5
        columns = [(states(step * e) - states(-step * e)) / (2.0 * step) for e in np.eye(2 * self.robot.nv)]
        scale = 1.0 + np.abs(self.states)
        unit = 1.0 + np.abs(np.concatenate([np.zeros(self.robot.nv), self.v0]))
        rows = sum(np.abs(c) / scale * u for c, u in zip(columns, unit, strict=True))
        return float(np.max(rows))


def error(known: Known, result: Result) -> float:
    """Return the largest |y - exact| / (1 + |exact|), which an absolute and relative tolerance bounds."""
    y = np.concatenate([result.q, result.v], axis=1)
    return float(np.max(np.abs(y - known.states) / (1.0 + np.abs(known.states))))


@cache
def double_pendulum() -> Known:
    """Return the bundled double pendulum, released at (2, -0.5) rad: Taylor series of its equations in 50 digits."""
    import mpmath

    times = np.array([0.25, 0.5, 0.75, 1.0])
    with mpmath.workdps(DIGITS):
        quarter = mpmath.pi / 2
        states = falling(DOUBLE_PENDULUM, (2 - quarter, -0.5), times.tolist())
        states[:, 0] = [mpmath.mpf(str(x)) + quarter for x in states[:, 0]]
    rest = np.zeros(2)
    how = "Taylor series, 50 digits"
    return Known("double pendulum", how, load("double-pendulum"), np.array([2.0, -0.5]), rest, times, _floats(states))


@cache
def planar_arm() -> Known:
    """Return Saha's planar arm, released stretched along X: Taylor series of its equations in 50 digits."""
    times = np.array([0.25, 0.5, 0.75, 1.0])
    states = falling(SAHA, (0, 0, 0), times.tolist())
    rest = np.zeros(3)
    return Known("planar arm", "Taylor series, 50 digits", load("planar-3r"), rest, rest, times, _floats(states))


@cache
def projectile() -> Known:
    """Return a ball, thrown while it spins: its centre goes along a parabola, and it turns at a constant rate."""
    spin, speed, start = np.array([0.5, -1.0, 2.0]), np.array([3.0, 1.0, 5.0]), np.array([1.0, 2.0, 3.0])
    made = Builder("ball").body("base")
    robot = made.body("ball", parent="base", joint=Free(), mass=2.0, inertia=(0.3, 0.3, 0.3)).build()
    times = np.linspace(0.3, 1.5, 5)
    t, rate = times[:, None], float(np.linalg.norm(spin))
    fall = np.array([0.0, 0.0, -9.81])
    quaternion = np.concatenate([np.cos(rate * t / 2.0), np.sin(rate * t / 2.0) * spin / rate], axis=1)
    centre = start + speed * t + 0.5 * fall * t**2
    linear = _unturned(spin / rate, rate * times, speed + fall * t)
    states = np.concatenate([quaternion, centre, np.tile(spin, (5, 1)), linear], axis=1)
    v0 = np.concatenate([spin, speed])
    return Known("projectile", "closed form", robot, np.array([1.0, 0, 0, 0, *start]), v0, times, states)


def _unturned(axis: Array, angles: Array, x: Array) -> Array:
    """Return world vectors in the axes of a turned body, by Rodrigues' formula."""
    c, s = np.cos(angles)[:, None], -np.sin(angles)[:, None]
    return np.asarray(c * x + s * np.cross(axis, x) + (1.0 - c) * (x @ axis)[:, None] * axis)


@cache
def top() -> Known:
    """Return the bundled heavy top, released with its axis at rest at 0.5 rad and a spin of 40 rad/s.

    Solved by elliptic functions.

    With the cosine u of the tilt, momenta p about the vertical and s about the axis, and inertia A about the point,
    u'^2 is a cubic with the roots u1 < u2 < u3, of which u2 is where the axis was at rest. Hence

        u = u1 + (u2 - u1) cd^2(k t),    phi' = (p - s u) / (A (1 - u^2)),    psi' = s / C - u phi'

    with k^2 = m g h (u3 - u1) / (2 A) and the parameter (u2 - u1) / (u3 - u1); the angles phi of precession and psi of
    spin by quadrature (Goldstein, Classical Mechanics, 5.7). At the start all but the tilt are zero.
    """
    import mpmath as mp

    tilt, spin = 0.5, 40.0
    times = np.linspace(0.125, 0.5, 4)
    states = []
    with mp.workdps(DIGITS):
        A = mp.mpf(free_top.ACROSS) + mp.mpf(free_top.MASS) * mp.mpf(free_top.HEIGHT) ** 2
        C, weight = mp.mpf(free_top.ALONG), mp.mpf(free_top.MASS) * mp.mpf("9.81") * mp.mpf(free_top.HEIGHT)
        s, u2 = C * spin, mp.cos(tilt)
        p, beta, about = s * u2, 2 * weight / A, (s / A) ** 2
        # (1 - u^2) beta (u2 - u) = about (u2 - u)^2, without the factor u2 - u: beta u^2 - about u + about u2 - beta
        middle, width = about / (2 * beta), mp.sqrt((about / (2 * beta)) ** 2 - about * u2 / beta + 1)
        u1, u3 = middle - width, middle + width
        k, m = mp.sqrt(beta * (u3 - u1)) / 2, (u2 - u1) / (u3 - u1)

        def u(t: Any) -> Any:
            return u1 + (u2 - u1) * mp.ellipfun("cd", k * t, m=m) ** 2

        def precession(t: Any) -> Any:
            c = u(t)
            return (p - s * c) / (A * (1 - c**2))

        def turning(t: Any) -> Any:
            return u(t) * precession(t)

        phi = turned = mp.mpf(0)
        for a, b in zip((0.0, *times[:-1]), times, strict=True):
            phi += mp.quad(precession, mp.linspace(a, b, 3))
            turned += mp.quad(turning, mp.linspace(a, b, 3))
            tilting = -mp.diff(u, b) / mp.sqrt(1 - u(b) ** 2)
            states.append(
                _of_euler(phi, mp.acos(u(b)), mp.mpf(spin) * mp.mpf(b) - turned, precession(b), tilting, spin)
            )
    start = np.array([np.cos(tilt / 2.0), np.sin(tilt / 2.0), 0.0, 0.0])
    how = "elliptic functions, 50 digits"
    return Known("heavy top", how, load("free-top"), start, np.array([0.0, 0.0, spin]), times, np.array(states, float))


def _of_euler(phi: Any, theta: Any, psi: Any, rate: Any, tilting: Any, spin: float) -> list[Any]:
    """Return the quaternion of turns phi about z, theta about x, psi about z, and the body's angular velocity."""
    import mpmath as mp

    c, s, plus, minus = mp.cos(theta / 2), mp.sin(theta / 2), (phi + psi) / 2, (phi - psi) / 2
    across = rate * mp.sin(theta)
    return [
        *(c * mp.cos(plus), s * mp.cos(minus), s * mp.sin(minus), c * mp.sin(plus)),
        *(across * mp.sin(psi) + tilting * mp.cos(psi), across * mp.cos(psi) - tilting * mp.sin(psi), spin),
    ]


def _floats(x: Sequence[Any] | np.ndarray[tuple[int, ...], np.dtype[Any]]) -> Array:
    return np.asarray(x).astype(float)


KNOWN = (double_pendulum, top, projectile, planar_arm)
"""The motions of the table."""
