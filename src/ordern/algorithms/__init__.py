"""Algorithms, one per file, in the papers' notation; sub-packages by the question they answer.

An algorithm does not depend on batches, data types or machines, and names no joint type.
"""

from . import questions as _questions  # noqa: F401  (declares them)
from .registry import CHOICES, Algorithm, Port, Question, algorithm, find, methods, questions

from . import configuration, energy, forward_dynamics, inverse_dynamics, kinematics, mass_matrix  # noqa: F401  # isort: skip
from . import short_names as _short_names  # noqa: F401  # isort: skip

__all__ = ["CHOICES", "Algorithm", "Port", "Question", "algorithm", "find", "methods", "questions"]
