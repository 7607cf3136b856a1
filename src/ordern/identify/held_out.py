"""Predictions of an estimate beside forces that it has not seen."""

from __future__ import annotations

import numpy as np

from ..arguments import Array
from ..errors import ArgumentError
from ..records import dataclass

__all__ = ["HeldOut", "compared"]

_AGREES = 1.25
"""Errors up to this multiple of the noise count as noise."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """How well an estimate predicts forces that it was not made from."""

    samples: int
    """The number of samples."""
    rms: Array
    """(rows,): the root mean square of the errors, for each force."""
    relative: Array
    """(rows,): the same, divided by the root mean square of the force itself."""
    excess: Array
    """(rows,): the same, divided by the noise of the estimate: 1 if the errors are noise."""
    forces: tuple[str, ...]
    """The names of the forces."""

    @property
    def agrees(self) -> bool:
        """True if no error is above 1.25 times the noise that the estimate found: nothing is left to explain."""
        return bool((self.excess <= _AGREES).all())

    @property
    def report(self) -> str:
        """The verdict in words."""
        shares = ", ".join(f"{name} {100 * x:.3g} %" for name, x in zip(self.forces, self.relative, strict=True))
        said = f"Held-out samples ({self.samples}): errors are {shares} of the forces."
        missed = [name for name, x in zip(self.forces, self.relative, strict=True) if x >= 1.0]
        if missed:
            said += (
                f" Errors in {', '.join(missed)} are as large as the forces themselves: unless these joints have no "
                "drive, look at the columns, signs and units of the forces."
            )
        if self.agrees:
            return f"{said} They are as large as the noise: the estimate holds for motions that it has not seen."
        worse = [f"{name} ({x:.3g} times)" for name, x in zip(self.forces, self.excess, strict=True) if x > _AGREES]
        return (
            f"{said} They are larger than the noise in {', '.join(worse)}: the model lacks something there, such as "
            "another friction law, or the motions of the estimate do not excite what these motions need."
        )


def compared(predicted: Array, measured: Array, noise: Array, forces: tuple[str, ...]) -> HeldOut:
    """Return the comparison of forces (..., rows)."""
    if predicted.shape != measured.shape:
        raise ArgumentError(f"check: tau has shape {measured.shape}; expected {predicted.shape}")
    off, size = (x.reshape(-1, x.shape[-1]) for x in (predicted - measured, measured))
    rms, force = np.sqrt((off**2).mean(axis=0)), np.sqrt((size**2).mean(axis=0))
    relative = np.where(rms > 0.0, np.inf, 0.0)  # of forces that are zero
    np.divide(rms, force, out=relative, where=force > 0.0)
    return HeldOut(len(off), rms, relative, rms / noise, forces)
