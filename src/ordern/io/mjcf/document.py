"""A whole MJCF document: its files put together, its settings, and its classes of defaults."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TypeVar

from ...errors import ModelError, unknown_name
from ...records import dataclass
from ..attributes import number, required, vector
from ..source import inside, open_source
from ..xml import Element, parse_xml
from .unread import Unread

__all__ = ["ORIENTATIONS", "Document", "Settings", "assembled", "flag", "found", "keyword", "numbers"]

T = TypeVar("T")

ORIENTATIONS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")
"""The attributes for orientations, of which an element has one at most."""

ACTUATORS = (
    *("general", "motor", "position", "velocity", "intvelocity", "orientation", "pid", "damper", "cylinder", "muscle"),
    *("dcmotor", "plugin"),
)
"""The elements of actuators, which share one set of defaults."""


def assembled(root: Element) -> Element:
    """Return the document with every <include> replaced by the contents of its file."""
    seen = {os.path.abspath(root.source): "as the main file"}
    stack = [_Open(root)]
    while True:
        top = stack[-1]
        child = next(top.rest, None)
        if child is None:
            stack.pop()
            same = len(top.children) == len(top.element.children)
            done = top.element
            if not same or any(a is not b for a, b in zip(top.children, done.children, strict=True)):
                done = replace(done, children=tuple(top.children))
            if not stack:
                return done
            stack[-1].children.append(done)
        elif child.tag == "include":
            top.rest = chain(_included(child, root, seen).children, top.rest)
        else:
            stack.append(_Open(child))


class _Open:
    """An element that is partly visited: nesting may be deeper than Python's own stack."""

    __slots__ = ("children", "element", "rest")

    def __init__(self, element: Element) -> None:
        self.element = element
        self.rest: Iterator[Element] = iter(element.children)
        self.children: list[Element] = []


def _included(include: Element, root: Element, seen: dict[str, str]) -> Element:
    name = required(include, "file")
    what = f'<include file="{name}">'
    if root.source.startswith("<"):
        raise ModelError(f"{what}: text has no directory to find other files in; load it from a file", include.where)
    folder = Path(root.source).parent
    path = folder / name
    if os.path.isabs(name) or not inside(path, folder):
        raise ModelError(
            f"{what} leads out of the directory of the main file; files are included from there and below",
            include.where,
        )
    key = os.path.abspath(path)
    if key in seen:
        raise ModelError(f"{what}: this file is read already, {seen[key]}; a file is included once", include.where)
    seen[key] = f"included at {include.where}"
    try:
        opened = open_source(path, [".xml"])
        included = parse_xml(opened.data, opened.name)
    except ModelError as e:
        raise ModelError(f"{what}: {e}", include.where) from None
    if not included.children:
        raise ModelError(f"{what}: there is nothing in this file", include.where)
    return included


def keyword(element: Element, attribute: str, choices: Iterable[str], default: str, what: str) -> str:
    """Return an attribute that is one of a few words."""
    value = element.attributes.get(attribute, default)
    if value not in (known := tuple(choices)):
        raise ModelError(f"{what}: {unknown_name(attribute, value, known, f'<{element.tag}>')}", element.where)
    return value


def flag(element: Element, attribute: str, default: bool, what: str) -> bool:
    """Return whether an attribute is "true", rather than "false"."""
    return keyword(element, attribute, ("false", "true"), str(default).lower(), what) == "true"


def found(kind: str, name: str, table: Mapping[str, T], element: Element, what: str = "") -> T:
    """Return the entry of a table; an unknown name is an error."""
    if name not in table:
        message = str(unknown_name(kind, name, table))
        raise ModelError(f"{what}: {message}" if what else message, element.where)
    return table[name]


def numbers(element: Element, attribute: str, least: int, most: int, what: str) -> tuple[float, ...]:
    """Return an attribute that is `least` to `most` numbers separated by spaces; empty if it is missing."""
    if attribute not in element.attributes:
        return ()
    n = len(element.attributes[attribute].split())
    if not least <= n <= most and least != most:
        raise ModelError(
            f'{what}: <{element.tag}> has {attribute}="{element.attributes[attribute]:.80}"; '
            f"expected {least} to {most} numbers separated by spaces",
            element.where,
        )
    return vector(element, attribute, n if least <= n <= most else most, what)


_MAIN = "main"
"""The name of the top class of defaults, besides any name that a file gives it."""


@dataclass
class Settings:
    """The settings of the whole document, from <compiler> and <option>."""

    radians: bool = False
    eulerseq: str = "xyz"
    autolimits: bool = True
    from_geoms: str = "auto"
    groups: tuple[float, ...] = (0.0, 5.0)
    bound_mass: float = 0.0
    bound_inertia: float = 0.0
    balance: bool = False
    total_mass: float = -1.0
    asset_dir: str = ""
    mesh_dir: str | None = None
    strip_path: bool = False
    fit_aabb: bool = False
    exact_meshes: bool = False
    gravity: tuple[float, ...] = (0.0, 0.0, -9.81)

    def angle(self, x: float) -> float:
        """Return an angle of the file in radians."""
        return x if self.radians else math.radians(x)

    def read_compiler(self, e: Element) -> None:
        """Apply a <compiler>; later ones override earlier ones."""
        what, has = "compiler", e.attributes
        if keyword(e, "coordinate", ("local", "global"), "local", what) == "global":
            raise ModelError(
                'coordinate="global" is not supported, nor is it by MuJoCo since version 2.3.4; convert the file with '
                "an older MuJoCo: load it there and save it",
                e.where,
            )
        if "angle" in has:
            self.radians = keyword(e, "angle", ("radian", "degree"), "", what) == "radian"
        self.autolimits = flag(e, "autolimits", self.autolimits, what)
        self.balance = flag(e, "balanceinertia", self.balance, what)
        self.strip_path = flag(e, "strippath", self.strip_path, what)
        self.fit_aabb = flag(e, "fitaabb", self.fit_aabb, what)
        self.exact_meshes = flag(e, "exactmeshinertia", self.exact_meshes, what)
        self.from_geoms = keyword(e, "inertiafromgeom", ("false", "true", "auto"), self.from_geoms, what)
        self.groups = vector(e, "inertiagrouprange", 2, what, self.groups)
        self.bound_mass = number(e, "boundmass", what, self.bound_mass)
        self.bound_inertia = number(e, "boundinertia", what, self.bound_inertia)
        self.total_mass = number(e, "settotalmass", what, self.total_mass)
        self.asset_dir = has.get("assetdir", self.asset_dir)
        self.mesh_dir = has.get("meshdir", self.mesh_dir)
        self.eulerseq = has.get("eulerseq", self.eulerseq)
        if len(self.eulerseq) != 3 or not set(self.eulerseq) <= set("xyzXYZ"):
            raise ModelError(f'<compiler> has eulerseq="{self.eulerseq}"; expected three of x y z X Y Z', e.where)

    def read_option(self, e: Element) -> None:
        """Apply the gravity of an <option>, or its flag that disables gravity."""
        self.gravity = vector(e, "gravity", 3, "option", self.gravity)
        for switch in e.all("flag"):
            if keyword(switch, "gravity", ("enable", "disable"), "enable", "option") == "disable":
                self.gravity = (0.0, 0.0, 0.0)


class Document:
    """An MJCF document without includes: settings, classes of defaults, assets, and unread parts."""

    def __init__(self, root: Element) -> None:
        self.root = root
        self.unread = Unread()
        self.settings = Settings()
        self._classes: dict[str, dict[str, dict[str, str]]] = {}
        self.unread.sections(root)
        for section in root.children:
            if section.tag == "compiler":
                self.unread.check(section)
                self.settings.read_compiler(section)
            elif section.tag == "option":
                self.unread.check(section)
                self.settings.read_option(section)
                for attribute in ("density", "viscosity", "wind"):
                    if any(numbers(section, attribute, 1, 3, "option")):
                        self.unread.add(f"{attribute} of <option>")
        self._read_defaults(root)
        self.meshes = self._assets("mesh")
        self.materials = self._assets("material")

    def section(self, tag: str) -> Iterator[Element]:
        """Return the elements of a section, which a document may have several times."""
        return (element for section in self.root.all(tag) for element in section.children)

    def resolved(self, element: Element, inherited: str = "", tag: str = "") -> Element:
        """Return an element with the attributes of its class of defaults. `inherited` is the class of its parent."""
        self.unread.check(element, tag)
        name = element.attributes.get("class", inherited) or _MAIN
        defaults = found("class of defaults", name, self._classes, element).get(tag or element.tag, {})
        return replace(element, attributes=_merged(defaults, dict(element.attributes))) if defaults else element

    def known_class(self, element: Element, inherited: str) -> str:
        """Return the class that the contents of a body or frame inherit."""
        name = element.attributes.get("childclass", inherited)
        if name:
            found("class of defaults", name, self._classes, element)
        return name

    def _read_defaults(self, root: Element) -> None:
        top: dict[str, dict[str, str]] = {}
        stack: list[tuple[Element, dict[str, dict[str, str]], bool]] = []
        self._classes[_MAIN] = top
        for element in reversed(list(root.all("default"))):
            self._classes[element.attributes.get("class", _MAIN)] = top
            stack.append((element, top, True))
        while stack:
            element, here, is_top = stack.pop()
            if not is_top:
                name = required(element, "class")
                if name in self._classes:
                    raise ModelError(f"the class of defaults {name!r} exists already", element.where)
                here = {tag: dict(values) for tag, values in here.items()}
                self._classes[name] = here
            for child in element.children:
                if child.tag != "default":
                    tag = "actuator" if child.tag in ACTUATORS else child.tag
                    self.unread.check(child, tag, default=True)
                    here[tag] = _merged(here.get(tag, {}), dict(child.attributes))
            stack.extend((child, here, False) for child in reversed(element.children) if child.tag == "default")

    def _assets(self, tag: str) -> dict[str, Element]:
        assets: dict[str, Element] = {}
        for element in self.section("asset"):
            if element.tag == tag:
                asset = self.resolved(element)
                name = asset.attributes.get("name") or Path(asset.attributes.get("file", "")).stem
                if name in assets:
                    raise ModelError(f"{tag} {name!r} exists already", element.where)
                assets[name] = asset
        return assets


def _merged(defaults: dict[str, str], own: dict[str, str]) -> dict[str, str]:
    """Merge attributes with those of the class. A shorter list of sizes replaces the first sizes of the class."""
    both = {**defaults, **own}
    if any(name in own for name in ORIENTATIONS):
        for name in ORIENTATIONS:
            if name not in own:
                both.pop(name, None)
    if "size" in own and "size" in defaults:
        mine, theirs = own["size"].split(), defaults["size"].split()
        both["size"] = " ".join([*mine, *theirs[len(mine) :]])
    return both
