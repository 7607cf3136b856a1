"""Compare kernels on the GPU of this machine with those of its processor, and measure them: `./dev gpu`.

It needs NumPy and llvmlite; arrays of PyTorch, JAX and CuPy are tested if these are installed. `--robots FILE ...` adds
robots of files. The last lines are a table of agreement and one of rates; the exit status is 1 if something
does not agree.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import tempfile
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from typing import Any

import numpy as np

import ordern as on
from ordern import gpu
from ordern.algorithms import questions
from ordern.cli.bench_gpu import described, measured_robot, robot_lines

from .robots import ROBOTS, made
from .suite_contacts import contacts

DOUBLE, SINGLE = 1e-14, 5e-6
"""The largest error relative to the largest number of the answer. The two machines round alike but for divisions and
the order of sums, some thousand times. Where the processor itself errs by more, because a robot or a method is badly
conditioned, the GPU may err by FACTOR times as much."""
FACTOR = 8.0
SINGULAR = 1e-3
"""Where the processor errs by more than this in double precision, the answer does not exist."""
MAIN = ("forward_dynamics", "inverse_dynamics", "mass_matrix", "body_poses", "jacobian", "integrate", "difference")
ALL_QUESTIONS = ("random tree, every joint", "quadruped")
STATES = 257


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev gpu", description=__doc__)
    parser.add_argument("--robots", nargs="*", default=[], metavar="FILE", help="further robots")
    parser.add_argument("--floating", nargs="*", default=[], metavar="FILE", help="further robots with a free root")
    parser.add_argument("--jobs", type=int, default=min(8, os.cpu_count() or 1), help="processes; 8 unless given")
    parser.add_argument("--quick", action="store_true", help="fewer robots and questions")
    parser.add_argument("--only", nargs="*", default=[], metavar="CHECK", help="only these checks, such as contacts")
    args = parser.parse_args()
    try:
        device = gpu.find_device()
    except on.GpuError as e:
        print(e)
        return 2
    os.environ.setdefault("ORDERN_CACHE_DIR", tempfile.mkdtemp(prefix="ordern-gpu-"))
    files = [(name, False) for name in args.robots] + [(name, True) for name in args.floating]
    names: list[tuple[str, bool]] = [(name, False) for name in list(ROBOTS)[: 3 if args.quick else None]] + files
    begun, failed, rows = time.perf_counter(), 0, []
    tasks = [(name, free, part) for name, free in names for part in _parts(name, args.quick) if not args.only]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(args.jobs, mp_context=context) as pool:
        for found in pool.map(_compared, tasks):
            rows += found
    for line in _agreement(rows):
        print(line, flush=True)
    failed += sum(not row["ok"] for row in rows)
    print(f"agreement: {time.perf_counter() - begun:.0f} s, {len(rows)} comparisons, {failed} failed", flush=True)
    checks = (libraries, pieces, places, rollouts, contacts, gradients, jax_functions, streams)
    for check in checks:
        if args.only and check.__name__ not in args.only:
            continue
        try:
            print(f"{check.__name__}: {check()}", flush=True)
        except Exception:
            failed += 1
            print(f"{check.__name__}: FAILED\n{traceback.format_exc()}", flush=True)
    print("\n".join(described(device)))
    for name, free in [] if args.only else [("puma560", False), ("quadruped", False), ("chain of 30", False), *files]:
        print("\n".join(["", *robot_lines(measured_robot(made(name, free), device, 1 << 20))]), flush=True)
    print(f"{failed} failed" if failed else "all is well")
    return int(failed > 0)


def _parts(name: str, quick: bool) -> list[tuple[str, str, str | None]]:
    """Return the questions, data types and methods to compare for a robot."""
    asked = [q for q in questions() if " " not in q.name]
    known = [q for q in asked if q.name in MAIN or (name in ALL_QUESTIONS and not quick)]
    found: list[tuple[str, str, str | None]] = []
    for q in known:
        methods = [m.name for m in on.methods(q.name)] if name == ALL_QUESTIONS[0] else [q.default]
        found += [(q.name, dtype, m) for dtype in ("float64", "float32") for m in methods]
    return found


def _compared(task: tuple[str, bool, tuple[str, str, str | None]]) -> list[dict[str, Any]]:
    """Return the error of one question of one robot in one data type, for this process's GPU."""
    name, free, (question, dtype, method) = task
    row: dict[str, Any] = {"robot": name, "question": question, "dtype": dtype, "method": method, "note": ""}
    try:
        robot = made(name, free)
        last = robot.bodies[-1].name
        usual = {"frame": last, "frames": [last, robot.bodies[0].name], "axes": "world", "kind": "classical"}
        options = {q.name: q.options for q in questions()}[question]
        if not set(options) <= usual.keys():
            return [{**row, "ok": True, "error": 0.0, "note": f"left out: {question} has settings of its own"}]
        try:
            kernel = robot.kernel(question, method, **{x: usual[x] for x in options})
            there = kernel.on("cuda")
        except (on.ArgumentError, on.ModelError) as e:
            return [{**row, "ok": True, "error": 0.0, "note": f"left out: {e}"}]
        given = _given(kernel, dtype)
        exact = kernel(*(x.astype(np.float64) for x in given))
        found = there(*given)
        error, same = _error(found, exact)
        turned = there(*(x[::-1] for x in given))[::-1]
        note = "" if np.array_equal(turned, found, equal_nan=True) else "depends on the place in the batch"
        limit = DOUBLE if dtype == "float64" else SINGLE
        if not note and (error > limit or not same):
            limit, same = _own_error(kernel, given, exact, limit, same)
            if limit > SINGULAR:
                return [{**row, "error": 0.0, "ok": True, "note": f"left out: {question} of {name} is singular"}]
            note = "" if same else "NaN in other places"
            if not note and error <= limit:  # not within the figure, and said so
                note = f"conditioned: the processor itself errs by {limit / FACTOR:.1e}"
                return [{**row, "error": error, "ok": True, "note": note}]
        return [{**row, "error": error, "ok": not note and error <= limit, "note": note}]
    except Exception as e:
        return [{**row, "error": float("nan"), "ok": False, "note": f"{type(e).__name__}: {e}"}]


def _error(found: Any, exact: Any) -> tuple[float, bool]:
    """Return the largest error relative to the largest number, and whether both are finite in the same places."""
    size = max(float(np.abs(exact[np.isfinite(exact)]).max(initial=0.0)), 1e-300)
    both = np.isfinite(exact) & np.isfinite(found)
    error = float(np.abs(np.where(both, found - exact, 0.0)).max(initial=0.0))
    return error / size, bool((np.isfinite(exact) == np.isfinite(found)).all())


def _own_error(kernel: on.Kernel, given: list[Any], exact: Any, limit: float, same: bool) -> tuple[float, bool]:
    """Return the error that the GPU may have where the processor has one, and whether NaN are where they may be."""
    if given[0].dtype == np.float32:
        error, alike = _error(kernel(*given), exact)
    else:
        many = kernel.with_way("interpreted")(*(x.astype(np.longdouble) for x in given))
        error, alike = _error(exact, many)
    return max(limit, FACTOR * error), same or not alike


def _given(kernel: on.Kernel, dtype: str) -> list[Any]:
    """Return random arguments of a kernel."""
    rng, model, found = np.random.default_rng(5), kernel.model, []
    for port in kernel.ports:
        shape = (STATES, *kernel.request.shape(port.kind))
        x = model.random(rng, (STATES,)) if port.kind == "q" else rng.uniform(-1.0, 1.0, shape)
        if port.name in ("dt", "smoothing", "t"):
            x = rng.uniform(0.01, 0.1, shape)
        found.append(np.asarray(x, dtype))
    return found


def _agreement(rows: list[dict[str, Any]]) -> list[str]:
    """Return the largest error of each robot, and all that failed."""
    lines = [f"{'robot':32}{'double':>10}{'single':>10}  compared"]
    for name in dict.fromkeys(row["robot"] for row in rows):
        own = [row for row in rows if row["robot"] == name]
        worst = [max((r["error"] for r in own if r["dtype"] == t), default=0.0) for t in ("float64", "float32")]
        left = sum(r["note"].startswith("left out") for r in own)
        short = os.path.basename(name)
        lines.append(f"{short:32}{worst[0]:10.1e}{worst[1]:10.1e}  {len(own) - left} ({left} left out)")
    for row in rows:
        if not row["ok"]:
            words = f"{row['question']} by {row['method']}, {row['dtype']}: {row['error']:.1e} {row['note'][:300]}"
            lines.append(f"FAILED {row['robot']}: {words}")
    beyond = [row for row in rows if row["note"].startswith("conditioned")]
    lines.append(
        f"{len(beyond)} beyond {DOUBLE:g} (double) or {SINGLE:g} (single), within {FACTOR:g} times the processor:"
    )
    for row in beyond:
        words = f"{row['question']} by {row['method']}, {row['dtype']}: {row['error']:.1e}, {row['note']}"
        lines.append(f"  {row['robot']}: {words}")
    for note in sorted({row["note"] for row in rows if row["note"].startswith("left out")}):
        lines.append(note[:200])
    return lines


def _case(n: int = 1000) -> tuple[on.Robot, Any, list[Any], Any]:
    robot = on.load("puma560")
    rng = np.random.default_rng(0)
    given = [rng.uniform(-1.0, 1.0, (n, 6)) for _ in range(3)]
    return robot, robot.kernel("forward_dynamics").on("cuda"), given, robot.forward_dynamics(*given)


def libraries() -> str:
    """Compare arrays of all libraries that are installed."""
    robot, kernel, given, expected = _case()
    limit, told = 1e-13 * np.abs(expected).max(), []
    found = kernel(*map(gpu.array, given)).numpy()
    assert np.abs(found - expected).max() < limit
    if find_spec("torch"):
        import torch

        if torch.cuda.is_available():
            tensors = [torch.as_tensor(x, device="cuda") for x in given]
            answer = kernel(*tensors)
            assert answer.is_cuda and np.abs(answer.cpu().numpy() - expected).max() < limit
            wide = torch.cat(tensors, dim=1)  # rows with gaps
            answer = kernel(*(wide[:, 6 * k : 6 * k + 6] for k in range(3)))
            assert np.abs(answer.cpu().numpy() - expected).max() < limit
            handed = torch.from_dlpack(kernel(*map(gpu.array, given)))
            assert np.abs(handed.cpu().numpy() - expected).max() < limit
            told.append(f"torch {torch.__version__}")
    if find_spec("cupy"):
        import cupy

        arrays = [cupy.asarray(x) for x in given]
        answer = kernel(*arrays)
        assert isinstance(answer, cupy.ndarray) and np.abs(answer.get() - expected).max() < limit
        answer = robot.forward_dynamics(*arrays)
        assert isinstance(answer, cupy.ndarray) and np.abs(answer.get() - expected).max() < limit
        handed = cupy.from_dlpack(kernel(*map(gpu.array, given)))
        assert np.abs(handed.get() - expected).max() < limit
        told.append(f"cupy {cupy.__version__}")
    if find_spec("jax"):
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        import jax

        jax.config.update("jax_enable_x64", True)
        if jax.default_backend() == "gpu":
            arrays = [jax.numpy.asarray(x) for x in given]
            for _ in range(20):
                answer = kernel(*(x + 0.0 for x in arrays))
            assert np.abs(np.asarray(answer) - expected).max() < limit
            told.append(f"jax {jax.__version__} ({type(answer).__name__})")
    return ", ".join(["ordern.gpu", *told])


def pieces() -> str:
    """Compare a large batch of NumPy, and measure it with its copies."""
    robot, _, given, _ = _case(1 << 21)
    expected = robot.forward_dynamics(*given)
    found = robot.forward_dynamics(*given, device="cuda")
    assert np.abs(found - expected).max() < 1e-13 * np.abs(expected).max()
    times = []
    for _ in range(3):
        begun = time.perf_counter()
        robot.forward_dynamics(*given, out=found, device="cuda")
        times.append(time.perf_counter() - begun)
    size = found.nbytes + sum(x.nbytes for x in given)
    return f"{len(found) / min(times) / 1e6:.0f} M states/s with copies, {size / min(times) / 1e9:.1f} GB/s"


def places() -> str:
    """Compare broadcasting, sets of parameters and derivatives."""
    robot, _, (q, v, tau), _ = _case(64)
    told = 0
    for call in (
        lambda d: robot.forward_dynamics(q.reshape(8, 8, 6), v[:8, None], tau[0], device=d),
        lambda d: robot.vary(mass=np.linspace(1.0, 2.0, 64)[:, None] * np.ones(len(robot.bodies))).forward_dynamics(
            q, v, tau, device=d
        ),
        lambda d: robot.jvp("forward_dynamics", (q, v, tau), (v, None, tau), device=d),
        lambda d: robot.vjp("inverse_dynamics", (q, v, tau), tau, device=d).q,
        lambda d: robot.derivatives.forward_dynamics(q, v, tau, device=d).q,
        lambda d: robot.hvp("inverse_dynamics", (q, v, tau), tau, (v, v, v), device=d).q,
    ):
        expected = call("cpu")
        assert np.abs(call("cuda") - expected).max() < 1e-12 * np.abs(expected).max()
        told += 1
    closed = on.load("stewart-platform")
    q0 = np.tile(closed.assemble().q, (16, 1))
    zero = np.zeros((16, closed.nv))
    expected = closed.forward_dynamics(q0, zero, zero)
    found = closed.forward_dynamics(q0, zero, zero, device="cuda")
    assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max()
    return f"{told + 1} ways to call agree"


def rollouts() -> str:
    """Compare rollouts and ensembles, and measure 1,000 steps of 65,536 trajectories."""
    told = []
    for name in ("puma560", "quadruped"):
        robot = on.load(name)
        rng = np.random.default_rng(0)
        n = 1 << 16
        q, v = robot.random(rng, (n,)), np.zeros((n, robot.nv))
        tau = 0.1 * rng.normal(size=(64, 20, robot.nv))
        for method in ("semi-implicit-euler", "rk4"):
            expected = robot.rollout(q[:64], v[:64], tau, method=method)
            found = robot.rollout(q[:64], v[:64], tau, method=method, device="cuda")
            error = np.abs(found.q - expected.q).max()
            assert error < 1e-10, (name, method, error)
        single = q.astype("float32"), v.astype("float32"), None, 1000
        robot.rollout(*single, every=1000, device="cuda")
        begun = time.perf_counter()
        robot.rollout(*single, every=1000, device="cuda")
        taken = time.perf_counter() - begun
        told.append(f"{name} {n * 1000 / taken / 1e9:.3g} G steps/s float32")
    for name in ("four-bar", "stewart-platform"):
        robot = on.load(name)
        q = np.tile(robot.assemble().q, (40, 1))
        expected = robot.rollout(q, 0.0 * q[:, : robot.nv], None, 20).q
        found = robot.rollout(q, 0.0 * q[:, : robot.nv], None, 20, device="cuda").q
        assert np.abs(found - expected).max() < 1e-9, (name, np.abs(found - expected).max())
    study = on.Ensemble(
        on.load("puma560"), members=1000, steps=50, block=256, starts={"q": on.distributions.uniform(-1, 1)}
    )
    apart = np.abs(np.asarray(study.run(engine="gpu")["q_final"]) - np.asarray(study.run()["q_final"])).max()
    assert apart < 1e-9, apart
    return ", ".join(told) + ", copies included; ensembles agree"


def gradients() -> str:
    """Compare gradients of PyTorch on the GPU with those on the processor, and vmap."""
    if not find_spec("torch"):
        return "needs torch"
    import torch

    robot, _, given, _ = _case(50)
    found = []
    for where in ("cpu", "cuda"):
        tensors = [torch.tensor(x, device=where, requires_grad=True) for x in given]
        answer = robot.forward_dynamics(*tensors)
        (answer**2).sum().backward()
        found.append([x.grad.cpu().numpy() for x in tensors])
        assert answer.device.type == where
    for x, y in zip(*found, strict=True):
        assert np.abs(x - y).max() < 1e-11 * np.abs(x).max()
    tensors = [torch.tensor(x, device="cuda") for x in given]
    mapped = torch.func.vmap(robot.forward_dynamics)(*tensors)
    assert torch.allclose(mapped, robot.forward_dynamics(*tensors), rtol=1e-12)
    second = torch.func.hessian(lambda q: (robot.forward_dynamics(q, tensors[1][0], tensors[2][0]) ** 2).sum())
    assert torch.isfinite(second(tensors[0][0])).all()
    return "PyTorch on the GPU agrees with the processor, with vmap and second order"


def jax_functions() -> str:
    """Compare functions of JAX on the GPU with those of NumPy: jit, vmap, grad, a long robot with a workspace."""
    if not find_spec("jax"):
        return "needs jax"
    import jax

    if jax.default_backend() != "gpu":
        return "needs jax for CUDA"
    jax.config.update("jax_enable_x64", True)
    robot, _, (q, v, tau), expected = _case(100)
    limit = 1e-13 * np.abs(expected).max()
    arrays = [jax.numpy.asarray(x) for x in (q, v, tau)]
    answer = robot.forward_dynamics(*arrays)
    assert answer.devices() == arrays[0].devices() and np.abs(np.asarray(answer) - expected).max() < limit
    jitted = jax.jit(lambda *x: 2.0 * robot.forward_dynamics(*(y * 1.0 for y in x)))
    assert np.abs(np.asarray(jitted(*arrays)) - 2.0 * expected).max() < 2.0 * limit
    assert np.abs(np.asarray(jax.vmap(robot.forward_dynamics)(*arrays)) - expected).max() < limit
    weights = np.cos(np.arange(600)).reshape(100, 6)
    gradient = jax.jit(jax.grad(lambda q: (weights * robot.forward_dynamics(q, *arrays[1:])).sum()))(arrays[0])
    known = robot.vjp("forward_dynamics", (q, v, tau), weights).q
    assert np.abs(np.asarray(gradient) - known).max() < 1e-11 * np.abs(known).max()
    long = on.chain(200)
    x = np.random.default_rng(0).normal(size=(3, 70, 200))
    found = np.asarray(jax.jit(long.inverse_dynamics)(*map(jax.numpy.asarray, x)))
    known = long.inverse_dynamics(*x)
    assert np.abs(found - known).max() < 1e-12 * np.abs(known).max()
    step = jax.jit(lambda q, v: jax.lax.fori_loop(0, 1000, lambda k, a: robot.forward_dynamics(q, v, 1e-3 * a), v))
    step(*arrays[:2]).block_until_ready()
    begun = time.perf_counter()
    step(*arrays[:2]).block_until_ready()
    return f"jit, vmap and grad agree; {(time.perf_counter() - begun) * 1e3:.1f} us a call inside jit"


def streams() -> str:
    """Run in a stream of PyTorch, among its own work, without waiting."""
    if not find_spec("torch"):
        return "needs torch"
    import torch

    for name in ("puma560", "quadruped"):  # arrays at any address: parts of rows of odd lengths
        robot = on.load(name)
        rng = np.random.default_rng(0)
        parts = [robot.random(rng, (500,)), *rng.normal(size=(2, 500, robot.nv))]
        for dtype in ("float32", "float64"):
            rows = [np.concatenate([np.ones((500, 1)), x, np.ones((500, 2))], axis=1).astype(dtype) for x in parts]
            wide = [torch.as_tensor(x, device="cuda")[:, 1:-2] for x in rows]
            exact = robot.forward_dynamics(*(x[:, 1:-2].astype("float64") for x in rows))
            error = np.abs(robot.kernel("forward_dynamics").on("cuda")(*wide).cpu().numpy() - exact).max()
            assert error < (1e-5 if dtype == "float32" else 1e-12) * np.abs(exact).max(), (name, dtype, error)
    _, kernel, given, expected = _case(1 << 16)
    side = torch.cuda.Stream()
    host = [torch.as_tensor(x).pin_memory() for x in given]
    with torch.cuda.stream(side):
        for _ in range(10):
            tensors = [x.to("cuda", non_blocking=True) for x in host]
            for _ in range(20):
                tensors[2] = tensors[2] * 1.0
            answer = kernel(*tensors)
            del tensors
            answer = answer * 2.0
    side.synchronize()
    assert np.abs(answer.cpu().numpy() - 2.0 * expected).max() < 1e-13 * np.abs(expected).max()
    tensors = [x.cuda() for x in host]
    torch.cuda.synchronize()
    begun = time.perf_counter()
    for _ in range(200):
        kernel(*tensors)
    taken = time.perf_counter() - begun
    torch.cuda.synchronize()
    return f"a call of a kernel with tensors takes {taken / 200 * 1e6:.0f} us"
