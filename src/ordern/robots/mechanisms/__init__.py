"""Mechanisms with closed loops: from the four-bar to robots, and the problems that methods are measured by.

One module each: a function that makes the builder, with the source's numbers as its arguments' defaults; a function
`assembled_position`, by a formula on paper, which is also `robots.positions(name)["assembled"]`; its docstring has the
sources. All of them take `closure`, another joint for the loops.

>>> from ordern import robots
>>> robots.builder("four-bar").build()
<Model 'four-bar': 3 bodies, nq=3, nv=3, 0.75 kg>
"""

from __future__ import annotations

__all__ = ["MECHANISMS", "MECHANISM_FAMILIES"]

MECHANISMS = {
    "andrews-squeezer": ("mechanisms.andrews_squeezer", "andrews_squeezer"),
    "bricard": ("mechanisms.bricard", "bricard"),
    "delta-robot": ("mechanisms.delta_robot", "delta_robot"),
    "door": ("mechanisms.door", "door"),
    "double-parallelogram": ("mechanisms.double_parallelogram", "double_parallelogram"),
    "five-bar": ("mechanisms.five_bar", "five_bar"),
    "flyball-governor": ("mechanisms.flyball_governor", "flyball_governor"),
    "four-bar": ("mechanisms.four_bar", "four_bar"),
    "slider-crank": ("mechanisms.slider_crank", "slider_crank"),
    "spatial-slider-crank": ("mechanisms.spatial_slider_crank", "spatial_slider_crank"),
    "stewart-platform": ("mechanisms.stewart_platform", "stewart_platform"),
}
"""The mechanisms by name: the module in `ordern.robots`, imported on demand, and its function for the builder."""

MECHANISM_FAMILIES = {"four-bar-chain-N": ("mechanisms.four_bar_chain", "four_bar_chain")}
"""Names in which N stands for a number, the argument of the function."""
