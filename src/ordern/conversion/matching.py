"""Partners of joints in two models: by name, by the body that they move, and by their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..errors import ArgumentError
from ..joints import Free
from ..model import BASE, Model
from ..model.parts import inward
from .peers import LIBRARIES, Peer, PeerJoint, base_joints, same_kind

__all__ = ["matched"]

Pairs = list[tuple[int, list[PeerJoint]]]


def matched(robot: Model, peer: Peer, names: dict[str, str]) -> Pairs:
    """Return our joints, by index, each with its partners; raise unless all joints of both sides have one.

    `names` maps names of our joints to the library's.
    """
    for unknown in names.keys() - {c.name for c in robot.joints}:
        robot.joint(unknown)
    matching = _Matching(robot, peer)
    matching.by_name(names)
    matching.by_body()
    matching.by_place_in_the_tree()
    matching.by_being_the_only_free_one()
    matching.without_lone_followers()
    if matching.ours or matching.theirs:
        raise _unmatched(robot, [robot.joints[k].name for k in matching.ours], list(matching.theirs), peer)
    return matching.found


class _Matching:
    """The pairs so far, and the joints of both sides that have no partner yet."""

    def __init__(self, robot: Model, peer: Peer) -> None:
        self.robot, self.peer = robot, peer
        self.found: Pairs = []
        self.ours = {k: None for k, c in enumerate(robot.joints) if c.type.nq}
        self.theirs = dict.fromkeys(peer.joints)

    def parts(self, k: int) -> int:
        """Return how many joints represent one of ours there."""
        return len(base_joints(self.robot.joints[k].type, self.peer.library))

    def pair(self, k: int, partners: list[PeerJoint]) -> None:
        self.found.append((k, partners))
        del self.ours[k]
        for partner in partners:
            del self.theirs[partner]

    def by_name(self, names: dict[str, str]) -> None:
        library = LIBRARIES[self.peer.library]
        tables = [_grouped(self.theirs, key) for key in _NAMES]
        for k in list(self.ours):
            c = self.robot.joints[k]
            wanted = names.get(c.name, c.name)
            found = next((table[wanted] for table in tables if wanted in table), ())
            partners = [x for x in found if x in self.theirs]
            if len(partners) > 1 and len(partners) != self.parts(k):
                raise ArgumentError(f"{library} has {len(partners)} joints named {wanted!r}; expected one")
            if partners:
                self.pair(k, partners)
            elif wanted in self.peer.followers:
                if c.mimic is None:
                    why = f"follows another joint in {library}, where it has no coordinate, but not here"
                    raise ArgumentError(f"joint {c.name!r} {why}")
                del self.ours[k]

    def by_body(self) -> None:
        """Pair the joints that move a body of one name, the last ones before it, in their order."""
        frames = {f.name: f.body for f in self.robot.frames}
        for partners in _grouped(self.theirs, _full_child).values():
            own = partners[0].child
            known = (own, _inner(partners[0]) + own, partners[0].scope + own) if own else ()
            index = next((frames[name] for name in reversed(known) if name in frames), BASE)
            moving = [k for k in inward(self.robot.joints, index) if self.robot.joints[k].type.nq]
            chosen: list[int] = []
            while moving and moving[0] in self.ours and sum(map(self.parts, chosen)) < len(partners):
                chosen.append(moving.pop(0))
            if sum(map(self.parts, chosen)) == len(partners):
                self._pair_in_order(chosen[::-1], partners)

    def by_place_in_the_tree(self) -> None:
        """Pair joints of bodies without names with the rest of ours: of one kind, in one order, after partners."""
        unnamed = [x for x in self.theirs if not x.name and not x.child]
        if not unnamed or len(unnamed) != len(self.theirs) or len(unnamed) != sum(map(self.parts, self.ours)):
            return
        before = list(self.found), dict(self.ours), dict(self.theirs)
        self._pair_in_order(list(self.ours), unnamed)
        owners = {joint: k for k, theirs in self.found for joint in theirs}
        for k, theirs in self.found:
            parts = base_joints(self.robot.joints[k].type, self.peer.library)
            above = [i for i in inward(self.robot.joints, k)[1:] if self.robot.joints[i].type.nq]
            inner = _next_inward(self.peer, theirs[0])
            alike = all(same_kind(part, x, self.peer.library) for part, x in zip(parts, theirs, strict=True))
            if not alike or (None if inner is None else owners[inner]) != (above[0] if above else None):
                self.found, self.ours, self.theirs = before
                return

    def by_being_the_only_free_one(self) -> None:
        floating = [k for k in self.ours if isinstance(self.robot.joints[k].type, Free)]
        free = [x for x in self.theirs if "free" in x.kind or "floating" in x.kind]
        if len(floating) == len(free) == 1:
            self.pair(floating[0], free)

    def without_lone_followers(self) -> None:
        """Drop mimic joints that the other library lacks, such as rotors: they have no coordinates of their own."""
        if not self.theirs:
            self.ours = {k: None for k in self.ours if self.robot.joints[k].mimic is None}

    def _pair_in_order(self, ours: list[int], theirs: list[PeerJoint]) -> None:
        left = list(theirs)
        for k in ours:
            n = self.parts(k)
            self.pair(k, left[:n])
            left = left[n:]


def _next_inward(peer: Peer, joint: PeerJoint) -> PeerJoint | None:
    """Return the joint before one on the way to the world; None if there is none."""
    body = joint.body
    found = [x for x in peer.joints if x.body == body and x.v < joint.v]
    while not found and body > 0:
        body = peer.bodies[body].parent
        found = [x for x in peer.joints if x.body == body]
    return found[-1] if found else None


def _name(joint: PeerJoint) -> str:
    return joint.name


def _full_name(joint: PeerJoint) -> str:
    return joint.scope + joint.name


def _inner_name(joint: PeerJoint) -> str:
    return _inner(joint) + joint.name


_NAMES = (_full_name, _inner_name, _name)
"""The names of a joint, the longest first. A robot of one model does not have that model's name before the others."""


def _inner(joint: PeerJoint) -> str:
    """Return the words before a name without the outermost model."""
    return joint.scope.partition("::")[2]


def _full_child(joint: PeerJoint) -> str:
    return joint.scope + joint.child


def _grouped(joints: Iterable[PeerJoint], key: Callable[[PeerJoint], str]) -> dict[str, list[PeerJoint]]:
    found: dict[str, list[PeerJoint]] = {}
    for joint in joints:
        found.setdefault(key(joint), []).append(joint)
    return found


def _unmatched(robot: Model, ours: list[str], left: list[PeerJoint], peer: Peer) -> ArgumentError:
    library = LIBRARIES[peer.library]
    lone = [f"ours: {', '.join(map(repr, ours))}"] if ours else []
    lone += [f"{library}'s: {', '.join(map(str, left))}"] if left else []
    return ArgumentError(
        f"the joints of {robot.name!r} and of the {library} model do not match. Without a partner: {'; '.join(lone)}. "
        f"All of ours: {', '.join(c.name for c in robot.joints if c.type.nq) or 'none'}. "
        f"All of {library}'s: {', '.join(x.name or str(x) for x in peer.joints) or 'none'}. "
        "Joints with different names are matched by names={ours: theirs}"
    )
