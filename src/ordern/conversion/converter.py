"""Conversion of coordinates to and from Pinocchio, MuJoCo and Drake."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array, array, broadcast_shapes
from ..declared import explained, explained_methods
from ..errors import ArgumentError
from ..model import Connection, Model
from ..records import dataclass
from .maps import Map
from .matching import matched
from .peers import LIBRARIES, PeerJoint, base_joints, listed, map_of, peer_of
from .references import offsets_of

__all__ = ["Converter", "convert"]

Given = ArrayLike | None
"""An argument that may be left out."""


@dataclass(frozen=True)
class Piece:
    """One joint in both libraries."""

    q: slice
    v: slice
    peer_q: slice
    peer_v: slice
    map: Map
    ratio: float = 1.0
    """For a mimic joint: its position is `ratio` times that of its leader, plus `offset`."""
    offset: float = 0.0
    follows: bool = False


@explained_methods
@dataclass(frozen=True)
class Converter:
    """Converts positions, velocities, accelerations and joint forces to those of another library, and back.

    All functions take arrays with any leading batch shape, and broadcast. Made by `convert`.
    """

    robot: Model
    library: str
    nq: int
    """Number of positions of the other library."""
    nv: int
    """Number of its velocities."""
    pieces: tuple[Piece, ...]

    def to_peer(self, q: ArrayLike, v: Given = None, a: Given = None, tau: Given = None) -> Any:
        """Convert our numbers to theirs; return an array for q alone, or a tuple of the given arrays, in this order.

        Accelerations need velocities, because that of a floating base in world axes has a term w x v. Mimic joints with
        a force of their own in the other library get zero.
        """
        x = self._given({"q": q, "v": v, "a": a, "tau": tau}, self.robot.nq, self.robot.nv)
        out = _zeros(x, self.nq, self.nv)
        for p in self.pieces:
            at = x["q"][..., p.q]
            out["q"][..., p.peer_q] = p.map.to_peer(at * p.ratio + p.offset if p.follows else at)
            B = p.map.matrix(at) * p.ratio
            for name in x.keys() - {"q", "tau" if p.follows else ""}:
                out[name][..., p.peer_v] = np.einsum("...ij,...j->...i", B, x[name][..., p.v])
            if "a" in x:
                out["a"][..., p.peer_v] += p.map.drift(at, x["v"][..., p.v])
        return _answer(out)

    def from_peer(self, q: ArrayLike, v: Given = None, a: Given = None, tau: Given = None) -> Any:
        """Convert their numbers to ours; return an array for q alone, or a tuple of the given arrays, in this order.

        Positions and velocities of our mimic joints are ignored; their forces are added to those of their leaders.
        """
        x = self._given({"q": q, "v": v, "a": a, "tau": tau}, self.nq, self.nv)
        out = _zeros(x, self.robot.nq, self.robot.nv)
        for p in self.pieces:
            if p.follows:
                if "tau" in x:
                    out["tau"][..., p.v] += p.ratio * x["tau"][..., p.peer_v]
                continue
            out["q"][..., p.q] = at = p.map.from_peer(x["q"][..., p.peer_q])
            B = p.map.matrix(at)
            for name in ("v", "a", "tau"):
                if name in x:
                    theirs = x[name][..., p.peer_v]
                    if name == "a":
                        theirs = theirs - p.map.drift(at, out["v"][..., p.v])
                    out[name][..., p.v] += np.einsum("...ji,...j->...i", B, theirs)
        return _answer(out)

    def velocity_matrix(self, q: ArrayLike) -> Array:
        """Return B(q), (..., their nv, our nv): their velocities are v' = B v.

        Their mass matrix M', Jacobian J' and forces tau' are M = B^T M' B, J = J' B and tau = B^T tau' in our terms.
        """
        x = self._given({"q": q}, self.robot.nq, self.robot.nv)["q"]
        B = np.zeros((*x.shape[:-1], self.nv, self.robot.nv), x.dtype)
        for p in self.pieces:
            B[..., p.peer_v, p.v] = p.map.matrix(x[..., p.q]) * p.ratio
        return B

    def _given(self, arguments: dict[str, Given], nq: int, nv: int) -> dict[str, Array]:
        """Return the given arguments as arrays of floating-point numbers, broadcast to one batch shape."""
        found: dict[str, Array] = {}
        for name, given in arguments.items():
            if given is None:
                continue
            x = array(given, (..., nq if name == "q" else nv), name, nonfinite=True)
            found[name] = given if isinstance(given, np.ndarray) and given.dtype.kind == "f" else x
        if "a" in found and "v" not in found:
            raise ArgumentError("accelerations are converted together with velocities: give v too")
        shape = broadcast_shapes("convert", *(x.shape[:-1] for x in found.values()))
        return {name: np.broadcast_to(x, (*shape, x.shape[-1])) for name, x in found.items()}

    def __repr__(self) -> str:
        return f"<Converter of {self.robot.name!r} and {LIBRARIES[self.library]}: nq={self.nq}, nv={self.nv}>"


@explained
def convert(
    robot: Model, peer: Any, joints: Sequence[str] | None = None, *, names: Mapping[str, str] | None = None
) -> Converter:
    """Return a converter between a robot and its model in Pinocchio, MuJoCo or Drake.

    `peer` is a `pinocchio.Model`, a `mujoco.MjModel` or a Drake `MultibodyPlant`; or the name of the library, with
    `joints` the names of our joints in the order of the library. Joints are matched by name, the remaining ones by the
    name of the body that they move, and by their order if it has several; one free joint on each side matches under any
    name. Joints of bodies without names are matched by their order in the tree. Mimic joints that only we have, such as
    those of rotors, need no partner. `names` maps names of our joints to the library's names where they differ.
    """
    if isinstance(peer, str):
        if joints is None:
            raise ArgumentError(f"with the name {peer!r} instead of a model, give the names of the joints in its order")
        known = listed(peer, robot, joints)
    elif joints is not None:
        raise ArgumentError("the model of the other library has an order of its own; give no names of joints")
    else:
        known = peer_of(peer)
    pairs = matched(robot, known, dict(names or {}))
    for k, theirs in pairs:
        _check_parts(robot.joints[k], theirs, known.library)
    offsets = offsets_of(robot, known, pairs)
    pieces = [piece for k, theirs in pairs for piece in _pieces(robot, robot.joints[k], theirs, known.library, offsets)]
    return Converter(robot, known.library, known.nq, known.nv, tuple(pieces))


def _check_parts(c: Connection, theirs: list[PeerJoint], library: str) -> None:
    parts = len(base_joints(c.type, library))
    if parts != len(theirs):
        found = f"in {LIBRARIES[library]} there are {len(theirs)}: {', '.join(map(str, theirs))}"
        raise ArgumentError(f"joint {c.name!r} has {parts} parts, but {found}")


def _pieces(
    robot: Model, c: Connection, theirs: list[PeerJoint], library: str, offsets: dict[int, float]
) -> Iterator[Piece]:
    follows = (c.mimic.ratio, c.mimic.offset, True) if c.mimic else ()
    q, v = c.q.start, c.v.start
    for part, other in zip(base_joints(c.type, library), theirs, strict=True):
        m = map_of(robot, c, part, other, library, offsets.get(other.q, 0.0))
        own = slice(q, q + part.nq), slice(v, v + part.nv)
        yield Piece(*own, slice(other.q, other.q + m.nq), slice(other.v, other.v + m.nv), m, *follows)
        q, v = q + part.nq, v + part.nv


def _zeros(given: dict[str, Array], nq: int, nv: int) -> dict[str, Array]:
    return {name: np.zeros((*x.shape[:-1], nq if name == "q" else nv), x.dtype) for name, x in given.items()}


def _answer(out: dict[str, Array]) -> Any:
    return out["q"] if len(out) == 1 else tuple(out.values())
