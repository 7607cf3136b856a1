"""One style for all figures: colours that colour-blind readers can distinguish, thin axes, sizes for a paper."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import ArgumentError
from ..io.writing import replacing
from ..simulate.results.tables import library

__all__ = [
    "COLOURS",
    "FAINT",
    "INK",
    "WIDTH",
    "art3d",
    "curve",
    "dress",
    "figure",
    "finished",
    "legend",
    "map_of",
    "matplotlib",
    "save",
    "set_title",
    "solid",
]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5B4B8A")
"""Okabe and Ito's, without their yellow, which is too pale on paper, and a violet."""
INK, FAINT = "#26262c", "#8a8a94"
WIDTH = 7.2
"""Inches: both columns of a paper."""
_SMALL, _TEXT = 7.5, 8.5
_SUFFIXES = (".png", ".svg", ".pdf")
_IN_A_LINE = 46
"""Most letters of a legend above the axes; a longer one is drawn beside them."""


def matplotlib(module: str) -> Any:
    """Import a module of matplotlib; the error says how to install it."""
    return library(f"matplotlib.{module}", "a picture", "plot")


def figure(width: float, height: float) -> Any:
    """Return an empty figure without a window."""
    matplotlib("figure")  # the error for a missing matplotlib
    from .figures import ShownFigure

    return ShownFigure(figsize=(width, height), dpi=150, layout="constrained")


def art3d() -> Any:
    """Import matplotlib's objects for axes in space."""
    return import_module("mpl_toolkits.mplot3d.art3d")


def map_of(name: str) -> Any:
    """Return a colour map by its name."""
    return matplotlib("cm").ScalarMappable(cmap=name).get_cmap()


def dress(axes: Any, title: str = "", x: str = "", y: str = "") -> None:
    """Give axes the common looks, and their texts."""
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set(color=FAINT, linewidth=0.6)
    axes.tick_params(labelsize=_SMALL, color=FAINT, labelcolor=INK, width=0.6, length=2.5)
    axes.grid(True, color="#ececf0", linewidth=0.6)
    axes.set_axisbelow(True)
    for axis in (axes.xaxis, axes.yaxis):
        axis.get_offset_text().set_fontsize(_SMALL)
    set_title(axes, title)
    if x:
        axes.set_xlabel(x, fontsize=_TEXT, color=INK)
    if y:
        axes.set_ylabel(y, fontsize=_TEXT, color=INK)


def set_title(axes: Any, title: str) -> None:
    """Write a title above axes, on the left."""
    axes.set_title(title, loc="left", fontsize=_TEXT, fontweight="bold", color=INK)


def curve(k: int) -> dict[str, Any]:
    """Return the style of the k-th curve; some are dashed, for print without colours."""
    return {
        "color": COLOURS[k % len(COLOURS)],
        "linewidth": 1.2,
        "linestyle": "-" if k % len(COLOURS) < 4 else (0, (5, 1.2)),
    }


def legend(axes: Any, handles: Sequence[Any], *, above: bool = True) -> None:
    """Add a legend: above the axes, beside the title, or to the right if there is no room above."""
    style = {"fontsize": _SMALL, "frameon": False, "handlelength": 1.6, "labelcolor": INK, "borderaxespad": 0.0}
    if above and sum(len(h.get_label()) + 4 for h in handles) <= _IN_A_LINE:
        style |= {"loc": "lower right", "bbox_to_anchor": (1.0, 1.02), "ncols": len(handles), "columnspacing": 1.2}
    else:
        style |= {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)}
    axes.legend(handles=list(handles), **style)


def finished(figure: Any, path: str | os.PathLike[str] | None, heading: str = "") -> Any:
    """Give a figure its heading, write it if there is a path, and return it."""
    if heading:
        figure.suptitle(heading, fontsize=10, fontweight="bold", color=INK, x=0.01, ha="left")
    if path is not None:
        save(figure, path)
    return figure


def solid(axes: Any, pane: str, grid: str, label: Mapping[str, Any]) -> None:
    """Give axes in space the common looks, and the names of the world's axes."""
    for name, axis in zip("xyz", (axes.xaxis, axes.yaxis, axes.zaxis), strict=True):
        axis.set_pane_color(pane)
        axis.line.set_color("#d0d0d8")
        getattr(axis, "_axinfo", {}).get("grid", {}).update(color=grid, linewidth=0.6)
        axis.set_label_text(f"{name}, m", **label)


def save(figure: Any, path: str | os.PathLike[str], *, dpi: float = 200.0) -> None:
    """Write a figure as .png, .svg or .pdf, by its suffix; a file that exists is replaced in one step.

    PDF files contain fonts as fonts, as publishers require. The same figure gives the same bytes.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in _SUFFIXES:
        raise ArgumentError(
            f"{os.fspath(path)!r}: the name of a picture must end in {', '.join(_SUFFIXES)}, not {suffix!r}"
        )
    data = io.BytesIO()
    metadata = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}.get(suffix)
    with import_module("matplotlib").rc_context({"pdf.fonttype": 42, "svg.hashsalt": "ordern"}):
        figure.savefig(data, format=suffix[1:], dpi=dpi, metadata=metadata)
    with replacing(path) as file:
        file.write(data.getvalue())
