"""The function that XLA calls for a kernel on a GPU, with a frame as XLA would make it, and the stand-in driver."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern import gpu as og
from ordern.gpu.driver import Driver
from ordern.worlds.operators import operator_of

from .stand_in import StandIn

pytestmark = [pytest.mark.needs("jax"), pytest.mark.slow]

LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * 3)
ONE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
NUMBER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


class Xla:
    """Frames with arrays on a device, and the two functions of XLA that a handler calls."""

    def __init__(self, stream: int) -> None:
        self.kept: list[Any] = []
        self.errors: list[bytes] = []
        api = np.zeros(40, np.int64)

        def get_stream(given: int) -> None:
            ctypes.c_int64.from_address(given + 24).value = stream

        def create_error(given: int) -> int:
            self.errors.append(ctypes.c_char_p.from_address(given + 16).value or b"")
            return 77

        for at, function in ((6, create_error), (10, get_stream)):
            made = ONE(function)
            api[at] = ctypes.cast(made, ctypes.c_void_p).value
            self.kept.append(made)
        self.api = api

    def buffers(self, arrays: list[Any]) -> int:
        found = np.zeros(max(1, len(arrays)), np.int64)
        for k, x in enumerate(arrays):
            dims = np.array(x.shape or (0,), np.int64)
            words = np.array([48, 0, 0, x.address, x.ndim, dims.ctypes.data], np.int64)
            found[k] = words.ctypes.data
            self.kept += [dims, words]
        self.kept.append(found)
        return int(found.ctypes.data)

    def call(self, handler: int, given: list[Any], results: list[Any]) -> Any:
        frame = np.zeros(24, np.int64)
        frame[2], frame[9], frame[14] = self.api.ctypes.data, self.buffers(given), self.buffers(results)
        return ONE(handler)(frame.ctypes.data)


@pytest.fixture
def addresses(gpu: StandIn, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Give the stand-in's functions addresses; the list has the device that is current."""
    current = [0]

    def launch(function: int, *given: Any) -> int:
        *sizes, parameters, more = given
        with og.find_device(current[0]):
            table = ctypes.cast(parameters, ctypes.POINTER(ctypes.c_void_p))
            return int(gpu.cuLaunchKernel(function, *sizes, table, more))

    def get_device(out: int) -> int:
        ctypes.c_int.from_address(out).value = current[0]
        return 0

    kept = {"cuLaunchKernel": LAUNCH(launch), "cuCtxGetDevice": NUMBER(get_device)}
    monkeypatch.setattr(Driver, "address", lambda self, name: ctypes.cast(kept[name], ctypes.c_void_p).value)
    monkeypatch.setattr(gpu, "_functions_kept", kept, raising=False)
    return current


@pytest.mark.parametrize("way", ["unrolled", "rolled"])
@pytest.mark.parametrize("device", [0, 1])
def test_a_handler_launches_the_kernel_in_the_stream_of_xla(
    gpu: StandIn, addresses: list[int], way: str, device: int
) -> None:
    from ordern.worlds.jax.cuda import cuda_handler

    robot = on.load("double-pendulum")
    operator = operator_of(robot.kernel("forward_dynamics", way=way))
    addresses[0] = device
    handler, kept = cuda_handler(operator, "float64")
    stream = og.find_device(device).stream
    xla, rng = Xla(stream.handle), np.random.default_rng(0)
    for shapes in (((30,), (30,), (30,)), ((5, 6), (1, 1), (5, 6)), ((), (), ()), ((0,), (0,), (0,))):
        given = [rng.normal(size=(*s, 2)) for s in shapes]
        there = [og.array(x, device=f"cuda:{device}") for x in given]
        out = og.empty((*shapes[0], 2), device=f"cuda:{device}")
        scratch = og.empty((100_000,), device=f"cuda:{device}")
        assert not xla.call(handler, there, [out, scratch])
        if out.size:
            assert gpu.launched[-1][1] == stream.handle
        np.testing.assert_array_equal(out.numpy(), operator(*given).reshape(out.shape))
    gpu.fail["cuLaunchKernel"] = 719
    out = og.empty((3, 2), device=f"cuda:{device}")
    assert xla.call(handler, [out] * 3, [og.empty((3, 2), device=f"cuda:{device}"), scratch]) == 77
    assert xla.errors == [b"the NVIDIA driver refused to launch a kernel of ordern"]
    del kept


def test_a_gpu_of_another_generation_says_so(
    gpu: StandIn, addresses: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    from ordern.worlds.jax import cuda

    monkeypatch.setattr(cuda, "_launch_sizes", lambda loaded: loaded.device.number)
    operator = operator_of(on.load("double-pendulum").kernel("gravity_force"))
    handler, kept = cuda.cuda_handler(operator, "float64")
    xla, q = Xla(og.find_device(0).stream.handle), np.ones((4, 2))
    out = og.empty((4, 2))
    assert not xla.call(handler, [og.array(q)], [out])
    np.testing.assert_array_equal(out.numpy(), operator(q))
    for addresses[0] in (1, 16, 40):
        assert xla.call(handler, [og.array(q, device="cuda:1")], [og.empty((4, 2), device="cuda:1")]) == 77
        assert b"if they are of one generation with the first" in xla.errors.pop()
    assert len(gpu.launched) == 1
    del kept
