"""Everything that can go wrong with a GPU is said in words."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern import gpu as og
from ordern.compile.run import cache
from ordern.gpu import code, driver, library

from .stand_in import StandIn


def fall(robot: on.Robot, n: int = 10, device: str = "cuda") -> Any:
    return robot.forward_dynamics(*np.ones((3, n, robot.nv)), device=device)


@pytest.fixture
def robot() -> on.Robot:
    return on.load("double-pendulum")


def test_no_driver(robot: on.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "_started", None)
    monkeypatch.setattr(library, "ctypes", SimpleNamespace(CDLL=refuse, WinDLL=refuse))
    with pytest.raises(on.GpuError, match=r"no NVIDIA driver is installed .*device=\"cpu\""):
        fall(robot)
    assert og.devices() == []
    np.testing.assert_array_equal(fall(robot, device="cpu"), robot.forward_dynamics(*np.ones((3, 10, 2))))


class Other:
    """An array of a library that has DLPack."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)


def refuse(name: str) -> Any:
    raise OSError(f"{name}: cannot open shared object file")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"devices": 0}, "no NVIDIA GPU is found"),
        ({"version": 10020}, "too old: it supports CUDA 10.2, and ordern needs 11.0 or newer"),
    ],
)
def test_no_usable_gpu(robot: on.Robot, install: Callable[..., StandIn], settings: Any, message: str) -> None:
    install(**settings)
    with pytest.raises(on.GpuError, match=message):
        fall(robot)


@pytest.mark.parametrize(
    ("device", "error", "message"),
    [
        ("cuda:2", on.GpuError, "'cuda:2': there is no GPU of this number; this machine has cuda:0, cuda:1"),
        ("gpu", on.ArgumentError, 'forward_dynamics: `device` must be "cpu", "cuda"'),
        ("cuda:x", on.ArgumentError, "not 'cuda:x'"),
        (3.5, on.ArgumentError, "not 3.5"),
    ],
)
def test_unknown_devices(robot: on.Robot, gpu: StandIn, device: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fall(robot, device=device)


def test_too_little_memory_says_how_much(robot: on.Robot, install: Callable[..., StandIn]) -> None:
    gpu = install(memory=1 << 20)
    with pytest.raises(
        on.GpuError, match=r"shape \(1000000, 2\): too little memory on Stand-in .* 16.78 MB are needed"
    ):
        og.empty((1_000_000, 2))
    assert gpu.used() == 0
    gpu.memory = 100
    with pytest.raises(on.GpuError, match=r"forward_dynamics of 'double-pendulum' on Stand-in .* too little memory"):
        fall(robot)


def test_failed_launches_name_the_question_and_the_robot(robot: on.Robot, gpu: StandIn) -> None:
    gpu.fail["cuLaunchKernel"] = 719
    with pytest.raises(on.GpuError, match=r"forward_dynamics of 'double-pendulum' on Stand-in .* start a new one") as e:
        fall(robot)
    assert e.value.code == 719 and not any(gpu.contexts.values())
    gpu.fail.clear()
    gpu.fail["cuEventSynchronize"] = 700
    with pytest.raises(on.GpuError, match=r"'double-pendulum' .* address that is not valid"):
        fall(robot)


def test_code_that_the_driver_refuses_comes_with_its_log(robot: on.Robot, gpu: StandIn) -> None:
    with pytest.raises(on.CompileError, match=r"a test: the driver cannot compile .* line 1: syntax error"):
        code.linked("nonsense", og.find_device(), "a test")
    assert gpu.links == {}


def test_methods_without_code_say_so(gpu: StandIn) -> None:
    robot = on.load("double-pendulum")
    with pytest.raises(on.ArgumentError, match="does not run on a GPU, because it is not one piece of code"):
        robot.kernel("mass_matrix", way="interpreted").on("cuda")
    with pytest.raises(on.ArgumentError, match="a GPU computes with float32 and float64, not with"):
        robot.mass_matrix(np.ones(2, np.longdouble), device="cuda")


def test_mixtures_are_named(robot: on.Robot, gpu: StandIn) -> None:
    kernel = robot.kernel("inverse_dynamics").on("cuda")
    x, y = og.array(np.ones((3, 2))), og.array(np.ones((3, 2), "float32"))
    with pytest.raises(on.ArgumentError, match=r"several libraries \(q ordern.Array, v tests.Other, a ordern.Array\)"):
        kernel(x, Other(), x)
    with pytest.raises(on.ArgumentError, match="one data type; these have q float64, v float32, a float64"):
        kernel(x, y, x)
    with pytest.raises(on.ArgumentError, match=r"'v' is on device 1, .*use `kernel.on\(\"cuda:1\"\)`"):
        kernel(x, og.array(np.ones((3, 2)), device="cuda:1"), x)
    with pytest.raises(on.ArgumentError, match=r"argument 'a' has shape \(3, 3\)"):
        kernel(x, x, og.array(np.ones((3, 3))))
    with pytest.raises(on.ArgumentError, match=r"do not broadcast: q \(3,\), v \(3,\), a \(4,\)"):
        kernel(x, x, og.array(np.ones((4, 2))))
    with pytest.raises(on.ArgumentError, match=r"takes 3 arguments \(q, v, a\), not 1"):
        kernel(x)


@pytest.mark.forks
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks on this system")
@pytest.mark.filterwarnings("ignore:os.fork")  # of JAX, if an earlier test has imported it
def test_a_forked_process_gets_an_error_in_words(robot: on.Robot, gpu: StandIn) -> None:
    fall(robot)
    kept = og.array(np.ones(3))
    context = multiprocessing.get_context("fork")
    queue = context.Queue()

    def child() -> None:
        try:
            fall(robot)
        except on.GpuError as e:
            queue.put(str(e))
        nonlocal kept
        del kept

    process = context.Process(target=child)
    process.start()
    assert "this process was forked after the GPU was first used" in queue.get(timeout=60)
    process.join()
    assert process.exitcode == 0


def test_binaries_are_kept_for_their_driver_and_generation(
    gpu: StandIn, install: Callable[..., StandIn], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORDERN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("ORDERN_CACHE", raising=False)
    monkeypatch.setattr(code, "cache", cache)
    first = fall(on.load("double-pendulum"))
    assert gpu.compiled == 1
    np.testing.assert_array_equal(fall(on.load("double-pendulum")), first)
    kernel = on.load("double-pendulum").kernel("forward_dynamics", way="rolled").on("cuda")  # with tables
    for _ in range(2):
        np.testing.assert_allclose(kernel(*np.ones((3, 10, 2))), first, rtol=1e-12)
        kernel = on.load("double-pendulum").kernel("forward_dynamics", way="rolled").on("cuda")
    assert gpu.compiled == 2
    newer = install(version=13000)
    fall(on.load("double-pendulum"))
    assert newer.compiled == 1
    for path in (tmp_path / "cache").iterdir():
        path.write_bytes(path.read_bytes()[:-3] + b"xyz")  # damaged entries are made anew
    np.testing.assert_array_equal(fall(on.load("double-pendulum")), first)
    assert newer.compiled == 2


def test_threads_share_a_device(robot: on.Robot, gpu: StandIn) -> None:
    rng = np.random.default_rng(0)
    given = rng.normal(size=(6, 3, 500, 2))
    expected = [robot.forward_dynamics(*x) for x in given]
    found: list[Any] = [None] * len(given)

    def work(k: int) -> None:
        for _ in range(3):
            found[k] = robot.forward_dynamics(*given[k], device="cuda")

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(given))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_array_equal(x, y)
    assert not any(gpu.contexts.values())


def test_old_gpus_are_left_out_and_named(gpu: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    told = StandIn.cuDeviceGetAttribute

    def attribute(self: StandIn, out: Any, number: int, device: int) -> int:
        found = told(self, out, number, device)
        if device == 0 and number == 75:  # the first device is of an earlier generation
            out._obj.value = 6
        return found

    monkeypatch.setattr(StandIn, "cuDeviceGetAttribute", attribute)
    assert [d.number for d in og.devices()] == [1]
    with pytest.raises(on.GpuError, match=r"Stand-in \(device 0\) has compute capability 6.0, and ordern needs 7.0"):
        og.find_device("cuda")
