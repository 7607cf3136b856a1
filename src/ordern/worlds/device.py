"""Arrays on a GPU of libraries that do not differentiate: CuPy, and `ordern.gpu`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError
from ..gpu.libraries import is_here, library_of

if TYPE_CHECKING:
    from ..kernel import Kernel

__all__ = ["answer", "delegate"]


def answer(kernel: Kernel, arguments: Sequence[Any], out: Any, threads: int | None) -> Any:
    """Return the answer of a kernel on the device of its arguments, as an array of their library."""
    library = library_of({str(k): x for k, x in enumerate(arguments)}, kernel.question.name)
    if library is None:
        raise ArgumentError(f"{kernel.question.name}: `out` is on a GPU, and the arguments are not")
    first = next(x for x in arguments if not is_here(x))
    return kernel.on(library.device(first))(*arguments, out=out)


def delegate(name: str) -> Callable[..., Any] | None:
    """Return the function that stands for a method of robots that is not one kernel, or None."""
    if name != "rollout":
        return None
    from ..simulate.rollout_device import rollout_there

    return rollout_there
