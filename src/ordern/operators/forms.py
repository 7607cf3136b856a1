"""The algebra of two other papers: Featherstone and Orin's incidence form, and Saha's DeNOC matrices.

Both are operators as all others, in the coordinates of their paper; only their names differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..records import dataclass
from .expression import Operator

if TYPE_CHECKING:
    from .operators import Operators

__all__ = ["Decoupled", "Incidence"]


@dataclass(frozen=True)
class Incidence:
    """Featherstone and Orin 2000, sec. 3.5: all vectors in the base's frame; accelerations are spatial ones.

        P a = H qdd + a0,     S = P^-1 H,     T = P^T T_J,     T^T S = 0                 (24), (29)
        M = H^T P^-T I P^-1 H
        T^T I^-1 T beta = ...                                                            (28)

    P has ones on its diagonal and minus ones from each body to its parent; its inverse is phi*. With f_c = T beta the
    constraint forces on the bodies, S^T f_c = 0.
    """

    operators: Operators
    """All operators in these coordinates: phi here is P^-T."""
    P: Operator
    H: Operator
    S: Operator
    T: Operator
    I: Operator

    @classmethod
    def of(cls, ops: Operators) -> Incidence:
        """Return the form for operators in any coordinates of a state."""
        spelling = {"phi": "P^-T", "phi*": "P^-1", "H": "H^T", "H*": "H", "M": "I", "I": "1", "T_J*": "T_J^T"}
        o = ops.about("base", **spelling)
        return cls(o, o.I - o.E_phi.T, o.H.T, o.phi.T @ o.H.T, (o.I - o.E_phi) @ o.T_J, o.M)


@dataclass(frozen=True)
class Decoupled:
    """Saha 1999: the decoupled natural orthogonal complement, with twists of the mass centres in the base's axes.

        t = N_l N_d qd,     N = N_l N_d,     N^T w = 0 for the constraint wrenches w         (16)-(19)
        I = N^T M N = N_d^T (N_l^T M N_l) N_d                                                (20), (21)

    N_l has the twist propagations B_ij = `N_l.block(i, j)`, N_d the joint motions p_i. Its appendix B is Gaussian
    elimination from the last joint: I = U D U^T with U = I + H phi K, and articulated inertias that are P.
    """

    operators: Operators
    """All operators in these coordinates: phi here is N_l^T, R is M-tilde of (23) and P is M-hat of (50)."""
    N_l: Operator
    N_d: Operator
    N: Operator
    M: Operator
    U: Operator
    D: Operator

    @classmethod
    def of(cls, ops: Operators) -> Decoupled:
        """Return the form for operators in any coordinates of a state."""
        o = ops.about("mass centre", **{"phi": "N_l^T", "phi*": "N_l", "H": "N_d^T", "H*": "N_d"})
        return cls(o, o.phi.T, o.H.T, o.phi.T @ o.H.T, o.M, o.expression("I + H phi K"), o.D)
