"""Building a model: bodies, joints and frames by name, in any order; checked and put in order at the end."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ModelError, unknown_name
from ..joints import Fixed, Free, Joint
from .model import Model
from .parts import BASE, Body, Connection, Frame, Placement, placement

__all__ = ["ModelBuilder"]

Array = NDArray[np.float64]
Numbers = float | Sequence[float] | None
B = TypeVar("B", bound="ModelBuilder")


@dataclass(frozen=True, slots=True)
class _Link:
    name: str
    mass: float
    com: Array
    inertia: Array
    where: str


@dataclass(frozen=True, slots=True)
class _Joint:
    name: str
    type: Joint
    parent: str
    child: str
    placement: Placement
    limits: dict[str, tuple[float, ...]]
    where: str


class ModelBuilder:
    """Collects bodies, joints and frames; `build()` makes the model.

    The one body that is no joint's child is the root: it is fixed to the ground, or floats with
    `build(floating=True)`.
    """

    def __init__(self, name: str = "robot", gravity: Sequence[float] = (0.0, 0.0, -9.81)) -> None:
        self.name = str(name)
        self.gravity = _vector(gravity, 3, "gravity")
        self.source = ""
        self._links: dict[str, _Link] = {}
        self._joints: dict[str, _Joint] = {}
        self._frames: dict[str, tuple[str, Placement, str]] = {}
        self._parent_joint: dict[str, str] = {}

    def body(
        self: B,
        name: str,
        *,
        mass: float = 0.0,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: ArrayLike = (0.0, 0.0, 0.0),
        parent: str | None = None,
        joint: Joint | None = None,
        joint_name: str | None = None,
        at: Placement | ArrayLike = (0.0, 0.0, 0.0),
        where: str = "",
        **limits: Numbers,
    ) -> B:
        """Add a body and, if a parent is given, the joint that carries it.

        `inertia` is about the centre of mass in the body's axes: 3 principal values, 6 values
        (xx, yy, zz, xy, xz, yz) or a 3x3 matrix. `at` places the joint in the parent's frame: a position, a pair
        (xyz, rpy), a 4x4 matrix or a `Placement`. Further keywords are those of `joint`.
        """
        what = f"body {name!r}"
        try:
            if _name(name, "body") in self._links:
                raise ModelError(f"{what} exists already; every body needs a name of its own")
            (m,) = _numbers(mass, 1, 0.0, f"{what}: mass")
            c, I = np.array(_vector(com, 3, f"{what}: com")), _inertia(inertia, what)
        except ModelError as e:
            raise ModelError(str(e), where) from None
        if math.isinf(m) or m < 0.0:
            raise ModelError(f"{what} has mass {m:g}; a mass is a finite number, not below zero", where)
        if (parent is None) != (joint is None):
            raise ModelError(f"{what}: give both `parent` and `joint`, or neither", where)
        if parent is None and (limits or joint_name is not None):
            raise ModelError(f"{what}: {', '.join(limits) or 'joint_name'} needs `parent` and `joint`", where)
        self._links[name] = _Link(name, m, c, I, where)
        if parent is not None and joint is not None:
            try:
                self.joint(joint_name or f"{name}_joint", joint, parent, name, at=at, where=where, **limits)
            except BaseException:
                del self._links[name]
                raise
        return self

    def joint(
        self: B,
        name: str,
        type: Joint,
        parent: str,
        child: str,
        *,
        at: Placement | ArrayLike = (0.0, 0.0, 0.0),
        lower: Numbers = None,
        upper: Numbers = None,
        velocity_limit: Numbers = None,
        effort_limit: Numbers = None,
        damping: Numbers = None,
        friction: Numbers = None,
        armature: Numbers = None,
        where: str = "",
    ) -> B:
        """Connect two bodies. Limits and coefficients are one number, or one for each coordinate.

        `armature` is the inertia that a drive adds to its joint; it is part of the dynamics. `damping` and `friction`
        are kept for simulation: the forces in `tau` are what acts on the joint in total.
        """
        what = f"joint {name!r}"
        if name in self._joints:
            raise ModelError(f"{what} exists already; every joint needs a name of its own", where)
        if not isinstance(type, Joint):
            raise ModelError(f"{what}: its type must be a joint such as Revolute(axis), not {type!r}", where)
        if child in self._parent_joint:
            raise ModelError(
                f"{what}: body {child!r} is carried by joint {self._parent_joint[child]!r} already; "
                "a body has one parent, and closed loops are not supported here",
                where,
            )
        given = {
            "lower": (lower, type.nq, -math.inf),
            "upper": (upper, type.nq, math.inf),
            "velocity_limit": (velocity_limit, type.nv, math.inf),
            "effort_limit": (effort_limit, type.nv, math.inf),
            "damping": (damping, type.nv, 0.0),
            "friction": (friction, type.nv, 0.0),
            "armature": (armature, type.nv, 0.0),
        }
        try:
            _name(name, "joint")
            limits = {k: _numbers(x, n, default, f"{what}: {k}") for k, (x, n, default) in given.items()}
            where_to = placement(at, what)
        except ModelError as e:
            raise ModelError(str(e), where) from None
        for low, high in zip(limits["lower"], limits["upper"], strict=True):
            if low > high:
                raise ModelError(f"{what}: its lower limit {low:g} is above its upper limit {high:g}", where)
        if any(x < 0.0 or math.isinf(x) for x in limits["armature"]):
            raise ModelError(f"{what}: armature must be finite and not below zero", where)
        self._joints[name] = _Joint(name, type, parent, child, where_to, limits, where)
        self._parent_joint[child] = name
        return self

    def frame(self: B, name: str, body: str, at: Placement | ArrayLike = (0.0, 0.0, 0.0), where: str = "") -> B:
        """Name a frame that is fixed to a body."""
        try:
            if _name(name, "frame") in self._frames:
                raise ModelError(f"frame {name!r} exists already")
            self._frames[name] = (body, placement(at, f"frame {name!r}"), where)
        except ModelError as e:
            raise ModelError(str(e), where) from None
        return self

    def build(self, *, floating: bool = False, merge: bool = True, snap: float = 1e-11) -> Model:
        """The model: checked, in order from the root outward, bodies behind fixed joints merged into their parents.

        `floating` gives the root a free joint. `merge=False` keeps fixed joints as joints without freedom.
        """
        root, order = self._ordered()
        placed: dict[str, tuple[int, Placement]] = {}
        masses: list[list[tuple[_Link, Placement]]] = []
        bodies: list[str] = []
        connections: list[tuple[_Joint, int, Placement]] = []
        neutral = Placement()

        def new_body(link: str, joint: _Joint, parent: int, at: Placement) -> None:
            placed[link] = (len(bodies), neutral)
            masses.append([(self._links[link], neutral)])
            bodies.append(link)
            connections.append((joint, parent, at))

        placed[root] = (BASE, neutral)
        if floating:
            name = "root_joint" if "root_joint" not in self._joints else f"{root}_root_joint"
            limits = {k: _numbers(None, n, d, k) for k, (n, d) in _FREE_LIMITS.items()}
            new_body(root, _Joint(name, Free(), "", root, Placement(), limits, ""), BASE, Placement())
        extra: list[Frame] = []
        for joint in order:
            parent, at = placed[joint.parent]
            here = joint.placement if at is neutral else at @ joint.placement
            if merge and isinstance(joint.type, Fixed):
                placed[joint.child] = (parent, here)
                if parent != BASE:
                    masses[parent].append((self._links[joint.child], here))
                extra.append(Frame(joint.name, parent, here))
            else:
                new_body(joint.child, joint, parent, here)

        frames = {link: Frame(link, body, at) for link, (body, at) in placed.items()}
        for name, (link, at, where) in self._frames.items():
            if link not in placed:
                raise ModelError(str(unknown_name("body", link, self._links, f"frame {name!r}")), where)
            if name in frames:
                raise ModelError(f"frame {name!r} has the name of a body", where)
            body, outer = placed[link]
            frames[name] = Frame(name, body, outer @ at)
        for f in (*extra, Frame("world", BASE)):
            frames.setdefault(f.name, f)
        return Model(
            name=self.name,
            bodies=tuple(_merged(name, parts) for name, parts in zip(bodies, masses, strict=True)),
            joints=tuple(_connections(connections)),
            frames=tuple(frames.values()),
            gravity=(self.gravity[0], self.gravity[1], self.gravity[2]),
            base="world" if floating else root,
            snap=float(snap),
            source=self.source,
        )

    def _ordered(self) -> tuple[str, list[_Joint]]:
        """The root, and the joints with parents before children, each subtree in one piece."""
        if not self._links:
            raise ModelError(f"{self.name!r} has no bodies", self.source)
        for joint in self._joints.values():
            for role, link in (("parent", joint.parent), ("child", joint.child)):
                if link not in self._links:
                    known = unknown_name("body", link, self._links)
                    raise ModelError(f"joint {joint.name!r} has as its {role} an {known}", joint.where)
        roots = [name for name in self._links if name not in self._parent_joint]
        if len(roots) > 1:
            raise ModelError(
                f"{self.name!r} has {len(roots)} bodies that no joint carries ({_some(roots)}): connect all but one",
                self._links[roots[1]].where or self.source,
            )
        below: dict[str, list[_Joint]] = {}
        for joint in self._joints.values():
            below.setdefault(joint.parent, []).append(joint)
        order: list[_Joint] = []
        stack = [j for root in roots for j in reversed(below.get(root, []))]
        while stack:
            joint = stack.pop()
            order.append(joint)
            stack.extend(reversed(below.get(joint.child, [])))
        if len(order) < len(self._joints):
            reached = {j.child for j in order}
            lost = [j for j in self._joints.values() if j.child not in reached]
            raise ModelError(
                f"the joints {_some([j.name for j in lost])} form a cycle: following the parents of body "
                f"{lost[0].child!r} leads back to it and never to the root",
                lost[0].where,
            )
        return roots[0], order


_FREE_LIMITS = {
    "lower": (Free.nq, -math.inf),
    "upper": (Free.nq, math.inf),
    "velocity_limit": (Free.nv, math.inf),
    "effort_limit": (Free.nv, math.inf),
    "damping": (Free.nv, 0.0),
    "friction": (Free.nv, 0.0),
    "armature": (Free.nv, 0.0),
}


def _connections(found: Iterable[tuple[_Joint, int, Placement]]) -> Iterable[Connection]:
    q = v = 0
    for joint, parent, at in found:
        yield Connection(joint.name, joint.type, parent, at, q, v, **joint.limits)
        q, v = q + joint.type.nq, v + joint.type.nv


def _merged(name: str, parts: list[tuple[_Link, Placement]]) -> Body:
    """One body from several that are fixed to each other."""
    link = parts[0][0]
    m, c, I = link.mass, link.com, link.inertia
    if len(parts) > 1:
        with np.errstate(all="ignore"):
            coms = [at.R @ part.com + at.p for part, at in parts]
            m = sum(part.mass for part, _ in parts)
            c = sum((part.mass * x for (part, _), x in zip(parts, coms, strict=True)), np.zeros(3))
            c = c / m if m else c
            I = np.zeros((3, 3))
            for (part, at), x in zip(parts, coms, strict=True):
                d = x - c
                I = I + at.R @ part.inertia @ at.R.T + part.mass * (d @ d * np.eye(3) - np.outer(d, d))
        if not math.isfinite(m + c.sum() + I.sum()):
            raise ModelError(f"body {name!r} and what is fixed to it have no finite mass and inertia", link.where)
    x, y, z = c.tolist()
    six = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
    return Body(name, m, (x, y, z), tuple(float(a) for a in six))


def _vector(x: Any, n: int, what: str) -> tuple[float, ...]:
    try:
        a = tuple([float(v) for v in x])
    except (TypeError, ValueError):
        a = ()
    if len(a) != n or not all(map(math.isfinite, a)):
        raise ModelError(f"{what} must be {n} finite numbers, not {x!r}")
    return a


def _inertia(x: Any, what: str) -> Array:
    """A symmetric matrix from 3 principal values, 6 values or 9."""
    try:
        a = np.array(x, float)
    except (TypeError, ValueError):
        a = np.array(np.nan)
    if a.shape == (3,):
        a = np.diag(a)
    elif a.shape == (6,):
        xx, yy, zz, xy, xz, yz = a
        a = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    good = a.shape == (3, 3) and math.isfinite(a.sum())
    if good:
        size = abs(a).max()
        good = all(abs(a[r, c] - a[c, r]) <= 1e-9 * size for r, c in ((0, 1), (0, 2), (1, 2)))
    if not good:
        raise ModelError(
            f"{what}: inertia must be 3 principal values, 6 values (xx, yy, zz, xy, xz, yz) or a symmetric 3x3 "
            f"matrix, all finite, not {x!r}"
        )
    return a


def _numbers(x: Numbers, n: int, default: float, what: str) -> tuple[float, ...]:
    if x is None:
        return (default,) * n
    try:
        a = tuple([float(v) for v in x]) if np.ndim(x) else (float(x),) * n  # type: ignore[union-attr,arg-type]
    except (TypeError, ValueError):
        raise ModelError(f"{what} must be one number or {n}, not {x!r}") from None
    if len(a) != n:
        raise ModelError(f"{what} must be one number or {n}, not {len(a)}")
    if any(map(math.isnan, a)):
        raise ModelError(f"{what} is not a number")
    return a


def _name(name: object, what: str) -> str:
    if not isinstance(name, str) or not name:
        raise ModelError(f"a {what}'s name must be a non-empty string, not {name!r}")
    return name


def _some(names: list[str]) -> str:
    return ", ".join(repr(n) for n in names[:5]) + (", ..." if len(names) > 5 else "")
