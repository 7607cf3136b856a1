"""The real robots that tests run on: those of the package example-robot-data."""

from __future__ import annotations

import sysconfig
from pathlib import Path

ROBOTS = Path(sysconfig.get_paths()["purelib"]) / "cmeel.prefix/share/example-robot-data/robots"

_BROKEN = {
    "falcon_description/urdf/falcon.urdf": "joint 'top_propeller_joint' has as its child an unknown body",
    "ur_description/urdf/ur3.urdf": "<robot> has no name",
}

BROKEN = {file: why for file, why in _BROKEN.items() if (ROBOTS / file).exists()}
"""The files that are no robots, and why; some releases of the package have fewer of them."""


def urdf_files() -> list[Path]:
    """Every URDF file that is a robot, in the order of their names."""
    return [p for p in sorted(ROBOTS.rglob("*.urdf")) if p.relative_to(ROBOTS).as_posix() not in BROKEN]
