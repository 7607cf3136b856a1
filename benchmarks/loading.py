"""Loading: from a file to a robot that is ready for calls. Both parse the same file; neither reads meshes."""

from __future__ import annotations

import timeit
import warnings

import ordern as on

from .harness import Figures, benchmark
from .peer import pin
from .robots import SOURCES


@benchmark("{robot}.load", robot=("panda", "talos", "talos_full"), quick={"robot": ("talos_full",)})
def of_robot(robot: str) -> Figures:
    path = SOURCES[robot].path

    def ours() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", on.ModelWarning)
            on.load(path, floating=SOURCES[robot].floating)

    mine = min(timeit.repeat(ours, number=1, repeat=15))
    yield "ms", mine * 1e3
    if pin:
        theirs = min(timeit.repeat(lambda: pin.buildModelFromUrdf(str(path)), number=1, repeat=15))
        yield "pinocchio.ms", theirs * 1e3
