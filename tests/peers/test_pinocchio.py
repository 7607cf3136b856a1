"""Agreement with Pinocchio on real robots, in every function."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from tests.compile.asking import CORE
from tests.peers_util import CASES, Case, Pair, relative_errors, typical_errors
from tests.robots import ROBOTS, urdf_files
from tests.tolerances import PEER, PEER_AT_ORIGIN

FURTHER = {
    *("jacobian_rate", "com", "com_velocity", "com_acceleration", "com_jacobian"),
    *("centroidal_momentum", "centroidal_map", "centroidal_map_rate"),
}
ill_posed = [case for case in CASES if case.ill_posed]


def _by_name(case: Case) -> str:
    return case.name


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=_by_name)
def test_every_function_agrees(case: Case) -> None:
    """Robots with many joints run as loops here, which compile faster; see also below, and `tests.peers.full`."""
    pair = Pair(case, way=case.way)
    asked, wrong = set(), []
    for what, mine, theirs in pair.answers(pair.states(50), pair.frames(1)):
        question = what.split(",")[0]
        asked.add(question)
        worst = float(relative_errors(mine, theirs).max())
        if not worst <= PEER and not (case.ill_posed and question == "forward_dynamics"):
            wrong.append(f"{what}: {worst:.1e}")
    assert not wrong
    assert asked == CORE | FURTHER


@pytest.mark.slow
@pytest.mark.parametrize("name", ["talos", "tiago"])
def test_dynamics_of_many_joints_agree(name: str) -> None:
    pair = Pair(next(case for case in CASES if case.name == name))
    s = pair.states(50)
    for _, mine, theirs in [*pair.inverse(s), *pair.forward(s)]:
        assert relative_errors(mine, theirs).max() <= PEER
    assert pair.robot.kernel("forward_dynamics").code.way == "unrolled"


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=_by_name)
def test_placements_as_loaded_agree(case: Case) -> None:
    """`on.load` rounds the entries of placements that are nearly 0 or 1; what that changes stays within bounds."""
    pair = Pair(case, snap=None, way="interpreted")
    wrong = []
    for what, mine, theirs in pair.answers(pair.states(50), pair.frames(1)):
        worst = float(typical_errors(mine, theirs).max())
        bound = PEER_AT_ORIGIN if "origin axes" in what else PEER
        if not worst <= bound and not (case.ill_posed and what.startswith("forward_dynamics")):
            wrong.append(f"{what}: {worst:.1e}")
    assert not wrong


@pytest.mark.slow
@pytest.mark.parametrize("case", ill_posed, ids=_by_name)
def test_forward_dynamics_where_it_is_ill_posed(case: Case) -> None:
    """The condition number of the mass matrix is 1e13: the judge computes in longdouble."""
    pair = Pair(case, way=case.way)
    s = pair.states(50)
    assert np.linalg.cond(pair.ask("mass_matrix", s.q)).max() > 1e12
    exact = pair.robot.forward_dynamics(*(x.astype(np.longdouble) for x in (s.q, s.v, s.tau)))
    theirs = pair.from_velocities(pair.each(s, lambda q, v, a, tau, k: pin.aba(pair.model, pair.data, q, v, tau)))
    ours = relative_errors(pair.ask("forward_dynamics", s.q, s.v, s.tau), exact)
    peer = relative_errors(theirs, exact)
    assert np.median(ours) <= np.median(peer)
    assert ours.max() <= peer.max()


def _name(path: Path) -> str:
    return path.stem


@pytest.mark.slow
@pytest.mark.parametrize("path", urdf_files(), ids=_name)
def test_every_robot_description_agrees(path: Path) -> None:
    """Masses, placements, axes and names of every file, as inverse dynamics and the pose of the last link see them."""
    case = Case(path.stem, path.relative_to(ROBOTS).as_posix(), floating="floating" not in path.read_text())
    pair = Pair(case, way="interpreted")
    s = pair.states(4)
    theirs = pair.each(s, lambda q, v, a, tau, k: pin.rnea(pair.model, pair.data, q, v, a))
    mine = pair.ask("inverse_dynamics", s.q, s.v, s.a)
    assert relative_errors(mine, pair.from_forces(theirs)).max() <= PEER
    for frame in pair.frames(1):
        _, ours, peer = next(pair.kinematics(s, frame))
        assert relative_errors(ours, peer).max() <= PEER
