"""Sensitivity of ensembles: Sobol indices and effects of Morris against functions whose indices are known."""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ordern as on

d = on.distributions
Array = NDArray[np.float64]
pytestmark = pytest.mark.needs("scipy")


def ishigami(x: Array) -> Array:
    """The function of Ishigami and Homma, of three angles."""
    return np.asarray(np.sin(x[:, 0]) + 7.0 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0]))


ISHIGAMI = ([0.3139, 0.4424, 0.0], [0.5576, 0.4424, 0.2437])
G = np.array([0.0, 1.0, 4.5])


def g_function(x: Array) -> Array:
    """The g-function of Sobol, of three numbers from -1 to 1."""
    return np.asarray(np.prod((2.0 * np.abs(x) + G) / (1.0 + G), axis=1))


def g_indices() -> tuple[Array, Array]:
    """Its indices: the variance of each factor by itself is 1 / (3 (1 + a)^2)."""
    v = 1.0 / 3.0 / (1.0 + G) ** 2
    whole = np.prod(1.0 + v)
    return v / (whole - 1.0), v * whole / (1.0 + v) / (whole - 1.0)


def study(groups: int, keep: Any, low: float = -np.pi, high: float = np.pi, **more: Any) -> on.Ensemble:
    settings = {"starts": {"q": d.uniform(low, high)}, "steps": 1, "members": groups, "keep": keep}
    return on.Ensemble(on.load("planar-3r"), **(settings | more))


def test_sobol_indices_of_known_functions() -> None:
    cases = [(ishigami, -np.pi, np.pi, ISHIGAMI, 3.5), (g_function, -1.0, 1.0, g_indices(), 1.0)]
    for function, low, high, (first, total), mean in cases:

        def of(m: on.ensembles.Members, function: Any = function) -> Array:
            return np.asarray(1e3 + function(m.drawn["q"]))  # far from zero: sums are about the mean

        keep = {"S": on.keep.sobol(of), "m": on.keep.moments(of)}
        found = study(4096 * 5, keep, low, high, block=2560, seed=1).run()
        s = found["S"]
        assert s.names == ("q[0]", "q[1]", "q[2]")
        assert s.count == 4096
        for values, errors, exact in ((s.first, s.first_error, first), (s.total, s.total_error, total)):
            assert np.abs(values - exact).max() < 0.02
            assert (np.abs(values - exact) < 4.0 * errors).all()
            assert (errors < 0.03).all()
        assert abs(s.mean - 1e3 - mean) < 0.01
        assert found["m"].count == 2 * 4096  # the two independent members of each group
        assert abs(found["m"].mean - 1e3 - mean) < 0.01
        assert abs(s.variance / found["m"].std ** 2 - 1.0) < 1e-12
        low95, high95 = s.total_interval()
        assert ((low95 < total) & (np.array(total) < high95)).all()
        assert (s.first_interval(0.5)[1] - s.first < high95 - s.total + 1.0).all()


def test_members_are_groups() -> None:
    """The layout by itself: A, B, and A with one factor of B; drawn in any pieces."""
    s = study(48, on.keep.sobol("energy"), seed=4, parameters={"mass": {"link1": lambda seed: 1.0 + seed % 1000}})
    drawn = s.draws.drawn(0, 48)
    q, mass = drawn["q"].reshape(8, 6, 3), drawn["parameters.mass.link1"].reshape(8, 6)
    for k in range(3):
        assert (q[:, 2 + k, k] == q[:, 1, k]).all()
        assert (np.delete(q[:, 2 + k], k, axis=1) == np.delete(q[:, 0], k, axis=1)).all()
        assert (mass[:, 2 + k] == mass[:, 0]).all()
    assert (q[:, 5] == q[:, 0]).all()
    assert (mass[:, 5] == mass[:, 1]).all()
    assert (mass[:, 0] != mass[:, 1]).all()
    late = s.draws.drawn(31, 48)
    pieces = [*(s.draws.drawn(a, b) for a, b in ((0, 7), (7, 8), (8, 31))), late]
    for name in drawn:
        if len(drawn[name]) > 1:
            assert np.concatenate([x[name] for x in pieces]).tobytes() == drawn[name].tobytes()
    walk = study(40, on.keep.morris("energy"), seed=4).draws.drawn(0, 40)["q"].reshape(10, 4, 3)
    assert ((np.diff(walk, axis=1) != 0.0).sum(axis=(1, 2)) == 3).all()
    assert ((np.diff(walk, axis=1) != 0.0).sum(axis=1) == 1).all()


def test_engines_and_shards_do_not_change_a_bit() -> None:
    keep = [on.keep.sobol(lambda m: m.v_final, name="S"), on.keep.sobol("energy_change")]

    def run(**how: Any) -> Any:
        return study(200 * 5, keep, block=50, steps=20, dt=1e-2).run(**how)

    first = run(workers=1)
    with ThreadPoolExecutor(2) as pool:
        for other in (run(workers=3, shard=1e-3), run(engine=pool)):
            assert first["S"] == other["S"]
            assert first["energy_change_sobol"] == other["energy_change_sobol"]
    assert first["S"].first.shape == (3, 3)


@pytest.mark.slow
@pytest.mark.forks
@pytest.mark.skipif(sys.platform == "win32", reason="an executor of processes starts the test run again")
def test_processes_do_not_change_a_bit() -> None:
    """Events and groups of members, on other processes; the time of an event is a quantity like others."""
    low = on.Event.plane("link3", (1, 0, 0), 0.1, direction=0)
    keep = [on.keep.sobol("energy_change"), on.keep.coverage("low_time", high=0.5), on.keep.crossing("low")]
    s = study(100 * 5, keep, block=50, steps=200, dt=5e-3, events=replace(low, name="low"), method="rk4")
    here = s.run()
    with ProcessPoolExecutor(2) as pool:
        there = s.run(engine=pool)
    assert here["energy_change_sobol"] == there["energy_change_sobol"]
    assert here["low_time_coverage"] == there["low_time_coverage"]
    assert here["low_time"].tobytes() == there["low_time"].tobytes()
    assert np.isfinite(here["low_time"]).any()


def test_effects_of_morris() -> None:
    found = study(
        250 * 4,
        [
            on.keep.morris(lambda m: ishigami(m.drawn["q"]), name="E"),
            on.keep.morris(lambda m: m.drawn["q"] @ [1.0, -2.0, 0.0], name="linear"),
            on.keep.value("y", lambda m: ishigami(m.drawn["q"])),
            on.keep.value("u", lambda m: m.drawn["q"] / (2.0 * np.pi) + 0.5),
        ],
        block=48,
    ).run()
    linear = found["linear"]
    np.testing.assert_allclose(linear.mu, 2.0 * np.pi * np.array([1.0, -2.0, 0.0]), atol=1e-9)
    np.testing.assert_allclose(linear.mu_star, np.abs(linear.mu), atol=1e-9)
    assert (linear.sigma < 1e-9).all()
    y, u = found["y"].reshape(250, 4), found["u"].reshape(250, 4, 3)
    steps = np.diff(u, axis=1)
    effects = np.empty((250, 3))
    for g, k in np.ndindex(250, 3):
        [step] = np.flatnonzero(np.abs(steps[g, :, k]) > 1e-9)
        effects[g, k] = (y[g, step + 1] - y[g, step]) / steps[g, step, k]
    np.testing.assert_allclose(found["E"].mu, effects.mean(0), rtol=1e-9)
    np.testing.assert_allclose(found["E"].mu_star, np.abs(effects).mean(0), rtol=1e-9)
    np.testing.assert_allclose(found["E"].sigma, effects.std(0, ddof=1), rtol=1e-9)
    assert (found["E"].mu_star > 5.0).all()
    assert "mu*" in repr(found["E"])


@pytest.mark.slow
def test_a_robot_whose_energy_is_linear_in_masses() -> None:
    """The variance of a sum of independent terms is the sum of theirs; the start is at rest, at a fixed height."""
    robot = on.load("double-pendulum")
    q = np.array([0.7, 0.4])
    spread = {"upper": 0.3, "lower": 0.1}
    rates = [
        robot.vary(mass={n: 2.0}).potential_energy(q) - robot.vary(mass={n: 1.0}).potential_energy(q) for n in spread
    ]
    shares = np.array([r * s for r, s in zip(rates, spread.values(), strict=True)]) ** 2
    shares /= shares.sum()
    masses = {name: d.normal(1.0, s) for name, s in spread.items()}
    found = on.Ensemble(
        robot,
        members=2048 * 4,
        starts=(q, 0.0),
        parameters={"mass": masses},
        steps=9,
        keep=on.keep.sobol("energy_start"),
    ).run()["energy_start_sobol"]
    assert found.names == ("parameters.mass.upper", "parameters.mass.lower")
    assert np.abs(found.first - shares).max() < 0.02
    assert np.abs(found.total - shares).max() < 0.02


def test_failed_members_and_stopping() -> None:
    """A group with a member that fails is left out as a whole; the run may end when indices are known well enough."""
    masses = {"link1": d.uniform(-0.05, 1.0)}
    found = study(100 * 6, on.keep.sobol("energy_start"), parameters={"mass": masses}, block=60).run()
    failed = {k // 6 for k in found.failures()}
    assert 0 < len(failed) < 60
    assert found["energy_start_sobol"].count == 100 - len(failed)
    stop = on.keep.precise("S", error=0.1)
    early = study(4096 * 5, {"S": on.keep.sobol(lambda m: ishigami(m.drawn["q"]))}, stop=stop, block=320).run()
    assert early.members < 4096 * 5
    assert early["S"].half_width(0.95) <= 0.1


def test_wrong_studies_are_refused() -> None:
    sobol, morris = on.keep.sobol("energy"), on.keep.morris("energy")
    cases: list[tuple[int, Any, dict[str, Any], str]] = [
        (1000, sobol, {"parameters": {"mass": {"link1": d.normal(1, 0.1)}}}, "give 996 or 1,002"),
        (1000, sobol, {"block": 64}, "`block` must be a multiple"),
        (1000, sobol, {"sampling": "random"}, "needs sampling='saltelli'"),
        (20, [sobol, morris], {}, "two studies"),
        (20, [morris, on.keep.moments("energy")], {}, "not independent"),
        (20, morris, {"starts": {"v": lambda seed: np.zeros(3)}}, "function of a seed"),
        (20, sobol, {"starts": {"q": np.zeros((20, 3))}}, "give a distribution"),
        (20, sobol, {"starts": None}, "something that varies"),
    ]
    for members, keep, more, message in cases:
        with pytest.raises(on.ArgumentError, match=message):
            study(members, keep, **more)
