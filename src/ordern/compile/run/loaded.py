"""Machine code in memory: a NumPy ufunc for batches, a Python function for one state, and their workspaces."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...forking import COMPILING
from ...records import dataclass
from ..trace.layout import Layout
from .engine import Engine
from .numpy_api import make_function, make_ufunc

if TYPE_CHECKING:
    from ..pipeline import Code
    from ..trace.rolled_tables import Data

__all__ = ["Entry", "Machine"]

Array = NDArray[Any]

_FUNCTIONS = ("loop", "call", "prepare", "bind")


@dataclass(frozen=True, slots=True)
class Entry:
    """The loop over batches of a kernel, for callers that are machine code, too."""

    loop: int
    """The address of a function (args, dimensions, steps, data) as NumPy's inner loops are. `args` are the addresses
    of the inputs, of a workspace, and of the result; `steps` the bytes from state to state of each, and then the bytes
    along each dimension of each, the workspace's one included."""
    data: int
    """The last argument."""
    workspace: int
    """The size of a workspace in bytes; it is aligned to 64. A workspace serves one call at a time."""
    owner: Any
    """The code lives as long as this has references."""


class Machine:
    """Machine code in memory for one data type: owns the code, its tables and its workspaces."""

    def __init__(self, code: Code, layout: Layout, data: Data | None, name: str, dtype: str) -> None:
        self.dtype = np.dtype(dtype)
        self.code, self.lanes = code, code.lanes
        self._engine = Engine(code.object, _FUNCTIONS)
        self._data = data
        self._address = data.address if data is not None else 0
        self._bytes = max(64, code.workspace * self.lanes * self.dtype.itemsize)
        self._local = threading.local()
        self._free = True
        self._shape = layout.output.shape
        inputs, output = layout.signature.split("->")
        signature = f"{inputs},({self._bytes // self.dtype.itemsize})->{output}"
        self._ufunc = make_ufunc(self._engine, self._address, data, len(layout.inputs) + 1, signature, name, dtype)

    def run(self, arrays: Sequence[Array], out: Array | None) -> Array:
        """Call the ufunc, in this thread."""
        try:
            workspace = self._local.workspace
        except AttributeError:
            workspace = self._local.workspace = self._new_workspace()
        with np.errstate(all="ignore"):  # NaN is a valid result
            found: Array = self._ufunc(*arrays, workspace) if out is None else self._ufunc(*arrays, workspace, out=out)
            return found

    @property
    def entry(self) -> Entry:
        """The entry point for other machine code."""
        return Entry(self._engine.address("loop"), self._address, self._bytes, (self._engine.keeper, self._data))

    def _new_workspace(self) -> Array:
        raw = np.zeros(self._bytes + 64, np.uint8)
        start = -raw.ctypes.data % 64
        return raw[start : start + self._bytes].view(self.dtype)

    def function(
        self, owner: Any, fallback: str, name: str, doc: str, first: int | None = None, floor: float | None = None
    ) -> Callable[..., Any]:
        """Return an emitted Python function for one state, as a method of `owner`, whose method `fallback` it calls.

        Of a vector it may return the `first` numbers only, and call the fallback if the last is not above a `floor`.

        The code has one place for what its function needs, so every function but the first gets code of its own.
        """
        with COMPILING:
            engine = self._engine if self._free else Engine(self.code.object, _FUNCTIONS)
            self._free = False
        shape = self._shape if first is None else (first,)
        workspace, dims = self._new_workspace(), np.array(shape or (0,), np.int64)
        least = None if floor is None else np.array(floor, self.dtype)
        own = {
            "dtype": id(self.dtype),
            "workspace": workspace.ctypes.data,
            "data": self._address,
            "dims": dims.ctypes.data,
            "numbers": math.prod(shape),
            "floor": None if least is None else least.ctypes.data,
        }
        return make_function(engine, own, (workspace, self._data, dims, least), owner, fallback, name, doc)
