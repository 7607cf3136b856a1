"""Show what is installed, what this machine can do, and whether it works.

examples:
  ordern doctor
  ordern doctor --json > report.json
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version

from ..records import dataclass
from .terminal import paint, table, to_json

__all__ = ["arguments", "run"]

_EXTRAS = {
    "matplotlib": ("plots", "'ordern[plot]'"),
    "viser": ("the robot in a browser", "'ordern[view]'"),
    "pandas": ("results as data frames", "'ordern[data]'"),
    "xarray": ("results as labelled arrays", "'ordern[data]'"),
    "pyarrow": ("results as Parquet files", "'ordern[data]'"),
    "sympy": ("equations in closed form", "'ordern[symbolic]'"),
    "pillow": ("films as .gif and .webp", "'ordern[film]'"),
    "imageio-ffmpeg": ("films as .mp4 and .webm", "'ordern[film]'"),
    "rerun-sdk": ("recordings for Rerun", "'ordern[rerun]'"),
    "mcap": ("recordings for Foxglove, logs in .mcap", "'ordern[mcap]'"),
    "jax": ("arrays of JAX", "'ordern[jax]'"),
    "torch": ("tensors of PyTorch", "'ordern[torch]'"),
    "h5py": ("logs in .h5", "'ordern[hdf5]'"),
    "coal": ("contacts of convex shapes", "'ordern[convex]'"),
    "clarabel": ("whole-body control, estimates by matrix inequalities", "'ordern[whole-body]'"),
}
_PEERS = {"pin": ("comparisons with Pinocchio", "pin"), "mujoco": ("comparisons with MuJoCo", "mujoco")}
_SHOWN = ("avx", "avx2", "avx512f", "avx512dq", "fma", "neon", "sve", "asimd")
"""Processor features that affect speed."""


@dataclass(frozen=True, slots=True)
class Line:
    """One item of the report: fine, missing (optional), or broken."""

    section: str
    name: str
    value: str
    state: str = "fine"
    advice: str = ""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare no arguments of its own."""


def run(args: argparse.Namespace) -> int:
    """Check everything; return 1 if something is broken."""
    gpus = list(_gpu())
    trials = [_compared("compiling", None), *(line for line in gpus if line.section == "trial")]
    lines = [*_versions(), *_machine(), *(line for line in gpus if line.section != "trial"), *_cache(), *trials]
    broken = sum(line.state == "broken" for line in lines)
    if args.json:
        print(to_json([asdict(line) for line in lines], indent=2))
        return int(broken > 0)
    section = ""
    for line, text in zip(lines, table([(line.name, line.value) for line in lines]), strict=True):
        if line.section != section:
            section = line.section
            print(paint(section, "bold"))
        colour = {"missing": "dim", "broken": "red"}.get(line.state)
        print(f"  {paint(text, colour) if colour else text}")
    for line in lines:
        if line.advice:
            print(f"{line.name}: {line.advice}")
    print(paint(f"{broken} things are broken", "red") if broken else paint("all is well", "green"))
    return int(broken > 0)


def _versions() -> Iterator[Line]:
    from .. import __version__

    yield Line("versions", "ordern", __version__)
    yield Line("versions", "Python", f"{platform.python_version()} ({platform.python_implementation()})")
    yield from (Line("versions", name, _installed(name)) for name in ("numpy", "llvmlite"))
    for section, packages in (("extras", _EXTRAS), ("peers", _PEERS)):
        for name, (purpose, package) in packages.items():
            found = _installed(name)
            advice = "" if found else f"for {purpose}: pip install {package}"
            yield Line(section, name, found or "not installed", "fine" if found else "missing", advice)


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _machine() -> Iterator[Line]:
    from ..compile.emit.target import host
    from ..compile.run.workers import cores

    yield Line("machine", "system", f"{platform.system()} {platform.release()}, {platform.machine()}")
    try:
        h = host()
    except Exception as e:  # whatever LLVM stumbles over is to be shown, not to stop the rest
        yield Line("machine", "LLVM", f"does not start: {e}", "broken", "reinstall llvmlite")
        return
    features = [name for name in _SHOWN if f"+{name}," in f"{h.features},"]
    yield Line("machine", "processor", f"{h.cpu}; {', '.join(features) or 'no vector features known'}")
    yield Line("machine", "vectors", f"{h.vector_bits} bits: {h.vector_bits // 64} doubles at a time")
    yield Line("machine", "cores", f"{cores()} usable of {os.cpu_count()}")
    yield Line("machine", "LLVM", h.llvm)


def _cache() -> Iterator[Line]:
    from ..compile.run import cache

    directory = cache.cache_directory()
    if directory is None:
        yield Line("cache", "directory", "turned off", "missing", "every process compiles anew (ORDERN_CACHE)")
    elif directory.exists() and not cache.usable():
        advice = f"it must be yours, and writable to nobody else: chmod 700 {directory}"
        yield Line("cache", "directory", f"{directory} is not used", "broken", advice)
    else:
        found = cache.entries()
        size = sum(e.size for e in found) / 1e6
        yield Line("cache", "directory", f"{directory}: {len(found)} entries, {size:.1f} MB")


def _gpu() -> Iterator[Line]:
    """Query NVIDIA's driver directly, which needs no further package, and try each GPU."""
    from ..errors import GpuError
    from ..gpu import library
    from ..gpu.device import find_device
    from ..gpu.driver import driver
    from .bench_gpu import described

    try:
        library.open_library()
    except GpuError as e:
        reason = str(e).partition(" (")[0].partition(":")[0]
        yield Line("machine", "GPU", f"none, which is fine: {reason}", "missing")
        return
    try:
        count = driver().integer("cuDeviceGetCount")
    except GpuError as e:
        found = "none, which is fine: NVIDIA's driver finds no GPU" if e.code == _NO_GPU else "cannot be used"
        yield Line("machine", "GPU", found, "missing", "" if e.code == _NO_GPU else str(e))
        return
    for k in range(count):
        try:
            device = find_device(k)
            first, second = described(device)
        except GpuError as e:
            yield Line("machine", f"GPU {k}", f"cannot be used: {e}", "missing")
            continue
        yield Line("machine", f"GPU {k}", first)
        yield Line("machine", f"GPU {k} speed", f"{second}; {device.free_memory() / 1e9:.0f} GB of memory are free")
        yield _compared(f"GPU {k}", f"cuda:{k}")


_NO_GPU = 100
"""The driver's error for a machine without a GPU."""


def _compared(name: str, device: str | None) -> Line:
    """Compile for a device, and compare with the interpreter."""
    import time

    import numpy as np

    from ..kernel import Kernel
    from ..robots import builder

    try:
        model = builder("double-pendulum").build()
        rng = np.random.default_rng(0)
        q, v, tau = rng.normal(size=(3, 5, model.nv))
        start = time.perf_counter()
        kernel = Kernel(model, "forward_dynamics")
        found = (kernel if device is None else kernel.on(device))(q, v, tau)
        taken = time.perf_counter() - start
        right = np.allclose(found, Kernel(model, "forward_dynamics", way="interpreted")(q, v, tau), rtol=1e-10)
    except Exception as e:  # this is the place to say what is wrong, whatever it is
        return Line("trial", name, f"failed: {type(e).__name__}: {e}", "broken", "please report this")
    if right:
        return Line("trial", name, f"works ({taken:.2f} s)")
    return Line("trial", name, "computes wrong numbers", "broken", "clear the cache, then report this")
