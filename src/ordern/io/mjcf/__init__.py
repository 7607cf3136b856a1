"""MJCF, the format of MuJoCo: the part of it that describes how a robot moves, as MuJoCo's compiler understands it.

The reader takes bodies with their joints, sites and inertias (given, or computed from their geoms), equality
constraints, the joints that actuators drive, and gravity. See https://mujoco.readthedocs.io/en/stable/XMLreference.html.

Differs: MuJoCo has one body with several joints; here each joint has a body of its own, massless but for the last. A
joint turns about its own origin here, and about any point of its body there: where the two differ, a massless body
stands at that point, and the file's body is fixed to it.
"""

from __future__ import annotations

from pathlib import PurePath

from ...model import ModelBuilder
from ..includes import Folder
from ..xml import Element
from .actuators import add_motors, drives_of, read_actuators
from .align import align_free_bodies
from .assemble import assemble
from .bodies import add_bodies
from .contact import add_contact_rules
from .document import Document
from .equality import add_equalities
from .idle import note_idle
from .keyframes import add_keyframes
from .left_out import known_masses, leave_out_deformables
from .springs import set_springs
from .tendons import add_rotors, add_to_joints, inertia_along, read_tendons
from .tree import Tree

__all__ = ["build_mjcf"]


def build_mjcf(root: Element, *, folder: Folder = None) -> ModelBuilder:
    """Build a robot from the root element of an MJCF document; files are included from `folder` and below."""
    if root.tag != "mujoco":
        raise root.error(f"the root element is <{root.tag}>; that of an MJCF document is <mujoco>")
    assemble(root, folder)
    document = Document(root, folder)
    stem = "" if root.source.startswith("<") else PurePath(root.source).stem
    name, settings = root.attributes.get("model") or stem or "mujoco", document.settings
    builder = ModelBuilder(name, settings.gravity, current=settings.wind)
    builder.source = root.source
    builder.grounded = "the root is the world, which does not float: give the bodies on it a <freejoint/>"
    tree = Tree(document)
    leave_out_deformables(builder, tree)
    masses = known_masses(builder, tree)
    align_free_bodies(tree, masses)
    tendons = read_tendons(tree)
    actuators = read_actuators(tree, tendons)
    drives, rotors = drives_of(actuators), inertia_along(tree, tendons, actuators)
    add_to_joints(rotors, drives)
    add_bodies(builder, tree, masses, drives)
    add_rotors(builder, tree, rotors)
    set_springs(builder, tree, drives)
    add_equalities(builder, tree)
    add_motors(builder, actuators)
    add_contact_rules(builder, tree)
    add_keyframes(builder, tree)
    note_idle(tree, actuators)
    document.unread.note(builder)
    return builder
