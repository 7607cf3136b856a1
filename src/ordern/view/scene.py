"""The robot as a scene of viser: one node for each body, with its parts below, and ground, axes, forces, paths."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from ..arguments import Array
from ..model import BASE
from ..records import dataclass
from ..rotations import pose, quaternion_from_matrix
from .camera import camera_for, ground_plane, uneven_ground
from .looks import Looks, Part
from .skeleton import axis_of, equivalent
from .solids import Solid, along, cylinder, ellipsoid, turned
from .terrain import SOIL, SOIL_LINES, Terrain, cell_size

__all__ = ["CONE", "FORCES", "PATH", "TOGGLES", "Scene", "friction_cone"]

TOGGLES = {
    "shapes": True,
    "collision shapes": False,
    "body frames": False,
    "joint axes": False,
    "mass centres": False,
    "inertia ellipsoids": False,
    "joint forces": False,
    "external forces": True,
    "contact forces": True,
    "friction cones": True,
    "paths": True,
    "ground": True,
}
"""The groups that can be shown, and whether each is shown at first."""

_AXIS, _CENTRE, _INERTIA = (250, 176, 5), (30, 34, 42), (255, 160, 60)
PATH, CONE = (247, 127, 0), (94, 129, 244)
FORCES = {"joint forces": (230, 57, 70), "external forces": (42, 157, 80), "contact forces": (36, 72, 200)}
"""The colours of arrows."""
_CONE = 0.07
"""The height of a friction cone, as a part of the size of the robot."""
_MOST_DETAILED = 250
"""Most bodies whose frames, axes, mass centres and inertias can be shown: more would be too much for a page."""


@dataclass
class Scene:
    """Nodes of a viser server."""

    server: Any
    looks: Looks
    groups: dict[str, list[Any]] = field(default_factory=dict)
    """The nodes of each group."""
    bodies: list[Any] = field(default_factory=list)
    rods: list[tuple[Any, Part]] = field(default_factory=list)
    """Nodes that are as long as a sliding joint has moved, and their parts."""

    def build(self, *, collision: bool = True) -> None:
        """Add all nodes that move with the robot."""
        scene, looks = self.server.scene, self.looks
        scene.set_up_direction(tuple(looks.up.tolist()))
        for k, body in enumerate(looks.model.bodies):
            self.bodies.append(scene.add_frame(f"/robot/{k} {body.name.replace('/', '_')}", show_axes=False))
        base = scene.add_frame("/robot/base", show_axes=False)
        for k, part in enumerate(looks.parts):
            if part.collision and not collision:
                continue
            group = "collision shapes" if part.collision else "shapes"
            node = base if part.body == BASE else self.bodies[part.body]
            side = "front" if part.rod is None else "double"  # a rod is inside out where its joint has moved back
            made = self._mesh(group, f"{node.name}/part {k}", part.solid, part.colour, part.opacity, side)
            if part.rod is not None:
                made.wxyz, made.position = quaternion_from_matrix(part.rod[:3, :3], check=False), part.rod[:3, 3]
                self.rods.append((made, part))
        if len(self.bodies) <= _MOST_DETAILED:
            for k, node in enumerate(self.bodies):
                self._details(k, node.name)

    def _mesh(
        self, group: str, name: str, solid: Solid, colour: Sequence[int], opacity: float = 1.0, side: str = "front"
    ) -> Any:
        node = self.server.scene.add_mesh_simple(
            name,
            solid.vertices.astype(np.float32),
            solid.faces.astype(np.uint32),
            color=tuple(colour),
            opacity=None if opacity >= 1.0 else opacity,
            flat_shading=solid.flat,
            side=side,
            cast_shadow=opacity >= 1.0 and group == "shapes",
            visible=TOGGLES[group],
        )
        self.groups.setdefault(group, []).append(node)
        return node

    def _details(self, k: int, name: str) -> None:
        """Add frame, axis, mass centre and inertia of a body."""
        looks, body = self.looks, self.looks.model.bodies[k]
        size = looks.size
        look = {"axes_length": 0.07 * size, "axes_radius": 0.003 * size, "visible": TOGGLES["body frames"]}
        self.groups.setdefault("body frames", []).append(self.server.scene.add_frame(f"{name}/frame", **look))
        axis = axis_of(looks.model.joints[k].type)
        if axis is not None:
            line = cylinder(0.0035 * size, 0.22 * size).at(axis.placement)
            self._mesh("joint axes", f"{name}/axis", line, _AXIS)
        if body.mass > 0.0:
            ball = ellipsoid([0.012 * size] * 3).at(pose(np.eye(3), body.com))
            self._mesh("mass centres", f"{name}/mass centre", ball, _CENTRE)
        found = equivalent(body)
        if found is not None:
            sides, placement = found
            solid = ellipsoid(math.sqrt(5.0 / 12.0) * sides).at(placement)  # with the inertia of the box
            self._mesh("inertia ellipsoids", f"{name}/inertia", solid, _INERTIA, 0.45)

    def pose(self, poses: Array, wxyz: Array) -> None:
        """Put the bodies (n, 4, 4) where they are; `wxyz` are the quaternions of their rotations."""
        for node, T, turn in zip(self.bodies, poses, wxyz, strict=True):
            node.position = T[:3, 3]
            node.wxyz = turn
        for node, part in self.rods:
            node.scale = (1.0, 1.0, self.looks.length(part, poses))

    def surroundings(self, q: Array, height: float | None = None) -> None:
        """Add ground and camera for a robot at these positions (T, nq); see `ground_plane` for the height."""
        looks, scene = self.looks, self.server.scene
        corners = looks.corners(q)
        upright = quaternion_from_matrix(along(np.zeros(3), looks.up)[:3, :3], check=False)
        ground = uneven_ground(looks, corners, height)
        if ground is None:
            self._plane(*ground_plane(looks, corners, height))
        else:
            self._terrain(ground)
        # a sky, a reflecting ground, and viser's sun: an image of a room would need a fast GPU
        scene.configure_environment_map(None)
        scene.configure_default_lights(True, cast_shadow=True)
        colours = {"sky_color": (255, 255, 255), "ground_color": (150, 156, 168)}
        scene.add_light_hemisphere("/sky", intensity=2.0, wxyz=upright, **colours)
        seen, camera = camera_for(looks, corners, q[0]), self.server.initial_camera
        camera.fov, camera.near, camera.far = seen.field, 0.01 * seen.distance, 60 * seen.distance
        camera.position, camera.look_at, camera.up = seen.position, seen.target, seen.up

    def _plane(self, normal: Array, height: float) -> None:
        size = self.looks.size
        cell = cell_size(size)
        grid = self.server.scene.add_grid(
            "/ground",
            width=4 * size,
            height=4 * size,
            cell_size=cell,
            section_size=5 * cell,
            cell_color=(225, 228, 233),
            section_color=(198, 203, 211),
            cell_thickness=0.8,
            infinite_grid=True,
            fade_distance=9 * size,
            shadow_opacity=0.22,
            wxyz=quaternion_from_matrix(along(np.zeros(3), normal)[:3, :3], check=False),
            position=height * normal,
        )
        self.groups["ground"] = [grid]

    def _terrain(self, ground: Terrain) -> None:
        self._mesh("ground", "/ground", ground.solid, SOIL, side="double")
        lines = self.server.scene.add_line_segments(
            "/ground lines", ground.lines.astype(np.float32), SOIL_LINES, thickness=1.0, thickness_units="screen"
        )
        self.groups["ground"].append(lines)

    def path(self, name: str, points: Array) -> None:
        """Add a line through points (T, 3)."""
        if len(points) < 2 or float(np.ptp(points, axis=0).max()) < 1e-9:
            return
        node = self.server.scene.add_line_segments(
            f"/paths/{name.replace('/', '_')}",
            np.stack([points[:-1], points[1:]], axis=1).astype(np.float32),
            PATH,
            thickness=2.5,
            thickness_units="screen",
        )
        self.groups.setdefault("paths", []).append(node)

    def forces(self, group: str) -> None:
        """Add a node for the arrows of a kind of forces, without arrows."""
        size = self.looks.size
        node = self.server.scene.add_arrows(
            f"/{group}",
            _drawable(np.zeros((0, 2, 3)), size),
            FORCES[group],
            shaft_radius=0.006 * size,
            head_radius=0.016 * size,
            head_length=0.04 * size,
            visible=TOGGLES[group],
        )
        self.groups[group] = [node]

    def cones(self, friction: Array) -> None:
        """Add a friction cone for each contact, hidden far below."""
        for k, mu in enumerate(friction):
            cone = friction_cone(float(mu), self.looks.size)
            self._mesh("friction cones", f"/friction cones/{k}", cone, CONE, 0.35, "double")

    def draw_forces(
        self, arrows: Mapping[str, Sequence[Array]], k: int = 0, cones: Sequence[Array] | None = None
    ) -> None:
        """Draw the k-th arrows (N, 2, 3) of each kind of forces, and the friction cones (N, 4, 4) of contacts."""
        for group, segments in arrows.items():
            self.groups[group][0].points = _drawable(segments[k], self.looks.size)
        for node, T in zip(self.groups.get("friction cones", ()), () if cones is None else cones[k], strict=False):
            node.position = T[:3, 3]
            node.wxyz = quaternion_from_matrix(T[:3, :3], check=False)


def friction_cone(mu: float, size: float) -> Solid:
    """Return the cone of all directions that a force can have, from the origin along z."""
    high = _CONE * size
    wide = min(mu * high, 2.0 * high)
    return turned([[(0.0, 0.0), (wide, high * wide / (mu * high) if mu > 0.0 else high)]])


def _drawable(segments: Array, size: float) -> Array:
    """Return arrows that a page can draw: a page needs at least one, so no arrows become one far below."""
    if not len(segments):
        far = -1e4 * size
        segments = np.array([[[0.0, 0.0, far], [0.0, 0.0, 1.001 * far]]])
    return segments.astype(np.float32)
