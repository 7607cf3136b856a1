"""The rate of a body's force with its velocity: a matrix B of 12 numbers.

    f = I a + v x* I v,        df/dv d = B d + I (v x d)

for velocities v and their changes d. With the angular and linear part w and u of v, the mass m, the moments h and I3:

    B = 2 [[ w x (I3 - 1/2 trace I3) - h x u x , 0 ],
           [ -(m u - h x w) x                  , 0 ]]

B acts on angular velocities only, and the matrices of bodies in one frame are added. Half of it is the Coriolis matrix
of the body in the factorisation of Echeandia and Wensing.

Reference: Singh, Russell and Wensing 2022, eq. for B(I, v); Echeandia and Wensing 2021.
"""

from __future__ import annotations

from ...records import dataclass
from ...spatial import Force, Inertia, Motion
from ...spatial.linear import ZERO3, Matrix3, Vector3, add, cross, dot, matmul, matvec, scale, skew, transpose

__all__ = ["BodyCoriolis"]


@dataclass(frozen=True, slots=True)
class BodyCoriolis:
    """B = [[A, 0], [-p x, 0]]."""

    A: Matrix3
    p: Vector3

    @classmethod
    def zero(cls) -> BodyCoriolis:
        """Return the matrix of no body."""
        return cls((ZERO3, ZERO3, ZERO3), ZERO3)

    @classmethod
    def of(cls, inertia: Inertia, v: Motion, momentum: Force) -> BodyCoriolis:
        """Return the matrix of a body at the velocity v, whose momentum is known."""
        (xx, xy, xz, yy, yz, zz), h, u = inertia.I, inertia.h, v.linear
        half = 0.5 * (xx + yy + zz)
        spin = matmul(skew(v.angular), ((xx - half, xy, xz), (xy, yy - half, yz), (xz, yz, zz - half)))
        along = dot(h, u)  # h x (u x d) = u (h . d) - d (h . u)
        r0, r1, r2 = (
            tuple(2.0 * (spin[r][c] - u[r] * h[c] + (along if r == c else 0.0)) for c in range(3)) for r in range(3)
        )
        return cls((_three(r0), _three(r1), _three(r2)), scale(2.0, momentum.linear))

    def __add__(self, other: BodyCoriolis) -> BodyCoriolis:
        a, b = self.A, other.A
        return BodyCoriolis((add(a[0], b[0]), add(a[1], b[1]), add(a[2], b[2])), add(self.p, other.p))

    def __matmul__(self, w: Vector3) -> Force:
        """Return the product with a motion of this angular part."""
        return Force(matvec(self.A, w), cross(w, self.p))

    def back(self, t: Motion) -> Vector3:
        """Return the angular part of the product of the transpose with a motion; the linear part is zero."""
        return add(matvec(transpose(self.A), t.angular), cross(self.p, t.linear))


def _three(x: tuple[object, ...]) -> Vector3:
    a, b, c = x
    return (a, b, c)
