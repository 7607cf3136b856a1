"""Gearboxes: couplings of two joints that turn about one body."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...model import ModelBuilder
from .joint import SdfJoint
from .text import number, text_of

__all__ = ["add_gearbox"]

_PARALLEL = 1e-4
"""Largest difference from 1 of the cosine between two axes that count as one: files round their numbers."""


def add_gearbox(builder: ModelBuilder, gearbox: SdfJoint, carrying: Iterable[SdfJoint]) -> None:
    """Couple the joints by which the gearbox's parent and child turn about its reference body.

    As specified, theta_child = -ratio theta_parent: the angles from the reference body to the two links, about the
    gearbox's axis2 and axis. `carrying` are the joints of the tree.
    """
    what = gearbox.what
    name = text_of(gearbox.element, "gearbox_reference_body", what)
    reference = gearbox.scope.link_of(name, gearbox.element, f"{what}, its reference body")
    found = []
    for link, axis in ((gearbox.parent, gearbox.axes[0]), (gearbox.child, gearbox.axes[1])):
        for joint in carrying:
            if joint.kind in ("revolute", "continuous") and {joint.parent, joint.child} == {reference, link}:
                cosine = float(np.dot(axis, joint.axes[0]))
                if abs(abs(cosine) - 1.0) <= _PARALLEL:
                    forward = joint.parent == reference
                    found.append((joint.name, np.sign(cosine) * (1.0 if forward else -1.0)))
                    break
        else:
            raise gearbox.element.error(
                f"{what} is a gearbox, but no revolute joint of the tree turns link {link!r} about its reference body "
                f"{reference!r} and its own axis"
            )
    (leader, one), (follower, other) = found
    ratio = number(gearbox.element, "gearbox_ratio", what, 1.0)
    builder.couple(gearbox.name, follower, leader, (0.0, float(-ratio * one * other)), where=gearbox.element.where)
