"""Large results: those that go past the caches, those that repeat numbers, and the memory they are given."""

from __future__ import annotations

import re
import threading
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ordern as on
from ordern.compile import pipeline
from ordern.compile.emit import entry_points, stream
from ordern.compile.emit.target import target
from ordern.compile.run import result_pool
from ordern.compile.run.result_pool import ResultPool
from ordern.compile.trace.layout import Layout, Operand, sharing

Array = NDArray[Any]


@pytest.fixture(scope="module", params=[17, 30], ids=["odd", "even"])
def robot(request: pytest.FixtureRequest) -> on.Robot:
    """Two branches, so that blocks of the mass matrix are zero, and rows of it begin anywhere in a line of memory.

    The tile of the larger one holds each number once.
    """
    n = request.param
    builder = on.Builder(f"branched-{n}")
    for k in range(n):
        parent = "base" if k in (0, n // 2) else f"link{k - 1}"
        if not k:
            builder.body("base")
        builder.body(f"link{k}", mass=1.0 + k, com=(0.1, 0.02 * k, 0.3), inertia=(0.1, 0.2, 0.25))
        axis = ((1, 0, 0), (0, 1, 0), (0, 0, 1))[k % 3]
        builder.joint(f"joint{k}", on.Revolute(axis), parent, f"link{k}", at=(0.1, 0.0, 0.4))
    return builder.build()


def states(robot: on.Robot, count: int, dtype: str = "float64") -> Array:
    return np.random.default_rng(5).uniform(-3.0, 3.0, (count, robot.nq)).astype(dtype)


def enough(robot: on.Robot, dtype: str) -> int:
    """States whose mass matrices are streamed; not a multiple of any number of lanes."""
    return stream.FROM_BYTES // (robot.nv**2 * np.dtype(dtype).itemsize) + 12


def by_few(robot: on.Robot, q: Array) -> Array:
    """Mass matrices by calls whose results stay in the caches."""
    return np.concatenate([robot.mass_matrix(part, threads=1) for part in np.array_split(q, len(q) // 100)])


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_streamed_results_are_those_of_small_batches(robot: on.Robot, dtype: str) -> None:
    q = states(robot, enough(robot, dtype), dtype)
    found = robot.mass_matrix(q, threads=1)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, by_few(robot, q))
    one = robot.mass_matrix(q[7].astype("float64"))
    np.testing.assert_allclose(found[7], one, rtol=1e-3 if dtype == "float32" else 1e-12, atol=1e-3)


@pytest.mark.slow
def test_streamed_results_begin_anywhere_and_touch_nothing_else(robot: on.Robot) -> None:
    q = states(robot, enough(robot, "float64"))
    expected = by_few(robot, q)
    for offset in range(9):
        memory = np.full(expected.size + 32, -7.0)
        out = memory[8 + offset :][: expected.size].reshape(expected.shape)
        robot.mass_matrix(q, out=out, threads=1)
        np.testing.assert_array_equal(out, expected)
        np.testing.assert_array_equal(memory[: 8 + offset], -7.0)
        np.testing.assert_array_equal(memory[8 + offset + expected.size :], -7.0)


@pytest.mark.slow
def test_streamed_rows_may_lie_apart(robot: on.Robot) -> None:
    q = states(robot, enough(robot, "float64"))
    expected = by_few(robot, q)
    wide = np.full((len(q), robot.nv**2 + 3), -7.0)
    out = np.lib.stride_tricks.as_strided(wide, expected.shape, (wide.strides[0], 8 * robot.nv, 8))
    robot.mass_matrix(q, out=out, threads=1)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(wide[:, robot.nv**2 :], -7.0)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["transposed", "every second", "amiss"])
def test_results_with_strides_of_their_own(robot: on.Robot, way: str) -> None:
    q = states(robot, enough(robot, "float64"))
    expected = by_few(robot, q)
    if way == "transposed":
        out = np.full(expected.shape, -7.0).transpose(0, 2, 1)
    elif way == "every second":
        out = np.full((*expected.shape[:2], 2 * robot.nv), -7.0)[:, :, ::2]
    else:
        out = np.frombuffer(bytearray(expected.nbytes + 8), np.uint8)[4:-4].view(np.float64).reshape(expected.shape)
    robot.mass_matrix(q, out=out, threads=1)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.slow
def test_threads_share_a_streamed_result(robot: on.Robot) -> None:
    q = states(robot, 3 * enough(robot, "float64"))
    np.testing.assert_array_equal(robot.mass_matrix(q, threads=3), by_few(robot, q))


@pytest.mark.slow
@pytest.mark.parametrize("picking", [True, False], ids=["picking", "rotating"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16])
def test_vectors_of_every_width_are_streamed(
    robot: on.Robot, monkeypatch: pytest.MonkeyPatch, lanes: int, dtype: str, picking: bool
) -> None:
    """With the instruction that picks numbers from two vectors, if there is one, and as machines without it do."""
    q = states(robot, 45, dtype)
    expected = robot.mass_matrix(q, threads=1)
    monkeypatch.setenv("ORDERN_CACHE", "off")
    monkeypatch.setattr(entry_points, "FROM_BYTES", 1)
    real = pipeline.code_for
    monkeypatch.setattr(pipeline, "code_for", lambda request, dtype: real(request, dtype, lanes))
    if not picking:
        monkeypatch.setattr(stream, "_picks", lambda target: "")
    kernel = on.Kernel(robot, "mass_matrix", way="unrolled")
    for offset in (0, 1, 3, 6, 9, 15):
        memory = np.full(expected.size + 32, -7.0, dtype)
        out = memory[8 + offset :][: expected.size].reshape(expected.shape)
        kernel(q, out=out, threads=1)
        np.testing.assert_allclose(out, expected, rtol=1e-3 if dtype == "float32" else 1e-12, atol=1e-3)
        np.testing.assert_array_equal(memory[: 8 + offset], -7.0)
        np.testing.assert_array_equal(memory[8 + offset + expected.size :], -7.0)
    assert kernel._runner.machine(dtype).lanes == lanes


@pytest.mark.parametrize(("lanes", "stores"), [(2, 8), (4, 8), (8, 8), (16, 16)])
def test_lines_are_written_as_a_whole(lanes: int, stores: int) -> None:
    """The parts of a line go out one after the other: a line that is written in parts takes several times as long."""
    layout = Layout((), Operand("out", (400,)), lanes)
    text = stream.stream_functions(layout, target("float64", lanes))
    [loop] = [block for block in re.split(r"\n(?=\w+:)", text) if " phi " in block]
    sent = [line.split("ptr ")[1].split(",")[0] for line in loop.splitlines() if "nontemporal" in line]
    assert len(sent) == stores
    lines = [re.search(rf"{to} = getelementptr .*, ptr (\S+), i64 (\d+)", text) for to in sent]
    found = [(m[1], int(m[2])) if m else (to, 0) for to, m in zip(sent, lines, strict=True)]
    parts = max(1, 8 // lanes)
    assert [n for _, n in found] == [*range(parts)] * lanes
    assert len({row for row, _ in found}) == lanes


def test_tiles_hold_each_number_once() -> None:
    plain = Layout((Operand("q", (4,)),), Operand("out", (40, 40)), 8)
    few = [min(i, j) for i in range(40) for j in range(40)]
    shared = sharing(plain, few)
    assert shared.spread_tile == shared.output_tile + 40
    assert [few.index(k) for k in range(40)] == [shared.places.index(k) for k in range(40)]
    assert shared.scratch == shared.output_tile + 40 + 1600
    assert sharing(plain, list(range(1600))) is plain  # nothing is repeated
    small = Layout((), Operand("out", (2, 2)), 8)
    assert sharing(small, [0, 0, 0, 0]) is small


class TestResultPool:
    shape = (result_pool.FROM_BYTES // 8, 1)
    dtype = np.dtype("float64")

    def place(self, s: ResultPool) -> tuple[int, Array]:
        found = s.array(self.shape, self.dtype)
        assert found is not None
        return found.ctypes.data, found

    def test_memory_is_used_again_when_nobody_holds_it(self) -> None:
        s = ResultPool()
        where, array = self.place(s)
        assert where % 64 == 0
        view = array[5:].T
        del array
        other, held = self.place(s)
        assert other != where  # the view is still there
        del view
        again, _ = self.place(s)
        assert again == where
        del held

    def test_no_more_than_two_blocks_are_kept(self) -> None:
        s = ResultPool()
        arrays = [self.place(s)[1] for _ in range(5)]
        assert len({a.ctypes.data for a in arrays}) == 5
        assert len(s._blocks) == 2

    def test_other_sizes_are_left_to_numpy(self) -> None:
        s = ResultPool()
        assert s.array((10, 10), self.dtype) is None
        assert s.array((result_pool.UP_TO_BYTES // 8 + 1,), self.dtype) is None

    @pytest.mark.slow
    def test_results_of_threads_do_not_share_memory(self) -> None:
        robot = on.load("yamane-serial-30")
        n = result_pool.FROM_BYTES // (8 * robot.nv**2) + 1
        q = np.random.default_rng(1).uniform(-1, 1, (4, n, robot.nq))
        expected = [robot.mass_matrix(x[:3]) for x in q]
        found: list[list[Array]] = [[] for _ in q]

        def work(k: int) -> None:
            for _ in range(3):
                found[k].append(robot.mass_matrix(q[k], threads=1))

        threads = [threading.Thread(target=work, args=(k,)) for k in range(len(q))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for results, first in zip(found, expected, strict=True):
            for result in results:
                np.testing.assert_array_equal(result[:3], first)
        assert len({r.ctypes.data for results in found for r in results}) == 12
