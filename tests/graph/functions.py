"""The elementary functions as compiled code: a joint whose `integrate` is a list of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from typing import ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

import ordern as on
from ordern.graph import atan2, cos, sin, sqrt, where_less
from ordern.spatial import Freedoms, Identity, Subspace, Transform, Units

MACHINES = ("host", "plain")
"""This machine, and a plain one of its family: no fused multiply-add, short vectors."""


@dataclass(frozen=True)
class Functions(on.Joint):
    """`integrate` takes (a, b, c, d) to (sin a, cos a, atan2(a, b), sqrt c, a / b, c if a < b else d)."""

    nq: ClassVar[int] = 6
    nv: ClassVar[int] = 6

    def transform(self, q: Freedoms) -> Transform:
        return Transform(Identity(), (0.0, 0.0, 0.0))

    def subspace(self, q: Freedoms) -> Subspace:
        return Units((0, 1, 2, 3, 4, 5))

    def integrate(self, q: Freedoms, v: Freedoms) -> Freedoms:
        a, b, c, d = q[:4]
        return Freedoms((sin(a), cos(a), atan2(a, b), sqrt(c), a / b, where_less(a, b, c, d)))


@dataclass(frozen=True)
class Compiled:
    """The functions of up to four arrays, as one array (..., 6); arguments that are left out are ones."""

    robot: on.Robot
    has_fma: bool

    def __call__(self, *arguments: NDArray[np.floating]) -> NDArray[np.floating]:
        columns = np.broadcast_arrays(*arguments)
        q = np.ones((*columns[0].shape, 6), columns[0].dtype)
        for k, column in enumerate(columns):
            q[..., k] = column
        found = self.robot.integrate(q, np.zeros(6, q.dtype), q.dtype.type(1.0))
        assert found.dtype == q.dtype
        return found


target_module, engine = (import_module(f"ordern.compile.{name}") for name in ("emit.target", "run.engine"))


@contextmanager
def compiled_for(machine: str) -> Iterator[Compiled]:
    """The functions, compiled for a machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ORDERN_CACHE", "off")
        if machine == "plain":
            _pretend(patch)
        robot = on.Builder("functions").body("base").body("a", parent="base", joint=Functions()).build()
        yield Compiled(robot, target_module.host().has_fma)


def _pretend(patch: pytest.MonkeyPatch) -> None:
    """Make every part of the compiler believe that this is a plain machine."""
    real = target_module.host()
    x86 = real.triple.startswith("x86_64")
    plain = replace(
        real,
        cpu="x86-64" if x86 else real.cpu,
        features="" if x86 else real.features,
        vector_bits=128,
        has_fma=False,
    )
    asking = target_module.host
    for name, module in list(sys.modules.items()):
        if name.startswith("ordern.") and getattr(module, "host", None) is asking:
            patch.setattr(module, "host", lambda: plain)
