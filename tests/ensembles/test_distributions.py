"""Distributions: the right values, and the same bits for a member wherever it is drawn."""

from __future__ import annotations

import math

import numpy as np
import pytest

import ordern as on
from ordern.ensembles.counters import normal_quantile, permuted, uniforms
from ordern.ensembles.distributions import _exp
from ordern.ensembles.quantities import Quantities, quantity

d = on.distributions


def test_numbers_belong_to_the_member():
    whole = uniforms(7, "q", 0, 1000, 5)
    parts = [uniforms(7, "q", k, min(k + 37, 1000), 5) for k in range(0, 1000, 37)]
    assert (np.concatenate(parts) == whole).all()
    assert not (uniforms(8, "q", 0, 1000, 5) == whole).any()
    assert not (uniforms(7, "v", 0, 1000, 5) == whole).any()
    assert whole.min() > 0.0 and whole.max() < 1.0


def test_normal_quantiles_have_known_values():
    # from the tables of the error function, to 16 digits
    known = {0.5: 0.0, 0.975: 1.959963984540054, 0.0013498980316300933: -3.0, 1e-12: -7.034483825301132}
    found = normal_quantile(np.array(list(known)))
    assert np.abs(found - list(known.values())).max() < 1e-14
    p = np.linspace(1e-6, 0.5, 1001)
    assert np.abs(normal_quantile(p) + normal_quantile(1.0 - p)).max() < 1e-9
    # the inverse of the distribution function
    back = [0.5 * math.erfc(-x / math.sqrt(2.0)) for x in normal_quantile(p)]
    assert np.abs(np.array(back) / p - 1.0).max() < 1e-13


def test_exponentials():
    x = np.linspace(-40.0, 40.0, 10001)
    assert np.abs(_exp(x) / np.exp(x) - 1.0).max() < 1e-15 * 3


@pytest.mark.parametrize("count", [1, 2, 3, 16, 1000, 4097])
def test_permutations_permute(count):
    found = permuted(1, "x", np.arange(count), count, 3)
    assert (np.sort(found, axis=0) == np.arange(count)[:, None]).all()


def test_moments_of_distributions():
    robot = on.load("double-pendulum")
    for given, mean, std in (
        (d.uniform(-1.0, 3.0), 1.0, 4.0 / math.sqrt(12.0)),
        (d.normal(2.0, 0.5), 2.0, 0.5),
        (d.choice([1.0, 2.0], p=[0.75, 0.25]), 1.25, math.sqrt(0.1875)),
    ):
        x = Quantities(robot, {"x": quantity("x", (2,), given)}, 20000, 0, "random").drawn(0, 20000)["x"]
        assert x.shape == (20000, 2)
        assert np.abs(x.mean(axis=0) - mean).max() < 0.03
        assert np.abs(x.std(axis=0) - std).max() < 0.03


def test_latin_hypercubes_have_one_member_in_each_layer():
    robot = on.load("double-pendulum")
    x = {"x": quantity("x", (3,), d.uniform(0.0, 1.0))}
    drawn = Quantities(robot, x, 500, 3, "latin-hypercube")
    whole = drawn.drawn(0, 500)["x"]
    assert (np.sort(np.floor(whole * 500), axis=0) == np.arange(500)[:, None]).all()
    assert (drawn.drawn(100, 200)["x"] == whole[100:200]).all()


@pytest.mark.needs("scipy")
def test_sobol_sequences_go_on_anywhere():
    robot = on.load("double-pendulum")
    given = {"x": quantity("x", (2,), d.uniform(0.0, 1.0)), "y": quantity("y", (), d.normal(0.0, 1.0))}
    drawn = Quantities(robot, given, 256, 3, "sobol")
    whole, part = drawn.drawn(0, 256), drawn.drawn(64, 128)
    for name in "xy":
        assert (part[name] == whole[name][64:128]).all()
    counts = np.histogram2d(*whole["x"].T, bins=16, range=((0, 1), (0, 1)))[0]
    assert (counts == 1).all()  # a net: one point in each cell


def test_positions():
    robot = on.load("quadruped") if "quadruped" in on.robots.__all__ else on.load("puma560")
    free = on.load("puma560").builder().build(floating=True)
    for r in (robot, free):
        q = Quantities(r, {"q": quantity("q", (r.nq,), d.within_limits())}, 300, 0, "random").drawn(0, 300)["q"]
        assert np.abs(r.project(q) - q).max() < 1e-14
        assert (q >= r.lower - 1e-12).all() and (q <= r.upper + 1e-12).all()
        near = d.around(r.neutral(), 0.01)
        q = Quantities(r, {"q": quantity("q", (r.nq,), near)}, 300, 0, "random").drawn(0, 300)["q"]
        apart = r.difference(r.neutral(), q)
        assert 0.008 < apart.std() < 0.012


def test_functions_of_a_seed():
    robot = on.load("double-pendulum")
    given = d.function(lambda seed: np.random.default_rng(seed).normal(size=2))
    one = Quantities(robot, {"q": quantity("q", (2,), given)}, 50, 0, "random")
    assert (one.drawn(10, 20)["q"] == one.drawn(0, 50)["q"][10:20]).all()
    vectorised = d.function(lambda seeds: np.stack([seeds % 7, seeds % 5], axis=1), vectorised=True)
    assert Quantities(robot, {"q": quantity("q", (2,), vectorised)}, 5, 0, "random").drawn(0, 5)["q"].shape == (5, 2)
    wrong = Quantities(robot, {"q": quantity("q", (2,), d.function(lambda seed: [1.0]))}, 5, 0, "random")
    with pytest.raises(on.ArgumentError, match=r"shape \(1,\); the quantity has \(2,\)"):
        wrong.drawn(0, 5)


def test_wrong_numbers_are_named():
    for make, message in (
        (lambda: d.uniform(2.0, 1.0), "low must not be above high"),
        (lambda: d.normal(0.0, -1.0), "std must not be below zero"),
        (lambda: d.normal(math.nan, 1.0), "mean must be finite"),
        (lambda: d.log_normal(0.0, 1.0), "median must be above zero"),
        (lambda: d.choice([]), "list of values"),
        (lambda: d.choice([1.0, 2.0], p=[1.0]), "a probability for each of 2"),
        (lambda: d.choice([1.0, 2.0], p=[0.5, 0.6]), "sum 1, not 1.1"),
        (lambda: d.uniform("a", 1.0), "low must be a number"),
        (lambda: d.function(3), "function of a seed"),
    ):
        with pytest.raises(on.ArgumentError, match=message):
            make()
