"""A joint of your own: a screw. It is one class, outside the library, and every algorithm can use it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import ordern as on
from ordern.graph import cos, sin
from ordern.spatial import About, Columns, Motion, Transform


@dataclass(frozen=True)
class Helical(on.Joint):
    """A rotation about z that advances by `lead` metres per radian. q is the angle."""

    lead: float

    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1

    def transform(self, q):
        return Transform(About(2, cos(q[0]), sin(q[0])), (0.0, 0.0, self.lead * q[0]))

    def subspace(self, q):
        return Columns((Motion((0.0, 0.0, 1.0), (0.0, 0.0, self.lead)),))

    # Screws share their formulas and differ in this number. Every number in `transform` or `subspace` belongs here.
    @property
    def parameters(self):
        return (self.lead,)

    def with_parameters(self, parameters):
        return type(self)(*parameters)


m, I, lead = 2.0, 0.01, 0.05
robot = (
    on.Builder("nut and arm")
    .body("ground")
    .body("nut", parent="ground", joint=Helical(lead), mass=m, inertia=(I, I, I))
    .body("arm", parent="nut", joint=Helical(-0.02), at=((0, 0, 0.1), (0.3, 0, 0)), mass=1, com=(0.2, 0, 0))
    .build()
)
print(robot.summary())

# A nut on a vertical screw falls more slowly: (I + m lead^2) qdd = -m g lead.
nut = on.Builder("nut").body("ground").body("nut", parent="ground", joint=Helical(lead), mass=m, inertia=(I, I, I))
found = nut.build().forward_dynamics([0.0], [0.0], [0.0])[0]
print(f"nut alone: {found:.12f} rad/s², by hand {-m * 9.81 * lead / (I + m * lead**2):.12f}")

rng = np.random.default_rng(4)
q, v, a = rng.normal(size=(3, 1000, robot.nv))
tau = robot.inverse_dynamics(q, v, a)
for way in ("interpreted", "unrolled", "rolled"):
    error = np.abs(robot.kernel("forward_dynamics", way=way)(q, v, tau) - a).max()
    print(f"forward dynamics, {way:<12} undoes inverse dynamics to {error:.0e} rad/s²")
