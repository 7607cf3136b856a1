"""Arrays on a device, and how they pass from one library to another."""

from __future__ import annotations

import ctypes
import gc
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern import gpu as og
from ordern.gpu.dlpack import View, exported, imported

from .stand_in import StandIn


def test_arrays_copy_reshape_and_slice(gpu: StandIn) -> None:
    x = np.arange(24.0).reshape(6, 4)
    a = og.array(x)
    assert (a.shape, a.ndim, a.size, a.nbytes, len(a)) == ((6, 4), 2, 24, 192, 6)
    np.testing.assert_array_equal(a.numpy(), x)
    np.testing.assert_array_equal(a.reshape(3, -1).numpy(), x.reshape(3, 8))
    np.testing.assert_array_equal(a[2:5].numpy(), x[2:5])
    np.testing.assert_array_equal(a[-1].numpy(), x[-1])
    np.testing.assert_array_equal(a[1:][1].numpy(), x[2])
    out = np.empty((6, 8))[:, ::2]
    assert a.numpy(out=out) is out
    np.testing.assert_array_equal(out, x)
    assert og.array([1, 2]).dtype == np.float64 and og.array(np.ones(3, "float32")).dtype == np.float32
    assert og.empty((0, 3)).numpy().shape == (0, 3)
    with pytest.raises(IndexError, match="row 6 of an array with 6 rows"):
        a[6]
    for wrong in (lambda: a[::2], lambda: a[[1, 2]], lambda: og.empty(3, "int32"), lambda: np.asarray(a)):  # type: ignore[index]
        with pytest.raises(on.ArgumentError):
            wrong()


def test_memory_is_used_again_and_freed(gpu: StandIn) -> None:
    first = og.empty((1000,)).address
    for _ in range(5):
        assert og.empty((1000,)).address == first
    a = og.empty((1000,))
    view = a[10:]
    del a
    assert og.empty((1000,)).address != view.address - 80
    before = gpu.used()
    shared = og.empty((5000,))
    capsule = shared.__dlpack__()
    del shared
    gc.collect()
    assert gpu.used() > before  # the capsule holds it
    del capsule
    gc.collect()
    assert gpu.used() == before


def test_other_libraries_may_declare_functions_of_python(gpu: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    """JAX gives the function that makes capsules types of its own, which all share."""
    other = ctypes.c_void_p, ctypes.c_char_p, ctypes.CFUNCTYPE(None, ctypes.py_object)
    for name in ("PyCapsule_New", "PyCapsule_IsValid", "PyCapsule_GetPointer"):
        monkeypatch.setattr(getattr(ctypes.pythonapi, name), "argtypes", other)
    x = og.array(np.ones((2, 3)))
    assert imported(x, x.device.stream.handle, "test", "x").shape == (2, 3)


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (1, 3)])
def test_dlpack_hands_over_the_array_with_a_wait(gpu: StandIn, version: Any) -> None:
    robot = on.load("double-pendulum")
    kernel, q = robot.kernel("mass_matrix").on("cuda"), np.random.default_rng(0).normal(size=(5, 2))
    answer = kernel(og.array(q))

    class Other:
        """Hands an array on as a library that knows one version of DLPack does."""

        def __dlpack_device__(self) -> tuple[int, int]:
            return answer.__dlpack_device__()

        def __dlpack__(self, *, stream: Any = None, **more: Any) -> Any:
            return answer.__dlpack__(stream=stream, max_version=version)

    stream = og.find_device("cuda:0").stream.handle
    view = imported(Other(), stream, "test", "x")
    assert view.shape == (5, 2, 2) and view.strides == (4, 2, 1) and view.device == 0
    gpu.cuStreamSynchronize(stream)
    np.testing.assert_array_equal(answer.numpy(), robot.mass_matrix(q))
    found = robot.kernel("mass_matrix_solve").on("cuda")  # arguments by DLPack alone
    x = og.array(q)

    class Foreign(Other):
        def __dlpack_device__(self) -> tuple[int, int]:
            return x.__dlpack_device__()

        def __dlpack__(self, *, stream: Any = None, **more: Any) -> Any:
            return x.__dlpack__(stream=stream, max_version=version)

    np.testing.assert_array_equal(found(Foreign(), Foreign()).numpy(), robot.mass_matrix_solve(q, q))


def test_a_consumer_of_another_stream_waits_for_the_kernel(gpu: StandIn) -> None:
    robot = on.load("double-pendulum")
    q = np.random.default_rng(0).normal(size=(5, 2))
    answer = robot.kernel("gravity_force").on("cuda")(og.array(q))
    other = og.find_device("cuda").stream.__class__(answer.device)
    capsule = answer.__dlpack__(stream=other.handle)
    got = np.zeros((5, 2))
    with answer.device:
        gpu.cuMemcpyDtoHAsync_v2(got.ctypes.data, answer.address, got.nbytes, other.handle)
    other.synchronise()
    np.testing.assert_array_equal(got, robot.gravity_force(q))
    del capsule
    interface = answer.__cuda_array_interface__
    assert interface["data"] == (answer.address, False) and interface["stream"] == answer.device.stream.handle
    assert interface["typestr"] == "<f8" and interface["shape"] == (5, 2) and interface["version"] == 3


def test_capsules_keep_their_owner_until_they_are_dropped(gpu: StandIn) -> None:
    class Owner: ...

    for versioned in (False, True):
        owner = Owner()
        view = View(4096, (2, 3), (3, 1), np.dtype("float32"), 0, owner)
        capsule = exported(view, versioned)
        assert gc.get_referrers(owner)
        del capsule, view
        gc.collect()
        assert not [x for x in gc.get_referrers(owner) if isinstance(x, (View, tuple))]


def test_arrays_with_gaps_between_states_or_an_answer_in_place(gpu: StandIn) -> None:
    robot = on.load("double-pendulum")
    kernel = robot.kernel("inverse_dynamics").on("cuda")
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 7, 2))
    wide = og.array(np.concatenate([q, v, a], axis=1))
    parts = [Part(wide, 2 * k) for k in range(3)]
    np.testing.assert_array_equal(kernel(*parts).numpy(), robot.inverse_dynamics(q, v, a))
    out = og.empty((7, 2))
    given = [og.array(x) for x in (q, v, a)]
    assert kernel(*given, out=out) is out
    np.testing.assert_array_equal(out.numpy(), robot.inverse_dynamics(q, v, a))
    with pytest.raises(on.ArgumentError, match="`out` overlaps an argument"):
        kernel(*given, out=given[0])
    with pytest.raises(on.ArgumentError, match=r"`out` has shape \(6, 2\) and float64"):
        kernel(*given, out=og.empty((6, 2)))


class Part:
    """Two columns of an array of six, as another library would hand them over."""

    def __init__(self, whole: Any, first: int) -> None:
        self.whole, self.first = whole, first

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)

    def __dlpack__(self, **more: Any) -> Any:
        w = self.whole
        return exported(View(w.address + 8 * self.first, (len(w), 2), (6, 1), w.dtype, 0, w), False)
