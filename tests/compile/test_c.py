"""C code of kernels: compiled by the compiler of the system, it gives the numbers of our machine code."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.algorithms import find
from ordern.algorithms.questions import COMMON
from ordern.graph import OPS
from tests.compile.c_programs import COMPILER, check_text, compiled
from tests.compile.test_ways import ROBOTS as TREES
from tests.random_models import random_robot
from tests.tolerances import C_CODE

ARM, CHAIN, LOOP = on.load("puma560"), on.chain(300, seed=2), on.load("four-bar")
SMALL = random_robot(5, 2, (on.Revolute,), passive=True, floating=True)
SHORT = {
    "fixed base": ARM.kernel("forward_dynamics"),
    "path to a frame": ARM.kernel("jacobian", frame="flange", axes="world", way="rolled"),
    "mechanism": LOOP.kernel("closed_dynamics"),
}
LONG = {
    "fixed base, loops": ARM.kernel("forward_dynamics", way="rolled"),
    "floating base": TREES["floating tree"].kernel("inverse_dynamics", present=("external",)),
    "floating base, loops": TREES["floating tree"].kernel("forward_dynamics", way="rolled"),
    "own joint types": TREES["tree"].kernel("mass_matrix"),
    "mimic joints, loops": TREES["coupled tree"].kernel("inverse_dynamics", way="rolled"),
    "mimic joints": TREES["coupled tree"].kernel("forward_dynamics"),
    "loops over freedoms": ARM.kernel("mass_matrix_factor", "udu", way="rolled"),
    "long chain": CHAIN.kernel("forward_dynamics"),
}


def state(kernel: on.Kernel, seed: int = 0) -> list[Any]:
    """Random arguments of one state."""
    rng = np.random.default_rng(seed)
    shapes = [kernel.request.shape(p.kind) for p in kernel.ports]
    ports = zip(kernel.ports, shapes, strict=True)
    return [kernel.model.random(rng) if p.kind == "q" else rng.uniform(-1.0, 1.0, s) for p, s in ports]


def compare(kernels: list[on.Kernel], folder: Path, dtype: str = "float64", way: str | None = None) -> None:
    """Assert that C code gives the answers of kernels, run in a way; without a compiler, that its text is sound."""
    for kernel in kernels:
        check_text(kernel.c(dtype))
    if COMPILER is None:
        return
    for kernel, function in zip(kernels, compiled(kernels, folder, dtype), strict=True):
        given = [np.asarray(x, dtype) for x in state(kernel)]
        answer, expected = function(*given), (kernel.with_way(way) if way else kernel)(*given)
        off = np.abs(answer - expected).max(initial=0.0) / np.abs(expected).max(initial=1.0)
        assert off <= C_CODE[dtype], f"{kernel}: {off}"


def test_numbers_are_those_of_the_kernel(tmp_path: Path) -> None:
    compare(list(SHORT.values()), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_numbers_are_those_of_longer_kernels(dtype: str, tmp_path: Path) -> None:
    compare([*SHORT.values(), *LONG.values()], tmp_path, dtype)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["unrolled", "rolled"])
@pytest.mark.parametrize("name", ["tree", "mechanism"])
def test_every_question_and_method_has_c_code(name: str, way: str, tmp_path: Path) -> None:
    robot = LOOP if name == "mechanism" else SMALL
    kernels = []
    for asked in (find(name)[0] for name in COMMON):
        last = robot.bodies[-1].name
        values = {"frame": last, "frames": (last, robot.bodies[0].name), "axes": "frame", "kind": "classical"}
        options = {option: values[option] for option in asked.options}
        optional = tuple(p.name for p in asked.inputs if p.optional)
        for method in on.methods(asked.name):
            if method.alias_of or method.pieces or (method.refuses and method.refuses(robot)):
                continue
            if asked.loops != (name == "mechanism") or (way == "rolled" and not method.sweeps):
                continue
            accepted = tuple(p for p in optional if p in method.accepts(asked))
            kernels.append(robot.kernel(asked.name, method.name, present=accepted, way=way, **options))
    assert len(kernels) > (8 if name == "mechanism" else 60)
    compare(kernels, tmp_path, way="interpreted")  # which needs no machine code: there are many


def test_the_comment_says_how_to_call_it() -> None:
    arm = on.load("double-pendulum")
    text = arm.kernel("forward_dynamics").c()
    head = text[: text.index("#include")]
    counts = arm.kernel("forward_dynamics").counts()
    assert (
        "void double_pendulum_forward_dynamics(const double *q, const double *v, const double *tau, double *out);"
        in head
    )
    assert "tau  2  joint forces" in head and "0 shoulder, 1 elbow" in head
    assert f"{counts.multiplications} multiplications, {counts.additions} additions" in head
    loops = arm.kernel("mass_matrix", way="rolled").c("float32", "inertia")
    assert "void inertia(const float *q, float *out, float *work);" in loops
    assert "#define INERTIA_WORK" in loops and "out   2 x 2" in loops
    assert "double " not in loops[loops.index("#include") :]


def test_names_of_robots_become_names_of_c() -> None:
    robot = on.Builder("9 */ lives").body("ground").body("arm", parent="ground", joint=on.Revolute(), mass=1.0).build()
    text = robot.kernel("potential_energy").c()
    check_text(text)
    assert "void the_9_lives_potential_energy(" in text and "9 * / lives" in text


@pytest.mark.slow
def test_the_same_robot_has_the_same_text_in_every_process() -> None:
    code = "import ordern as on; print(on.load('stanford-arm').kernel('mass_matrix', way='rolled').c())"
    texts = [
        subprocess.check_output([sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed})
        for seed in ("1", "2")
    ]
    assert texts[0] == texts[1] and len(texts[0]) > 1000


@pytest.mark.slow
def test_it_is_also_valid_c_plus_plus(tmp_path: Path) -> None:
    text = ARM.kernel("mass_matrix", way="rolled").c()
    check_text(text)
    compiler = next((found for name in ("c++", "g++", "clang++") if (found := shutil.which(name))), None)
    if compiler is not None:
        file = tmp_path / "code.cpp"
        file.write_text(text, encoding="utf-8")
        strict = ("-std=c++11", "-Wall", "-Wextra", "-pedantic", "-Werror")
        subprocess.run([compiler, *strict, "-c", "-o", str(tmp_path / "code.o"), str(file)], check=True)


def test_what_has_no_c_code_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(on.ArgumentError, match="no code of its own"):
        ARM.kernel("forward_dynamics", "conjugate-gradient").c()
    with pytest.raises(on.CompileError, match="is interpreted"):
        ARM.kernel("forward_dynamics", way="interpreted").c()
    with pytest.raises(on.CompileError, match=r"not made of loops over bodies.*way='unrolled'"):
        ARM.kernel("forward_dynamics", "divide-and-conquer", way="rolled").c()
    with pytest.raises(on.ArgumentError, match="'float64' or 'float32', not for 'int8'"):
        ARM.kernel("mass_matrix").c("int8")
    with pytest.raises(on.ArgumentError, match="'my function' is not a name for a C function; 'my_function' would be"):
        ARM.kernel("mass_matrix").c(name="my function")
    monkeypatch.setitem(OPS, "cos", replace(OPS["cos"], c=""))
    with pytest.raises(on.CompileError, match="the operation 'cos' has no C code"):
        ARM.kernel("mass_matrix").c()


def test_loops_are_not_left_out_in_silence() -> None:
    with pytest.raises(on.ArgumentError, match="closed_dynamics"):
        LOOP.kernel("forward_dynamics").c()
    assert "these are numbers of the tree alone" in LOOP.kernel("mass_matrix").c()


@pytest.mark.slow
def test_the_programs_of_the_documentation_compile(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "c_code.md"
    control, step = re.findall(r"^```c\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    torques = ARM.kernel("inverse_dynamics").c("float32", "arm_torques")
    assert torques[: torques.index("*/")].rstrip() in page.read_text(encoding="utf-8")
    (tmp_path / "chain.c").write_text(on.chain(200).kernel("forward_dynamics").c(name="chain"), encoding="utf-8")
    for k, text in enumerate([f"{torques}\n{control}", step]):
        (tmp_path / f"{k}.c").write_text(text, encoding="utf-8")
        if COMPILER is not None:
            command = [COMPILER, "-std=c99", "-Wall", "-Werror", "-Wdouble-promotion", "-c", f"{k}.c", "-o", f"{k}.o"]
            subprocess.run(command, cwd=tmp_path, check=True)
