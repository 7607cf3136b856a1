"""The joints of models of other libraries, in their own order, and the map of each joint's coordinates.

No other library is imported: the module of its class identifies a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import choice
from ..errors import ArgumentError
from ..joints import (
    Composite,
    Continuous,
    Cylindrical,
    Free,
    Helical,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from ..model import BASE, Connection, Frame, Model, Placement
from ..records import dataclass
from ..rotations import matrix_from_quaternion
from .maps import CosSin, Floating, Map, PlanarBody, PlanarWorld, Rpy

__all__ = [
    "LIBRARIES",
    "Peer",
    "PeerBody",
    "PeerJoint",
    "base_joints",
    "listed",
    "map_of",
    "mujoco_parts",
    "peer_of",
    "same_kind",
]

LIBRARIES = {"pinocchio": "Pinocchio", "mujoco": "MuJoCo", "drake": "Drake"}

_HERE = Placement()
_SAME = 1e-12
"""Two frames that differ by less (rad, m) are equal but for rounding."""
_SCALAR, _TWO = Map(), Map(2, 2)
_QUATERNION, _W_LAST = Map(4, 3), Map(4, 3, order=(1, 2, 3, 0))
_PINOCCHIO_FREE = Floating(rotation=_W_LAST, angular_first=False)
_MUJOCO_FREE = Floating(angular_first=False, world_linear=True)
_DRAKE_FREE = Floating(world_angular=True, world_linear=True)
_DRAKE_RPY = Floating(6, rotation=Rpy(), world_angular=True, world_linear=True)

_MAPS: dict[str, dict[tuple[type[Joint], str], Map]] = {
    "pinocchio": {
        (Revolute, "revolute"): _SCALAR,
        (Revolute, "unbounded revolute"): CosSin(),
        (Prismatic, "prismatic"): _SCALAR,
        (Helical, "helical"): _SCALAR,
        (Universal, "universal"): _TWO,
        (Spherical, "spherical"): _W_LAST,
        (Planar, "planar"): PlanarBody(),
        (Free, "free flyer"): _PINOCCHIO_FREE,
    },
    "mujoco": {
        (Revolute, "hinge"): _SCALAR,
        (Prismatic, "slide"): _SCALAR,
        (Spherical, "ball"): _QUATERNION,
        (Free, "free"): _MUJOCO_FREE,
    },
    "drake": {
        (Revolute, "revolute"): _SCALAR,
        (Prismatic, "prismatic"): _SCALAR,
        (Helical, "screw"): _SCALAR,
        (Universal, "universal"): _TWO,
        (Spherical, "ball_rpy"): Rpy(),
        (Planar, "planar"): PlanarWorld(),
        (Free, "quaternion_floating"): _DRAKE_FREE,
        (Free, "rpy_floating"): _DRAKE_RPY,
    },
}
"""For each library: pairs of our joint and theirs that are equal, and the map of coordinates."""

_PINOCCHIO = {
    "JointModelFreeFlyer": "free flyer",
    "JointModelPlanar": "planar",
    "JointModelSpherical": "spherical",
    "JointModelUniversal": "universal",
    "JointModelRevoluteUnaligned": "revolute",
    "JointModelRevoluteUnboundedUnaligned": "unbounded revolute",
    "JointModelPrismaticUnaligned": "prismatic",
    "JointModelHelicalUnaligned": "helical",
    **{f"JointModelR{axis}": "revolute" for axis in "XYZ"},
    **{f"JointModelRUB{axis}": "unbounded revolute" for axis in "XYZ"},
    **{f"JointModelP{axis}": "prismatic" for axis in "XYZ"},
    **{f"JointModelH{axis}": "helical" for axis in "XYZ"},
}
_MUJOCO = ("free", "ball", "slide", "hinge")


@dataclass(frozen=True)
class PeerJoint:
    """A joint of another library."""

    name: str
    kind: str
    q: int
    """The index of its first position, and of its first velocity."""
    v: int
    child: str = ""
    """The body that it carries, if known."""
    reference: float = 0.0
    """Its position in the reference configuration of the model: `ref` in MuJoCo."""
    body: int = -1
    """The index of the body that it carries, in `Peer.bodies`."""
    parent: str | None = None
    """For a free joint or a ball: its parent body, empty for the world; None if not known."""
    frame: Placement | None = None
    """For these joints: the frame from which their positions are measured, in the parent; None if it is ours."""
    child_frame: Placement = _HERE
    """For a ball: the frame that it turns, in the child."""
    scope: str = ""
    """The words before its full name and that of its body: the model that it belongs to, such as `arm::`."""

    def __str__(self) -> str:
        return repr(self.name) if self.name else f"the unnamed one of body {self.child or self.body!r}"


@dataclass(frozen=True)
class PeerBody:
    """A body of another library, and its placement in its parent in the reference configuration."""

    name: str
    parent: int
    placement: Placement


@dataclass(frozen=True)
class Peer:
    """A model of another library."""

    library: str
    nq: int
    nv: int
    joints: tuple[PeerJoint, ...]
    followers: frozenset[str] = frozenset()
    """Mimic joints, which have no coordinates there."""
    bodies: tuple[PeerBody, ...] = ()
    """The bodies, if joints may have references; the first is the world."""


def peer_of(model: Any) -> Peer:
    """Return the joints of a model of another library."""
    package, name = type(model).__module__.partition(".")[0], type(model).__name__
    readers = {
        ("pinocchio", "Model"): _pinocchio,
        ("mujoco", "MjModel"): _mujoco,
        ("pydrake", "MultibodyPlant"): _drake,
    }
    reader = readers.get((package, name.partition("_")[0]))
    if reader is not None:
        return reader(model)
    raise ArgumentError(
        "expected a pinocchio.Model, a mujoco.MjModel, a Drake MultibodyPlant, or one of "
        f"{', '.join(map(repr, LIBRARIES))} with the names of its joints; got {type(model).__module__}.{name}"
    )


def _pinocchio(model: Any) -> Peer:
    joints, followers = [], set()
    for k in range(1, model.njoints):
        joint, name, kind = model.joints[k], str(model.names[k]), str(model.joints[k].shortname())
        if kind.startswith("JointModelMimic"):
            followers.add(name)
        elif joint.nq:
            free: dict[str, Any] = {}
            if kind == "JointModelFreeFlyer" and model.parents[k] == 0:
                at = model.jointPlacements[k]
                free = {"parent": "", "frame": Placement.of(at.rotation, at.translation)}
            joints.append(PeerJoint(name, _PINOCCHIO.get(kind, kind), joint.idx_q, joint.idx_v, **free))
    return Peer("pinocchio", model.nq, model.nv, tuple(joints), frozenset(followers))


def _mujoco(model: Any) -> Peer:
    joints = []
    for k in range(model.njnt):
        kind, q, body = _MUJOCO[int(model.jnt_type[k])], int(model.jnt_qposadr[k]), int(model.jnt_bodyid[k])
        reference = float(model.qpos0[q]) if kind in ("hinge", "slide") else 0.0
        name, child = str(model.joint(k).name), str(model.body(body).name)
        joints.append(PeerJoint(name, kind, q, int(model.jnt_dofadr[k]), child, reference, body))
    bodies = []
    for k in range(model.nbody):
        at = Placement.of(matrix_from_quaternion(model.body_quat[k]), model.body_pos[k])
        bodies.append(PeerBody(str(model.body(k).name), int(model.body_parentid[k]), at))
    return Peer("mujoco", model.nq, model.nv, tuple(joints), bodies=tuple(bodies))


def _drake(plant: Any) -> Peer:
    if not plant.is_finalized():
        raise ArgumentError("the Drake plant is not finalized; call plant.Finalize() first")
    joints = []
    for index in plant.GetJointIndices():
        joint = plant.get_joint(index)
        if joint.num_positions():
            starts = joint.position_start(), joint.velocity_start()
            more = _drake_frames(joint)
            more["scope"] = f"{plant.GetModelInstanceName(joint.model_instance())}::"
            joints.append(PeerJoint(joint.name(), joint.type_name(), *starts, joint.child_body().name(), **more))
    return Peer("drake", plant.num_positions(), plant.num_velocities(), tuple(joints))


def _drake_frames(joint: Any) -> dict[str, Any]:
    """Return parent and frames of a free joint or a ball. Drake adds a free one for each body without a joint."""
    if not ("floating" in joint.type_name() or joint.type_name() == "ball_rpy"):
        return {}
    X = _drake_pose(joint.frame_on_child())
    if "floating" in joint.type_name() and not np.array_equal(X, np.eye(4)):
        raise ArgumentError(
            f"joint {joint.name()!r} of the Drake plant moves a frame other than that of the body "
            f"{joint.child_body().name()!r}; its velocities are of another point, and cannot be converted"
        )
    T, parent = _drake_pose(joint.frame_on_parent()), str(joint.parent_body().name())
    return {
        "parent": "" if parent == "world" else parent,
        "frame": Placement.of(T[:3, :3], T[:3, 3]),
        "child_frame": Placement.of(X[:3, :3], X[:3, 3]),
    }


def _drake_pose(frame: Any) -> NDArray[np.float64]:
    """Return the pose of a frame in its body as numbers, for all scalar types of the plant."""
    T = np.asarray(frame.GetFixedPoseInBodyFrame().GetAsMatrix4())
    if T.dtype != object:
        return T.astype(float)
    return np.array([[x.value() if hasattr(x, "value") else x.Evaluate() for x in row] for row in T])


def listed(library: str, robot: Model, names: Sequence[str]) -> Peer:
    """Return a peer with the joints of ours of these names, in this order."""
    choice("library", library, LIBRARIES)
    joints, q, v = [], 0, 0
    for name in names:
        c = robot.joint(name)
        for joint in base_joints(c.type, library):
            kind = _usual(library, joint)
            made = _MAPS[library].get((_ours(joint), kind))
            if made is None:
                raise _no_equal(name, joint, library)
            carried = robot.bodies[robot.joints.index(c)].name
            free: dict[str, Any] = {}
            if library == "drake" and isinstance(joint, Free) and c.parent == BASE:
                free = {"parent": "", "frame": Placement()}  # Drake measures a body that nothing holds from the world
            joints.append(PeerJoint(name, kind, q, v, carried, **free))
            q, v = q + made.nq, v + made.nv
    left = frozenset(c.name for c in robot.joints if c.mimic is not None and c.name not in names)
    return Peer(library, q, v, tuple(joints), left)


def _usual(library: str, joint: Joint) -> str:
    """Return the kind of joint by which a library represents one of ours by default."""
    if library == "pinocchio" and isinstance(joint, Continuous):
        return "unbounded revolute"
    return next((kind for ours, kind in _MAPS[library] if ours is _ours(joint)), "")


def base_joints(joint: Joint, library: str) -> list[Joint]:
    """Return the joints by which a library represents one of ours; most are represented by one."""
    return [part for part, _ in mujoco_parts(joint)] if library == "mujoco" else [joint]


def mujoco_parts(joint: Joint, at: Placement = _HERE) -> list[tuple[Joint, Placement]]:
    """Return the joints in series that represent a joint in MuJoCo, with their placements, as of a `Composite`."""
    if type(joint) is Composite:
        return [found for part, inner in joint.parts for found in mujoco_parts(part, at @ inner)]
    if type(joint) is Universal:
        return [(part, at) for part, _ in joint.serial_parts()]
    if type(joint) is Cylindrical:
        return [(Revolute(joint.axis), at), (Prismatic(joint.axis), at)]
    return [(joint, at)]


def map_of(robot: Model, c: Connection, joint: Joint, theirs: PeerJoint, library: str, offset: float = 0.0) -> Map:
    """Return the map of a joint of ours, or of a part of it, whose position there is ours plus `offset`.

    Raise if the joint is of another kind there.
    """
    name = c.name
    found = _MAPS[library].get((_ours(joint), theirs.kind))
    if found is None:
        kinds = {kind for ours, kind in _MAPS[library] if ours is _ours(joint)}
        if not kinds:
            raise _no_equal(name, joint, library)
        raise ArgumentError(
            f"joint {name!r} is a {type(joint).__name__} here and a {theirs.kind} in {LIBRARIES[library]} ({theirs}); "
            f"expected {' or '.join(sorted(kinds))}"
        )
    if isinstance(joint, Planar) and joint.axis != (0.0, 0.0, 1.0):
        raise ArgumentError(
            f"joint {name!r}: of a planar joint, the axes of the plane are the same here and in {LIBRARIES[library]} "
            f"only if its normal is (0, 0, 1), not {joint.axis}"
        )
    if found is _SCALAR and offset:
        return Map(offset=offset)
    if isinstance(found, Floating):
        return replace(found, ground=_ground(robot, c, theirs, library))
    if isinstance(found, Rpy):
        tip = next((f.placement for f in robot.frames if f.name == theirs.child), _HERE) @ theirs.child_frame
        return replace(found, ground=_ground(robot, c, theirs, library), tip=tip)
    return found


def same_kind(joint: Joint, theirs: PeerJoint, library: str) -> bool:
    """Return whether a joint of ours, or a part of it, and one of theirs are of one kind."""
    return (_ours(joint), theirs.kind) in _MAPS[library]


def _ground(robot: Model, c: Connection, theirs: PeerJoint, library: str) -> Placement:
    """Return the frame of a free joint of ours in the frame from which their positions are measured."""
    if library == "mujoco":
        return c.placement
    if theirs.parent is None or theirs.frame is None:
        return Placement()
    ours = Frame("", BASE) if c.parent == BASE else Frame(robot.bodies[c.parent].name, c.parent)
    start = next((f for f in robot.frames if f.name == theirs.parent), ours) if theirs.parent else Frame("", BASE)
    if start.body != c.parent:
        raise ArgumentError(
            f"joint {c.name!r} starts from {ours.name or 'the world'!r} here and from {theirs.parent or 'the world'!r} "
            f"in {LIBRARIES[library]} ({theirs}): these are not the same coordinates"
        )
    ground = (start.placement @ theirs.frame).inverse @ c.placement
    return Placement() if np.allclose(ground.matrix, np.eye(4), rtol=0.0, atol=_SAME) else ground


def _ours(joint: Joint) -> type[Joint]:
    """Return the class of a joint, of an equal one for joints that differ from it in limits or in their place only."""
    joint = _unplaced(joint)
    return Revolute if type(joint) is Continuous else type(joint)


def _unplaced(joint: Joint) -> Joint:
    """Return the joint that has the coordinates of a `Composite` whose parts share a place off the child's origin."""
    if type(joint) is not Composite:
        return joint
    first: Joint
    (first, at), *others = joint.parts
    if not others and (first.nq == 1 or at.rotation == _HERE.rotation):
        return first
    if len(others) == 1 and others[0][1] == at and {type(first), type(others[0][0])} == {Revolute}:
        return Universal()
    return joint


def _no_equal(name: str, joint: Joint, library: str) -> ArgumentError:
    return ArgumentError(f"joint {name!r} is a {type(joint).__name__}, which has no equal in {LIBRARIES[library]}")
