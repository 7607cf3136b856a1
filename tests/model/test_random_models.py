"""The generator that other tests rest on."""

from __future__ import annotations

import numpy as np
import pytest

from tests.random_models import ALL_JOINTS, random_robot, random_state


@pytest.mark.parametrize("seed", range(5))
class TestRandomRobot:
    def test_every_type_of_joint_appears(self, seed) -> None:
        robot = random_robot(seed, n=len(ALL_JOINTS), merge=False)
        assert {type(c.type) for c in robot.joints} == set(ALL_JOINTS)

    def test_bodies_are_possible(self, seed) -> None:
        for body in random_robot(seed, n=12, floating=True).bodies:
            moments = np.linalg.eigvalsh(body.inertia_matrix)
            assert body.mass > 0
            assert moments[0] > 0
            assert moments[0] + moments[1] >= moments[2]

    def test_shape(self, seed) -> None:
        chain, tree = (random_robot(seed, n=12, chain=chain, merge=False) for chain in (True, False))
        assert [c.parent for c in chain.joints] == list(range(-1, 11))
        parents = [c.parent for c in tree.joints]
        assert len(set(parents)) < len(parents)

    def test_armature(self, seed) -> None:
        assert not any(any(c.armature) for c in random_robot(seed).joints)
        having = [any(c.armature) for c in random_robot(seed, n=20, armature=True).joints]
        assert any(having)
        assert not all(having)

    def test_states(self, seed) -> None:
        robot = random_robot(seed)
        q, v, a = random_state(robot, seed, (3, 2))
        assert q.shape == (3, 2, robot.nq)
        assert v.shape == a.shape == (3, 2, robot.nv)
        assert (q == random_state(robot, seed, (3, 2))[0]).all()
        assert (v != a).any()
