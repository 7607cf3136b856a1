"""Kernels for GPUs: the same text gives the ordinary kernel's answers, and NVIDIA's assembler takes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.algorithms import methods, questions
from ordern.compile.program import straight_line
from ordern.compile.ptx import program, ptx_code
from ordern.compile.ptx.limbs import bodies_of, divided
from ordern.compile.ptx.machine import shared_bytes
from ordern.compile.ptx.plan import Plan
from ordern.compile.ptx.program import write_kernel
from ordern.compile.ptx.spills import spill_schedule
from ordern.errors import ArgumentError, CompileError
from ordern.graph import Node, live
from ordern.worlds.operators import operator_of
from tests.compile.asking import EVERYTHING, arguments, name_of, relative
from tests.compile.ptx_tools import assemble, run_here
from tests.random_models import CUSTOM_JOINTS, Wrist, random_robot
from tests.robots import ROBOTS
from tests.tolerances import DEVICE, INVERSION, ROUNDING, SINGLE

TREES = {
    "tree": random_robot(21, 6, (*CUSTOM_JOINTS, Wrist, on.Planar, on.Free), armature=True),
    "floating tree": random_robot(22, 6, (on.Revolute, on.Prismatic, on.Universal, on.Helical), floating=True),
    "coupled tree": random_robot(24, 8, (on.Revolute, on.Prismatic, on.Spherical), passive=True, mimic=True),
}
COUPLED = random_robot(26, 3, (on.Revolute, on.Prismatic), passive=True, mimic=True)
SMALL = random_robot(23, 3, (on.Revolute, on.Prismatic, on.Universal), floating=True)


def _check(robot: on.Robot, asked: Any, dtype: str, way: str, blocks: int | None = None) -> None:
    question, present, options = asked
    kernel = robot.kernel(question, present=present, way=way, **options)
    given = [x.astype(dtype) for x in arguments(robot, question, present, 131)]
    found, code = run_here(kernel.request, dtype, given, blocks)
    allowed = SINGLE if dtype == "float32" else INVERSION if question == "forward_dynamics" else ROUNDING
    assert code.way == way
    assert relative(found, kernel(*given)) <= allowed


@pytest.mark.parametrize("way", ["unrolled", "rolled"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_text_of_a_kernel_is_the_ordinary_one(dtype: str, way: str) -> None:
    _check(SMALL, ("forward_dynamics", (), {}), dtype, way)


@pytest.mark.slow
@pytest.mark.parametrize("asked", EVERYTHING, ids=name_of)
@pytest.mark.parametrize("tree", TREES)
def test_every_question(tree: str, asked: Any) -> None:
    for way in ("unrolled", "rolled"):
        for dtype in ("float64", "float32"):
            _check(TREES[tree], asked, dtype, way)


def test_blocks_with_a_workspace_take_states_by_turns() -> None:
    asked = "forward_dynamics", (), {}
    kernel = SMALL.kernel("forward_dynamics", way="rolled")
    given = arguments(SMALL, "forward_dynamics", (), 300)
    one, three = (run_here(kernel.request, "float64", given, blocks)[0] for blocks in (1, 3))
    np.testing.assert_array_equal(one, three)
    _check(SMALL, asked, "float64", "rolled", blocks=1)


@pytest.mark.parametrize("way", ["unrolled", "rolled"])
def test_one_row_serves_all_states(way: str) -> None:
    robot = SMALL
    kernel = robot.kernel("forward_dynamics", way=way)
    q, v, tau = arguments(robot, "forward_dynamics", (), 130)
    found, _ = run_here(kernel.request, "float64", (q, v[:1], tau))
    assert relative(found, kernel(q, v[0], tau)) <= INVERSION


@pytest.mark.parametrize("way", ["unrolled", "rolled"])
def test_numbers_that_vary_are_the_last_argument(way: str) -> None:
    robot = SMALL
    masses = np.array([body.mass for body in robot.bodies])
    kernel = robot.vary(mass=masses * np.linspace(0.5, 2.0, 140)[:, None]).kernel("forward_dynamics", way=way)
    assert kernel._varied is not None
    given = arguments(robot, "forward_dynamics", (), 140)
    numbers = kernel._varied.numbers(kernel.request, write_kernel(kernel.request, "float64").code, np.dtype("float64"))
    found, _ = run_here(kernel.request, "float64", (*given, numbers))
    assert relative(found, kernel(*given)) <= INVERSION


@pytest.mark.parametrize("space", ["local", "shared"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_values_wait_in_slots(dtype: str, space: str) -> None:
    kernel = SMALL.kernel("forward_dynamics")
    given = [x.astype(dtype) for x in arguments(SMALL, "forward_dynamics", (), 70)]
    plan = Plan(block=64, registers=0, ahead=20, piece=50, keep=24, space=space)
    found, code = run_here(kernel.request, dtype, given, plan=plan)
    assert (code.shared_bytes > 0) == (space == "shared")
    assert relative(found, kernel(*given)) <= (SINGLE if dtype == "float32" else INVERSION)


@pytest.mark.parametrize(("team", "groups", "block"), [("rows", 1, 32), ("limbs", 1, 160), ("limbs", 2, 320)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_warps_divide_the_work(dtype: str, team: str, groups: int, block: int) -> None:
    robot = on.load("quadruped")
    kernel = robot.kernel("forward_dynamics")
    q, v, tau = (x.astype(dtype) for x in arguments(robot, "forward_dynamics", (), 32 * groups + 5))
    plan = Plan(0, 0, 0, piece=200, team=team, groups=groups)
    found, code = run_here(kernel.request, dtype, (q, v[:1], tau), plan=plan)
    assert (code.states, code.block) == (32 * groups, block)
    assert relative(found, kernel(q, v[0], tau)) <= (SINGLE if dtype == "float32" else INVERSION)


@pytest.mark.parametrize("keep", [3, 8, 30])
def test_schedule_of_slots(keep: int) -> None:
    results = straight_line(SMALL.kernel("forward_dynamics").request)
    work = [node for node in live(x for x in results if isinstance(x, Node)) if node.args]
    schedule, slots = spill_schedule(work, keep), {}
    held: set[int] = set()
    last = {a.index: position for position, node in enumerate(work) for a in node.args}
    for position, node in enumerate(work):
        for index, slot in schedule.read.get(position, ()):
            assert slots[slot] == index
            held.add(index)
        assert {a.index for a in node.args if a.args} <= held
        held = {index for index in held | {node.index} if last.get(index, -1) > position}
        for index, slot in schedule.write.get(position, ()):
            assert slot < schedule.count
            slots[slot] = index
            held.discard(index)
    assert len(schedule.write) > 10
    fewer = spill_schedule(work, keep + 10)
    assert fewer.count <= schedule.count
    assert sum(map(len, fewer.read.values())) <= sum(map(len, schedule.read.values()))


def test_long_code_is_rolled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "LONGEST", 300)
    given = arguments(SMALL, "forward_dynamics", (), 8)
    kernel = SMALL.kernel("forward_dynamics")
    found, code = run_here(kernel.request, "float64", given)
    assert (code.way, kernel.code.way) == ("rolled", "unrolled")
    assert relative(found, kernel(*given)) <= INVERSION


@pytest.mark.needs("example_robot_data")
def test_warps_divide_the_work_of_robots_with_many_values() -> None:
    humanoid, arm = ROBOTS / "talos_data/robots/talos_reduced.urdf", ROBOTS / "panda_description/urdf/panda.urdf"
    codes = [
        ptx_code(on.load(file, floating=file is humanoid).kernel("forward_dynamics").request, "float32")
        for file in (humanoid, arm)
    ]
    assert [(code.block, code.states) for code in codes] == [(128, 32), (128, 128)]


def test_devices_that_are_not_known() -> None:
    request = SMALL.kernel("mass_matrix").request
    with pytest.raises(ArgumentError, match=r"'sm_61' is not a device.*sm_70"):
        ptx_code(request, "float64", "sm_61")
    assert ".target sm_120" in ptx_code(request, "float64", "sm_121").text
    old = ptx_code(request, "float64", "sm_70").text
    assert ".target sm_70" in old and ".version 6.0" in old


def test_methods_that_are_no_text() -> None:
    kernel = SMALL.kernel("forward_dynamics", "conjugate-gradient")
    with pytest.raises(CompileError, match=r"NumPy code around compiled functions.*'articulated-body'"):
        ptx_code(kernel.request, "float64")


@pytest.mark.needs("nvidia.cuda_nvcc", "example_robot_data")
@pytest.mark.parametrize(
    ("file", "dtype", "registers", "spilled", "size"),
    [
        ("panda_description/urdf/panda.urdf", "float32", 128, 0, 31_000),
        ("panda_description/urdf/panda.urdf", "float64", 255, 0, 52_000),
        ("ur_description/urdf/ur5_robot.urdf", "float32", 72, 0, 16_000),
        pytest.param("talos_data/robots/talos_reduced.urdf", "float32", 128, 520, 150_000, marks=pytest.mark.slow),
        pytest.param("g1_description/urdf/g1_29dof_rev_1_0.urdf", "float32", 128, 760, 165_000, marks=pytest.mark.slow),
    ],
)
def test_registers_of_known_robots(
    tmp_path: Path, file: str, dtype: str, registers: int, spilled: int, size: int
) -> None:
    robot = on.load(ROBOTS / file, floating="talos" in file or "g1" in file)
    code = ptx_code(robot.kernel("forward_dynamics").request, dtype)
    found = assemble(code.text, tmp_path)
    assert found.registers <= registers
    assert found.spilled <= spilled
    assert found.size <= size


@pytest.mark.slow
@pytest.mark.needs("example_robot_data")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_agreement_on_a_real_robot(dtype: str) -> None:
    robot = on.load(ROBOTS / "panda_description/urdf/panda.urdf")
    kernel = robot.kernel("forward_dynamics")
    given = [x.astype(dtype) for x in arguments(robot, "forward_dynamics", (), 200)]
    found, _ = run_here(kernel.request, dtype, given)
    expected = kernel(*given)
    assert np.abs(found - expected).max() <= DEVICE[dtype] * np.abs(expected).max()


def _texts(robot: on.Robot) -> list[Any]:
    """Every question and method that is a text and can be used for a robot."""
    found = []
    for question in questions():
        for method in methods(question.name):
            refused = method.refuses is not None and method.refuses(robot)
            ours = method.function.__module__.startswith("ordern.")  # other tests declare methods of their own
            if ours and not (method.pieces or method.alias_of or refused or question.loops):
                found.append((question, method))
    return found


@pytest.mark.slow
@pytest.mark.needs("nvidia.cuda_nvcc")
@pytest.mark.parametrize(
    ("tree", "every_method", "dtypes"),
    [
        ("small tree", True, ("float32", "float64")),
        ("small coupled tree", True, ("float64",)),
        ("tree", False, ("float32",)),
    ],
)
def test_every_method_assembles(tmp_path: Path, tree: str, every_method: bool, dtypes: tuple[str, ...]) -> None:
    """The instructions depend on the method, on the data type and on couplings, and those of joints on no method."""
    robot = {"small tree": SMALL, "small coupled tree": COUPLED, **TREES}[tree]
    values = {"frame": "tool", "frames": ("tool",), "axes": "world", "kind": "classical"}
    texts: set[str] = set()
    for question, method in _texts(robot):
        if set(question.options) <= values.keys() and (every_method or method.name == question.default):
            settings = {name: values[name] for name in question.options}
            request = robot.kernel(question.name, method.name, **settings).request
            texts.update(ptx_code(request, dtype).text for dtype in dtypes)
    assert len(texts) > 30
    for text in texts:
        assemble(text, tmp_path, level=0)


@pytest.mark.slow
@pytest.mark.needs("nvidia.cuda_nvcc")
def test_every_question_about_loops_assembles(tmp_path: Path) -> None:
    robot = on.load("four-bar")
    count = 0
    for question in (x for x in questions() if x.loops):
        for method in methods(question.name):
            refused = method.refuses is not None and method.refuses(robot)
            ours = method.function.__module__.startswith("ordern.")  # other tests declare methods of their own
            if method.pieces or method.alias_of or refused or not ours:
                continue
            usual = {"moving": frozenset(), "alpha": 20.0}
            settings = {name: x for name, x in usual.items() if name in question.options}
            request = robot.kernel(question.name, method.name, **settings).request
            closes = question.name in ("contact_step", "joint_step")  # positions and velocities as well
            more = 16 if closes else 0
            for dtype, registers, size in (("float32", 72 + more, 20_000), ("float64", 96 + more, 31_000)):
                found = assemble(ptx_code(request, dtype).text, tmp_path)
                assert found.spilled == 0 and found.registers <= registers and found.size <= size, method.name
            count += 1
    assert count >= 10


@pytest.mark.slow
@pytest.mark.needs("nvidia.cuda_nvcc")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_derivatives_assemble(tmp_path: Path, dtype: str) -> None:
    robot = on.load("stanford-arm")
    for question in ("forward_dynamics", "inverse_dynamics", "integrate"):
        operator = operator_of(robot.kernel(question))
        for found in (operator.push("q"), operator.pull("q", "v"), operator.push("q").pull("q")):
            said = assemble(ptx_code(found.request, dtype).text, tmp_path)
            assert said.registers <= 255 and said.spilled <= 32 and said.size <= 60_000, found.name


@pytest.mark.slow
@pytest.mark.needs("nvidia.cuda_nvcc", "example_robot_data")
@pytest.mark.parametrize("arch", ["sm_70", "sm_75", "sm_80", "sm_89", "sm_100", "sm_120"])
def test_every_generation_assembles(tmp_path: Path, arch: str) -> None:
    robot = on.load(ROBOTS / "talos_data/robots/talos_reduced.urdf", floating=True)
    for question, dtype in (
        ("forward_dynamics", "float32"),
        ("forward_dynamics", "float64"),
        ("mass_matrix", "float32"),
    ):
        code = ptx_code(robot.kernel(question).request, dtype, arch)
        assemble(code.text, tmp_path, arch, level=0)
        assert code.shared_bytes <= shared_bytes(arch)


def test_division_passes_every_value_on() -> None:
    robot = on.load("quadruped")
    request = robot.kernel("forward_dynamics").request
    results = straight_line(request)
    work = [node for node in live(x for x in results if isinstance(x, Node)) if node.args]
    inputs = [bodies_of(request.model, port.kind) for port in request.ports]
    division = divided(request.model, inputs, bodies_of(request.model, "v"), results, work)
    assert sum(len(nodes) for warp in division.warps for nodes in warp) == len(work)
    assert division.phases == 4
    slots: dict[int, int] = {}
    own: list[set[int]] = [set() for _ in division.warps]
    for phase in range(division.phases):
        written: dict[int, int] = {}
        for warp, phases in enumerate(division.warps):
            for node in phases[phase]:
                foreign = {a.index for a in node.args if a.args} - own[warp]
                assert all(slots[division.passed[index]] == index for index in foreign)
                own[warp].add(node.index)
                if node.index in division.passed:
                    written[division.passed[node.index]] = node.index
        read = {
            division.passed[a.index]
            for warp, phases in enumerate(division.warps)
            for node in phases[phase]
            for a in node.args
            if a.args and a.index not in own[warp]
        }
        assert not read & written.keys()  # other warps may still read them
        slots |= written
