"""A page in one file: viser's own player with the recorded scene, and beside it sliders, switches and curves.

The file contains the player, the scene, the motion and `panel.js`; a browser needs nothing else, and no network. The
panel moves the bodies by messages of the same kind as the recording. If a version of viser does not accept them, the
page still plays, and the panel says that it cannot move the robot.
"""

from __future__ import annotations

import html
import json
import os
from dataclasses import asdict
from importlib.resources import files
from typing import Any

import numpy as np

from ..io.writing import replacing
from ..model import BASE
from .charts import factors, step
from .closing import closures, loop_data
from .looks import shades
from .scene import TOGGLES, Scene
from .server import start, stop
from .stage import Stage

__all__ = ["PAGES", "embedded", "page", "write"]

_MOST_POSES = 40_000
_MOST_SLIDERS = 100
_MOST_NUMBERS = 200_000
"""Most numbers of sliders over a motion."""
_SCRIPTS = ("kinematics.js", "closing.js", "panel.js")
_CLOCK = "/clock"
"""An invisible node whose x is the time, for the panel."""


PAGES = (".html", ".htm")
"""Suffixes of pages."""


def write(stage: Stage, path: str | os.PathLike[str]) -> None:
    """Write the page, whole or not at all."""
    text = page(stage)
    with replacing(path) as file:
        file.write(text.encode())


def embedded(stage: Stage, height: int = 480) -> str:
    """Return the page in a frame of another page, such as a notebook."""
    whole = html.escape(page(stage), quote=True)
    look = f'height="{height}" style="border:1px solid #ddd;width:100%;display:block" allow="fullscreen"'
    return f'<div><iframe srcdoc="{whole}" title="{html.escape(stage.robot.name)}" {look}></iframe></div>'


def page(stage: Stage) -> str:
    """Return the text of the page."""
    server = start(stage.robot.name)
    try:
        scene = stage.scene(server, collision=False)
        first = stage.motion.still(stage.q)
        scene.draw_forces(stage.arrows(first), 0, stage.cones(first))
        clock = server.scene.add_frame(_CLOCK, show_axes=False)
        recording = server.get_scene_serializer()
        if stage.moves:
            _record(stage, scene, recording, clock)
        text: str = recording.as_html()
        data = _panel_data(stage, scene)
    finally:
        stop(server)
    resources = files(__package__)
    safe = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c").replace("\u2028", "\\u2028")  # in a script
    script = "\n".join((resources / name).read_text("utf-8") for name in _SCRIPTS)
    head = (
        f"<style>{(resources / 'panel.css').read_text('utf-8')}</style>"
        f"<script>window.__ORDERN__={safe};</script>"
        + (f"<script>window.__ORDERN_CLOSURES__={closures(stage.robot)};</script>" if stage.robot.nc else "")
        + f'<script>(() => {{\n"use strict";\n{script}\n}})();</script>'
    )
    text = text.replace("<title>Viser</title>", f"<title>{html.escape(stage.robot.name)}</title>", 1)
    at = text.index("</head>")
    return text[:at] + head + text[at:]


def _record(stage: Stage, scene: Scene, recording: Any, clock: Any) -> None:
    """Play the motion once, for the recording."""
    frames = stage.frames(_MOST_POSES)
    poses, turns = stage.poses(frames.q)
    arrows, cones = stage.arrows(frames), stage.cones(frames)
    for k, t in enumerate(frames.t):
        scene.pose(poses[k], turns[k])
        scene.draw_forces(arrows, k, cones)
        clock.position = (float(t - frames.t[0]), 0.0, 0.0)
        if k + 1 < len(frames.t):
            recording.insert_sleep(float(frames.t[k + 1] - t))


def _panel_data(stage: Stage, scene: Scene) -> dict[str, Any]:
    """Return the data of the panel."""
    robot, charts = stage.robot, stage.charts
    movable = all(factors(c.type) is not None for c in robot.joints)
    sliders = [
        {**asdict(s), "step": step(s.upper - s.lower), "colour": f"rgb{colour}"}
        for chart in charts.charts
        for s, colour in zip(chart.sliders, shades(stage.looks.colours[chart.joint], len(chart.sliders)), strict=True)
    ]
    data: dict[str, Any] = {
        "name": robot.name,
        "clock": _CLOCK,
        "values": charts.values(stage.q).tolist(),
        "sliders": sliders[:_MOST_SLIDERS] if movable else [],
        "bodies": [_body(stage, scene, k) for k in range(len(robot.bodies))] if movable else [],
        "groups": {name: [node.name for node in nodes] for name, nodes in scene.groups.items()},
        "shown": TOGGLES,
        "warning": stage.warning,
    }
    if robot.nc and movable:
        data["closing"] = loop_data(robot, charts)
    if stage.moves:
        t, curves = stage.curves()
        rows = stage.frames(_MOST_NUMBERS // max(len(charts.sliders), 1) * len(robot.bodies), rate=10.0)
        data["curves"] = {
            name: {
                "labels": c.labels,
                "colours": [f"rgb{x}" for x in c.colours],
                "values": [_short(column) for column in c.values.T],
            }
            for name, c in curves.items()
        }
        data["times"] = _short(t - t[0])
        data["motion"] = {"t": _short(rows.t - rows.t[0]), "values": [_short(charts.values(q)) for q in rows.q]}
    return data


def _body(stage: Stage, scene: Scene, k: int) -> dict[str, Any]:
    """Return the placement of a body on its parent, and the sliders and twists that move it."""
    c = stage.robot.joints[k]
    ratio, offset, joint = (c.mimic.ratio, c.mimic.offset, c.mimic.joint) if c.mimic else (1.0, 0.0, k)
    start = stage.charts.starts.get(joint, 0)
    rods = {part.body: node.name for node, part in scene.rods}
    return {
        "node": scene.bodies[k].name,
        "parent": c.parent if c.parent != BASE else None,
        "at": c.placement.matrix[:3].ravel().tolist(),
        "rod": rods.get(k),
        "factors": [[start + f.slider, ratio, offset, *f.twist] for f in factors(c.type) or ()],
    }


def _short(x: Any) -> list[float]:
    """Return numbers rounded to five digits."""
    return [float(f"{v:.5g}") for v in np.asarray(x).tolist()]
