"""A whole MJCF document without includes: its settings, its classes of defaults, its assets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ...records import dataclass
from ..attributes import flag, found, keyword, number, required, vector
from ..includes import Folder
from ..solids import Mass
from ..xml import Element
from .unread import Unread

__all__ = ["ACTUATORS", "ORIENTATIONS", "PLAIN", "Document", "Settings"]

ORIENTATIONS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")
"""The attributes for orientations, of which an element has one at most."""

ACTUATORS = (
    *("general", "motor", "position", "velocity", "intvelocity", "orientation", "pid", "damper", "cylinder", "muscle"),
    *("dcmotor", "plugin"),
)
"""The elements of actuators, which share one set of defaults."""


_LISTS = ("size", "friction", "solref", "solimp")
"""Attributes of which an element may give the first numbers only."""
PLAIN = "<plain>"
"""A class without defaults, for parts to which none apply. No file can have this name."""
_MAIN = "main"
"""The name of the top class of defaults, besides any name that a file gives it."""


_FLAGS = {"autolimits": "autolimits", "balanceinertia": "balance", "strippath": "strip_path"}
_FLAGS |= {"fitaabb": "fit_aabb", "exactmeshinertia": "exact_meshes", "alignfree": "align_free"}
_NUMBERS = {"boundmass": "bound_mass", "boundinertia": "bound_inertia", "settotalmass": "total_mass"}
_TEXTS = {"assetdir": "asset_dir", "meshdir": "mesh_dir", "eulerseq": "eulerseq"}
"""Attributes of <compiler>, and the settings that they are."""


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
    align_free: bool = False
    gravity: tuple[float, ...] = (0.0, 0.0, -9.81)
    density: float = 0.0
    viscosity: float = 0.0
    wind: tuple[float, ...] = (0.0, 0.0, 0.0)
    filter_parents: bool = True

    def angle(self, x: float) -> float:
        """Return an angle of the file in radians."""
        return x if self.radians else math.radians(x)

    def read_compiler(self, e: Element) -> None:
        """Apply a <compiler>; later ones override earlier ones."""
        what, has = "compiler", e.attributes
        if keyword(e, "coordinate", ("local", "global"), "local", what) == "global":
            why = 'coordinate="global" is not supported, nor is it by MuJoCo since version 2.3.4'
            raise e.error(f"{why}; convert the file with an older MuJoCo: load it there and save it")
        if "angle" in has:
            self.radians = keyword(e, "angle", ("radian", "degree"), "", what) == "radian"
        for attribute, name in _FLAGS.items():
            setattr(self, name, flag(e, attribute, getattr(self, name), what))
        for attribute, name in _NUMBERS.items():
            setattr(self, name, number(e, attribute, what, getattr(self, name)))
        for attribute, name in _TEXTS.items():
            setattr(self, name, has.get(attribute, getattr(self, name)))
        self.from_geoms = keyword(e, "inertiafromgeom", ("false", "true", "auto"), self.from_geoms, what)
        self.groups = vector(e, "inertiagrouprange", 2, what, self.groups)
        if len(self.eulerseq) != 3 or not set(self.eulerseq) <= set("xyzXYZ"):
            raise e.error(f'<compiler> has eulerseq="{self.eulerseq}"; expected three of x y z X Y Z')

    def read_option(self, e: Element) -> None:
        """Apply gravity and fluid of an <option>, or its flag that disables gravity."""
        self.gravity = vector(e, "gravity", 3, "option", self.gravity)
        self.wind = vector(e, "wind", 3, "option", self.wind)
        for name in ("density", "viscosity"):
            setattr(self, name, number(e, name, "option", getattr(self, name)))
            if getattr(self, name) < 0.0:
                raise e.error(f"<option> has a negative {name}")
        for switch in e.all("flag"):
            if keyword(switch, "gravity", ("enable", "disable"), "enable", "option") == "disable":
                self.gravity = (0.0, 0.0, 0.0)
            if keyword(switch, "filterparent", ("enable", "disable"), "enable", "option") == "disable":
                self.filter_parents = False


class Document:
    """An MJCF document without includes: settings, classes of defaults, assets, and unread parts."""

    def __init__(self, root: Element, folder: Folder = None, parent: Document | None = None) -> None:
        self.root, self.folder = root, folder
        self.main: str = root.source if parent is None else parent.main
        """The main file, which attaches all others."""
        self.unread: Unread = Unread() if parent is None else parent.unread
        self.attached: dict[str, Document] = {}
        """The documents of <model> assets that were attached."""
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
        if parent is not None:  # all bodies are in one fluid
            self.settings.density, self.settings.viscosity = parent.settings.density, parent.settings.viscosity
        self._read_defaults(root)
        self.meshes = self._assets("mesh")
        self.mesh_masses: dict[tuple[str, bool], Mass] = {}
        """The masses of meshes, solid and as shells, which are read once."""
        self.materials, self.hfields = self._assets("material"), self._assets("hfield")
        self.models = [element for element in self.section("asset") if element.tag == "model"]

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
        self._classes |= {_MAIN: top, PLAIN: {}}
        for element in reversed(list(root.all("default"))):
            self._classes[element.attributes.get("class", _MAIN)] = top
            stack.append((element, top, True))
        while stack:
            element, here, is_top = stack.pop()
            if not is_top:
                name = required(element, "class")
                if name in self._classes:
                    raise element.error(f"the class of defaults {name!r} exists already")
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
                    raise element.error(f"{tag} {name!r} exists already")
                assets[name] = asset
        return assets


def _merged(defaults: dict[str, str], own: dict[str, str]) -> dict[str, str]:
    """Merge attributes with those of the class. A shorter list of numbers replaces the first ones of the class."""
    both = {**defaults, **own}
    if any(name in own for name in ORIENTATIONS):
        for name in ORIENTATIONS:
            if name not in own:
                both.pop(name, None)
    for name in _LISTS:
        if name in own and name in defaults:
            mine, theirs = own[name].split(), defaults[name].split()
            both[name] = " ".join([*mine, *theirs[len(mine) :]])
    return both
