"""Derivatives of all questions as methods of robots: products with tangents and cotangents, matrices, second order."""

from .call import CLOSED, Call, named_tuple
from .matrices import Derivatives
from .methods import DerivativeMethods
from .second import SecondDerivativeMethods, SecondDerivatives

__all__ = [
    "CLOSED",
    "Call",
    "DerivativeMethods",
    "Derivatives",
    "SecondDerivativeMethods",
    "SecondDerivatives",
    "named_tuple",
]
