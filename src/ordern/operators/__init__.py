"""Spatial operators: the papers' algebra of stacked vectors, as lazy linear operators for one state of a robot.

>>> from ordern.operators import operators
>>> from ordern.robots import chain
>>> ops = operators(chain(6).build(), [0.1] * 6)
>>> print(ops.mass_matrix)
H phi M phi* H*
>>> print(ops.mass_matrix.inv())
(I - K* psi* H*) D^-1 (I - H psi K)
"""

from .expression import Cost, Operator
from .forms import Decoupled, Incidence
from .operators import Operators, operators

__all__ = ["Cost", "Decoupled", "Incidence", "Operator", "Operators", "operators"]
