"""The result of a rollout: many trajectories in arrays."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import AnyArray
from ..errors import ArgumentError
from ..records import dataclass

__all__ = ["Rollout"]


@dataclass(frozen=True, eq=False)
class Rollout:
    """Trajectories; unpack them as `q, v, t = robot.rollout(...)`, or use the names.

    `run[3]` is the trajectory of index 3, as a rollout of its own; `run[10:20]`, `run[[4, 7]]` and
    `run[~run.diverged]` are several.

    >>> import numpy as np, ordern as on
    >>> run = on.load("double-pendulum").rollout(np.zeros((5, 2)), np.zeros((5, 2)), steps=10)
    >>> run[3].q.shape, run[1:4].q.shape
    ((11, 2), (3, 11, 2))
    """

    q: AnyArray
    """Positions, of shape (..., 1 + steps // every, nq); the first are the initial ones."""
    v: AnyArray
    """Velocities, of shape (..., 1 + steps // every, nv)."""
    t: AnyArray
    """Times since the start, of shape (1 + steps // every,)."""
    tau: AnyArray | None = None
    """Joint forces of the policy and of noise, of the shape of v: those that act from each stored state on. The last
    row repeats the forces that acted last. None for a rollout without policy and noise."""

    def __iter__(self) -> Iterator[AnyArray]:
        return iter((self.q, self.v, self.t))

    def __getitem__(self, which: Any) -> Rollout:
        """Return some of the trajectories: by an index, a slice, a mask or a list of indices of the batch."""
        batch = self.v.shape[:-2]
        if not batch:
            raise ArgumentError("this rollout is one trajectory: index its arrays, such as run.q[3] for a state")
        try:
            order = np.arange(math.prod(batch)).reshape(batch)[which]
        except (IndexError, ValueError, TypeError) as e:
            raise ArgumentError(
                f"trajectories of a batch of shape {batch} are chosen by an index, a slice, a mask or a list of "
                f"indices: {e}"
            ) from None
        arrays = (None if x is None else x.reshape(-1, *x.shape[-2:])[order] for x in (self.q, self.v, self.tau))
        q, v, tau = arrays
        assert q is not None
        assert v is not None
        return Rollout(q, v, self.t, tau)

    @cached_property
    def diverged(self) -> NDArray[np.bool_]:
        """True for trajectories that became infinite or NaN, of the batch's shape; they stay so to their end."""
        return np.asarray(self.diverged_at >= 0)

    @cached_property
    def diverged_at(self) -> NDArray[np.int64]:
        """The index of the first stored state that is not finite, for each trajectory; -1 if all are finite."""
        found = np.full(self.v.shape[:-2], -1, dtype=np.int64)
        ends_well = np.isfinite(self.v[..., -1, :]).all(-1) & np.isfinite(self.q[..., -1, :]).all(-1)
        for where in np.argwhere(~ends_well):
            k = tuple(where)
            fine = np.isfinite(self.v[k]).all(-1) & np.isfinite(self.q[k]).all(-1)
            found[k] = int(np.argmin(fine))
        return found

    def __repr__(self) -> str:
        batch = self.v.shape[:-2]
        many = f"{math.prod(batch)} trajectories {batch}" if batch else "one trajectory"
        return f"<Rollout of {many}, {len(self.t)} states each, to t = {self.t[-1]:g} s>"

    def _repr_html_(self) -> str:
        """Return shapes, and the number of trajectories that diverged, for notebooks."""
        from ..screen.html import table, titled

        rows = [(name, getattr(self, name).shape, getattr(self, name).dtype) for name in ("q", "v", "t")]
        lost = f"{int(self.diverged.sum())} of {self.diverged.size} trajectories diverged"
        return titled(repr(self)[1:-1], table(("array", "shape", "type"), rows, left=3), lost)
