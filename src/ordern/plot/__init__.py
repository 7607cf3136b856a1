"""Pictures of motions and robots that one would put in a paper; they need `pip install 'ordern[plot]'`.

| function | what it draws |
|---|---|
| `motion` | series of a motion against time, energies, momenta, phase portraits, paths; it is `result.plot` |
| `compare` | the same series of several motions |
| `mass_matrix` | which freedoms a robot's mass matrix couples, and how much |
| `mechanism` | a robot in one position, with the joints that close its loops |
| `complexity` | operations of methods against the size of robots |
| `save` | a figure to a file, whole or not at all |

Each returns a `matplotlib.figure.Figure`. Nothing here touches pyplot: there is no current figure, no window, no change
of settings, and figures are freed when you drop them.
"""

from __future__ import annotations

from .compare import compare
from .complexity import complexity
from .matrix import mass_matrix
from .mechanism import mechanism
from .motion import PANELS, motion
from .style import save

__all__ = ["PANELS", "compare", "complexity", "mass_matrix", "mechanism", "motion", "save"]
