"""Rollouts as kernels: the whole time loop in one launch, with one trajectory a thread, or 32 a block."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ...errors import CompileError
from ...graph import Node
from ...model import BASE, Model
from ..emit.target import Target
from ..pipeline import Request
from ..program import choose_way, uncollected
from .code import PtxCode
from .entry import NAME
from .limbs import Division, bodies_of, divided, undivided
from .machine import ASYNCHRONOUS, assembly, generation, thread_target
from .plan import Plan, repeat_plan, straight_plan, thread_plan
from .rollout_parameters import ROLLOUT_PARAMETERS
from .rollout_team import TeamLoop, areas_of
from .rollout_threads import ThreadLoop
from .step import INPUTS, Step, trace_step
from .straight import require_assembled

__all__ = ["ROLLOUT_PARAMETERS", "ptx_rollout", "write_rollout"]

_KINDS = {"q": "q", "v": "v", "tau": "f", "external": "bodies", "goal": "q"}
"""The kinds of arguments whose numbers belong to bodies."""


def ptx_rollout(
    model: Model,
    requests: Mapping[str, Request],
    step: Callable[[Any, Any, Any], tuple[Any, Any]],
    dtype: str,
    arch: str = "sm_90",
) -> PtxCode:
    """Return the loop around a step, a function (m, q, v) -> (q, v) over a machine m, as PTX.

    `requests` are the kernels of a time loop by name, as for `ordern.compile.timeloops.fixed.compile_rollout`. The
    entry has the parameters of `rollout_parameters.py`.
    """
    ir, code = write_rollout(model, requests, step, dtype, arch)
    return replace(code, text=assembly(ir, arch))


@uncollected()
def write_rollout(
    model: Model,
    requests: Mapping[str, Request],
    step: Callable[[Any, Any, Any], tuple[Any, Any]],
    dtype: str,
    arch: str = "sm_90",
    plan: Plan | None = None,
    on_device: bool = True,
) -> tuple[str, PtxCode]:
    """Return the loop around a step as IR text, and its record without the text; see `Frame` for `on_device`."""
    _require_short(model, requests)
    target, traced = thread_target(dtype), trace_step(model, requests, step)
    work = traced.work
    plan, division = _planned(model, traced, work, target, arch, plan)
    loop: TeamLoop | ThreadLoop
    if division is not None:
        asynchronous = on_device and generation(arch) >= ASYNCHRONOUS
        loop = TeamLoop(target, traced, division, plan, asynchronous, on_device)
        states = loop.frame.states
    else:
        loop, states = ThreadLoop(target, traced, plan, on_device), plan.block
    loop.write()
    shared = loop.frame.shared * target.itemsize
    operations = traced.code.operations
    code = PtxCode("", NAME, loop.frame.block, states, "unrolled", operations, shared, registers=plan.registers)
    return loop.frame.text(plan.registers), code


def _require_short(model: Model, requests: Mapping[str, Request]) -> None:
    """Raise an error if the steps of a robot are too long for straight-line code."""
    for request in requests.values():
        if (request.way or choose_way(request)) == "rolled":
            raise CompileError(
                f"a rollout of {model.name!r} on a GPU: its {request.question.name} is too long for the straight-line "
                "code that steps are made of there; roll it out on the processor"
            )


def _planned(
    model: Model, step: Step, work: list[Node], target: Target, arch: str, plan: Plan | None
) -> tuple[Plan, Division | None]:
    """Return the plan, chosen if none is given, and the division of the work if warps share it."""
    if "certificate" in step.state:  # iterations of a solver, for which warps would have to wait each time
        require_assembled(step.code, model)
        return plan or repeat_plan(arch), None
    if plan is None:
        rows = sum(x.size for x in areas_of(step))
        plan, division = straight_plan(work, rows, 0, lambda: _divided(model, step), target.itemsize, arch)
        # there are no slots beside a state in registers
        return (thread_plan(work, target.itemsize, arch), None) if plan.keep else (plan, division)
    division = _divided(model, step) if plan.team == "limbs" else undivided(work)
    return plan, division if plan.team else None


def _divided(model: Model, step: Step) -> Division:
    """Divide the work of a step among warps."""
    inputs = [bodies_of(model, _KINDS[name]) if name in _KINDS else None for name in INPUTS]
    q, v = (bodies_of(model, kind) or [] for kind in ("q", "v"))
    inputs[INPUTS.index("numbers")] = [BASE] * 5 + v + v + v
    return divided(model, inputs, q + v, [*step.q, *step.v], step.work)
