"""Rules that end an ensemble when an answer is known well enough."""

from __future__ import annotations

from typing import Any

from ..arguments import positive
from ..errors import ArgumentError

__all__ = ["Precision", "precise"]


class Precision:
    """A rule that ends an ensemble when the answer of a reduction is known well enough."""

    def __init__(self, name: str, error: float, confidence: float) -> None:
        self.name, self.error, self.confidence = name, error, confidence

    def reached(self, answers: dict[str, Any]) -> bool:
        """Return True if the answer is precise enough."""
        if self.name not in answers:
            raise ArgumentError(
                f"precise: {self.name!r} is not among the moments and other reductions that are kept: "
                f"{', '.join(answers)}"
            )
        return bool(answers[self.name].half_width(self.confidence) <= self.error)


def precise(name: str, error: float, confidence: float = 0.95) -> Precision:
    """Return a rule for `stop`: end when the reduction of this name is known to an error, with a confidence.

    The error is half of the widest interval of the answer: in the unit of the quantity for moments, quantiles and
    effects of Morris; a share for coverage, the bins of histograms and Sobol indices; for worst cases, the share of
    members that may still be worse. It is looked at after 1, 2, 4, 8 ... blocks of members, so that every run of a
    study ends at the same one.
    """
    error = positive(error, "precise: `error`")
    if not 0.0 < positive(confidence, "precise: `confidence`") < 1.0:
        raise ArgumentError(f"precise: `confidence` must be between 0 and 1, not {confidence!r}")
    return Precision(name, error, confidence)
