"""Programs on arrays, recorded from methods that work on all bodies at once."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from ordern.compile.arrays.host import run_program
from ordern.compile.arrays.program import Copy, Rows, used
from ordern.compile.arrays.recorded import record
from ordern.errors import TraceError
from ordern.robots.generated import chain
from tests.compile.asking import relative
from tests.random_models import Wrist, random_robot
from tests.tolerances import INVERSION, LONG_CHAIN

ROBOTS = {
    "chain of 40": lambda: on.Robot.of(chain(40, seed=1).build()),
    "tree": lambda: random_robot(1, 9, (on.Revolute, on.Spherical, Wrist, on.Helical), armature=True),
    "floating chain": lambda: random_robot(2, 5, (on.Revolute, on.Universal), chain=True, floating=True),
    "one link": lambda: on.Robot.of(chain(1, seed=1).build()),
}


@pytest.mark.parametrize("name", [pytest.param(x, marks=() if x == "one link" else pytest.mark.slow) for x in ROBOTS])
def test_recorded_scans_equal_the_sweep(name: str) -> None:
    robot = ROBOTS[name]()
    rng = np.random.default_rng(0)
    states = np.stack([robot.random(rng) for _ in range(3)]), *rng.normal(size=(2, 3, robot.nv))
    program = record(robot.kernel("forward_dynamics", "kalman-scan", way="rolled").request, "float64")
    found = run_program(program, robot, states, "float64")
    assert relative(found, robot.forward_dynamics(*states)) <= INVERSION


def test_steps_grow_with_the_logarithm_of_the_length() -> None:
    steps = []
    for n in (64, 128, 256):
        request = on.Robot.of(chain(n, seed=1).build()).kernel("forward_dynamics", "kalman-scan").request
        steps.append(len(record(request, "float64").steps))
    assert steps[1] - steps[0] == steps[2] - steps[1]


@pytest.mark.slow
def test_a_long_chain_is_as_exact_as_the_sweep() -> None:
    robot = on.Robot.of(chain(2000, seed=3).build())
    rng = np.random.default_rng(0)
    states = rng.normal(size=(3, 1, robot.nv))
    program = record(robot.kernel("forward_dynamics", "kalman-scan").request, "float64")
    assert relative(run_program(program, robot, states, "float64"), robot.forward_dynamics(*states)) <= LONG_CHAIN
    assert program.places()[1] < 500 * robot.nv  # tables whose last use is past give their place to others


def test_tables_in_use_do_not_share_memory() -> None:
    request = on.Robot.of(chain(70, seed=1).build()).kernel("forward_dynamics", "kalman-scan").request
    program = record(request, "float64")
    starts, size = program.places()
    last, owner = program.last_uses(), np.full(size, -1)
    for number, step in enumerate(program.steps):
        for table in used(step):
            if table.number in program.constants:
                continue
            start = starts[table.number]
            held = owner[start : start + table.rows * table.width]
            other = set(held.tolist()) - {-1, table.number}
            assert all(last[x] < number and program.tables[x] not in program.inputs for x in other)
            held[:] = table.number


def test_rows_at_even_distances_need_no_list() -> None:
    assert Rows.of(np.array([7, 5, 3])) == Rows(3, 7, -2)
    assert Rows.of(np.array([7, 5, 4])).places is not None
    assert Rows(10, 1, 2).some(slice(None, None, 3)) == Rows(4, 1, 6)


def test_a_text_that_reads_single_numbers_is_refused() -> None:
    request = on.load("puma560").kernel("forward_dynamics", way="rolled").request
    with pytest.raises(TraceError, match="cannot be recorded"):
        record(request, "float64")


def test_constants_are_not_copied_for_each_state() -> None:
    request = on.Robot.of(chain(8, seed=1).build()).kernel("forward_dynamics", "kalman-scan").request
    program = record(request, "float64")
    assert not any(program.tables[number].batched for number in program.constants)
    assert any(isinstance(step, Copy) for step in program.steps)
