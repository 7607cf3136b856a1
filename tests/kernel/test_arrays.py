"""Functions behave as NumPy's own: shapes, broadcasting, out, strides, data types; and their errors help."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ordern as on
from tests.kernel.arm import ARM, CALLS, core, draw, one_by_one
from tests.tolerances import SINGLE, assert_close

every_function = pytest.mark.parametrize(("kinds", "call"), CALLS.values(), ids=CALLS.keys())
Kinds = tuple[str, ...]
Call = Callable[..., Any]


def drawn(kinds: Kinds, shape: tuple[int, ...] = ()) -> list[np.ndarray]:
    return [draw(ARM, kind, shape) for kind in kinds]


@pytest.mark.slow
@every_function
@pytest.mark.parametrize("shape", [(), (1,), (3,), (19,), (2, 3), (2, 1, 4)])
def test_any_leading_shape(kinds: Kinds, call: Call, shape: tuple[int, ...]) -> None:
    arrays = drawn(kinds, shape)
    answer = call(ARM, *arrays)
    assert answer.dtype == np.float64
    assert answer.shape[: len(shape)] == shape
    assert np.array_equal(answer, one_by_one(call, ARM, kinds, arrays))


@every_function
def test_each_argument_broadcasts(kinds: Kinds, call: Call) -> None:
    for k in range(len(kinds)):
        for alone in [(), (1,), (1, 3), (5, 1)]:
            arrays = [draw(ARM, kind, alone if j == k else (5, 3)) for j, kind in enumerate(kinds)]
            assert np.array_equal(call(ARM, *arrays), one_by_one(call, ARM, kinds, arrays))


@every_function
def test_all_arguments_broadcast_together(kinds: Kinds, call: Call) -> None:
    shapes = [(4, 1, 1), (3, 1), (2,), ()]
    arrays = [draw(ARM, kind, shape) for kind, shape in zip(kinds, shapes, strict=False)]
    assert np.array_equal(call(ARM, *arrays), one_by_one(call, ARM, kinds, arrays))


@every_function
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 2)])
def test_empty_batches(kinds: Kinds, call: Call, shape: tuple[int, ...]) -> None:
    whole = call(ARM, *drawn(kinds, (2,)))
    answer = call(ARM, *drawn(kinds, shape))
    assert answer.shape == (*shape, *whole.shape[1:])
    assert answer.dtype == np.float64
    into = np.empty_like(answer)
    assert call(ARM, *drawn(kinds, shape), out=into) is into
    assert call(ARM, *drawn(kinds, shape), threads=2).shape == answer.shape


@every_function
def test_one_state_with_a_scalar_answer_is_a_scalar(kinds: Kinds, call: Call) -> None:
    for _ in range(2):  # the second call may take another way
        answer = call(ARM, *drawn(kinds))
        if not answer.shape:
            assert type(answer) is np.float64
        else:
            assert type(answer) is np.ndarray


@every_function
def test_out(kinds: Kinds, call: Call) -> None:
    for shape in [(), (7,), (2, 5)]:
        arrays = drawn(kinds, shape)
        expected = call(ARM, *arrays)
        out = np.full(np.shape(expected), np.nan)
        assert call(ARM, *arrays, out=out) is out
        assert np.array_equal(out, expected)


@every_function
def test_out_with_strides(kinds: Kinds, call: Call) -> None:
    arrays = drawn(kinds, (7,))
    expected = call(ARM, *arrays)
    reversed_ = np.full(expected.shape, np.nan)[::-1]
    spread = np.full((*expected.shape, 3), np.nan)[..., 1]
    columns = np.full(expected.shape, np.nan, order="F")
    flipped = np.full(expected.shape, np.nan)[(slice(None), *[slice(None, None, -1)] * (expected.ndim - 1))]
    for out in (reversed_, spread, columns, flipped):
        assert call(ARM, *arrays, out=out) is out
        assert np.array_equal(out, expected)


def test_out_leaves_its_surroundings_alone() -> None:
    """Vectors are stored whole; what lies beyond the last number of an array is not ours."""
    for count in (1, 2, 5, 8, 9):
        q, v, a = (draw(ARM, kind, (count,)) for kind in ("q", "v", "a"))
        memory = np.full(count * 5 + 64, 7.0)
        out = memory[32 : 32 + count * 5].reshape(count, 5)
        ARM.forward_dynamics(q, v, a, out=out)
        assert (memory[:32] == 7.0).all() and (memory[32 + count * 5 :] == 7.0).all()
        assert np.array_equal(out, ARM.forward_dynamics(q, v, a))


def test_arguments_at_the_end_of_a_page_are_not_read_beyond() -> None:
    """A guard page follows the last number: reading past it would crash."""
    import ctypes
    import mmap

    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 2 * page)
    libc = ctypes.CDLL(None)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    assert libc.mprotect(ctypes.c_void_p(start + page), page, 0) == 0
    try:
        whole = np.frombuffer(memory, np.float64, count=page // 8)
        for count in (1, 3, 8, 11):
            q = draw(ARM, "q", (count,))
            last = whole[whole.size - q.size :].reshape(q.shape)
            last[...] = q
            assert np.array_equal(ARM.mass_matrix(last), ARM.mass_matrix(q))
            assert np.array_equal(ARM.mass_matrix(last[-1]), ARM.mass_matrix(q[-1]))
            out = whole[whole.size - 5 * count :].reshape(count, 5)
            given = q.copy()
            assert np.array_equal(ARM.gravity_force(given, out=out), ARM.gravity_force(given))
    finally:
        assert libc.mprotect(ctypes.c_void_p(start + page), page, 3) == 0


@pytest.mark.slow
@every_function
def test_strides_of_arguments(kinds: Kinds, call: Call) -> None:
    arrays = drawn(kinds, (4, 6))
    expected = call(ARM, *arrays)
    views: list[Callable[[np.ndarray], np.ndarray]] = [
        lambda x: np.stack([x, np.zeros_like(x)], axis=-1)[..., 0],
        lambda x: np.repeat(x, 3, axis=0)[::3],
        lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
        np.asfortranarray,
        lambda x: np.ascontiguousarray(np.flip(x, -1))[..., ::-1],
        _misaligned,
        _read_only,
    ]
    for view in views:
        viewed = [view(x) for x in arrays]
        for x, y in zip(viewed, arrays, strict=True):
            assert np.array_equal(x, y)
        assert np.array_equal(call(ARM, *viewed), expected)
        for k in range(len(kinds)):
            mixed = [viewed[j] if j == k else x for j, x in enumerate(arrays)]
            assert np.array_equal(call(ARM, *mixed), expected)
            single = [x[1, 2] for x in mixed]
            assert np.array_equal(call(ARM, *single), expected[1, 2])


def _misaligned(x: np.ndarray) -> np.ndarray:
    memory = np.zeros(x.nbytes + 1, np.uint8)[1:]
    view = memory.view(np.float64).reshape(x.shape)
    view[...] = x
    assert not view.flags.aligned
    return view


def _read_only(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x.flags.writeable = False
    return x


def test_broadcast_views_as_arguments() -> None:
    """Strides of zero."""
    q = np.broadcast_to(draw(ARM, "q"), (9, ARM.nq))
    v = draw(ARM, "v", (9,))
    assert np.array_equal(ARM.bias_force(q, v), ARM.bias_force(q.copy(), v))


@pytest.mark.parametrize("threads", [1, 2])
def test_out_may_be_an_argument(threads: int) -> None:
    q, v, a = (draw(ARM, kind, (50,)) for kind in ("q", "v", "a"))
    expected = ARM.forward_dynamics(q, v, a)
    for k in (1, 2):
        given = [q.copy(), v.copy(), a.copy()]
        assert np.array_equal(ARM.forward_dynamics(*given, out=given[k], threads=threads), expected)
    step = ARM.integrate(q, v, 0.1)
    q2 = q.copy()
    assert np.array_equal(ARM.integrate(q2, v, 0.1, out=q2, threads=threads), step)


@pytest.mark.parametrize("threads", [1, 2])
def test_out_may_overlap_arguments(threads: int) -> None:
    """Shifted by one state, or by one number, or running the other way."""
    q, v, a = (draw(ARM, kind, (51,)) for kind in ("q", "v", "a"))
    expected = ARM.forward_dynamics(q[1:], v[1:], a[1:])
    views: list[Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]] = [
        lambda m: (m[5:].reshape(50, 5), m[:-5].reshape(50, 5)),
        lambda m: (m[5:].reshape(50, 5), m[4:-1].reshape(50, 5)),
        lambda m: (m[5:].reshape(50, 5), m[5:].reshape(50, 5)[::-1]),
        lambda m: (m[5:].reshape(50, 5), m[5:].reshape(50, 5)[:, ::-1]),
    ]
    for view in views:
        given, out = view(v.ravel().copy())
        assert np.array_equal(given, v[1:])
        answer = ARM.forward_dynamics(q[1:], given, a[1:], out=out, threads=threads)
        assert answer is out
        assert np.array_equal(answer, expected)


def test_lists_and_numbers() -> None:
    q, v, a = (draw(ARM, kind) for kind in ("q", "v", "a"))
    expected = ARM.inverse_dynamics(q, v, a)
    assert np.array_equal(ARM.inverse_dynamics(q.tolist(), tuple(v), a), expected)
    assert np.array_equal(ARM.inverse_dynamics([q.tolist()] * 2, v, a), [expected] * 2)
    whole = ARM.inverse_dynamics([1, 0, 0, 0, 0, 0], np.arange(5), np.ones(5, bool))
    assert np.array_equal(whole, ARM.inverse_dynamics([1.0, 0, 0, 0, 0, 0], np.arange(5.0), np.ones(5)))
    assert np.array_equal(ARM.integrate(q, v, 2), ARM.integrate(q, v, 2.0))
    assert np.array_equal(ARM.integrate(q, v), ARM.integrate(q, v, 1.0))
    assert np.array_equal(ARM.integrate(q, v, np.array(2.0)), ARM.integrate(q, v, 2.0))


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, bool])
def test_whole_numbers_are_doubles(dtype: Any) -> None:
    x = np.ones(5, dtype)
    answer = ARM.inverse_dynamics(np.array([1, 0, 0, 0, 1, 1]), x, x)
    assert answer.dtype == np.float64
    assert np.array_equal(answer, ARM.inverse_dynamics([1.0, 0, 0, 0, 1, 1], np.ones(5), np.ones(5)))


@pytest.mark.slow
@every_function
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_single_precision_in_and_out(kinds: Kinds, call: Call, dtype: Any) -> None:
    for shape in [(), (6,)]:
        arrays = [x.astype(dtype) for x in drawn(kinds, shape)]
        answer = call(ARM, *arrays)
        assert answer.dtype == np.float32
        assert_close(answer, call(ARM, *(x.astype(float) for x in arrays)), SINGLE)


def test_single_precision_with_a_plain_number() -> None:
    """A Python number does not make a double of everything, here as in NumPy; nor does a default."""
    q, v = draw(ARM, "q").astype(np.float32), draw(ARM, "v").astype(np.float32)
    assert (q * 0.5).dtype == np.float32
    assert ARM.integrate(q, v).dtype == np.float32
    assert ARM.integrate(q, v, 0.5).dtype == np.float32


def test_single_precision_with_forces_by_name() -> None:
    q, v, a = (draw(ARM, kind).astype(np.float32) for kind in ("q", "v", "a"))
    pull = np.ones(6, np.float32)
    assert ARM.inverse_dynamics(q, v, a, external={"tool": pull}).dtype == np.float32


def test_mixed_precision_is_double() -> None:
    q, v, a = (draw(ARM, kind, (4,)) for kind in ("q", "v", "a"))
    single = v.astype(np.float32)
    answer = ARM.inverse_dynamics(q, single, a)
    assert answer.dtype == np.float64
    assert np.array_equal(answer, ARM.inverse_dynamics(q, single.astype(float), a))
    assert ARM.bias_force(q.astype(np.float32), np.ones(5, np.int64)).dtype == np.float64
    assert ARM.bias_force(q.astype(np.float32), np.ones(5, np.int8)).dtype == np.float32


@pytest.mark.parametrize("code", [">f8", ">f4", "<f8", "<f4"])
def test_byte_order(code: str) -> None:
    q, v, a = (draw(ARM, kind, (4,)).astype(code) for kind in ("q", "v", "a"))
    native = [x.astype(x.dtype.newbyteorder("=")) for x in (q, v, a)]
    answer = ARM.inverse_dynamics(q, v, a)
    assert answer.dtype == native[0].dtype
    assert np.array_equal(answer, ARM.inverse_dynamics(*native))
    assert np.array_equal(ARM.inverse_dynamics(q[0], v[0], a[0]), answer[0])


def test_out_of_another_type_casts_as_numpy_does() -> None:
    q, v, a = (draw(ARM, kind, (4,)) for kind in ("q", "v", "a"))
    expected = ARM.inverse_dynamics(q, v, a)
    single = np.empty((4, 5), np.float32)
    assert np.array_equal(ARM.inverse_dynamics(q, v, a, out=single), expected.astype(np.float32))
    double = np.empty((4, 5))
    given = [x.astype(np.float32) for x in (q, v, a)]
    assert np.array_equal(ARM.inverse_dynamics(*given, out=double), ARM.inverse_dynamics(*given))


@pytest.mark.parametrize("dtype", [np.float64, np.longdouble, object])
def test_out_of_whole_numbers_is_refused(dtype: Any) -> None:
    q, v, a = (draw(ARM, kind, (4,)).astype(dtype) for kind in ("q", "v", "a"))
    with pytest.raises(on.ArgumentError, match=r"inverse_dynamics: .*(cast|data type int64)"):
        ARM.inverse_dynamics(q, v, a, out=np.empty((4, 5), np.int64))


def test_longdouble_and_objects_are_interpreted() -> None:
    q, v, a = (draw(ARM, kind, (2,)) for kind in ("q", "v", "a"))
    expected = ARM.forward_dynamics(q, v, a)
    extended = ARM.forward_dynamics(q.astype(np.longdouble), v, a)
    assert extended.dtype == np.longdouble
    assert_close(extended, expected.astype(np.longdouble), 1e-12)
    objects = ARM.forward_dynamics(q.astype(object), v.astype(object), a.astype(object))
    assert objects.dtype == object and isinstance(objects[0, 0], float)
    assert_close(objects.astype(float), expected, 1e-12)
    out = np.empty((2, 5), np.longdouble)
    assert ARM.forward_dynamics(q.astype(np.longdouble), v, a, out=out) is out
    assert np.array_equal(out, extended)


def test_scalar_answers_on_other_scalars() -> None:
    from fractions import Fraction

    q = draw(ARM, "q")
    assert type(ARM.potential_energy(q.astype(np.longdouble))) is np.longdouble
    exact = ARM.potential_energy(np.array([Fraction(x) for x in q], object)[[0, 1, 2, 3, 4, 5]] * 1.0)
    assert abs(float(exact) - ARM.potential_energy(q)) < 1e-12


@every_function
@pytest.mark.parametrize("way", ["compiled", "interpreted"])
def test_wrong_shapes_name_the_argument_and_the_robot(kinds: Kinds, call: Call, way: str) -> None:
    names = {"q1": "q1", "external": "external", "dt": "dt"}
    for k, kind in enumerate(kinds):
        right = core(ARM, kind)
        if not right:
            continue
        for wrong in [(right[0] + 1, *right[1:]), (right[0] - 1, *right[1:]), right[1:], (3, 4, 7)]:
            arrays = [np.zeros(wrong) if j == k else x for j, x in enumerate(drawn(kinds))]
            if way == "interpreted":
                arrays = [x.astype(np.longdouble) for x in arrays]
            with pytest.raises(on.ArgumentError) as caught:
                call(ARM, *arrays)
            text = str(caught.value)
            name = names.get(kind, kind)
            assert re.search(rf"argument '({name}|q0|tau)' has shape {re.escape(str(wrong))}", text), text
            assert "for 'arm'" in text
            assert f"must be {right if len(right) > 1 else right[0]}" in text


@pytest.mark.parametrize("threads", [None, 2])
def test_batches_that_do_not_broadcast_are_listed(threads: int | None) -> None:
    with pytest.raises(on.ArgumentError, match=r"do not broadcast: q \(3,\), v \(4,\), a \(\)"):
        ARM.inverse_dynamics(draw(ARM, "q", (3,)), draw(ARM, "v", (4,)), draw(ARM, "a"), threads=threads)


@pytest.mark.parametrize("dtype", [np.float64, np.longdouble])
@pytest.mark.parametrize("threads", [None, 2])
def test_wrong_out(threads: int | None, dtype: Any) -> None:
    q, v, a = (draw(ARM, kind, (40,)).astype(dtype) for kind in ("q", "v", "a"))
    for shape in [(40, 4), (39, 5), (5,), (1, 5), (2, 39, 5)]:
        message = re.escape(f"`out` has shape {shape}, but the result has (40, 5)")
        with pytest.raises(on.ArgumentError, match=message):
            ARM.inverse_dynamics(q, v, a, out=np.empty(shape), threads=threads)
    out = np.empty((40, 5))
    out.flags.writeable = False
    with pytest.raises(on.ArgumentError, match="`out` is read-only"):
        ARM.inverse_dynamics(q, v, a, out=out, threads=threads)
    for no_array in ([0.0] * 5, (np.empty((40, 5)),), "out", 1.0):
        kind = type(no_array).__name__
        with pytest.raises(on.ArgumentError, match=f"`out` must be a NumPy array, not {kind}"):
            ARM.inverse_dynamics(q, v, a, out=no_array, threads=threads)


@pytest.mark.parametrize("dtype", [np.float64, np.longdouble])
@pytest.mark.parametrize("threads", [None, 2])
def test_arguments_broadcast_into_a_larger_out(threads: int | None, dtype: Any) -> None:
    assert np.add(np.ones(40), np.ones(40), out=np.empty((3, 40))).shape == (3, 40)
    q, v, a = (draw(ARM, kind, (40,)).astype(dtype) for kind in ("q", "v", "a"))
    out = np.empty((3, 40, 5), dtype)
    assert ARM.inverse_dynamics(q, v, a, out=out, threads=threads) is out
    assert np.array_equal(out, np.stack([ARM.inverse_dynamics(q, v, a)] * 3))


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (np.ones(5, complex), "complex128"),
        (np.ones(5, np.complex64), "complex64"),
        (np.array(["1"] * 5), "<U1"),
        (np.array([b"1"] * 5), "S1"),
        (np.ones(5, "datetime64[s]"), "datetime64"),
        (np.ones(5, "timedelta64[s]"), "timedelta64"),
        (np.zeros(5, [("x", float)]), "void|x"),
    ],
    ids=lambda x: str(getattr(x, "dtype", "")),
)
@pytest.mark.parametrize("robot", [ARM, "interpreted"], ids=["compiled", "interpreted"])
def test_what_is_no_real_number_is_refused(given: np.ndarray, named: str, robot: Any) -> None:
    q, a = draw(ARM, "q"), draw(ARM, "a")
    with pytest.raises(on.ArgumentError, match=rf"(?s)inverse_dynamics: argument 'v'.*({named})"):
        if robot is ARM:
            ARM.inverse_dynamics(q, given, a)
        else:
            ARM.kernel("inverse_dynamics", way="interpreted")(q, given, a)


def test_what_is_no_array_is_refused() -> None:
    q, v = draw(ARM, "q"), draw(ARM, "v")
    with pytest.raises(on.ArgumentError, match=r"bias_force: argument 'v' is not an array: .*inhomogeneous"):
        ARM.bias_force(q, [1.0, [2.0], 3.0, 4.0, 5.0])
    for nothing in (None, {}, object(), "text"):
        with pytest.raises(on.ArgumentError, match="bias_force: argument 'v'"):
            ARM.bias_force(q, nothing)
    with pytest.raises(on.ArgumentError, match=r"takes 2 arguments \(q, v\), not 1"):
        ARM.kernel("bias_force")(q)
    with pytest.raises(on.ArgumentError, match=r"takes 2 arguments \(q, v\), not 3"):
        ARM.kernel("bias_force")(q, v, v)


def test_settings_that_do_not_exist() -> None:
    q, v, a = (draw(ARM, kind) for kind in ("q", "v", "a"))
    with pytest.raises(on.UnknownNameError, match=r"unknown frame 'tol' in arm. Did you mean 'tool'\?"):
        ARM.pose(q, "tol")
    with pytest.raises(on.UnknownNameError, match=r"unknown axes 'wolrd' in velocity. Did you mean 'world'\? Known: f"):
        ARM.velocity(q, v, "tool", axes="wolrd")
    with pytest.raises(on.UnknownNameError, match="unknown kind 'clasical' in acceleration"):
        ARM.acceleration(q, v, a, "tool", kind="clasical")
    with pytest.raises(on.UnknownNameError, match="unknown method 'newton' in inverse_dynamics"):
        ARM.inverse_dynamics(q, v, a, method="newton")
    with pytest.raises(on.UnknownNameError, match="unknown question 'inverse_dynamic'"):
        ARM.kernel("inverse_dynamic")
    with pytest.raises(on.UnknownNameError, match="unknown optional argument 'forces' in inverse_dynamics"):
        ARM.kernel("inverse_dynamics", present=("forces",))
    with pytest.raises(on.ArgumentError, match="pose needs the setting 'frame'"):
        ARM.kernel("pose")


def test_forces_by_name() -> None:
    q, v, a = (draw(ARM, kind) for kind in ("q", "v", "a"))
    wrench = np.arange(6.0)
    rows = np.zeros((3, 6))
    rows[1] = wrench
    assert np.array_equal(
        ARM.inverse_dynamics(q, v, a, external={"lower": wrench}), ARM.inverse_dynamics(q, v, a, external=rows)
    )
    assert np.array_equal(ARM.inverse_dynamics(q, v, a, external={}), ARM.inverse_dynamics(q, v, a))
    batch = ARM.inverse_dynamics(q, v, a, external={"lower": np.stack([wrench] * 4), "rod": wrench})
    assert batch.shape == (4, 5)
    with pytest.raises(on.UnknownNameError, match="unknown frame 'elbow' in arm"):
        ARM.inverse_dynamics(q, v, a, external={"elbow": wrench})
    with pytest.raises(on.ArgumentError, match=r"the force on 'rod' has shape \(3,\); its last dimension must be 6"):
        ARM.inverse_dynamics(q, v, a, external={"rod": [1, 2, 3]})


def test_subclasses_of_arrays_are_plain_arrays_here() -> None:
    class Mine(np.ndarray):
        pass

    q, v = draw(ARM, "q"), draw(ARM, "v")
    for _ in range(2):
        answer = ARM.bias_force(q.view(Mine), v.view(Mine))
        assert type(answer) is np.ndarray
        assert np.array_equal(answer, ARM.bias_force(q, v))
