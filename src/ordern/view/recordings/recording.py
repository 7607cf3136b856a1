"""The contents of a recording: shapes and poses of bodies, ground, rods, series and events, at all samples."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...arguments import Array
from ...errors import ArgumentError
from ...io.remarks import some
from ...model import BASE
from ...model.poses import body_poses
from ...records import dataclass
from ...rotations import quaternion_from_matrix
from ...simulate.results.series import columns
from ..looks import Looks, Part
from ..motion import thinned
from ..terrain import SOIL, terrain

if TYPE_CHECKING:
    from ...simulate.results.result import Result

__all__ = ["Recording", "Rod"]

_STATE = ("q", "v", "a", "tau")
_DERIVED = ("kinetic", "potential", "energy", "work", "dissipated")


@dataclass(frozen=True, eq=False)
class Rod:
    """The rod of a sliding joint, whose length changes."""

    part: Part
    lengths: Array
    """Its length at each sample."""
    radius: float


class Recording:
    """A motion and its robot, as other viewers need them."""

    def __init__(self, result: Result) -> None:
        if not len(result):
            raise ArgumentError("a motion without samples cannot be recorded")
        self.result, self.robot = result, result.robot
        self.t = result.t
        self.looks = Looks(result.robot)
        self.up = self.looks.up
        missing = some([f"{file} ({why})" for file, why in self.looks.missing.items()])
        self.warning = f"{self.robot.name}: meshes that are not recorded: {missing}" if self.looks.missing else ""

    @cached_property
    def poses(self) -> Array:
        """The poses (N, n, 4, 4) of all bodies in the world."""
        return body_poses(self.robot, self.result.q)

    @cached_property
    def turns(self) -> Array:
        """The quaternions (N, n, 4) of the bodies, w first."""
        return quaternion_from_matrix(self.poses[..., :3, :3], check=False)

    def shapes(self) -> Iterator[tuple[int, list[Part]]]:
        """Yield the bodies that have shapes, BASE for the base, with the shapes that do not change."""
        for k in range(BASE, len(self.robot.bodies)):
            found = [p for p in self.looks.parts if p.body == k and not p.collision and p.rod is None]
            if found:
                yield k, found

    @cached_property
    def ground(self) -> Part | None:
        """The ground that the robot touches, around its motion; None without one."""
        contacts = self.robot.contacts
        if contacts is None or contacts.ground is None:
            return None
        corners = self.looks.corners(self.result.q[thinned(self.result.q, 40)])
        return Part(BASE, terrain(contacts.ground, contacts.ground.height, corners, self.looks.size).solid, SOIL)

    def rods(self) -> list[Rod]:
        """Return the rods of sliding joints."""
        return [
            Rod(p, np.array([self.looks.length(p, T) for T in self.poses]), float(p.solid.vertices[:, 0].max()))
            for p in self.looks.parts
            if p.rod is not None
        ]

    def series(self) -> dict[str, Array]:
        """Return the series of the motion as columns of numbers, by name: those of joints, energies, extra ones."""
        stored = [name for name in (*_STATE, *_DERIVED) if getattr(self.result, name) is not None]
        found = columns(self.result, (*stored, *self.result.extra))
        return {name: x for name, x in found.items() if not np.isnan(x).all()}
