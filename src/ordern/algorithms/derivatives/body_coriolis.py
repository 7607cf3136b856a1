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

from ...spatial import Force, Inertia, Motion
from ...spatial.angular import AngularMatrix
from ...spatial.linear import Vector3, dot, matmul, scale, skew

__all__ = ["body_coriolis"]


def body_coriolis(inertia: Inertia, v: Motion, momentum: Force) -> AngularMatrix:
    """Return the matrix B of a body at the velocity v, whose momentum is known."""
    (xx, xy, xz, yy, yz, zz), h, u = inertia.I, inertia.h, v.linear
    half = 0.5 * (xx + yy + zz)
    spin = matmul(skew(v.angular), ((xx - half, xy, xz), (xy, yy - half, yz), (xz, yz, zz - half)))
    along = dot(h, u)  # h x (u x d) = u (h . d) - d (h . u)

    def row(r: int) -> Vector3:
        x, y, z = (2.0 * (spin[r][c] - u[r] * h[c] + (along if r == c else 0.0)) for c in range(3))
        return (x, y, z)

    return AngularMatrix((row(0), row(1), row(2)), scale(-2.0, momentum.linear))
