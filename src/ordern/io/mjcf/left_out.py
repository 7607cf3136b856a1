"""Parts that cannot be modelled: deformable bodies, and masses that only MuJoCo's plugins know.

They are left out where the rest of the robot moves without them: in bodies that do not move, and in bodies that float
freely, which touch the rest by contacts only. Elsewhere they are errors.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import ModelError
from ...model import ModelBuilder
from ..remarks import Remarks
from ..solids import NOTHING, Mass
from .geometry import MeshError, UnknownMassError
from .inertia import body_mass
from .nodes import BodyNode, Source
from .tree import Tree

__all__ = ["known_masses", "leave_out_deformables"]

_REFERRING = ("equality", "actuator", "tendon", "contact")
"""Sections whose elements may refer to bodies, joints and sites."""
_ALONE = "left out, because their masses are not known here: bodies that float freely"


def leave_out_deformables(builder: ModelBuilder, tree: Tree) -> None:
    """Leave out deformable bodies, and rigid bodies that carry some; raise where these are part of a robot."""
    remarks = Remarks()
    for body, error in tree.deformable:
        if body not in tree.bodies:
            continue
        if body.moves:
            _drop(_lone(body, tree, error), tree)
            what = "bodies with deformable parts that float freely"
        else:
            what = "deformable bodies, which move nothing but by contacts"
        remarks.add(f"left out: {what}", body.what, error.where)
    remarks.note(builder)


def known_masses(builder: ModelBuilder, tree: Tree) -> dict[str, Mass]:
    """Return mass, centre and inertia of every body but the world, by name.

    The mass of a mesh that cannot be read is zero if its body does not move. A body that floats freely is left out of
    the tree if its mass is not known.
    """
    found: dict[str, Mass] = {}
    remarks, quiet, gone = Remarks(), Remarks(), set[int]()
    total = tree.world.document.settings.total_mass
    for body in list(tree.bodies):
        if body is tree.world or id(body) in gone:
            continue
        try:
            found[body.name] = body_mass(body)
        except MeshError as error:
            if not body.moves and total <= 0.0:
                found[body.name] = NOTHING
                quiet.add("without the mass of a mesh, which does not move", body.what, body.element.where)
            elif isinstance(error, UnknownMassError):
                top = _lone(body, tree, error)
                gone |= _drop(top, tree)
                remarks.add(_ALONE, top.what, top.element.where)
            else:
                raise
    remarks.note(builder)
    quiet.note(builder, quiet=True)
    scale = total / sum(mass.m for mass in found.values()) if total > 0.0 and found else 1.0
    return {name: Mass(scale * mass.m, mass.com, scale * mass.I) for name, mass in found.items()}


def _lone(body: BodyNode, tree: Tree, error: ModelError) -> BodyNode:
    """Return the body on the world that carries a body, if it floats freely and in one piece; otherwise raise."""
    top = body
    while top.parent is not None and top.parent is not tree.world:
        top = top.parent
    all_of_it = _subtree(top, tree)
    names = {part.name for one in all_of_it for part in (*one.joints, *one.sites)} | {one.name for one in all_of_it}
    referred = any(name in names for source in tree.sources if source.whole for name in _references(source))
    if referred or not top.floats or any(one.joints for one in all_of_it if one is not top):
        raise error
    return top


def _subtree(top: BodyNode, tree: Tree) -> list[BodyNode]:
    """Return a body and all that it carries."""
    found = {id(top)}
    for body in tree.bodies:
        if body.parent is not None and id(body.parent) in found:
            found.add(id(body))
    return [body for body in tree.bodies if id(body) in found]


def _drop(top: BodyNode, tree: Tree) -> set[int]:
    """Take a body and all that it carries out of the tree; return their identities."""
    gone = set(map(id, _subtree(top, tree)))
    tree.bodies[:] = [body for body in tree.bodies if id(body) not in gone]
    return gone


def _references(source: Source) -> Iterator[str]:
    """Yield all values of attributes in the sections that may refer to parts of the tree, as names there."""
    for section in _REFERRING:
        stack = list(source.document.section(section))
        while stack:
            element = stack.pop()
            stack.extend(element.children)
            for value in element.attributes.values():
                for tag in ("body", "joint", "site"):
                    yield from source.names(tag, value)
