"""Forward dynamics by virtual work, with links that have many joints split into parts of three at most.

A link with m + 1 joints, one inward and m > 2 outward, becomes m - 1 parts with the same mass centre and an equal share
of mass and inertia, held together by fixed joints in a row. Of the joints outward the first is on the first part, and
so on; the last part has two. Then every joint meets two others at most on either side, so that each block row of Phi
has no more than five blocks, whatever the tree (Yamane and Nakamura's "link splitting"). The coordinates are the same;
the robot's own joints have the same constraint forces, and forces on a link act on its first part.

It is of the same order as `virtual-work`, which keeps a link's mobility while its joints are added and needs no split:
each fixed joint costs a matrix of 6 x 6 more. It is included because the paper has it; docs/papers/times.md has its
times.

Reference: Yamane and Nakamura, O(N) forward dynamics computation of open kinematic chains based on the principle of
virtual work, sec. 4, Figure 7.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ...joints import Fixed
from ...model import BASE, Body, Model, ModelJoint, Placement
from ..composed import Array, Ask
from ..registry import algorithm
from .links import beyond_reach

__all__ = ["split"]

_MOST = 2
"""Joints outward that a part may have."""
_BY_POSITION = ("lower", "upper", "rest")
_BY_VELOCITY = ("velocity_limit", "effort_limit", "damping", "friction", "armature", "stiffness")
_SPLIT: WeakKeyDictionary[Any, tuple[Model, list[int]]] = WeakKeyDictionary()


def split(model: Model) -> tuple[Model, list[int]]:
    """Return the split model, and the part that each joint carries; q and v do not change."""
    children: list[list[int]] = [[] for _ in model.bodies]
    for k, c in enumerate(model.joints):
        if c.parent != BASE:
            children[c.parent].append(k)
    bodies: list[Body] = []
    joints: list[ModelJoint] = []
    first: list[int] = []
    on_part: dict[int, int] = {}  # for each body, the part that carries it
    for k, (body, joint) in enumerate(zip(model.bodies, model.joints, strict=True)):
        parts = max(1, len(children[k]) - _MOST + 1)
        share = replace(body, mass=body.mass / parts, inertia=tuple(x / parts for x in body.inertia))
        first.append(len(bodies))
        for part in range(parts):
            here = len(bodies)
            if part == 0:
                bodies.append(share)
                joints.append(replace(joint, parent=on_part.get(k, BASE)))
            else:
                bodies.append(replace(share, name=f"{body.name}, part {part + 1}"))
                joints.append(_fixed(joint, f"{joint.name}, part {part + 1}", here - 1))
            last = part == parts - 1
            for child in children[k][part:] if last else children[k][part : part + 1]:
                on_part[child] = here
    plain = {**model.__getstate__(), "bodies": tuple(bodies), "joints": tuple(joints), "frames": (), "links": ()}
    return Model(**{**plain, "loops": (), "couplings": (), "shapes": (), "actuators": (), "named_positions": ()}), first


def _fixed(like: ModelJoint, name: str, parent: int) -> ModelJoint:
    """Return a fixed joint behind another."""
    none: dict[str, Any] = dict.fromkeys((*_BY_POSITION, *_BY_VELOCITY), ())
    q, v = like.q_start + like.nq, like.v_start + like.nv
    return replace(like, name=name, type=Fixed(), parent=parent, placement=Placement(), q_start=q, v_start=v, **none)


def _known(kernel: Any) -> tuple[Model, list[int]]:
    """Split the model of a kernel, once."""
    if kernel not in _SPLIT:
        _SPLIT[kernel] = split(kernel.model)
    return _SPLIT[kernel]


def _declare(question: str, equations: str) -> None:
    @algorithm(
        question, "virtual-work-split", paper="Yamane-Nakamura", equations=equations, pieces=True, refuses=beyond_reach
    )
    def method(ask: Ask, q: Array, v: Array, tau: Array, external: Array | None = None, **base: Array | None) -> Array:
        model, first = _known(ask.__self__)  # type: ignore[attr-defined]
        if external is not None:
            spread = np.zeros((*np.shape(external)[:-2], len(model.bodies), 6), np.asarray(external).dtype)
            spread[..., first, :] = external
            external = spread
        found = ask(question, q, v, tau, method="virtual-work", model=model, external=external, **base)
        return found[..., first, :] if question == "constraint_forces" else found


_declare("forward_dynamics", "Y-N (40), (41), (47), (53), sec. 4")
_declare("constraint_forces", "Y-N (40), (41), (47), sec. 4")
