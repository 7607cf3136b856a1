"""Arguments of calls with tensors: everything becomes a tensor of one data type on one device, or an error in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...errors import ArgumentError
from ...kernel.arguments import broadcast_named, external_forces
from ...model import BASE, Model
from ...model.parameter_sets import varied_place
from .. import library_of

__all__ = ["Tensor", "external_tensor", "is_plain", "require_out", "tensors_of"]

_PRECISIONS = (torch.float32, torch.float64)


def tensors_of(where: str, arguments: Mapping[str, Any]) -> list[Tensor]:
    """Return arguments by name as tensors of one data type and device.

    Two precisions give the higher one, as in PyTorch. NumPy arrays and numbers take the type and device of the tensors.
    """
    values = list(arguments.values())
    first = values[0]
    if type(first) is Tensor and first.dtype in _PRECISIONS and first.layout is torch.strided:
        same = (first.dtype, first.device)
        if all(type(x) is Tensor and (x.dtype, x.device) == same and x.layout is torch.strided for x in values):
            return values
    return _unified(where, arguments)


def _unified(where: str, arguments: Mapping[str, Any]) -> list[Tensor]:
    """Return the tensors of arguments of several types."""
    given = {name: _stacked(where, name, x) for name, x in arguments.items()}
    own = {name: x for name, x in given.items() if isinstance(x, Tensor)}
    for name, x in own.items():
        _require_real(where, name, x)
    dtype = torch.float64 if any(x.dtype == torch.float64 for x in own.values()) else torch.float32
    device = _device(where, own)
    return [_converted(where, name, x, dtype, device) for name, x in given.items()]


def _stacked(where: str, name: str, x: Any) -> Any:
    """Return a list that has tensors in it as one tensor; all else as it is."""
    if not isinstance(x, (list, tuple)) or not any(isinstance(y, (Tensor, list, tuple)) for y in x):
        return x
    parts = [_stacked(where, name, y) for y in x]
    like = next((y for y in parts if isinstance(y, Tensor)), None)
    if like is None:
        return x
    try:
        return torch.stack([y if isinstance(y, Tensor) else like.new_tensor(y) for y in parts])
    except (RuntimeError, TypeError, ValueError) as e:
        raise ArgumentError(f"{where}: the list {name!r} of tensors cannot be stacked: {e}") from None


def _require_real(where: str, name: str, x: Tensor) -> None:
    """Raise unless a tensor has numbers that compiled code takes."""
    if x.dtype not in _PRECISIONS:
        kind = str(x.dtype).removeprefix("torch.")
        low = x.dtype in (torch.float16, torch.bfloat16)
        advice = "x.float() gives float32" if low else "give x.double() or x.float()"
        if x.is_complex():
            advice = "give real numbers"
        raise ArgumentError(
            f"{where}: argument {name!r} is a tensor of {kind}; dynamics is computed in float32 or float64: {advice}"
        )
    if x.layout is not torch.strided or x.is_quantized or x.is_nested:
        raise ArgumentError(f"{where}: argument {name!r} is not a dense tensor ({x.layout}); give x.to_dense()")


def _device(where: str, own: Mapping[str, Tensor]) -> torch.device:
    """Return the device of all tensors; single numbers on the CPU go with tensors on another device."""
    found = {x.device for x in own.values()}
    if len(found) > 1:
        found = {x.device for x in own.values() if x.ndim or x.device.type != "cpu"}
    if len(found) > 1:
        listed = ", ".join(f"{name} on {x.device}" for name, x in own.items())
        raise ArgumentError(
            f"{where}: the tensors are on several devices ({listed}); move them to one with x.to(device)"
        )
    return found.pop()


def _converted(where: str, name: str, x: Any, dtype: torch.dtype, device: torch.device) -> Tensor:
    if isinstance(x, Tensor):
        return x.to(device=device, dtype=dtype)
    try:
        array = np.asarray(x)
    except ValueError as e:
        raise ArgumentError(f"{where}: argument {name!r} is not an array: {e}") from None
    if array.dtype.kind not in "biuf":
        raise ArgumentError(f"{where}: argument {name!r} has data type {array.dtype}; give real numbers")
    single = np.float32 if dtype == torch.float32 else np.float64
    return torch.from_numpy(np.array(array, single)).to(device)


def require_out(where: str, out: Any, given: Sequence[Tensor]) -> None:
    """Raise unless the answer for some tensors can be stored in `out`."""
    if not isinstance(out, Tensor):
        raise ArgumentError(f"{where}: `out` must be a tensor, as the arguments are, not {type(out).__name__}")
    if torch.is_grad_enabled() and (out.requires_grad or any(x.requires_grad for x in given)):
        raise ArgumentError(
            f"{where}: with `out` the answer has no gradient, but an argument requires one; leave `out` away, or call "
            "it under torch.no_grad()"
        )
    if any(n > 1 and step == 0 for n, step in zip(out.shape, out.stride(), strict=True)):
        raise ArgumentError(f"{where}: several numbers of `out` are one in memory (it was expanded); give out.clone()")
    if (out.dtype, out.device) != (given[0].dtype, given[0].device):
        raise ArgumentError(
            f"{where}: `out` is a tensor of {out.dtype} on {out.device}, but the answer is of {given[0].dtype} on "
            f"{given[0].device}"
        )


def is_plain(x: Tensor) -> bool:
    """Return True for a tensor with memory of its own, and not one of a transform of `torch.func`."""
    return not (torch._C._functorch.is_functorch_wrapped_tensor(x) or torch.compiler.is_compiling())


def external_tensor(model: Model, external: Mapping[Any, Any]) -> Any:
    """Return forces by names of bodies or frames as one tensor (..., n, 6), each in its body's frame.

    If all of them are NumPy arrays, so is the result.
    """
    if library_of(external) is None:
        return external_forces(model, external)
    names = [f"external: the force on {name!r}" for name in external]
    forces = dict(zip(external, tensors_of("external", dict(zip(names, external.values(), strict=True))), strict=True))
    for name, w in forces.items():
        if w.shape[-1:] != (6,):
            raise ArgumentError(
                f"external: the force on {name!r} has shape {tuple(w.shape)}; its last dimension must be 6 (moment, "
                "force)"
            )
    shapes = {name: tuple(w.shape[:-1]) for name, w in forces.items()}
    batch = broadcast_named("external: the batch shapes of the forces", shapes)
    like = next(iter(forces.values()))
    rows = [like.new_zeros(6)] * len(model.bodies)
    for name, w in forces.items():
        frame = model.frame(name)
        if frame.body == BASE:
            continue  # the base takes any force
        if model.variation is not None and varied_place(model, frame) is not None:
            raise ArgumentError(
                f"external: the place of frame {name!r} varies, so its force on the body does; give the forces as a "
                "tensor (..., n, 6), in the frames of the bodies"
            )
        R, p = (torch.as_tensor(np.asarray(x), dtype=w.dtype, device=w.device) for x in _place(frame))
        force, moment = w[..., 3:] @ R.T, w[..., :3] @ R.T
        moment = moment + torch.linalg.cross(p.expand_as(force), force)
        rows[frame.body] = rows[frame.body] + torch.cat([moment, force], dim=-1)
    return torch.stack([x.expand(*batch, 6) for x in rows], dim=-2)


def _place(frame: Any) -> tuple[Any, Any]:
    return frame.placement.R, frame.placement.p
