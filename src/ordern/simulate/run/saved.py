"""Objects whose state goes into checkpoints."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["Saved"]


class Saved:
    """An object whose state is the values of some attributes."""

    saved: ClassVar[tuple[str, ...]] = ()
    """The names of these attributes: numbers, and arrays."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the state for a checkpoint."""
        return {name: np.asarray(getattr(self, name)) for name in self.saved}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Continue from the arrays that `state` returned."""
        for name in self.saved:
            x = np.array(state[name])
            setattr(self, name, x if x.ndim else x.item())
