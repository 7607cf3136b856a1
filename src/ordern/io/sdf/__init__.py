"""SDF, the Simulation Description Format (http://sdformat.org): the part of it that describes how a robot moves.

Versions 1.4 to 1.12 are read. `document` has models and worlds, `scope` the frames of a model and their poses, `link`
and `joint` what they are named after, `tree` chooses the joints that carry links from those that close loops, and
`build` puts it all together.
"""

from .build import build_sdf

__all__ = ["build_sdf"]
