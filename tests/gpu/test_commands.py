"""The commands that tell what a GPU is, and what it reaches; and the suite for a real one, with a stand-in."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

import ordern.gpu as gpu_module
from ordern.cli import bench_gpu, main
from ordern.errors import GpuError
from ordern.gpu import library

from . import suite
from .stand_in import StandIn


def test_doctor_describes_and_tries_every_gpu(gpu: StandIn, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    found = {(x["section"], x["name"]): x["value"] for x in json.loads(capsys.readouterr().out)}
    assert found["machine", "GPU 1"] == "Stand-in: capability 9.0, 4 multiprocessors, 1 GB at 4.92 TB/s"
    assert found["trial", "GPU 0"].startswith("works")
    gpu.fail["cuLaunchKernel"] = 719
    assert main(["doctor"]) == 1
    assert "GpuError: forward_dynamics of 'double-pendulum' on Stand-in" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"devices": 0}, "none, which is fine: NVIDIA's driver finds no GPU"),
        ({"version": 10010}, "GPU: the NVIDIA driver is too old: it supports CUDA 10.1"),
        (None, "none, which is fine: no NVIDIA driver is installed\n"),
    ],
)
def test_doctor_needs_no_gpu(
    install: Callable[..., StandIn], capsys: pytest.CaptureFixture[str], settings: dict | None, words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def missing() -> None:
        raise GpuError("no NVIDIA driver is installed (libcuda.so.1 cannot be loaded). Install the driver")

    if settings is None:
        monkeypatch.setattr(library, "open_library", missing)
    else:
        install(**settings)
    assert main(["doctor"]) == 0
    assert words in capsys.readouterr().out


@pytest.mark.slow
def test_bench_tells_rates_and_bounds(
    gpu: StandIn, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_gpu, "_TRAJECTORIES", 64)
    assert main(["bench", "gpu", "double-pendulum", "--batch", "1000", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["device"]["name"] == "Stand-in" and found["device"]["peak"]["float32"] == pytest.approx(
        2.03e12, rel=1e-2
    )
    rows = found["robots"][0]["rows"]
    assert (
        len(rows) == 10 and rows[-1]["function"] == "rollout (a step)" and rows[0]["states"] == pytest.approx(2e4)
    )  # a kernel takes 50 ms
    assert rows[0]["bytes"] == pytest.approx(2e4 * 8 * 4) and rows[0]["bound"].startswith("latency")
    assert "latency: 12 %" in "\n".join(bench_gpu.robot_lines(found["robots"][0]))


def test_the_suite_finds_errors(gpu: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    task = ("double-pendulum", False, ("gravity_force", "float64", "newton-euler"))
    (row,) = suite._compared(task)
    assert row["ok"] and row["error"] == 0.0
    gpu.fail["cuLaunchKernel"] = 719
    (row,) = suite._compared(task)
    assert not row["ok"] and "GpuError" in row["note"]
    assert any(line.startswith("FAILED double-pendulum") for line in suite._agreement([row]))


@pytest.mark.slow
def test_the_example_of_sampled_motions_reaches_its_goal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gpu_module, "devices", list)
    monkeypatch.setattr("sys.argv", ["mppi_gpu.py", "500", "40"])
    runpy.run_path(str(Path(__file__).parents[2] / "examples" / "learning" / "mppi_gpu.py"))
    apart = [float(line.split("steps:")[1].split()[0]) for line in capsys.readouterr().out.splitlines()]
    assert len(apart) == 4 and apart[-1] < 0.3 * apart[0]
