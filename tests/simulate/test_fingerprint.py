"""Fingerprints: equal for equal content, also of copies; different wherever results may differ; or an error."""

from __future__ import annotations

import copy
import functools
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import ordern as on
from ordern.errors import ArgumentError
from ordern.simulate.run.fingerprint import Unknown, fingerprint

PENDULUM = on.load("double-pendulum")
GAINS: dict[str, Any] = {"layers": [np.eye(2), (1.0, {"b": 2.0})]}


class Policy:
    """A controller with something nested, an attribute of its class, and a log."""

    scale: ClassVar[list[float]] = [1.0]

    def __init__(self, held: Any) -> None:
        self.held, self.log, self.calls = held, list[float](), 0

    def __call__(self, t: float, q: Any, v: Any) -> Any:
        self.log.append(t)
        self.calls += 1
        return -self.scale[0] * v


def closed(held: Any) -> Callable[..., Any]:
    return lambda t, q, v: held["k"] * v


def used(gain: float) -> Any:
    """A function that uses a module of its own, in which there is another function."""
    helpers = type(sys)("helpers")
    exec(f"def gain():\n    return {gain}", vars(helpers))
    space = {"helpers": helpers, "__name__": "__console__"}
    exec("def push(t, q, v):\n    return helpers.gain() * v", space)
    return space["push"]


def different(gain: float) -> Any:
    return type("Own", (), {"gain": gain, "__call__": lambda self, t, q, v: self.gain * v})()


PAIRS: dict[str, Callable[[float], Any]] = {
    "dictionary": lambda k: Policy({"a": [1.0, {"b": k}]}),
    "array in a list": lambda k: Policy([np.array([1.0, k])]),
    "set": lambda k: Policy({1.0, k}),
    "closure": lambda k: closed({"k": k}),
    "partial": lambda k: functools.partial(closed({"k": 1.0}), q=[k]),
    "bound method": lambda k: Policy({"k": k}).__call__,
    "class attribute": different,
    "module": used,
    "generator": lambda k: Policy(np.random.default_rng(int(10 * k))),
    "objects": lambda k: Policy(np.array([None, {"k": k}], object)),
    "robot": lambda k: Policy(PENDULUM.with_contacts(on.Ground(k), points={"tip": 0.1})),
}


@pytest.mark.parametrize("made", PAIRS.values(), ids=PAIRS)
def test_content_counts(made: Callable[[float], Any]) -> None:
    assert fingerprint(made(1.5)) == fingerprint(made(1.5)) != fingerprint(made(2.5))


def test_changes_of_globals_and_classes_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def push(t: float, q: Any, v: Any) -> Any:
        return GAINS["layers"][1][1]["b"] * v

    before = fingerprint(push), fingerprint(Policy(1.0))
    monkeypatch.setitem(GAINS["layers"][1][1], "b", 7.0)
    monkeypatch.setattr(Policy, "scale", [2.0])
    assert not {*before} & {fingerprint(push), fingerprint(Policy(1.0))}


def test_logs_copies_and_locks_do_not_count() -> None:
    policy = Policy({"lock": threading.Lock()})
    before = fingerprint(policy)
    policy(0.0, np.zeros(2), np.zeros(2))
    assert policy.log and fingerprint(policy) == before
    shared = (1.0, 2.0)
    assert fingerprint([shared, shared]) == fingerprint([shared, tuple(x + 0.0 for x in shared)])
    held = Policy(GAINS)
    assert fingerprint(copy.deepcopy(held)) == fingerprint(held)


@pytest.mark.needs("torch")
def test_weights_of_pytorch_count() -> None:
    import torch

    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 2))
    policies = [net, closed({"k": net}), Policy([torch.ones(2, dtype=torch.bfloat16)]), torch.jit.script(net)]
    before = [fingerprint(x) for x in policies]
    assert before == [fingerprint(x) for x in policies]
    with torch.no_grad():
        net[2].bias[1] += 1e-6
        policies[2].held[0][1] = 0.5
    assert all(fingerprint(x) != old for x, old in zip(policies, before, strict=True))


@pytest.mark.needs("jax")
def test_trees_of_jax_count() -> None:
    import jax
    import jax.numpy as jnp

    def policy(k: float) -> Any:
        weights = {"layer": [jnp.array([1.0, k])], "key": jax.random.key(3)}
        return jax.jit(lambda t, q, v: weights["layer"][0] * v)

    assert fingerprint(policy(1.0)) == fingerprint(policy(1.0)) != fingerprint(policy(2.0))


def test_what_has_no_content_is_named(tmp_path: Path) -> None:
    policy: Any = Policy({"x": (k for k in "ab")})
    with pytest.raises(Unknown, match=r"^'x' of attribute 'held' of Policy is a generator$"):
        fingerprint(policy)
    path = tmp_path / "run.ckpt"
    with pytest.raises(
        ArgumentError, match=r"`tau` is the same .*attribute 'held'.*give it an attribute `fingerprint`"
    ):
        PENDULUM.simulate([1.0, 0.0], tau=policy, until=0.1, checkpoint=path)
    policy.fingerprint = "mine"
    whole = PENDULUM.simulate([1.0, 0.0], tau=policy, until=0.1, checkpoint=path)
    assert PENDULUM.simulate([1.0, 0.0], tau=policy, until=0.1, checkpoint=path) == whole
