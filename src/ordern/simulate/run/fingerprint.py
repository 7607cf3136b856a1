"""Fingerprints of the user's functions and controllers. Checkpoints and stored ensembles recognise them by these.

They cover the content of whatever a function or an object computes with: code, constants, defaults, variables from
outside, attributes of objects and of their classes, arrays of NumPy, JAX and PyTorch, and what they contain in turn.
The names of modules do not count, since a file may be run or imported. Of modules of the user's, the file counts and
the attributes that a function names; of installed packages, name and version. What a function or a class only writes
to is a log, and left out: lists that it appends to, and numbers that it counts up. So are attributes that are computed
on demand. A text `fingerprint` of an object or a function, where there is one, replaces all of this.
"""

from __future__ import annotations

import dis
import enum
import hashlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MethodDescriptorType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)  # fmt: skip
from typing import Any

import numpy as np

from ...compile.run.content import Definition, Unknown, codes_of, names_of
from ...errors import ArgumentError
from ...kernel.table import Kernels

__all__ = ["ADVICE", "Unknown", "fingerprint", "recognizable"]

ADVICE = (
    "give it an attribute `fingerprint`, a text of your own that changes whenever it computes something else, such as "
    "policy.fingerprint = 'weights of May, 2'"
)
"""What to do about something without a fingerprint."""

_DESCRIPTORS = (
    MethodDescriptorType,
    WrapperDescriptorType,
    ClassMethodDescriptorType,
    GetSetDescriptorType,
    MethodWrapperType,
)
_LOCKS = ("lock", "RLock", "Condition", "Event", "Semaphore", "_thread._local")
_ADDERS = frozenset({"append", "appendleft", "extend", "add", "update", "insert", "clear", "write", "put"})
"""Methods that return nothing: a value of which only these are used has no effect on results."""


def fingerprint(x: Any) -> str:
    """Return a text that is the same for the same content, also in another process of the same Python.

    Raise `Unknown` if the content of something cannot be known.
    """
    return _Program().digest(x)


def recognizable(what: str, x: Any) -> str:
    """Return the fingerprint of an argument of `simulate`; raise for one that a checkpoint could not recognise."""
    try:
        return fingerprint(x)
    except Unknown as e:
        raise ArgumentError(
            f"simulate: a checkpoint cannot tell whether `{what}` is the same in another run, because {e}; {ADVICE}"
        ) from None


class _Program(Definition):
    """The content of functions and objects that are called while something runs."""

    def compound(self, x: Any) -> Any:
        given = None if isinstance(x, (type, ModuleType)) else getattr(x, "fingerprint", None)
        if isinstance(given, str):
            return ["given", given]
        if isinstance(x, enum.Enum):
            return ["enum", type(x).__qualname__, x.name, self.of(x.value)]
        if isinstance(x, np.ndarray) and x.dtype.hasobject:
            return ["array", x.shape, [self.of(y) for y in x.ravel().tolist()]]
        return super().compound(x)

    def trusted(self, module: Any) -> bool:
        return super().trusted(module) or _installed(module)

    def of_library(self, x: Any, module: str) -> str:
        version = getattr(sys.modules.get(module.partition(".")[0]), "__version__", "")
        return f"{module} {version if isinstance(version, str) else ''}".rstrip()

    def require_pure(self, f: FunctionType) -> None:
        """Allow everything: what a function reads while it runs is not its content."""

    def function(self, f: FunctionType) -> Any:
        module = f.__globals__.get("__name__")
        if self.trusted(module):
            return super().function(f)
        names = names_of(f.__code__)
        logs = _only_written([f.__code__])
        globals_ = [
            [name, self._module(x, names) if isinstance(x, ModuleType) else self.of(x, f"global {name!r}")]
            for name, x in ((name, f.__globals__[name]) for name in self.globals_of(f) if name not in logs)
        ]
        own = {name: x for name, x in vars(f).items() if name != "__wrapped__"}
        code = self._code(f.__code__)
        return ["function", f.__qualname__, code, *self.closed(f, logs), globals_, self.fields(FunctionType, own)]

    def globals_of(self, f: FunctionType) -> list[str]:
        loaded = {
            i.argval
            for code in codes_of(f.__code__)
            for i in dis.get_instructions(code)
            if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")
        }
        return sorted(loaded & f.__globals__.keys())

    def _code(self, code: CodeType) -> Any:
        """Return the content of code, without its documentation."""
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_argcount, code.co_kwonlyargcount)
        doc = code.co_consts[:1] if code.co_consts and isinstance(code.co_consts[0], str) else ()
        inside = [self._code(c) if isinstance(c, CodeType) else self.of(c) for c in code.co_consts[len(doc) :]]
        return ["code", code.co_code, names, inside]

    def _module(self, x: ModuleType, names: Iterable[str] = ()) -> Any:
        """Return the content of a module: of the user's own, its file, and the attributes that a function names."""
        if self.trusted(x.__name__):
            return ["module", self.of_library(x, x.__name__), x.__name__]
        file = getattr(x, "__file__", None)
        try:
            text = "" if file is None else hashlib.sha256(Path(file).read_bytes()).hexdigest()
        except OSError:
            text = ""
        found = sorted(set(names) & vars(x).keys())
        return ["module", text, [[name, self.of(getattr(x, name), f"{x.__name__}.{name}")] for name in found]]

    def named(self, x: Any) -> Any:
        if isinstance(x, ModuleType):
            return self._module(x)
        owner = getattr(x, "__self__", None)
        if owner is None or isinstance(owner, (ModuleType, type)):
            return ["named", str(getattr(x, "__module__", None)), getattr(x, "__qualname__", x.__name__)]
        return ["method", x.__name__, self.of(owner)]  # of an object, such as a generator of random numbers

    def class_(self, x: type) -> Any:
        if issubclass(x, enum.Enum) and not self.trusted(x.__module__):
            return ["class", x.__qualname__, [[y.name, self.of(y.value)] for y in x]]
        return super().class_(x)

    def object(self, x: Any) -> Any:
        kind = type(x)
        library = kind.__module__.partition(".")[0]
        if isinstance(x, _DESCRIPTORS):
            return ["descriptor", x.__qualname__]
        if kind.__module__ in ("_thread", "threading") and kind.__name__ in _LOCKS:
            return ["lock"]
        if library == "ordern" and isinstance(getattr(x, "loop_digest", None), str):
            return self._robot(x)
        if isinstance(x, Kernels):  # a table that fills with use
            return ["kernels", self.of(x.model), x.way]
        if callable(wrapped := getattr(x, "__wrapped__", None)) and not isinstance(x, BuiltinFunctionType):
            return ["wrapped", kind.__qualname__, self.of(wrapped)]  # jax.jit, functools.lru_cache
        if (found := _foreign_array(x)) is not None:
            return found
        if library == "torch" and (found := self._torch(x)) is not None:
            return found
        return self._reduced(x)

    def _robot(self, robot: Any) -> Any:
        """Return the content of a robot, as far as motions depend on it."""
        joints = [(c.velocity_limit, c.effort_limit) for c in robot.joints]
        numbers = repr((robot.lower.tolist(), robot.upper.tolist(), joints, robot.snap, robot.contacts))
        return ["robot", robot.digest, robot.loop_digest, numbers]

    def _torch(self, x: Any) -> Any:
        """Return the content of an object of PyTorch that is not plain Python; None of others."""
        import torch

        if isinstance(x, torch.jit.ScriptModule):
            return ["script", str(x.inlined_graph), [[k, self.of(v, k)] for k, v in x.state_dict().items()]]
        if isinstance(x, torch.nn.Module) and isinstance(inner := getattr(x, "_orig_mod", None), torch.nn.Module):
            return ["compiled", self.of(inner)]
        if isinstance(x, torch.Generator):
            return ["generator", self.of(x.get_state())]
        return ["torch", repr(x)] if isinstance(x, (torch.dtype, torch.device, torch.Size)) else None

    def _reduced(self, x: Any) -> Any:
        """Return the content of an object by its state, as it would be pickled."""
        kind = type(x)
        try:
            reduced = x.__reduce_ex__(4)
        except Exception:  # any type may refuse in its own way
            raise self.unknown(x) from None
        if isinstance(reduced, str):
            return ["named", kind.__module__, reduced]
        make, arguments, state, *items = (*reduced, None, None, None)[:5]
        dicts = state if isinstance(state, tuple) and len(state) == 2 else (state,)
        if all(part is None or type(part) is dict for part in dicts):
            logs = _logs_of(kind)
            fields = {k: v for part in dicts if part for k, v in part.items() if k not in logs}
            described = self._opaque(kind, fields) if _is_ours(kind) else self.fields(kind, fields)
        else:
            described = self.of(state)
        listed = [[self.of(y) for y in part] if part is not None else None for part in items]
        return ["object", self.of(kind), self.of(make), self.of(arguments), described, listed]

    def _opaque(self, kind: type, values: dict[str, Any]) -> Any:
        """Return the content of an object of this library; its compiled functions are known by the rest of it."""
        found = []
        for name, value in sorted(values.items()):
            depth = len(self.where)
            try:
                found += self.fields(kind, {name: value})
            except Unknown:
                del self.where[depth:]
                found.append([name, type(value).__qualname__])
        return found


def _installed(module: Any) -> bool:
    """Return True if a module is part of an installed package."""
    if not isinstance(module, str) or module == "__main__":
        return False
    root = sys.modules.get(module.partition(".")[0])
    places = [getattr(root, "__file__", None), *getattr(root, "__path__", ())]
    return any(isinstance(x, str) and {"site-packages", "dist-packages"} & {*Path(x).parts} for x in places)


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith("ordern.")


def _foreign_array(x: Any) -> Any:
    """Return the content of an array of JAX or a tensor of PyTorch; None of other objects."""
    library = type(x).__module__.partition(".")[0]
    roots = {c.__module__.partition(".")[0] for c in type(x).__mro__}
    if "torch" in roots:
        torch = sys.modules["torch"]
        if isinstance(x, torch.Tensor) and x.layout == torch.strided and not x.is_quantized and not x.is_meta:
            flat = x.detach().cpu().resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8)
            return ["tensor", str(x.dtype), tuple(x.shape), hashlib.sha256(flat.numpy().tobytes()).hexdigest()]
    if library in ("jax", "jaxlib") and hasattr(x, "dtype") and hasattr(x, "addressable_data"):
        dtype, numbers = str(x.dtype), x
        if dtype.startswith("key<"):
            numbers = sys.modules["jax"].random.key_data(x)
        found = np.ascontiguousarray(np.asarray(numbers))
        return ["jax", dtype, tuple(x.shape), hashlib.sha256(found.tobytes()).hexdigest()]
    return None


# logs -----------------------------------------------------------------------------------------------------------


def _logs_of(kind: type) -> set[str]:
    """Return the attributes that the methods of a class only write to."""
    own = [c for c in kind.__mro__ if not _Program().trusted(c.__module__)]
    methods = [getattr(f, "__func__", f) for c in own for f in vars(c).values()]
    return _only_written([f.__code__ for f in methods if isinstance(f, FunctionType)])


def _only_written(codes: Iterable[CodeType]) -> set[str]:
    """Return the names of variables and attributes whose values have no effect on what functions return.

    All that the functions do with these is to call methods that add to them, to count them up, or to test whether they
    are None.
    """
    written: set[str] = set()
    read: set[str] = set()
    for code in codes:
        for inside in codes_of(code):
            for name, harmless, writes in _loads(inside):
                (read if not harmless else written if writes else set()).add(name)
    return written - read


def _loads(code: CodeType) -> Iterator[tuple[str, bool, bool]]:
    """Yield the name of each variable or attribute that is loaded, whether this is harmless, and whether it writes."""
    skipped = ("CACHE", "NOP", "NOT_TAKEN", "PUSH_NULL", "SWAP", "ROT_TWO", "EXTENDED_ARG")
    steps = [i for i in dis.get_instructions(code) if i.opname not in skipped]
    for k, i in enumerate(steps):
        if i.opname not in ("LOAD_DEREF", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_ATTR", "LOAD_CLASSDEREF"):
            continue
        after = [*steps[k + 1 : k + 4], None, None, None]
        one, two, three = ((x.opname, x.argval) if x is not None else ("", None) for x in after[:3])
        adds = one[0] in ("LOAD_ATTR", "LOAD_METHOD") and one[1] in _ADDERS
        constant = one[0] in ("LOAD_CONST", "LOAD_SMALL_INT")
        counts = constant and two[0].startswith(("BINARY_OP", "INPLACE_")) and three[0].startswith("STORE_")
        tests = one[0].endswith("NONE") or (constant and one[1] is None and two[0] == "IS_OP")
        yield str(i.argval), adds or (counts and three[1] == i.argval) or tests, adds or counts
