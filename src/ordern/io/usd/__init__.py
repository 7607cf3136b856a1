"""USD, the Universal Scene Description (https://openusd.org): its rigid bodies, joints and masses.

`stage` opens the file and knows units and places, `shapes` reads geometry, `mass` masses and inertias, `joint` joints
with their limits and drives, `tree` chooses the joints that carry bodies from those that close loops, and `build` puts
it all together. The package `usd-core` reads the files; it is imported when a file is loaded.

USD stores most numbers in single precision: masses, places of joints and limits have some seven digits.
"""

from .build import build_usd

__all__ = ["build_usd"]
