"""The parts of a document that are not read: collected for one note on those that change the motion, and one on others.

Names that look misspelt are errors.
"""

from __future__ import annotations

from collections import Counter

from ...errors import close_names
from ...model import ModelBuilder
from ..spelling import CUTOFF
from ..xml import Element

__all__ = ["Unread"]

_TURN = "quat axisangle euler xyaxes zaxis"

_READ = {
    "mujoco": "model",
    "compiler": "alignfree angle assetdir autolimits balanceinertia boundinertia boundmass coordinate eulerseq fitaabb "
    "inertiafromgeom inertiagrouprange meshdir settotalmass strippath exactmeshinertia",
    "option": "gravity density viscosity wind",
    "flag": "gravity filterparent",
    "body": f"name childclass mocap pos {_TURN}",
    "frame": f"name childclass pos {_TURN} scale massscale scaling",
    "replicate": "count sep offset euler childclass",
    "inertial": f"pos mass diaginertia fullinertia {_TURN}",
    "joint": "name class type pos axis range limited ref springref stiffness damping armature frictionloss "
    "actuatorfrcrange actuatorfrclimited springdamper",
    "freejoint": "name align",
    "geom": f"name class type size pos {_TURN} fromto mass density shellinertia mesh fitscale group contype "
    "conaffinity rgba material fluidshape fluidcoef friction condim gap margin priority solimp solref "
    "hfield",
    "pair": "name class geom1 geom2 condim friction gap margin solimp solref",
    "exclude": "name body1 body2",
    "site": f"name class pos {_TURN} fromto",
    "mesh": "name class file vertex face scale refpos refquat inertia content_type",
    "material": "name class rgba",
    "hfield": "name file content_type nrow ncol size elevation",
    "equality": "name class active body1 body2 anchor relpose site1 site2 torquescale joint1 joint2 polycoef",
    "actuator": "name class joint jointinparent tendon site cranksite slidersite body gear armature damping forcerange "
    "forcelimited ctrlrange ctrllimited",
}
"""The attributes that are read, by element. `equality` and `actuator` stand for all elements of these sections."""

_WITHOUT_EFFECT = {
    "mujoco": "",
    "compiler": "conflict convexhull discardvisual fusestatic passthrough savecanonical "
    "savecompiled saveinertial texturedir usethread",
    "body": "sleep simple fuse user",
    "joint": "group margin solimpfriction solimplimit solreffriction solreflimit user actuatorgravcomp",
    "freejoint": "group",
    "geom": "adhesion castshadow solmix surfacevel user",
    "pair": "solreffriction",
    "site": "group material mesh rgba size type user",
    "mesh": "material maxhullvert normal smoothnormal texcoord",
    "material": "emission metallic reflectance roughness shininess specular texrepeat texture texuniform",
    "equality": "solimp solref tendon1 tendon2 flex cell",
}
"""Attributes for contacts, solvers and viewers."""

_WITH_EFFECT = {
    "body": "gravcomp",
    "joint": "springyield",
    "mesh": "builtin params",
}
"""Attributes that change the forces on a robot in MuJoCo, and are noted as not read."""

_OFF: tuple[list[str], ...] = ([], ["0"], ["false"], ["auto"], ["none"])
"""Values with which these attributes have no effect either."""

_FORCES = "forces come from `tau`, `feedback` and policies; give `dt` and `method` to rollout, or use simulate"
_MOST_KINDS = 50
"""Kinds of unread parts that a note lists; the elements and attributes that MuJoCo knows are fewer."""
_SECTIONS = ["compiler", "option", "size", "statistic", "visual", "default", "asset", "worldbody", "equality"]
_COUNTED_SECTIONS = ["sensor", "custom", "deformable", "extension"]
"""Sections whose elements are counted one by one."""
_OTHER_SECTIONS = ["actuator", "tendon", "keyframe", "contact"]
"""Sections whose readers count what they do not read."""
_IN_BODY = ["body", "joint", "freejoint", "geom", "site", "inertial", "frame", "replicate"]
_IN_BODY_WITHOUT_EFFECT = ("camera", "light")


class Unread:
    """A tally of unread parts."""

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()
        """The parts that change the motion."""
        self._quiet: Counter[str] = Counter()
        """Other parts."""
        self._idle: list[str] = []
        """Parts that are known, but that no function of the library acts on."""
        self._kept: Counter[str] = Counter()
        """Parts that are read, but that rigid contacts do not use."""
        self._known: dict[str, tuple[frozenset[str], frozenset[str], tuple[str, ...]]] = {}

    def add(self, what: str, *, quiet: bool = False) -> None:
        """Count one unread part; it is `quiet` if it does not change the motion."""
        (self._quiet if quiet else self._count)[what] += 1

    def keep(self, what: str) -> None:
        """Count one part that is kept, but that rigid contacts do not use."""
        self._kept[what] += 1

    def idle(self, what: str) -> None:
        """Add parts that change the motion in MuJoCo, and that nothing here acts on, although they are known."""
        self._idle.append(what)

    def sections(self, root: Element) -> None:
        """Check the sections of a document."""
        self.check(root)
        for section in root.children:
            if section.tag in _COUNTED_SECTIONS:
                for element in section.children:
                    acts = element.tag == "flex"
                    self.add(f"<{element.tag}>" if acts else section.tag, quiet=not acts)
            elif section.tag not in (*_SECTIONS, *_OTHER_SECTIONS):
                _refuse_misspelt(section.tag, _SECTIONS, "element", section)
                self.add(f"<{section.tag}>")

    def child(self, element: Element) -> None:
        """Count an element in a body that is not read."""
        if element.tag in _IN_BODY_WITHOUT_EFFECT:
            return
        _refuse_misspelt(element.tag, _IN_BODY, "element", element)
        self.add(f"<{element.tag}>")

    def check(self, element: Element, tag: str = "", *, default: bool = False) -> None:
        """Check the attributes of an element; `tag` is its name in the tables above."""
        key = tag or element.tag
        if key not in self._known:
            read = _READ.get(key, "").split()
            quiet = frozenset([*read, *_WITHOUT_EFFECT.get(key, "").split()])
            self._known[key] = (quiet, frozenset(_WITH_EFFECT.get(key, "").split()), tuple(read))
        quiet, noted, names = self._known[key]
        if not names or key in ("option", "flag", "actuator"):
            return
        for attribute, value in element.attributes.items():
            if attribute in noted:
                if value.split()[:1] not in _OFF:
                    self.add(f"{attribute} of <{element.tag}>")
            elif attribute not in quiet:
                _refuse_misspelt(attribute, names, "attribute", element)
                if not default:
                    self.add(f"{attribute} of <{element.tag}>")

    def note(self, builder: ModelBuilder) -> None:
        """Add one note about the parts that change the motion, one about the others, and one about unused ones."""
        if self._idle:
            builder.note(f"not acted on: {'; '.join(self._idle)}", builder.source, _FORCES)
        kept = "kept, but not used by rigid contacts"
        tallies = {"not modelled, so that the motion differs": self._count, "not read": self._quiet, kept: self._kept}
        for start, tally in tallies.items():
            if tally:
                counts = [f"{what} ({n})" if n > 1 else what for what, n in tally.items()]
                if len(counts) > _MOST_KINDS:  # names that no file of MuJoCo has
                    counts[_MOST_KINDS:] = [f"... ({len(tally)} kinds in all)"]
                builder.note(f"{start}: {', '.join(counts)}", builder.source, quiet=tally is not self._count)


def _refuse_misspelt(name: str, known: list[str] | tuple[str, ...], kind: str, element: Element) -> None:
    close = close_names(name, tuple(known), 1, CUTOFF)
    if close and name not in known:
        of = f" of <{element.tag}>" if kind == "attribute" else ""
        raise element.error(f"unknown {kind} {name!r}{of}; did you mean {close[0]!r}?")
