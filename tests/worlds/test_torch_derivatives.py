"""Derivatives of tensors: PyTorch's own checks over many questions and robots."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from ordern.worlds.operators import operator_of
from ordern.worlds.torch.library import overload
from ordern.worlds.torch.table import key_of
from tests.worlds.torch_cases import QUESTIONS, ROBOTS, kernel_of, tensors

SECOND = ("forward_dynamics", "inverse_dynamics", "pose", "kinetic_energy", "integrate")
"""Questions whose second derivatives are checked, too."""


@pytest.mark.campaign
@pytest.mark.parametrize("name", ROBOTS)
def test_gradients(name: str, campaign: Callable[[int, int], int]) -> None:
    """All questions of ten robots; a fifth of them for each robot in a sample."""
    robot, step = ROBOTS[name](), campaign(5, 1)
    for question in QUESTIONS[list(ROBOTS).index(name) % step :: step]:
        kernel = kernel_of(robot, question)
        given = [x.requires_grad_() for x in tensors(robot, kernel)]
        assert torch.autograd.gradcheck(kernel, given, atol=1e-6, rtol=1e-5, check_forward_ad=True), question
        if question in SECOND:
            assert torch.autograd.gradgradcheck(kernel, given, atol=1e-5, rtol=1e-4, fast_mode=True), question


@pytest.mark.campaign
@pytest.mark.parametrize("name", ROBOTS)
def test_operators_keep_the_rules_of_pytorch(name: str, campaign: Callable[[int, int], int]) -> None:
    """All questions of ten robots; a fifth of them for each robot in a sample."""
    robot, step = ROBOTS[name](), campaign(5, 1)
    for question in QUESTIONS[list(ROBOTS).index(name) % step :: step]:
        kernel = kernel_of(robot, question)
        given = [x.requires_grad_() for x in tensors(robot, kernel, batch=(2,))]
        torch.library.opcheck(overload(len(given)), (key_of(operator_of(kernel)), 0, *given))
