"""Stills and films of a robot, drawn without a browser."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import positive
from ..errors import ArgumentError
from ..io.warnings import warn
from ..model import Frame
from ..screen.progress import Progress, reported, require_progress
from .films import FILMS, STILLS, film_rate, require_encoder, write_film, write_still
from .render import Picture, Renderer
from .stage import Stage

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["animate", "check_size", "film", "still"]

_MOST_FRAMES = 20_000


def animate(
    robot: Robot,
    motion: Any,
    path: str | os.PathLike[str],
    *,
    fps: float = 25.0,
    speed: float = 1.0,
    size: tuple[int, int] = (640, 480),
    look_from: ArrayLike | None = None,
    paths: Sequence[str | Frame] | None = None,
    external: Any = None,
    progress: Progress = None,
) -> None:
    """Write a film of a motion: .gif, .webp, .apng, .mp4, .webm, .mkv or .mov, by the suffix of `path`.

    `motion` is as for `robot.view`. `fps` are pictures per second, `speed` is 2 for twice as fast as in reality, `size`
    the width and height in pixels, and `look_from` the direction from the robot to the camera. `paths`, `external` and
    `progress` are as for `view` and `simulate`. It needs Pillow or ffmpeg: `pip install 'ordern[film]'`.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in FILMS:
        raise ArgumentError(f"{os.fspath(path)!r}: the name of a film must end in {', '.join(FILMS)}, not {suffix!r}")
    require_progress(progress)
    require_encoder(suffix)
    film(shown(Stage(robot, motion, None, paths, external)), path, fps, speed, size, look_from, progress)


def shown(stage: Stage) -> Stage:
    """Return a stage after a warning about meshes that are not shown."""
    if stage.warning:
        warn(stage.warning)
    return stage


def still(stage: Stage, path: str | os.PathLike[str], size: tuple[int, int], look_from: ArrayLike | None) -> None:
    """Write a picture of the first position; a film, if a .webp is written of a motion."""
    suffix = Path(path).suffix.lower()
    if stage.moves and (suffix in FILMS or suffix not in STILLS):
        film(stage, path, 25.0, 1.0, size, look_from, None)
        return
    require_encoder(suffix)
    write_still(Renderer(stage, check_size(size), look_from).still(), path)


def film(
    stage: Stage,
    path: str | os.PathLike[str],
    fps: float,
    speed: float,
    size: tuple[int, int],
    look_from: ArrayLike | None,
    progress: Progress,
) -> None:
    """Write the motion of a stage as a film."""
    suffix = Path(path).suffix.lower()
    require_encoder(suffix)
    rate = film_rate(suffix, positive(fps, "animate: fps, in pictures per second,"))
    pace = positive(speed, "animate: speed")
    motion = stage.motion
    count = round(motion.duration / pace * rate) + 1
    if count > _MOST_FRAMES:
        raise ArgumentError(
            f"animate: {motion.duration:g} s at {rate:g} pictures per second are {count} pictures, and at most "
            f"{_MOST_FRAMES} are drawn; give a smaller fps, or a larger speed"
        )
    times = np.minimum(motion.t[0] + np.arange(count) / rate * pace, motion.t[-1])
    frames = motion.at(stage.robot, times)
    renderer = Renderer(stage, check_size(size), look_from)

    def drawn(tell: Callable[[float], Any] | None) -> Iterator[Picture]:
        for k in range(count):
            yield renderer.draw(frames.rows(slice(k, k + 1)))
            if tell is not None:
                tell((k + 1) / count)

    with reported(progress, Path(path).name) as tell:
        write_film(drawn(tell), rate, path)


def check_size(size: Any) -> tuple[int, int]:
    """Return a width and a height in pixels; raise if they are not."""
    try:
        width, height = (int(x) for x in size)
    except (TypeError, ValueError):
        width = height = 0
    if not (16 <= width <= 4096 and 16 <= height <= 4096):
        raise ArgumentError(f"size must be a width and a height from 16 to 4096, such as (800, 600), not {size!r}")
    return width, height
