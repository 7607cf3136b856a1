"""Random documents of robots: the tags and attributes of each format, with values good and hostile."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from random import Random
from xml.etree import ElementTree

__all__ = ["FORMATS", "HOSTILE", "SEEDS", "document"]

SEEDS = Path(__file__).parent / "seeds"

_WORDS = """nan -inf inf 1e400 -1e308 1e308 1e-320 0 -0 -1 1_0 0x1 1,2,3 1;2 ${x} é \u0661 true ../x / world
__model__ a::b :: base &lt; &#10;"""
_LISTS = (" ", "a b", "1 2", "1 2 3 4", "1 2 3 4 5 6 7", "0 0 0", "0 0 0 0", "1e300 1e300 1e300", "nan nan nan")
HOSTILE = ("", *_WORDS.split(), *_LISTS, "x" * 300, "9" * 400)


def _name(r: Random) -> str:
    return r.choice("abcde")


def _number(r: Random) -> str:
    sizes = (f"{r.uniform(-3, 3):.6g}", f"{10 ** r.uniform(-12, 12):.3g}")
    return r.choice(("0", "1", "-1", "0.5", "1e-3", "3.14159", *sizes))


def _positive(r: Random) -> str:
    return r.choice(("0", "1", "0.1", f"{10 ** r.uniform(-6, 3):.3g}"))


def _vector(n: int) -> Callable[[Random], str]:
    return lambda r: " ".join(_number(r) for _ in range(n))


def _one_of(*words: str) -> Callable[[Random], str]:
    return lambda r: r.choice(words)


V2, V3, V4, V6 = (_vector(n) for n in (2, 3, 4, 6))
BOOL = _one_of("true", "false", "1", "0", "auto")
Value = Callable[[Random], str]
Tags = dict[str, tuple[dict[str, Value], tuple[str, ...], Value | None]]
"""Attributes, children and text of elements, by their tags."""

_JOINT_TYPES = _one_of(
    *(
        "revolute",
        "continuous",
        "prismatic",
        "fixed",
        "floating",
        "planar",
        "ball",
        "universal",
        "screw",
        "revolute2",
        "x",
    )
)
_GEOMETRY = ("box", "sphere", "cylinder", "capsule", "mesh", "plane", "ellipsoid")
_XML_SHAPES: Tags = {
    "box": ({"size": V3}, (), None),
    "sphere": ({"radius": _positive}, (), None),
    "cylinder": ({"radius": _positive, "length": _positive}, (), None),
    "capsule": ({"radius": _positive, "length": _positive}, (), None),
    "mesh": ({"filename": _name, "scale": V3}, (), None),
    "geometry": ({}, _GEOMETRY, None),
    "material": ({"name": _name}, ("color", "texture"), None),
    "color": ({"rgba": V4}, (), None),
}
URDF: Tags = {
    **_XML_SHAPES,
    "robot": ({"name": _name, "version": _number}, ("link",) * 4 + ("joint",) * 4 + ("material", "gazebo"), None),
    "link": ({"name": _name}, ("inertial", "visual", "collision"), None),
    "inertial": ({}, ("origin", "mass", "inertia"), None),
    "origin": ({"xyz": V3, "rpy": V3}, (), None),
    "mass": ({"value": _positive}, (), None),
    "inertia": (dict.fromkeys(("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), _positive), (), None),
    "visual": ({"name": _name}, ("origin", "geometry", "material"), None),
    "collision": ({"name": _name}, ("origin", "geometry"), None),
    "joint": (
        {"name": _name, "type": _JOINT_TYPES},
        ("parent", "child", "origin", "axis", "limit", "dynamics", "mimic", "safety_controller"),
        None,
    ),
    "parent": ({"link": _name}, (), None),
    "child": ({"link": _name}, (), None),
    "axis": ({"xyz": V3}, (), None),
    "limit": ({"lower": _number, "upper": _number, "effort": _positive, "velocity": _positive}, (), None),
    "dynamics": ({"damping": _positive, "friction": _positive}, (), None),
    "mimic": ({"joint": _name, "multiplier": _number, "offset": _number}, (), None),
}
_PLACE = {"pos": V3, "quat": V4, "euler": V3, "axisangle": V4, "xyaxes": V6, "zaxis": V3}
MJCF: Tags = {
    "mujoco": (
        {"model": _name},
        ("worldbody",) * 3 + ("compiler", "option", "default", "equality", "asset", "actuator", "tendon", "keyframe"),
        None,
    ),
    "compiler": (
        {
            "angle": _one_of("radian", "degree"),
            "coordinate": _one_of("local", "global"),
            "eulerseq": _one_of("xyz", "ZYX", "xxx", "abc"),
            "inertiafromgeom": BOOL,
            "autolimits": BOOL,
            "balanceinertia": BOOL,
            "boundmass": _positive,
            "boundinertia": _positive,
            "settotalmass": _number,
            "inertiagrouprange": V2,
            "fusestatic": BOOL,
            "alignfree": BOOL,
        },
        (),
        None,
    ),
    "option": ({"gravity": V3, "timestep": _positive}, ("flag",), None),
    "flag": ({"gravity": _one_of("enable", "disable")}, (), None),
    "default": ({"class": _name}, ("default", "joint", "geom", "site", "mesh", "motor"), None),
    "worldbody": ({}, ("body",) * 4 + ("geom", "site", "frame", "joint"), None),
    "frame": (
        {
            "name": _name,
            "childclass": _name,
            "scale": _one_of("2", ".5 .5 .5", "1 2 3", "0", "-1", "1e300"),
            "massscale": _positive,
            "scaling": _one_of("similar", "geometry", "x"),
            **_PLACE,
        },
        ("body", "geom", "frame", "composite"),
        None,
    ),
    "composite": (
        {
            "prefix": _name,
            "type": _one_of("cable", "cable", "grid"),
            "count": _one_of("5 1 1", "4", "1", "2 2 1", "1.5", "-3"),
            "curve": _one_of("s", "cos(s) sin(s) s", "0 s", "t"),
            "size": V3,
            "vertex": _vector(12),
            "offset": V3,
            "quat": V4,
            "initial": _one_of("none", "free", "ball"),
        },
        ("geom", "geom", "joint", "plugin"),
        None,
    ),
    "tendon": ({"name": _name}, ("fixed", "spatial"), None),
    "fixed": ({"name": _name, "armature": _number, "stiffness": _positive}, ("joint", "joint", "site"), None),
    "spatial": ({"name": _name, "armature": _number}, ("site", "site", "joint"), None),
    "keyframe": ({}, ("key",), None),
    "key": ({"name": _name, "qpos": _vector(9)}, (), None),
    "body": (
        {"name": _name, "childclass": _name, "mocap": BOOL, **_PLACE},
        ("body", "body", "joint", "joint", "geom", "geom", "inertial", "site", "freejoint", "frame"),
        None,
    ),
    "joint": (
        {
            "name": _name,
            "class": _name,
            "type": _one_of("hinge", "slide", "ball", "free", "x"),
            "axis": V3,
            "pos": V3,
            "range": V2,
            "limited": BOOL,
            "ref": _number,
            "springref": _number,
            "armature": _positive,
            "damping": _positive,
            "stiffness": _positive,
            "frictionloss": _positive,
            "joint1": _name,
            "joint2": _name,
            "polycoef": _vector(5),
            "joint": _name,
            "coef": _number,
        },
        (),
        None,
    ),
    "freejoint": ({"name": _name, "align": _one_of("true", "false", "auto", "x")}, (), None),
    "geom": (
        {
            "name": _name,
            "class": _name,
            "type": _one_of("box", "sphere", "cylinder", "capsule", "ellipsoid", "plane", "mesh", "hfield", "x"),
            "size": V3,
            "mass": _positive,
            "density": _positive,
            "fromto": V6,
            "mesh": _name,
            "shellinertia": BOOL,
            "group": _number,
            "rgba": V4,
            **_PLACE,
        },
        (),
        None,
    ),
    "site": ({"name": _name, "class": _name, "site": _name, "size": V3, "fromto": V6, **_PLACE}, (), None),
    "inertial": ({"mass": _positive, "diaginertia": V3, "fullinertia": V6, **_PLACE}, (), None),
    "equality": ({}, ("connect", "weld", "joint", "tendon"), None),
    "connect": (
        {"name": _name, "body1": _name, "body2": _name, "anchor": V3, "site1": _name, "site2": _name},
        (),
        None,
    ),
    "weld": ({"name": _name, "body1": _name, "body2": _name, "relpose": _vector(7), "anchor": V3}, (), None),
    "asset": ({}, ("mesh", "include"), None),
    "mesh": (
        {"name": _name, "class": _name, "file": _name, "scale": V3, "vertex": _vector(12), "face": V6, "refpos": V3},
        (),
        None,
    ),
    "include": ({"file": _name}, (), None),
    "actuator": ({}, ("motor", "position"), None),
    "motor": (
        {"name": _name, "class": _name, "joint": _name, "tendon": _name, "armature": _positive, "gear": V6},
        (),
        None,
    ),
}
_POSE: Tags = {
    "pose": ({"relative_to": _name, "degrees": BOOL, "rotation_format": _one_of("euler_rpy", "quat_xyzw")}, (), V6)
}
_TEXTS = {
    **dict.fromkeys(
        ("lower", "upper", "mass", "gear_ratio", "thread_pitch", "screw_thread_pitch", "multiplier"), _number
    ),
    **dict.fromkeys(("effort", "velocity", "damping", "friction", "radius", "length", "spring_stiffness"), _positive),
    **dict.fromkeys(("ixx", "iyy", "izz", "ixy", "ixz", "iyz", "spring_reference", "offset", "reference"), _positive),
    **dict.fromkeys(("parent", "child", "placement_frame", "gearbox_reference_body", "uri"), _name),
    **dict.fromkeys(("static", "self_collide", "use_parent_model_frame", "allow_auto_disable"), BOOL),
    **dict.fromkeys(("size", "scale", "gravity", "radii"), V3),
}
SDF: Tags = {
    **_POSE,
    **{tag: ({}, (), text) for tag, text in _TEXTS.items()},
    "sdf": ({"version": _one_of("1.4", "1.6", "1.7", "1.9", "1.12", "2.0", "x")}, ("model", "model", "world"), None),
    "world": ({"name": _name}, ("model", "gravity", "include", "frame"), None),
    "include": ({}, ("uri", "name", "pose", "static"), None),
    "model": (
        {"name": _name, "canonical_link": _name, "placement_frame": _name},
        ("link",) * 4 + ("joint",) * 4 + ("pose", "frame", "static", "model", "include"),
        None,
    ),
    "frame": ({"name": _name, "attached_to": _name}, ("pose",), None),
    "link": ({"name": _name}, ("pose", "inertial", "visual", "collision"), None),
    "inertial": ({"auto": BOOL}, ("pose", "mass", "inertia"), None),
    "inertia": ({}, ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), None),
    "visual": ({"name": _name}, ("pose", "geometry"), None),
    "collision": ({"name": _name}, ("pose", "geometry"), None),
    "geometry": ({}, _GEOMETRY, None),
    "box": ({}, ("size",), None),
    "sphere": ({}, ("radius",), None),
    "cylinder": ({}, ("radius", "length"), None),
    "capsule": ({}, ("radius", "length"), None),
    "ellipsoid": ({}, ("radii",), None),
    "mesh": ({}, ("uri", "scale"), None),
    "joint": (
        {
            "name": _name,
            "type": _one_of("revolute", "prismatic", "ball", "universal", "screw", "fixed", "gearbox", "x"),
        },
        ("parent", "parent", "child", "child", "pose", "axis", "axis2", "thread_pitch", "gearbox_ratio", "gear_ratio"),
        None,
    ),
    "axis": ({}, ("xyz", "xyz", "limit", "dynamics", "use_parent_model_frame", "mimic"), None),
    "axis2": ({}, ("xyz", "limit", "dynamics"), None),
    "xyz": ({"expressed_in": _name}, (), V3),
    "limit": ({}, ("lower", "upper", "effort", "velocity"), None),
    "dynamics": ({}, ("damping", "friction", "spring_stiffness", "spring_reference"), None),
    "mimic": ({"joint": _name, "axis": _one_of("axis", "axis2")}, ("multiplier", "offset", "reference"), None),
}
FORMATS: dict[str, tuple[str, str, Tags]] = {
    "urdf": ("robot", ".urdf", URDF),
    "mjcf": ("mujoco", ".xml", MJCF),
    "sdf": ("sdf", ".sdf", SDF),
}
"""Root elements, suffixes and tags."""


def document(format: str, r: Random) -> str:
    """A random document: made up from the format's tags, or a good one with a few changes. Some become robots."""
    hostility = r.choice((0.0, 0.01, 0.05, 0.2))
    if r.random() < 0.3:
        root, _, tags = FORMATS[format]
        return _element(root, tags, r, 0, hostility, [60])
    return _changed(format, r, hostility)


def _changed(format: str, r: Random, hostility: float) -> str:
    """A good document in which elements were added, removed, doubled and moved, and attributes changed."""
    _, suffix, tags = FORMATS[format]
    root = ElementTree.parse(SEEDS / f"arm{suffix}").getroot()
    for _ in range(1 + int(r.expovariate(0.5))):
        every = list(root.iter())
        at = r.choice(every)
        attributes, children, text = tags.get(at.tag, ({}, (), None))
        kind = r.randrange(6)
        if kind == 0 and children:
            tag = r.choice(children)
            at.insert(r.randrange(len(at) + 1), ElementTree.fromstring(_element(tag, tags, r, 5, hostility, [10])))
        elif kind == 1 and len(at):
            at.remove(r.choice(list(at)))
        elif kind == 2 and len(at):
            twin = copy.deepcopy(r.choice(list(at)))
            if r.random() < 0.8 and "name" in twin.attrib:
                twin.attrib["name"] += str(r.randrange(100))
            r.choice([at, r.choice(every)]).append(twin)
        elif kind == 3 and text is not None:
            at.text = r.choice(HOSTILE) if r.random() < hostility else text(r)
        elif attributes:
            name = r.choice(list(attributes))
            at.attrib[name] = r.choice(HOSTILE) if r.random() < hostility else attributes[name](r)
    return ElementTree.tostring(root, "unicode")


def _element(tag: str, tags: Tags, r: Random, depth: int, hostility: float, left: list[int]) -> str:
    """An element. `left` counts how many more there may be."""
    left[0] -= 1
    attributes, children, text = tags.get(tag, ({}, (), None))
    inside = ""
    if text is not None:
        inside = r.choice(HOSTILE) if r.random() < hostility else text(r)
    elif children and depth < 8:
        wanted = list(children) if len(children) < 9 and r.random() < 0.7 else r.choices(children, k=r.randrange(1, 9))
        for child in wanted:
            if left[0] > 0:
                odd = r.random() < hostility / 4
                inside += _element(r.choice(list(tags)) if odd else child, tags, r, depth + 1, hostility, left)
    shown = ""
    for name, value in attributes.items():
        if r.random() < (0.9 if len(attributes) < 8 else 0.25) or name == "name":
            given = r.choice(HOSTILE) if r.random() < hostility else value(r)
            shown += f' {name}="{given}"'
    return f"<{tag}{shown}>{inside}</{tag}>"
