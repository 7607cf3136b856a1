"""Ensembles: many runs of one robot that differ in start, forces or parameters, on threads or on a cluster."""

from .ensemble import Ensemble
from .members import Members
from .outcome import Outcome

__all__ = ["Ensemble", "Members", "Outcome"]
