"""The robots of the package example-robot-data that are measured, and random states of them."""

from __future__ import annotations

import re
import sysconfig
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import ordern as on

from .peer import Peer, pin

Array = np.ndarray
FOLDER = Path(sysconfig.get_paths()["purelib"]) / "cmeel.prefix/share/example-robot-data/robots"


@dataclass(frozen=True)
class Source:
    """A URDF file, whether its base floats, and which of its joints are to be fixed."""

    file: str
    floating: bool = False
    fixed: str = ""

    @property
    def path(self) -> Path:
        return FOLDER / self.file

    @property
    def text(self) -> str:
        text = re.sub(r"<mimic\b[^>]*/>", "", self.path.read_text())  # Pinocchio's aba has no mimic joints
        if self.fixed:
            text, count = re.subn(rf'(<joint name="{self.fixed}" type=)"\w+"', r'\1"fixed"', text)
            assert count, f"{self.file} has no joints {self.fixed!r}"
        return text


SOURCES = {
    "panda": Source("panda_description/urdf/panda.urdf"),
    "panda7": Source("panda_description/urdf/panda.urdf", fixed=r"panda_finger_joint\d"),  # as papers count it
    "ur5": Source("ur_description/urdf/ur5_robot.urdf"),
    "anymal_b": Source("anymal_b_simple_description/robots/anymal.urdf", floating=True),
    "solo12": Source("solo_description/robots/solo12.urdf", floating=True),
    "talos": Source("talos_data/robots/talos_reduced.urdf", floating=True),
    "talos_full": Source("talos_data/robots/talos_full_v2.urdf", floating=True),
}

ARGUMENTS = {"forward_dynamics": "q v tau", "inverse_dynamics": "q v a", "mass_matrix": "q"}
"""The three recursions, and their arguments."""


@cache
def load(name: str) -> on.Robot:
    """Return one of SOURCES."""
    return on.load(SOURCES[name].text, floating=SOURCES[name].floating)


@cache
def load_peer(name: str) -> Peer | None:
    """Return the same robot in Pinocchio, if that is installed."""
    return Peer.of_urdf(load(name), SOURCES[name].text, SOURCES[name].floating) if pin else None


def without_passive(name: str) -> tuple[on.Robot, Peer | None]:
    """Return one of SOURCES without dampers and friction, which Pinocchio's aba lacks; and the same in Pinocchio."""
    source = SOURCES[name]
    text = re.sub(r"<dynamics\b[^>]*/>", "", source.text)
    robot = on.load(text, floating=source.floating)
    return robot, Peer.of_urdf(robot, text, source.floating) if pin else None


def random_state(robot: on.Robot, question: str, shape: int | tuple[int, ...] = ()) -> tuple[Array, ...]:
    """Return random arguments of a question."""
    rng = np.random.default_rng(0)
    q = robot.random(rng, shape)
    v, u = rng.uniform(-1, 1, (2, *q.shape[:-1], robot.nv))
    drawn = {"q": q, "v": v, "a": u, "tau": 10 * u}
    return tuple(drawn[name] for name in ARGUMENTS[question].split())
