"""Checks of a robot's description for likely mistakes."""

from __future__ import annotations

import numpy as np

from ..model import Model
from ..model.checks import require_one_set
from . import bodies, joints, whole  # noqa: F401 - they fill the table of checks, in this order
from .report import Finding, Report, Severity
from .subject import Subject
from .table import CHECKS

__all__ = ["Finding", "Report", "Severity", "check"]


def check(model: Model) -> Report:
    """Check a model: masses, inertias, joints, limits, loops, units. It changes nothing.

    Bodies that were merged into others are seen as parts of those; a model built with `merge=False` shows each body.
    """
    require_one_set(model, "check")
    subject = Subject(model)
    with np.errstate(all="ignore"):  # absurd numbers are what is looked for
        findings = tuple(finding for one in CHECKS for finding in one(subject))
    return Report(model.name, findings, model.source)
