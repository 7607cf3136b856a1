"""The part of a builder for joints of a graph, loops and couplings."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import choice
from ..declared import explained_methods
from ..errors import ModelError
from ..joints import Closure, Joint
from .checks import Numbers, located, name_of, numbers, require_limits, vector
from .drafts import JointDraft, joint_draft
from .loops import closure_rows
from .parts import BASE, Body, Coupling, Loop, ModelJoint, Placement, placement
from .spanning import IN_TREE, Edge, carrying, says, span

__all__ = ["GraphBuilder"]

G = TypeVar("G", bound="GraphBuilder")
OnBody = Callable[[str, Placement, str, str], tuple[int, Placement]]


@explained_methods
class GraphBuilder:
    """The part of a builder that has joints of a graph, loops and couplings. They share their names with its joints."""

    _links: dict[str, Body]
    _joints: dict[str, JointDraft]
    _parent_joint: dict[str, str]
    actuated: tuple[str, ...] | None
    joint: Callable[..., Any]

    def __init__(self) -> None:
        self._loops: dict[str, tuple[Loop, str, str]] = {}
        self._edges: dict[str, Edge] = {}
        self._couplings: dict[str, tuple[Coupling, str, str | None]] = {}

    def connect(
        self: G,
        name: str,
        type: Joint,
        parent: str,
        child: str,
        *,
        at: Placement | ArrayLike = (0.0, 0.0, 0.0),
        child_at: Placement | ArrayLike = (0.0, 0.0, 0.0),
        closes: bool | None = None,
        where: str = "",
        **terms: Any,
    ) -> G:
        """Connect two bodies by a joint of a graph: `build` chooses whether it carries one of them or closes a loop.

        `type` is the motion that the joint allows. `at` places the joint on the parent, `child_at` on the child. With
        `closes=True` it closes a loop, with `closes=False` it does not. The first body is the root. Joints with drives,
        limits and springs are kept in the tree where that is possible; one that has to carry its parent keeps its
        coordinates. Further keywords are those of `joint`; see `ordern.model.spanning` for the rules.
        """
        what = f"joint {name!r}"
        with located(where):
            self._require_new(name, "joint")
            if closes is not None and not isinstance(closes, (bool, np.bool_)):
                raise ModelError(f"{what}: closes must be True, False or None, not {closes!r}")
            joint_draft(name, type, parent, child, **terms)
            if any(x < 0.0 for x in numbers(terms.get("velocity_limit"), type.nv, math.inf, what)):
                raise ModelError(f"{what}: velocity_limit must not be below zero, but is {terms['velocity_limit']!r}")
            here, there = placement(at, what), placement(child_at, what)
        self._edges[name] = Edge(
            name, type, parent, child, here, there, terms, None if closes is None else bool(closes), where
        )
        return self

    def loop(
        self: G,
        name: str,
        type: Closure,
        parent: str,
        child: str,
        *,
        at: Placement | ArrayLike = (0.0, 0.0, 0.0),
        child_at: Placement | ArrayLike = (0.0, 0.0, 0.0),
        lower: Numbers = None,
        upper: Numbers = None,
        velocity_limit: Numbers = None,
        effort_limit: Numbers = None,
        damping: Numbers = None,
        friction: Numbers = None,
        stiffness: Numbers = None,
        rest: Numbers = None,
        active: bool = True,
        where: str = "",
    ) -> G:
        """Close a loop: a joint between two bodies that the tree connects already, or another `Closure`.

        `at` places the joint on the parent, `child_at` on the child; `type` is the motion that it leaves free, such as
        Revolute((0, 1, 0)), or another constraint, such as Distance(0.3). Its axis is in the axes of `child_at`. A
        joint may have dampers, springs, friction and limits as one of the tree, along its own coordinates: those of the
        child's frame relative to the parent's. Joints in series with a motion in common (a rod between two balls) have
        no coordinates, and cannot have such terms. With `active=False` the loop is open until `Robot.with_loops` or a
        `Switch` closes it. Loops, joints and couplings have different names.
        """
        what = f"loop {name!r}"
        terms = {
            **{"lower": lower, "upper": upper, "velocity_limit": velocity_limit, "effort_limit": effort_limit},
            **{"damping": damping, "friction": friction, "stiffness": stiffness, "rest": rest},
        }
        with located(where):
            self._require_new(name, "loop")
            if not isinstance(type, Closure):
                raise ModelError(f"{what}: its type must be a joint such as Spherical(), not {type!r}")
            here, there = placement(at, what), placement(child_at, what)
            given: dict[str, Any] = {term: x for term, x in terms.items() if x is not None}
            if given and not isinstance(type, Joint):
                kind = type.__class__.__name__
                raise ModelError(f"{what}: {', '.join(given)} needs a joint; a {kind} has no coordinates")
            closure_rows(type, what)
            if isinstance(type, Joint) and type.why_not_locatable:
                said = [term for term, x in given.items() if says(x)]
                if said:
                    raise ModelError(f"{what} cannot have {', '.join(said)}: {type.why_not_locatable}")
                given = {}
            loop = Loop(name, type, BASE, here, BASE, there, where, active, **given)
            require_limits(what, loop.lower, loop.upper)
            if parent == child:
                raise ModelError(f"{what} joins body {parent!r} with itself; a loop is between two bodies")
        self._loops[name] = (loop, parent, child)
        return self

    def couple(
        self: G,
        name: str,
        joint: str,
        other: str | None,
        coefficients: Sequence[float] = (0.0, 1.0),
        where: str = "",
        active: bool = True,
    ) -> G:
        """Bind the coordinate of one joint to another joint's by a polynomial, as a constraint like a loop.

        `coefficients` c0, c1, c2 ... mean q = c0 + c1 x + c2 x^2 ..., with x the coordinate of the joint `other`; it
        may be None for a constant. With `active=False` the coupling is open until `Robot.with_loops` or a `Switch`
        closes it.
        """
        with located(where):
            self._require_new(name, "coupling")
            terms = _polynomial(name, coefficients)
            if other is None and len(terms) > 1 and any(terms[1:]):
                raise ModelError(f"coupling {name!r}: without another joint there is c0 only, not {coefficients!r}")
            if other == joint:
                raise ModelError(f"coupling {name!r}: joint {joint!r} cannot be bound to itself")
            self._couplings[name] = (Coupling(name, BASE, BASE, terms, where, active), joint, other)
        return self

    def _require_new(self, name: str, kind: str) -> None:
        """Raise where a joint, a loop or a coupling has this name."""
        name_of(name, kind)
        known: tuple[tuple[str, dict[str, Any]], ...] = (
            *(("joint", self._joints), ("joint", self._edges)),
            *(("loop", self._loops), ("coupling", self._couplings)),
        )
        for other, parts in known:
            if name not in parts:
                continue
            part = parts[name]
            at = (part[0] if isinstance(part, tuple) else part).where
            there = f" ({at})" if at else ""
            if other == kind:
                raise ModelError(f"{kind} {name!r} exists already{there}; every {kind} needs a name of its own")
            raise ModelError(
                f"{kind} {name!r} has the name of the {other} {name!r}{there}; joints, loops and couplings share "
                "one set of names: give one of them another"
            )

    def unused(self, name: str, others: Collection[str] = ()) -> str:
        """Append underscores to a name until no joint, loop or coupling has it, nor one of the others."""
        while name in others or any(name in x for x in (self._joints, self._edges, self._loops, self._couplings)):
            name += "_"
        return name

    # ---- parts of the model

    def _spanned(self: G) -> G:
        """Return the builder with its graph as a tree and loops."""
        built = copy.copy(self)
        for part in ("_joints", "_parent_joint", "_loops"):
            setattr(built, part, dict(getattr(self, part)))
        built._edges = {}
        carried = {child: self._joints[name].parent for child, name in self._parent_joint.items()}
        root = next((name for name in self._links if name not in carried), None)
        if root is None:
            return built  # there is nothing, or a ring: `_ordered` says what is wrong
        edges = dict(self._edges)
        for name in edges.keys() & set(self.actuated or ()):
            edges[name] = replace(edges[name], terms={**edges[name].terms, "actuated": True})
        carry, loops = span(root, carried, edges, self._links)
        for name, backwards in carry.items():
            edge = self._edges[name]
            joint, at = carrying(edge, backwards)
            ends = (edge.child, edge.parent) if backwards else (edge.parent, edge.child)
            built.joint(name, joint, *ends, at=at, where=edge.where, **edge.terms)
        for name in loops:
            edge = self._edges[name]
            terms = {key: x for key, x in edge.terms.items() if key not in IN_TREE}
            ends = (edge.parent, edge.child)
            built.loop(name, edge.type, *ends, at=edge.at, child_at=edge.child_at, where=edge.where, **terms)
        return built

    def _looped(self, on_body: OnBody) -> Iterable[Loop]:
        """Return the loops, between bodies of the model."""
        for name, (loop, parent_link, child_link) in self._loops.items():
            (one, here), (other, there) = (
                on_body(x, at, f"loop {name!r}", loop.where)
                for x, at in ((parent_link, loop.parent_placement), (child_link, loop.child_placement))
            )
            yield replace(loop, parent=one, parent_placement=here, child=other, child_placement=there)

    def _coupled(self, joints: tuple[ModelJoint, ...]) -> Iterable[Coupling]:
        """Return the couplings, between joints of the model."""
        index = {c.name: k for k, c in enumerate(joints)}
        for name, (coupling, joint, other) in self._couplings.items():
            found = [BASE, BASE]
            for k, wanted in enumerate((joint, other)):
                if wanted is None:
                    continue
                with located(coupling.where):
                    found[k] = index[choice("joint", wanted, index, f"coupling {name!r}")]
                if joints[found[k]].type.nv != 1:
                    raise ModelError(
                        f"coupling {name!r}: joint {wanted!r} has more than one coordinate", coupling.where
                    )
            yield replace(coupling, joint=found[0], other=found[1])


def _polynomial(name: str, coefficients: Any) -> tuple[float, ...]:
    """Return the coefficients of a coupling."""
    if not isinstance(coefficients, (Sequence, np.ndarray)) or isinstance(coefficients, str):
        raise ModelError(
            f"coupling {name!r}: its coefficients must be a list of numbers, c0, c1 ..., not {coefficients!r}"
        )
    return vector(coefficients, len(coefficients), f"coupling {name!r}: its coefficients")
