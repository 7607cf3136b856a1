"""Figures of motions and robots, fit for a paper; they need `pip install 'ordern[plot]'`.

| function | figure |
|---|---|
| `motion` | series of a motion against time, energies, momenta, phase portraits, paths; it is `result.plot` |
| `compare` | the same series of several motions |
| `contacts` | loads and friction of the contacts of a rollout, and how exact its steps are |
| `mass_matrix` | the freedoms that a robot's mass matrix couples, and how much |
| `mechanism` | a robot in one position, with the joints that close its loops |
| `complexity` | operations of methods against the size of robots |
| `save` | writes a figure to a file, completely or not at all |

All but `save` return a `matplotlib.figure.Figure`. A notebook displays it; elsewhere `figure.show()` opens a window, or
the browser. Otherwise pyplot is not used: there is no current figure, no window, no change of settings, and a figure is
freed with the last reference to it.
"""

from __future__ import annotations

from .compare import compare
from .complexity import complexity
from .contacts import contacts
from .matrix import mass_matrix
from .mechanism import mechanism
from .motion import PANELS, motion
from .style import save

__all__ = ["PANELS", "compare", "complexity", "contacts", "mass_matrix", "mechanism", "motion", "save"]
