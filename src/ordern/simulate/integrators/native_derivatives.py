"""Derivatives of fixed steps as native code: gradients (reverse mode) and sensitivities (forward mode)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ...algorithms.derivatives.coordinates import NUMBERS, pull_name, push_name
from ...arguments import AnyArray
from ...compile.pipeline import Request
from ...compile.timeloops.code import (
    GRADIENT_WORDS,
    SENSITIVITY_WORDS,
    LoadedLoop,
    LoopCode,
    loop_code,
    varied_forms,
)
from ...errors import ArgumentError
from ...loops.dynamics import BAUMGARTE
from .differentiated import Moving, Tape
from .native import loop_kind, step_requests, varied_numbers
from .rk_step import fixed_step
from .tableaus import tableau

if TYPE_CHECKING:
    from ...robot import Robot

__all__ = ["GradientLoop", "SensitivityLoop", "derivative_kernel"]

_VARIED = {
    "forward_dynamics": ("q", "v", "tau"),
    "stabilised_dynamics": ("q", "v", "tau"),
    "passive_force": ("q", "v"),
    "all_passive_force": ("q", "v"),
    "step_passive_force": ("q", "v"),
    "integrate": ("q", "v", "dt"),
    "euler_position": ("q", "v", "a", "dt"),
    "euler_velocity": ("q", "v", "a", "dt"),
    "position_rate": ("q", "v"),
    "normalize": ("q",),
    "difference": ("q0", "q1"),
    "external_force": ("q", "external"),
    "contact_step": ("q", "v", "tau", "dt", "drag", "surfaces"),
    "joint_step": ("q", "v", "tau", "dt", "drag"),
}
"""The arguments by which the kernels of a step are differentiated."""


def derivative_kernel(robot: Robot, question: str, name: Callable[..., str], servo: bool = False) -> Any:
    """Return the kernel of the derivatives of a question, by the numbers of its arguments and of a varied robot.

    With `servo`, it is a step with forces of feedback that have limits.
    """
    options: dict[str, Any] = {"alpha": BAUMGARTE} if question == "stabilised_dynamics" else {}
    more = () if robot.variation is None else (NUMBERS,)
    if servo:
        return robot.kernel(name(question, (*_VARIED[question], "servo", *more)), present=("effort",))
    return robot.kernel(name(question, (*_VARIED[question], *more)), **options)


def _requests(robot: Robot, forward: Mapping[str, Request], name: Callable[..., str]) -> dict[str, Request]:
    """Return the kernels of the derivatives of all kernels of a step, by the compiler's names."""
    found, verb = {}, name("", ()).split()[0]
    for part, request in forward.items():
        kernel = derivative_kernel(robot, request.question.name, name)
        if kernel.is_interpreted:  # derivatives by the numbers of a robot are straight-line code
            what = "and parameters that vary; together these are not supported"
            if robot.variation is None:
                what = f"for which those of {request.question.name} are not compiled"
            raise ArgumentError(f"derivatives of rollouts: {robot.name!r} has {robot.nv} freedoms, {what}")
        found[f"{verb}_{part}"] = kernel.request
    return found


class _DerivativeLoop:
    """Machine code of a loop over steps and their derivatives, with a workspace for each thread."""

    def __init__(self, code: LoopCode, requests: Mapping[str, Request], dtype: str, name: str, words: Any) -> None:
        self._loaded, self._requests = LoadedLoop(code, requests, dtype, name, words), requests
        self._local = threading.local()
        self.lanes, self.operations = code.lanes, code.operations

    def parameters(self, robot: Robot) -> AnyArray:
        """Return the numbers (*leading, n) of a varied robot as the code reads them; without any for other robots."""
        return varied_numbers(robot, self._loaded, self._requests)

    @property
    def forms(self) -> dict[tuple[str, bool], int]:
        """The forms in which kernels read the numbers of a varied robot, in order, and the sizes of their arrays."""
        return varied_forms(self._requests, self._loaded.code.rolled)

    def run(self, words: Mapping[str, int]) -> None:
        """Run a share of the trajectories, in this thread."""
        try:
            workspace = self._local.workspace
        except AttributeError:
            workspace = self._local.workspace = self._loaded.workspace()
        self._loaded.run({**words, "workspace": workspace.ctypes.data, "datas": self._loaded.datas.ctypes.data})


class GradientLoop(_DerivativeLoop):
    """Gradients of weighted sums of the kept states of rollouts."""

    def __init__(
        self, robot: Robot, method: str, dynamics: str | None, dtype: str, feedback: bool, external: bool, numbers: bool
    ) -> None:
        """Compile the steps of a method; the weights of positions are by their `numbers`, or in their tangent."""
        steps = tableau(method)
        forward = step_requests(robot, steps, dynamics, feedback, external)
        requests = {**forward, **_requests(robot, forward, pull_name)}
        if not numbers and "rate" in forward:
            requests["pull_tangent"] = robot.kernel(pull_name("position_tangent", ("rate",))).request

        def make() -> LoopCode:
            from ...compile.timeloops.gradient import compile_gradient
            from ...compile.timeloops.machine import Kernels

            kernels = Kernels(requests, dtype, None)
            return compile_gradient(robot, kernels, lambda m, q, v: fixed_step(m, steps, q, v), Tape, numbers)

        code = loop_code(loop_kind("gradient", method, numbers), requests, dtype, None, make)
        super().__init__(code, requests, dtype, "gradient", GRADIENT_WORDS)
        self.operations = code.operations * steps.stages
        self.kept, self.start = robot.nq + robot.nv * (1 + steps.stages), robot.nq + robot.nv
        """The numbers per trajectory that are kept of a step, and at the start of a segment."""

    @staticmethod
    def of(robot: Robot, *arguments: Any) -> GradientLoop:
        """Return the loop of a robot, made on first use."""
        return robot._kernels.shared(("gradient", *arguments), lambda: GradientLoop(robot, *arguments))


class SensitivityLoop(_DerivativeLoop):
    """Rates of the kept states of rollouts along one direction."""

    def __init__(
        self, robot: Robot, method: str, dynamics: str | None, dtype: str, feedback: bool, external: bool
    ) -> None:
        """Compile the steps of a method."""
        steps = tableau(method)
        forward = step_requests(robot, steps, dynamics, feedback, external)
        requests = {**forward, **_requests(robot, forward, push_name)}
        if "rate" in forward:
            requests["tangent"] = robot.kernel("position_tangent").request

        def make() -> LoopCode:
            from ...compile.timeloops.machine import Kernels
            from ...compile.timeloops.sensitivity import compile_sensitivity

            kernels = Kernels(requests, dtype, None)
            return compile_sensitivity(robot, kernels, lambda m, q, v: fixed_step(m, steps, q, v), Moving)

        code = loop_code(loop_kind("sensitivity", method), requests, dtype, None, make)
        super().__init__(code, requests, dtype, "sensitivity", SENSITIVITY_WORDS)
        self.operations = code.operations * steps.stages

    @staticmethod
    def of(robot: Robot, *arguments: Any) -> SensitivityLoop:
        """Return the loop of a robot, made on first use."""
        return robot._kernels.shared(("sensitivity", *arguments), lambda: SensitivityLoop(robot, *arguments))
