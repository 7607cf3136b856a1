"""Kernels for GPUs on a machine that has none: run on the processor, or assembled by NVIDIA's `ptxas`."""

from __future__ import annotations

import ctypes
import re
import subprocess
import threading
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ordern as on
from ordern.compile.pipeline import Request, layout_of
from ordern.compile.ptx.code import PtxCode
from ordern.compile.ptx.plan import Plan
from ordern.compile.ptx.program import write_kernel
from ordern.compile.ptx.rollout import ROLLOUT_PARAMETERS, write_rollout
from ordern.compile.run.engine import Engine, compile_object
from ordern.model import core_size
from ordern.simulate.integrators.native import step_requests
from ordern.simulate.integrators.rk_step import fixed_step
from ordern.simulate.integrators.tableaus import tableau as tableau_of
from ordern.simulate.step_rule import stepped
from tests.tolerances import HUNG

Array = np.ndarray[Any, Any]


def run_here(
    request: Request, dtype: str, given: Sequence[Array], blocks: int | None = None, plan: Plan | None = None
) -> tuple[Array, PtxCode]:
    """Run all threads of all blocks one after the other; return the results and the kernel.

    Arguments with one row serve all states. What the kernel should write is NaN before.
    """
    written = write_kernel(request, dtype, plan=plan, on_device=False)
    code, output = written.code, layout_of(request, 1).output
    engine = Engine(compile_object(written.ir), [code.entry])
    rows = [np.ascontiguousarray(x.reshape(len(x), -1), dtype) for x in given]
    n = max(map(len, rows))
    result = np.full((n, output.size), np.nan, dtype)
    blocks = blocks or -(-n // code.states)
    workspace = np.full(max(1, blocks * code.states * code.workspace), np.nan, dtype)
    tables = np.frombuffer(code.tables or bytes(16), np.uint8)
    words = [x for a in rows for x in (a.ctypes.data, a.shape[1] if len(a) > 1 else 0)]
    words += [result.ctypes.data, output.size, workspace.ctypes.data, tables.ctypes.data, n]
    _run_all(engine, code, words, blocks, "call void %wait()" in written.ir)
    return result.reshape(n, *output.shape), code


def rollout_here(
    robot: on.Robot, method: str, arrays: dict[str, Array], steps: int, every: int, plan: Plan | None = None
) -> tuple[Array, ...]:
    """Run the kernel of a rollout; `arrays` are its arguments by name, those over time as (n, steps or 1, size).

    Return positions and velocities; for a robot with contacts, also impulses and certificates.
    """
    tableau, results = tableau_of(method), 4 if "pushes0" in arrays else 2
    robot, _ = stepped(robot, method, None, "goal" in arrays, "baumgarte", None)
    if robot.contacts is not None and "limits" not in arrays:  # limits and friction of joints alone
        stops = np.zeros((1, robot.nv if robot.has_stops else 0))
        more = {"pushes0": stops, "surfaces": np.zeros((1, 0)), "limits": np.r_[robot.lower, robot.upper]}
        arrays = {**arrays, **{name: x.astype(arrays["q0"].dtype) for name, x in more.items()}}
    given = {"feedback": "goal" in arrays, "external": "external" in arrays}
    requests = step_requests(robot, tableau, None, **given)
    dtype = arrays["q0"].dtype.name
    ir, code = write_rollout(
        robot, requests, lambda m, q, v: fixed_step(m, tableau, q, v), dtype, plan=plan, on_device=False
    )
    engine = Engine(compile_object(ir), [code.entry])
    n, rows = len(arrays["q0"]), 1 + steps // every
    out = {"q": np.full((n, rows, robot.nq), np.nan, dtype), "v": np.full((n, rows, robot.nv), np.nan, dtype)}
    if "pushes0" in arrays:
        sizes = {"pushes": arrays["pushes0"].shape[-1], "certificate": 4}
        out |= {name: np.full((n, rows, size), np.nan, dtype) for name, size in sizes.items()}
    words = dict.fromkeys(ROLLOUT_PARAMETERS, 0) | {"steps": steps, "every": every, "n": n}
    for name, x in arrays.items():
        words[name] = x.ctypes.data
        if name not in ("numbers", "limits"):
            words[f"{name}_stride"] = x[0].size if len(x) > 1 else 0
        if x.ndim > 2:
            words[f"{name}_step"] = x.shape[2] if x.shape[1] > 1 else 0
    for name, x in out.items():
        words |= {f"{name}_out": x.ctypes.data, f"{name}_stride": x[0].size, f"{name}_row": x.shape[2]}
    if "pushes0" in arrays:  # the impulses of stops are behind those of contacts
        behind = core_size(robot, "contact_impulses") * arrays["q0"].itemsize
        ends = ("_out", "_stride", "_row", "0", "0_stride")
        words |= {f"stops{x}": words[f"pushes{x}"] + behind * (x in ("0", "_out")) for x in ends}
    blocks = -(-n // code.states)
    _run_all(engine, code, list(words.values()), blocks, "call void %wait()" in ir)
    return tuple(out.values())[:results]


Wait = ctypes.CFUNCTYPE(None)


def _run_all(engine: Engine, code: PtxCode, words: list[int], blocks: int, together: bool) -> None:
    """Run all threads of all blocks; `together` if the threads of a block wait for each other."""
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * (len(words) + 3), Wait)(engine.address(code.entry))
    for block in range(blocks):
        calls = [partial(function, *words, thread, block, blocks) for thread in range(code.block)]
        if together:
            _run_together(calls)
        else:
            for call in calls:
                call(Wait())


def _run_together(calls: Sequence[Callable[[Any], None]]) -> None:
    """Run the threads of a block at the same time: each gets a function that waits for all others."""
    barrier = threading.Barrier(len(calls), timeout=HUNG)
    wait = Wait(lambda: barrier.wait() and None)
    threads = [threading.Thread(target=call, args=(wait,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Assembled(NamedTuple):
    """What the assembler says about a kernel: registers of a thread, and bytes of stack, spills and code."""

    registers: int
    stack: int
    spilled: int
    size: int


def assemble(text: str, folder: Path, arch: str = "sm_90", level: int = 3) -> Assembled:
    """Assemble PTX for a device; at level 0 it is several times quicker, and says only that the text is valid."""
    found = find_spec("nvidia.cuda_nvcc")
    assert found is not None and found.submodule_search_locations
    program = Path(next(iter(found.submodule_search_locations))) / "bin" / "ptxas"
    source, code = folder / "kernel.ptx", folder / "kernel.cubin"
    source.write_text(text)
    command = [str(program), f"-arch={arch}", f"-O{level}", "-v", str(source), "-o", str(code)]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr
    words = said.stdout + said.stderr

    def number(pattern: str) -> int:
        [value] = re.findall(pattern, words)
        return int(value)

    stores = number(r"(\d+) bytes spill stores")
    return Assembled(number(r"Used (\d+) registers"), number(r"(\d+) bytes stack frame"), stores, code.stat().st_size)
