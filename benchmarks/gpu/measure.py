"""Run prepared kernels on this machine's GPU: agreement with the reference, and states per second.

    python3 benchmarks/gpu/measure.py FOLDER [REGEX]

It needs NumPy and NVIDIA's driver, and nothing of ordern. One line for each kernel: registers of a thread, bytes of its
local memory, warps on a multiprocessor, seconds to load (and to compile if it is not assembled), the largest difference
relative to the largest number of the reference, and millions of states (or steps) per second.
"""

from __future__ import annotations

import ctypes
import gzip
import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

CUDA = ctypes.CDLL("libcuda.so.1")
REGISTERS, LOCAL, MAX_SHARED = 4, 3, 8
"""Attributes of functions, as `cuda.h` numbers them."""


def call(name: str, *arguments: Any) -> None:
    code = getattr(CUDA, name)(*arguments)
    if code:
        text = ctypes.c_char_p()
        CUDA.cuGetErrorString(code, ctypes.byref(text))
        raise RuntimeError(f"{name}: {(text.value or b'?').decode()}")


class Device:
    """The first GPU of the machine."""

    def __init__(self) -> None:
        call("cuInit", 0)
        self.number, self.context = ctypes.c_int(), ctypes.c_void_p()
        call("cuDeviceGet", ctypes.byref(self.number), 0)
        call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), self.number)
        self.use()
        count = ctypes.c_int()
        call("cuDeviceGetAttribute", ctypes.byref(count), 16, self.number)
        self.processors = count.value

    def use(self) -> None:
        call("cuCtxSetCurrent", self.context)

    def room(self, size: int) -> ctypes.c_uint64:
        pointer = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(max(size, 16)))
        return pointer

    def put(self, array: np.ndarray[Any, Any]) -> ctypes.c_uint64:
        array = np.ascontiguousarray(array)
        pointer = self.room(array.nbytes)
        call("cuMemcpyHtoD_v2", pointer, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes))
        return pointer


class Kernel:
    """A prepared kernel in the memory of the device."""

    def __init__(self, device: Device, folder: Path, about: dict[str, Any]) -> None:
        device.use()
        self.device, self.about = device, about
        binary = folder / f"{about['name']}.cubin.gz"
        text = binary if binary.exists() else folder / f"{about['name']}.ptx.gz"
        image = gzip.decompress(text.read_bytes()) + b"\0"
        start = time.perf_counter()
        self.module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        call("cuModuleLoadDataEx", ctypes.byref(self.module), ctypes.c_char_p(image), 0, None, None)
        self.seconds = time.perf_counter() - start
        call("cuModuleGetFunction", ctypes.byref(self.function), self.module, about["entry"].encode())
        if about["shared_bytes"] > 48 * 1024:
            call("cuFuncSetAttribute", self.function, MAX_SHARED, about["shared_bytes"])
        self.registers, self.local = self._attribute(REGISTERS), self._attribute(LOCAL)
        blocks = ctypes.c_int()
        size = ctypes.c_size_t(about["shared_bytes"])
        call("cuOccupancyMaxActiveBlocksPerMultiprocessor", ctypes.byref(blocks), self.function, about["block"], size)
        self.blocks = blocks.value

    def _attribute(self, which: int) -> int:
        value = ctypes.c_int()
        call("cuFuncGetAttribute", ctypes.byref(value), which, self.function)
        return value.value

    def launch(self, words: list[int], n: int) -> None:
        about = self.about
        grid = -(-n // about["states"])
        if about["workspace"]:
            grid = min(grid, self.blocks * self.device.processors)
        values = [ctypes.c_uint64(x & (2**64 - 1)) for x in words]
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
        size = about["shared_bytes"]
        call("cuLaunchKernel", self.function, grid, 1, 1, about["block"], 1, 1, size, None, pointers, None)


def measure_rollout(device: Device, folder: Path, kernel: Kernel, repeat: int) -> str:
    """Compare a short rollout with the reference, and measure a long one of which the last state is kept."""
    about, dtype = kernel.about, np.dtype(kernel.about["dtype"])
    with np.load(folder / f"{about['reference']}.npz") as stored:
        arrays = {name: stored[name] for name in stored.files}
    n, some = about["batch"], len(arrays["q0"])
    words = dict.fromkeys(about["parameters"], 0) | {"n": n}
    memory = []
    for name in ("q0", "v0", "tau", "numbers"):
        x = arrays[name].astype(dtype)
        if name != "numbers":
            x = np.tile(x, (-(-n // some), 1))[:n]
            words[f"{name}_stride"] = x.shape[1]
        memory.append(device.put(x))
        words[name] = memory[-1].value
    sizes = {name: arrays[name].shape[1] for name in ("q", "v")}
    for name, size in sizes.items():
        memory.append(device.room(n * size * dtype.itemsize))
        words |= {f"{name}_out": memory[-1].value, f"{name}_stride": size}
    words |= {"steps": about["checked"], "every": about["checked"]}
    kernel.launch(list(words.values()), n)
    call("cuCtxSynchronize")
    found = np.empty((n, sizes["v"]), dtype)
    call("cuMemcpyDtoH_v2", ctypes.c_void_p(found.ctypes.data), memory[-1], ctypes.c_size_t(found.nbytes))
    error = np.abs(found[:some] - arrays["v"]).max() / np.abs(arrays["v"]).max()
    same = bool((found[-(n % some or some) :] == found[: n % some or some]).all())
    words |= {"steps": about["steps"], "every": about["steps"]}
    best = _seconds(kernel, list(words.values()), n, max(1, repeat // 5))
    for p in memory:
        call("cuMemFree_v2", p)
    return _line(kernel, error, same, n * about["steps"] / best)


def _line(kernel: Kernel, error: float, same: bool, rate: float) -> str:
    about, warps = kernel.about, kernel.blocks * kernel.about["block"] // 32
    return (
        f"{about['name']:60s} registers {kernel.registers:3d} local {kernel.local:5d} warps {warps:2d} "
        f"load {kernel.seconds:5.2f} s  error {error:.1e}{'' if same else ' DEPENDS ON PLACE'}  {rate / 1e6:9.1f} M/s"
    )


def measure(device: Device, folder: Path, kernel: Kernel, repeat: int = 10) -> str:
    if kernel.about.get("parameters"):
        return measure_rollout(device, folder, kernel, repeat)
    about, dtype = kernel.about, np.dtype(kernel.about["dtype"])
    with np.load(folder / f"{about['reference']}.npz") as stored:
        given = [stored[f"in{k}"] for k in range(about["inputs"])]
        expected = stored["out"]
    n, some = about["batch"], len(expected)
    times = -(-n // some)
    rows = [np.tile(x.reshape(some, -1).astype(dtype), (times, 1))[:n] for x in given]
    memory = [device.put(x) for x in rows]
    width = expected.reshape(some, -1).shape[1]
    out = device.room(n * width * dtype.itemsize)
    resident = kernel.blocks * device.processors * about["states"]
    workspace = device.room(resident * about["workspace"] * dtype.itemsize)
    tables = device.put(np.frombuffer((folder / f"{about['name']}.tables").read_bytes() or bytes(16), np.uint8))
    words = [w for p, x in zip(memory, rows, strict=True) for w in (p.value, x.shape[1])]
    words += [out.value, width, workspace.value, tables.value, n]
    kernel.launch(words, n)
    call("cuCtxSynchronize")
    found = np.empty((n, width), dtype)
    call("cuMemcpyDtoH_v2", ctypes.c_void_p(found.ctypes.data), out, ctypes.c_size_t(found.nbytes))
    expected = expected.reshape(some, -1)
    error = np.abs(found[:some] - expected).max() / np.abs(expected).max()
    same = bool((found[-(n % some or some) :] == found[: n % some or some]).all())
    best = _seconds(kernel, words, n, repeat)
    for p in (*memory, out, workspace, tables):
        call("cuMemFree_v2", p)
    return _line(kernel, error, same, n / best)


def _seconds(kernel: Kernel, words: list[int], n: int, repeat: int) -> float:
    events = [ctypes.c_void_p() for _ in range(2)]
    for event in events:
        call("cuEventCreate", ctypes.byref(event), 0)
    best = np.inf
    for _ in range(3):
        call("cuEventRecord", events[0], None)
        for _ in range(repeat):
            kernel.launch(words, n)
        call("cuEventRecord", events[1], None)
        call("cuEventSynchronize", events[1])
        elapsed = ctypes.c_float()
        call("cuEventElapsedTime", ctypes.byref(elapsed), *events)
        best = min(best, elapsed.value / 1e3 / repeat)
    return float(best)


def main(folder: Path, pattern: str = "", once: str = "") -> None:
    device = Device()
    kernels = [x for x in json.loads((folder / "kernels.json").read_text()) if re.search(pattern, x["name"])]

    for about in kernels:
        try:
            line = measure(device, folder, Kernel(device, folder, about), 1 if once else 10)
        except RuntimeError as e:
            line = f"{about['name']}: {e}"
        print(line, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
