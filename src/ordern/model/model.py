"""A model: bodies in a tree, the joints between them, frames, gravity. Immutable, hashable, picklable."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import field, fields
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import AnyArray, Array, leading_shape, random_generator, whole_number
from ..errors import ModelError, unknown_name
from ..records import dataclass
from ..spatial import Freedoms
from .actuators import Actuator
from .checks import numbers, require_limits, vector
from .contact_terms import ContactRules
from .fluid import matrix_of
from .inertia_numbers import spatial
from .loops import LoopTable, loop_digest, loop_table
from .mimic_armature import moving_together
from .motors import listed, usual
from .parts import BASE, Body, Coupling, Frame, Link, Loop, ModelJoint, Note, Shape
from .positions import NamedPosition, Positions
from .tables import INERTIA, Kind, Tables, tables_of
from .variation import Variation, structure_of

if TYPE_CHECKING:
    from .contacts import Contacts
    from .loop_sizes import LoopSize

__all__ = ["Model"]

_PARTS = {
    **{"bodies": Body, "joints": ModelJoint, "frames": Frame, "loops": Loop, "couplings": Coupling},
    **{"shapes": Shape, "notes": Note, "actuators": Actuator, "named_positions": NamedPosition},
    "links": Link,
}


@dataclass(frozen=True, repr=False)
class Model:
    """Bodies joined in a tree. Body k is the child of joint k; parents come before their children.

    Made by `Builder` or a loader, which check it; not meant to be made by hand.
    """

    name: str
    bodies: tuple[Body, ...]
    joints: tuple[ModelJoint, ...]
    frames: tuple[Frame, ...]
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    base: str = "base"
    snap: float = 1e-11
    """Entries of placements this close to 0 or +-1 count as such."""
    loops: tuple[Loop, ...] = ()
    """Loops; functions for trees ignore them."""
    couplings: tuple[Coupling, ...] = ()
    """Constraints between coordinates; functions for trees ignore them."""
    shapes: tuple[Shape, ...] = field(default=(), compare=False)
    """Visual and collision shapes of the bodies."""
    notes: tuple[Note, ...] = field(default=(), compare=False)
    """Remarks of the loader on the file."""
    source: str = field(default="", compare=False)
    """The file it came from."""
    motors: tuple[str, ...] | None = None
    """The joints that have motors, if they were given; `actuated` has them in any case."""
    current: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """The velocity of the fluid around the bodies, for their drag."""
    actuators: tuple[Actuator, ...] = field(default=(), compare=False)
    """The actuators that the file describes, with their gears and limits."""
    named_positions: tuple[NamedPosition, ...] = field(default=(), compare=False)
    """The positions of joints that the file gives names; `positions` has them as arrays."""
    ground: Body | None = field(default=None, compare=False)
    """The links that are fixed to the base, as one body in its frame; None if they have no mass. They have no part in
    the dynamics, unless this model is attached to another or begins to float."""
    links: tuple[Link, ...] = field(default=(), compare=False)
    """The links that fixed joints merged: for each body that has several, all of them, its own first."""
    contact_rules: ContactRules | None = field(default=None, compare=False)
    """Which shapes touch each other by the rules of the file; see `Robot.with_contacts`."""
    contacts: Contacts | None = None
    """The solids that can touch each other or the ground; functions other than contact steps ignore them."""
    variation: Variation | None = None
    """The numbers that are arguments of the code, and their values; None if all numbers are fixed."""

    def __post_init__(self) -> None:
        """Raise unless the parts fit together: they may have been replaced by hand."""
        object.__setattr__(self, "gravity", vector(self.gravity, 3, "gravity"))
        object.__setattr__(self, "current", vector(self.current, 3, "current"))
        for name, kind in _PARTS.items():
            parts = tuple(getattr(self, name))
            object.__setattr__(self, name, parts)
            for part in parts:
                if not isinstance(part, kind):
                    raise ModelError(f"{self.name!r}: its {name} must be of type {kind.__name__}, but one is {part!r}")
        (snap,) = numbers(self.snap, 1, 0.0, f"{self.name!r}: snap")
        object.__setattr__(self, "snap", snap)
        if len(self.bodies) != len(self.joints):
            raise ModelError(
                f"{self.name!r} has {len(self.bodies)} bodies and {len(self.joints)} joints; each body has one joint, "
                "which carries it"
            )
        q = v = 0
        for k, c in enumerate(self.joints):
            if not BASE <= c.parent < k:
                raise ModelError(f"joint {c.name!r} has the parent {c.parent}; parents come before their children")
            if c.mimic is None:
                if (c.q_start, c.v_start) != (q, v):
                    raise ModelError(
                        f"joint {c.name!r} starts at {c.q_start} in q and {c.v_start} in v, but the joints before it "
                        f"end at {q} and {v}: to change the type of a joint, use `robot.builder()`"
                    )
                q, v = q + c.type.nq, v + c.type.nv
            require_limits(f"joint {c.name!r}", c.lower, c.upper)
        if any(self.current) and any(b.added_inertia for b in self.bodies):
            raise ModelError(
                f"{self.name!r} has a current and bodies with added inertia: the forces of added inertia in a fluid "
                "that flows are not modelled. Give a zero current, or drag only"
            )
        for what, parts in (("body", self.bodies), ("joint", self.joints), ("frame", self.frames)):
            names = [part.name for part in parts]
            if len(set(names)) < len(names):
                twice = next(name for name, n in Counter(names).items() if n > 1)
                raise ModelError(f"{self.name!r} has several of the name {twice!r}; every {what} needs one of its own")
        for frame in self.frames:
            if not BASE <= frame.body < len(self.bodies):
                raise ModelError(f"frame {frame.name!r} is on body {frame.body}, but {self.name!r} has {_bodies(self)}")
        for link in self.links:
            if not BASE <= link.body < len(self.bodies):
                raise ModelError(f"link {link.name!r} is on body {link.body}, but {self.name!r} has {_bodies(self)}")
        if self.motors is not None:
            hints = {x.name: self.constraint_hint(x.name) for x in self.constraints}
            object.__setattr__(self, "motors", listed(self.motors, self.joints, self.name, hints))

    @cached_property
    def nq(self) -> int:
        """Number of positions: the length of q."""
        return sum(c.nq for c in self.joints)

    @cached_property
    def nv(self) -> int:
        """Number of velocities: the length of v, a and tau."""
        return sum(c.nv for c in self.joints)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The leading shape of the numbers that vary, over which all functions broadcast; empty for one robot."""
        return () if self.variation is None else self.variation.shape

    @cached_property
    def in_fluid(self) -> bool:
        """True if some body has added inertia, or displaces fluid."""
        return any(b.added_inertia or b.displaced for b in self.bodies)

    @cached_property
    def has_passive(self) -> bool:
        """True if joints of the tree have dampers, friction or springs, or bodies have drag; see `passive_question`."""
        if self.variation is not None and self.variation.varies("damping", "joint_friction", "stiffness"):
            return True
        return any(c.is_passive for c in self.joints) or any(b.drags for b in self.bodies)

    @cached_property
    def passive_question(self) -> str:
        """The question that returns all passive forces, those of joints that close active loops included; "" if none.

        Everything that takes steps asks it, so that no step leaves a force out.
        """
        if any(x.is_passive for x in self.loops if x.active):
            return "all_passive_force"
        return "passive_force" if self.has_passive else ""

    @cached_property
    def has_step_passive(self) -> bool:
        """True if passive forces act in steps with contacts, which solve for dry friction of the tree's joints."""
        if self.variation is not None and self.variation.varies("damping", "stiffness"):
            return True
        springs = any(any((*c.damping, *c.stiffness)) for c in self.joints) or any(b.drags for b in self.bodies)
        return springs or any(x.is_passive for x in self.loops if x.active)

    @cached_property
    def has_stops(self) -> bool:
        """True if steps with contacts solve for impulses of joints: of those with limits there, or dry friction."""
        from .contacts import stop_places  # most robots have no contacts

        return self.contacts is not None and bool(stop_places(self, self.contacts.limited))

    @cached_property
    def independent(self) -> tuple[ModelJoint, ...]:
        """The joints that follow no other."""
        return tuple(c for c in self.joints if c.mimic is None)

    @cached_property
    def actuated(self) -> tuple[str, ...]:
        """The names of the joints that have motors, in the order of the model; controllers push no others.

        They are the joints that the file or the builder named. By default, all joints have motors but free ones, and
        those that follow another, by a mimic or by a coupling. A joint has a motor for each of its freedoms.
        """
        return usual(self.joints, self.couplings) if self.motors is None else self.motors

    @property
    def constraints(self) -> tuple[Loop | Coupling, ...]:
        """All loops, then all couplings, active or not."""
        return (*self.loops, *self.couplings)

    @cached_property
    def loop_table(self) -> LoopTable:
        """The paths of the active loops on the tree, and the rows of their constraints."""
        return loop_table(self)

    @cached_property
    def loop_sizes(self) -> tuple[LoopSize, ...]:
        """The sizes of the active loops and couplings, which scale the misfit of states."""
        from .loop_sizes import loop_sizes  # not needed to load a robot

        return loop_sizes(self)

    @property
    def loop_rows(self) -> dict[str, slice]:
        """The rows of the constraints, by name: the rows of active loops, then one for each coupling."""
        return dict(self.loop_table.rows)

    @property
    def loop_holonomic(self) -> tuple[bool, ...]:
        """True for each row of the constraints with a residual; the others are conditions on velocities only."""
        return self.loop_table.holonomic

    @property
    def nc(self) -> int:
        """Number of rows of the constraints of loops and couplings, dependent ones included."""
        return self.loop_table.nc

    @property
    def mass(self) -> float:
        """The mass of all moving bodies."""
        return sum(b.mass for b in self.bodies)

    @cached_property
    def _frame_index(self) -> dict[str, Frame]:
        return {f.name: f for f in self.frames}

    @cached_property
    def _body_index(self) -> dict[str, int]:
        return {b.name: k for k, b in enumerate(self.bodies)}

    @cached_property
    def _joint_index(self) -> dict[str, int]:
        return {c.name: k for k, c in enumerate(self.joints)}

    def frame(self, name: str | Frame) -> Frame:
        """Return the frame of this name. Every body, and every body that was merged into another, has one."""
        if isinstance(name, Frame):
            if not BASE <= name.body < len(self.bodies):
                raise unknown_name("body index", name.body, (b.name for b in self.bodies), self.name)
            return name
        try:
            return self._frame_index[name]
        except (KeyError, TypeError):
            several = isinstance(name, (list, tuple))
            hint = "It is a list: `poses`, `velocities`, `accelerations` and `jacobians` take several frames"
            raise unknown_name("frame", name, self._frame_index, self.name, hint if several else "") from None

    def body(self, name: str) -> Body:
        """Return the body of this name."""
        return self.bodies[self._find(self._body_index, "body", name)]

    def joint(self, name: str) -> ModelJoint:
        """Return the joint of this name."""
        return self.joints[self._find(self._joint_index, "joint", name)]

    def _find(self, index: dict[str, int], kind: str, name: str) -> int:
        try:
            return index[name]
        except (KeyError, TypeError):
            hint = self.constraint_hint(name) if kind == "joint" else ""
            raise unknown_name(kind, name, index, self.name, hint) from None

    def constraint_hint(self, name: object) -> str:
        """Return a hint for the name of a loop or a coupling that was given in place of a joint."""
        if any(x.name == name for x in self.couplings):
            return f"{name!r} is a coupling between joints, not a joint"
        if not any(x.name == name for x in self.loops):
            return ""
        return (
            f"{name!r} closes a loop, so it is not a joint of the tree, and not in q: its coordinates are in "
            "`robot.loop_coordinates(q)` and its limits are the loop's own; to have it in the tree, let another joint "
            "close the loop"
        )

    @cached_property
    def tables(self) -> Tables:
        """The model as arrays of numbers."""
        return tables_of(self)

    @cached_property
    def digest(self) -> str:
        """A fingerprint of all numbers of the dynamics; names and limits are not part of it.

        That of a structure depends on its fixed numbers, and on which others vary.
        """
        t, h, variation = self.tables, hashlib.sha256(), self.variation
        if variation is not None and variation.values is not None:
            h.update(structure_of(self).digest.encode() + np.ascontiguousarray(variation.values).tobytes())
            return h.hexdigest()
        rows, constants = t.rows, np.array([*self.gravity, *self.current]) + 0.0
        if variation is not None:
            from .varied_rows import varied_rows  # which needs models

            plain = varied_rows(self)
            h.update(variation.key + plain.pattern.tobytes())
            fixed = plain.pattern[: rows.size].reshape(rows.shape) < 0
            rows, constants = np.where(fixed, rows, 0.0), constants.copy()
            constants[:3][plain.pattern[rows.size : rows.size + 3] >= 0] = 0.0
            h.update(variation.fixed.encode())
        arrays: tuple[AnyArray, ...] = (t.parent, t.kind, t.q_start, t.v_start, rows, constants)
        for a in arrays:
            h.update(str(a.shape).encode())
            h.update(np.ascontiguousarray(a).tobytes())
        for kind in t.kinds:
            cls = type(kind.joint)
            structure = f"{kind.joint.kind} {kind.has_armature} {kind.follows} {kind.fluid}"
            h.update(f"{cls.__module__}.{cls.__qualname__} {structure}".encode())
        return h.hexdigest()

    @cached_property
    def loop_digest(self) -> str:
        """A fingerprint of the loops and couplings in the dynamics."""
        return hashlib.sha256(loop_digest(self).encode()).hexdigest()

    @cached_property
    def lower(self) -> Array:
        """Lower limits of q."""
        return _constant([x for c in self.independent for x in c.lower])

    @cached_property
    def upper(self) -> Array:
        """Upper limits of q."""
        return _constant([x for c in self.independent for x in c.upper])

    def neutral(self) -> Array:
        """Return the position, of shape (nq,), in which every child's frame is where its joint places it."""
        return np.array([x for c in self.independent for x in c.type.neutral()])

    @property
    def positions(self) -> dict[str, Array]:
        """The named positions of the robot as arrays q, such as `robot.positions["home"]`.

        They come from an SRDF file, from keyframes of MJCF, or from `Builder.position`. Joints that a position does not
        name are neutral.
        """
        found = Positions(self.name)
        for position in self.named_positions:
            q = self.neutral()
            for joint, values in zip(position.joints, position.values, strict=True):
                c = self.joint(joint)
                if c.mimic is None:
                    q[c.q] = values
            found[position.name] = q
        return found

    def random(self, rng: np.random.Generator | int | None = None, shape: int | tuple[int, ...] = ()) -> Array:
        """Return random positions within the joint limits, of shape (*shape, nq).

        Without limits, or with limits beyond 1e5 rad or m, revolute joints are within one turn, and other coordinates
        within a range of length 2.
        """
        generator, batch = random_generator(rng, "random"), leading_shape(shape, "random")
        parts = [c.type.random(generator, batch, np.array(c.lower), np.array(c.upper)) for c in self.independent]
        return np.concatenate([np.zeros((*batch, 0)), *parts], axis=-1)

    def require_inertia(self) -> None:
        """Raise unless every joint moves some inertia: without it, accelerations are not defined."""
        t = self.tables
        heavy: list[bool] = [bool(row[12] or row[16:22].any()) for row in t.rows]
        heavy = [x or bool(b.added_inertia) for x, b in zip(heavy, self.bodies, strict=True)]
        leaf = [True] * len(self.bodies)
        for k in reversed(range(len(self.bodies))):
            c, armature = self.joints[k], t.rows[k, t.kinds[t.kind[k]].term(0)]
            if c.parent != BASE:
                heavy[c.parent] = heavy[c.parent] or heavy[k]
                leaf[c.parent] = False
            if not c.type.nv:
                continue
            if not heavy[k] and not armature.any():
                raise ModelError(
                    f"joint {c.name!r} moves nothing that has mass (body {self.bodies[k].name!r} and all that "
                    f"it carries are massless{self._alike(k)}), so its acceleration is not defined: give the body a "
                    "mass and an inertia, give the joint an armature, or fix the joint",
                    self.source,
                )
            if leaf[k] and not _meets_inertia(c, t.rows[k], armature, t.kinds[t.kind[k]]):
                raise ModelError(
                    f"joint {c.name!r} meets no inertia along its freedoms (body {self.bodies[k].name!r} has mass "
                    f"{self.bodies[k].mass:g} kg, but no inertia that this joint must turn or push{self._alike(k)}), "
                    "so its acceleration is not defined: give the body an inertia or the joint an armature",
                    self.source,
                )

    def singular(self, question: str) -> str:
        """Return the error message for a robot some of whose freedoms meet no inertia in any state."""
        light = [repr(b.name) for b, c in zip(self.bodies, self.joints, strict=True) if not b.mass and c.type.nv]
        listed = ", ".join(light[:5]) + (" ..." if light[5:] else "")
        names = f" Massless bodies that joints move: {listed}." if light else ""
        return (
            f"{question}: {self.name!r} can move in some way that meets no inertia, so accelerations are not defined "
            f"in any state.{names} Give such bodies mass and inertia or their joints an armature, or fix the joints"
        )

    def _alike(self, k: int) -> str:
        """Return the part of a message that names the joints which move with joint k."""
        for group in moving_together(self.joints):
            others = [repr(self.joints[j].name) for j, _ in group if j != k]
            if len(others) < len(group):
                return f"; the joints that it moves with, {', '.join(others[:5])}, meet no inertia either"
        return ""

    def summary(self, most: int = 200) -> str:
        """Return the tree of bodies and joints, as text; of large robots the first bodies."""
        most = whole_number(most, "summary: `most`", 0)
        lines = [f"{self.name}: {_bodies(self)}, nq {self.nq}, nv {self.nv}, {_weight(self)}"]
        lines.append(self.base)
        lines.extend(islice(self._tree_lines(), most))
        if len(self.bodies) > most:
            lines.append(f"... and {len(self.bodies) - most} more bodies")
        names = [self.base, *(b.name for b in self.bodies)]
        for loop in islice(self.loops, most):
            kind = f"{type(loop.type).__name__.lower()}{'' if loop.active else ', open'}"
            lines.append(f"loop {loop.name} ({kind}): {names[loop.parent + 1]} - {names[loop.child + 1]}")
        return "\n".join(lines)

    def _tree_lines(self) -> Iterator[str]:
        children: dict[int, list[int]] = {}
        for k, c in enumerate(self.joints):
            children.setdefault(c.parent, []).append(k)
        stack = [(k, "", k == children[BASE][-1]) for k in reversed(children.get(BASE, []))]
        while stack:
            k, indent, last = stack.pop()
            c, b = self.joints[k], self.bodies[k]
            where = f"v[{c.v_start}]" if c.type.nv == 1 else f"v[{c.v_start}:{c.v_start + c.nv}]"
            if c.mimic:
                where = f"follows {self.joints[c.mimic.joint].name}"
            yield (
                f"{indent}{'└─' if last else '├─'} {b.name}  {b.mass:.4g} kg  "
                f"by {c.name} ({type(c.type).__name__.lower()}, {where})"
            )
            below = children.get(k, [])
            more = indent + ("   " if last else "│  ")
            stack.extend((j, more, j == below[-1]) for j in reversed(below))

    def __repr__(self) -> str:
        counts = [("loop", len(self.loops)), ("coupling", len(self.couplings))]
        counts += [] if self.contacts is None else [("contact", len(self.contacts.pairs))]
        more = "".join(f", {n} {what}{'s' * (n != 1)}" for what, n in counts if n)
        return (
            f"<{type(self).__name__} {self.name!r}: {_bodies(self)}, nq={self.nq}, nv={self.nv}, "
            f"{_weight(self).removeprefix('mass ')}{more}>"
        )

    def _repr_html_(self) -> str:
        """Return a table of bodies and joints, for notebooks."""
        from .notebook_table import model_html

        return model_html(self)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.name, self.digest))

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields only: everything else is computed from them again."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


def _constant(numbers: list[float]) -> Array:
    """Return an array that cannot be written to."""
    a = np.array(numbers)
    a.flags.writeable = False
    return a


def _meets_inertia(c: ModelJoint, row: Array, armature: Array, kind: Kind) -> bool:
    """Return True if a joint that carries only this body has a regular inertia."""
    S = c.type.subspace(Freedoms(c.type.neutral())).columns
    six = np.array([m.scalars for m in S], float)
    I = spatial(row[INERTIA]) + (matrix_of(row[kind.fluid.added].tolist()) if kind.fluid else 0.0)
    D = six @ I @ six.T + np.diag(armature)
    return bool(np.linalg.matrix_rank(D, hermitian=True) == c.type.nv)


def _weight(model: Model) -> str:
    """Return the mass of one robot, or how many sets of parameters there are."""
    return f"parameters {model.batch_shape}" if model.batch_shape else f"mass {model.mass:.4g} kg"


def _bodies(model: Model) -> str:
    return "1 body" if len(model.bodies) == 1 else f"{len(model.bodies)} bodies"
