"""The inverse of a compliance, and whether the frame can move in all six ways.

The inverse Lambda of Y = J M^-1 J^T exists where no motion of the frame is impossible. Where it does not exist,
rounding hides this: the inverse has numbers of 1e15, or plausible ones. So it is returned with a number `spoilt`, which
is 0 where Lambda is valid and not a number elsewhere. It is added to results that use Lambda.

Angles and lengths have different units. With y_w and y_v the traces of the angular and the linear half of Y, the matrix
is divided by them, and the trace of its inverse then is

    s = y_w trace(Lambda_w) + y_v trace(Lambda_v)         1 / lambda_min <= s <= 6 / lambda_min, lambda the eigenvalues

What is computed is the sum of the squares of its six terms, in which none cancels another where rounding has made some
negative. A half that is nothing but rounding must not be compared with itself: a small part of the other half, times
or over the square of the length of the path to the frame, is added to each trace. Lambda counts if the root of the sum
is below `LIMIT`. In single precision the limit is lower: the text finds out which it has from a sum that loses its
second term there.
"""

from __future__ import annotations

from math import nan
from typing import Any

from ...graph import where_less
from ...model import Frame, Tree
from ...model.parts import path_length
from ...spatial.linear import dot
from ..factors.linear import Rows, symmetric_inverse

__all__ = ["regular_inverse"]

LIMIT, LIMIT_SINGLE = 1e11, 1e5
"""Double precision has 16 digits: 5 of them are left in the worst direction. Single has 7, and 2 are left; there,
answers that are not numbers are computed again in double. Rounding alone gives 1e15, or 1e6 in single precision."""
_NOTICED = 2.0**-30
"""A part of a number that counts in double precision, and not in single."""
_OTHER = 1e-1
"""The part of one half that is added to the other: more than rounding times the limit, in single precision too."""


def regular_inverse(tree: Tree, frame: Frame, Y: Rows) -> tuple[Rows, Any]:
    """Return the inverse of a frame's compliance, and a number that is 0 if it exists and not a number otherwise."""
    Lambda = symmetric_inverse(Y)
    length = path_length(tree.model.joints, tree.model.frame(frame))
    y_w, y_v = Y[0][0] + Y[1][1] + Y[2][2], Y[3][3] + Y[4][4] + Y[5][5]
    if length:
        square = length * length
        y_w, y_v = y_w + (_OTHER / square) * y_v, y_v + (_OTHER * square) * y_w
    w, v = ([Lambda[k][k] for k in half] for half in (range(3), range(3, 6)))
    s = (y_w * y_w) * dot(w, w) + (y_v * y_v) * dot(v, v)
    limit = where_less(0.0, (s + _NOTICED * s) - s, LIMIT * LIMIT, LIMIT_SINGLE * LIMIT_SINGLE)
    return Lambda, where_less(s, limit, 0.0, nan)
