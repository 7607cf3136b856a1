"""Exact numbers of operations, beside those that the papers count for serial arms with n revolute joints.

The papers count divisions as multiplications, and so do these figures. Neither counts sines and cosines.
"""

from __future__ import annotations

import ordern as on
from ordern.graph import Counts

from .chains import chain
from .harness import Figures, benchmark
from .robots import ARGUMENTS, SOURCES, load

PAPERS = {
    "saha_1999": (lambda n: 201 * n - 335, lambda n: 193 * n - 361),
    "featherstone_1983": (lambda n: 199 * n - 198, lambda n: 174 * n - 173),
}
"""Multiplications and additions of forward dynamics: table 2 of Saha 1999."""


def operations(robot: on.Robot, question: str) -> Counts:
    """Count the operations of an algorithm that is unrolled for one robot."""
    return robot.kernel(question, way="unrolled").counts()


def multiplications(c: Counts) -> int:
    """Return the multiplications, divisions included, as papers count them."""
    return c.multiplications + c.divisions


@benchmark("{robot}.{question}.operations", robot=SOURCES, question=ARGUMENTS, quick={"robot": ("panda7", "talos")})
def of_robot(robot: str, question: str) -> Figures:
    c = operations(load(robot), question)
    yield "multiplications", multiplications(c)
    yield "additions", c.additions


@benchmark(
    "{arm}{n}.{question}.operations",
    arm=("dh_arm", "dense_arm"),
    n=(6, 7, 12, 20, 30),
    question=ARGUMENTS,
    quick={"n": (6, 12)},
)
def of_general_arm(arm: str, n: int, question: str) -> Figures:
    """Count for arms with full inertias; placements are Denavit and Hartenberg's, as in papers, or have no zeros."""
    shorter, whole = (operations(chain(k, denavit_hartenberg=arm == "dh_arm"), question) for k in (n - 1, n))
    yield "multiplications", multiplications(whole)
    yield "additions", whole.additions
    yield "multiplications_of_last_joint", multiplications(whole) - multiplications(shorter)
    yield "additions_of_last_joint", whole.additions - shorter.additions
    if question == "forward_dynamics" and arm == "dh_arm":
        for paper, (m, a) in PAPERS.items():
            yield f"{paper}.multiplications", m(n)
            yield f"{paper}.additions", a(n)
