"""Programs on arrays, recorded from methods that work on all bodies at once."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.compile.arrays.host import run_program
from ordern.compile.arrays.launches import constants_of, launches
from ordern.compile.arrays.program import Apply, Copy, Program, Rows, Table, used
from ordern.compile.arrays.recorded import _Recorder, record
from ordern.compile.ptx.array_kernels import array_code, written
from ordern.compile.ptx.entry import NAME
from ordern.compile.run.engine import Engine, compile_object
from ordern.errors import TraceError
from ordern.robots.generated import chain
from tests.compile.asking import relative
from tests.compile.ptx_tools import assemble
from tests.random_models import Wrist, random_robot
from tests.tolerances import INVERSION, LONG_CHAIN, SINGLE

Array = np.ndarray[Any, Any]

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


def run_kernels(program: Program, states: Sequence[Array], dtype: str) -> Array:
    """Run the kernels of a program on this machine, thread by thread, in memory laid out as on a GPU."""
    count, itemsize = len(states[0]), np.dtype(dtype).itemsize
    memory = np.full(program.places()[1] * count, np.nan, dtype)
    constants = constants_of(program, dtype)
    steps, address = launches(program, itemsize, count, memory.ctypes.data, [x.ctypes.data for x in constants])

    def at(table: Table) -> Array:
        start = (address(table.number) - memory.ctypes.data) // itemsize
        return memory[start : start + table.rows * count].reshape(table.rows, count)

    for table, x in zip(program.inputs, states, strict=True):
        at(table)[:] = x.T
    engines: dict[Any, Any] = {}
    for step in steps:
        key: Any = (step.step.piece.key if isinstance(step.step, Apply) else "copy"), step.shape
        if key not in engines:
            ir, block, _ = written(step.step, step.shape, dtype, "sm_90", on_device=False)
            engines[key] = Engine(compile_object(ir), [NAME]), block
        engine, block = engines[key]
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * (len(step.parameters) + 4))(engine.address(NAME))
        for element in range(-(-step.elements // block) * block):
            function(*step.parameters, element % block, element // block, 0, 0)
    return at(program.result).T


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("states", [1, 3])
def test_kernels_for_gpus_equal_the_sweep(states: int, dtype: str) -> None:
    robot = on.Robot.of(chain(11, seed=2).build())
    rng = np.random.default_rng(0)
    given = [x.astype(dtype) for x in rng.normal(size=(3, states, robot.nv))]
    request = robot.kernel("forward_dynamics", "kalman-scan", way="rolled").request
    found = run_kernels(record(request, dtype), given, dtype)
    assert relative(found, robot.forward_dynamics(*given)) <= (INVERSION if dtype == "float64" else SINGLE)


@pytest.mark.slow
@pytest.mark.needs("nvidia.cuda_nvcc")
@pytest.mark.parametrize(
    ("dtype", "registers", "spilled", "size"), [("float64", 255, 2100, 71_000), ("float32", 128, 400, 60_000)]
)
def test_kernels_for_gpus_assemble(tmp_path: Path, dtype: str, registers: int, spilled: int, size: int) -> None:
    program = record(on.chain(11).kernel("forward_dynamics", "kalman-scan", way="rolled").request, dtype)
    steps, _ = launches(program, np.dtype(dtype).itemsize, 1, 0, range(len(constants_of(program, dtype))))
    kernels = {(x.step.piece.key if isinstance(x.step, Apply) else "copy", x.shape): x for x in steps}
    for x in kernels.values():
        found = assemble(array_code(x.step, x.shape, dtype, "sm_90").text, tmp_path)
        assert found.registers <= registers and found.spilled <= spilled and found.size <= size
    assert len(kernels) > 5


@pytest.mark.slow
def test_kernels_of_a_tree_with_several_kinds_of_joints() -> None:
    robot = ROBOTS["tree"]()
    rng = np.random.default_rng(0)
    given = robot.random(rng)[None], *rng.normal(size=(2, 1, robot.nv))
    program = record(robot.kernel("forward_dynamics", "kalman-scan", way="rolled").request, "float64")
    assert relative(run_kernels(program, given, "float64"), robot.forward_dynamics(*given)) <= INVERSION


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


def test_arrays_that_share_a_table_do_not_change_together() -> None:
    recorder = _Recorder(np.dtype(float), 0)
    a, b, c = (recorder.new(4, (2,)) for _ in range(3))
    b[::-1] = a  # takes the rows of a as they are
    assert b.view.table is a.view.table and not recorder.steps
    b[1:2] = c[:1]
    assert b.view.table is not a.view.table
    a[:1] = c[:1]
    assert len({x.view.table.number for x in (a, b, c)}) == 3


def test_constants_are_not_copied_for_each_state() -> None:
    request = on.Robot.of(chain(8, seed=1).build()).kernel("forward_dynamics", "kalman-scan").request
    program = record(request, "float64")
    assert not any(program.tables[number].batched for number in program.constants)
    assert any(isinstance(step, Copy) for step in program.steps)
