"""Mechanisms with closed loops: from the four-bar to robots, and the problems that methods are measured by.

Each has a module with a function of the same name. It returns the builder; its arguments have the numbers of the source
as defaults. Its argument `closure` is another joint for the loops. The function `assembled_position` returns a
closed position by a formula; it is also `robots.positions(name)["assembled"]`. The docstring names the sources.

>>> from ordern import robots
>>> robots.builder("four-bar").build()
<Model 'four-bar': 3 bodies, nq=3, nv=3, 0.75 kg>
"""

from __future__ import annotations

__all__ = ["MECHANISMS"]

MECHANISMS = (
    *("andrews-squeezer", "bricard", "delta-robot", "door", "double-parallelogram", "five-bar", "flyball-governor"),
    *("four-bar", "slider-crank", "spatial-slider-crank", "stewart-platform"),
)
"""The names of the mechanisms."""
