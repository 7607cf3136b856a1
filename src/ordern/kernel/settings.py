"""Settings of questions: frames by their names become frames of the model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import ArgumentError
from ..model import Frame, Model

__all__ = ["frame_list", "with_frames"]


def with_frames(model: Model, question: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with the frames of the model in the places of their names."""
    if "frame" in options:
        options = {**options, "frame": model.frame(options["frame"])}
    if "frames" in options:
        options = {**options, "frames": tuple(map(model.frame, frame_list(question, options["frames"])))}
    return options


def frame_list(question: str, frames: Any) -> tuple[str | Frame, ...]:
    """Return frames, or their names, as a tuple."""
    if isinstance(frames, (str, Frame)) or not isinstance(frames, Iterable):
        raise ArgumentError(f"{question}: `frames` must be a list of frames or of their names, not {frames!r}")
    return tuple(frames)
