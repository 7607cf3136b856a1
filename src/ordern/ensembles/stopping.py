"""Rules that end an ensemble when an answer is known well enough."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..arguments import positive
from ..declared import explained
from ..errors import ArgumentError
from .answers import required_confidence

__all__ = ["Precision", "precise", "require_rule"]


class Precision:
    """A rule that ends an ensemble when the answer of a reduction is known well enough."""

    def __init__(self, name: str, error: float, confidence: float) -> None:
        self.name, self.error, self.confidence = name, error, confidence

    def reached(self, answers: dict[str, Any]) -> bool:
        """Return True if the answer is precise enough."""
        return bool(answers[self.name].half_width(self.confidence) <= self.error)


def require_rule(stop: Any, reductions: Sequence[str]) -> None:
    """Raise unless `stop` is a rule about one of the reductions of a study."""
    if not isinstance(stop, Precision):
        raise ArgumentError(
            f"Ensemble: `stop` must be a rule such as on.keep.precise('energy_moments', error=0.01), not {stop!r}"
        )
    if stop.name not in reductions:
        listed = ", ".join(reductions) or "`keep` has no reduction, such as on.keep.moments(...)"
        raise ArgumentError(
            f"precise: {stop.name!r} is not among the moments and other reductions that are kept: {listed}"
        )


@explained
def precise(name: str, error: float, confidence: float = 0.95) -> Precision:
    """Return a rule for `stop`: end when the reduction of this name is known to an error, with a confidence.

    The error is half of the widest interval of the answer: in the unit of the quantity for moments, quantiles and
    effects of Morris; a share for coverage, the bins of histograms and Sobol indices; for worst cases, the share of
    members that may still be worse. It is looked at after 1, 2, 4, 8 ... blocks of members, so that every run of a
    study ends at the same one.
    """
    error = positive(error, "precise: `error`")
    return Precision(name, error, required_confidence(confidence))
