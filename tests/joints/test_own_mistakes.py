"""Joints of one's own that are wrong say so, before anything is computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

import ordern as on
from ordern.spatial import Identity, Motion, Transform, Units


@dataclass(frozen=True)
class Slide(on.Joint):
    reach: Any = 1.0
    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1

    def transform(self, q):
        return Transform(Identity(), (0.0, 0.0, self.reach * q[0]))

    def subspace(self, q):
        return Units((5,))

    @property
    def parameters(self):
        return (self.reach,)

    def with_parameters(self, parameters):
        return Slide(*parameters)


class TwoColumns(Slide):
    def subspace(self, q):
        return Units((4, 5))

    def with_parameters(self, parameters):
        return TwoColumns(*parameters)


class NoSubspace(Slide):
    def subspace(self, q):
        return Motion.zero()


class NoTransform(Slide):
    def transform(self, q):
        return (0.0, 0.0, q[0])


class Inherits(Slide):
    pass


class LongNeutral(Slide):
    def neutral(self):
        return (0.0, 0.0)


class TupleBias(Slide):
    def bias(self, q, v):
        return (0.0,) * 6

    def with_parameters(self, parameters):
        return type(self)(*parameters)


class NoBias(TupleBias):
    def bias(self, q, v):
        return None


class ShortBias(TupleBias):
    def bias(self, q, v):
        return Motion((0.0, 0.0), (0.0, 0.0, 0.0))


@pytest.mark.parametrize(
    ("joint", "message"),
    [
        (TwoColumns(), "class TwoColumns has nv = 1, but `subspace` has 2 columns"),
        (NoSubspace(), "`subspace` must give Units or Columns, not a Motion"),
        (NoTransform(), "`transform` must give a Transform or a Chain, not a tuple"),
        (Inherits(), "`with_parameters` gives a Slide; write type"),
        (TupleBias(), r"joint 'mine': its class TupleBias: `bias` must give a Motion .*, not a tuple"),
        (NoBias(), r"joint 'mine': .*`bias` must give a Motion .*, not a NoneType"),
        (ShortBias(), r"joint 'mine': .*`bias` must give a Motion of six numbers.* not 5"),
        (on.Composite((NoBias(), Slide())), "'mine': its class NoBias: `bias`"),
        (LongNeutral(), "nq = 1, but `neutral` gives 2 numbers"),
    ],
)
def test_a_wrong_joint_is_named(joint: on.Joint, message: str) -> None:
    with pytest.raises(on.ModelError, match=message):
        on.Builder().body("a").body("b", parent="a", joint=joint, joint_name="mine", mass=1.0).build().mass_matrix(
            [0.0]
        )
