"""C code in tests: its rules, and functions compiled by the compiler of the system."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import ordern as on

COMPILER = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
_WORDS = {"const", "double", "float", "int", "long", "static", "void", "for", "if", "break", "switch", "case"}
_WORDS |= {"sin", "cos", "sqrt", "atan2", "sinf", "cosf", "sqrtf", "atan2f", "NAN", "INFINITY"}


def check_text(text: str) -> None:
    """Assert that a file has one function, balanced braces, and names that are declared once, before their use."""
    head, _, code = text.partition("#include <math.h>")
    assert head.startswith("/*") and head.rstrip().endswith("*/") and head.count("*/") == 1, head
    assert code.count('extern "C"') == 1
    body = code[code.index("{") :]
    assert body.count("{") == body.count("}") and body.count("(") == body.count(")")
    signature = re.search(r"^void (\w+)\((.*)\)$", code, re.M)
    assert signature and text.count(f"{signature[0]};\n") == 2, "a prototype in the comment and one in the code"
    scopes = [{re.split(r"[ *]+", x)[-1] for x in signature[2].split(", ")}]
    for line in body.splitlines()[1:]:
        names = re.findall(r"(?<![\w.])[A-Za-z_]\w*", line.replace("(void)", ""))
        made = re.match(r" *(?:for \()?(?:static )?(?:const )?(?:double|float|int|long) (\w+)", line)
        opens, table = line.rstrip().endswith("{"), " static " in line
        if opens and not table:  # the variable of a loop belongs to its scope, the name of a table does not
            scopes.append(set())
        if made:
            assert not any(made[1] in scope for scope in scopes), f"{made[1]} is declared twice: {line}"
            scopes[-1].add(made[1])
        if opens and table:
            scopes.append(set())
        unknown = {x for x in names if x not in _WORDS and not any(x in scope for scope in scopes)}
        assert not unknown, f"{unknown} in {line!r}"
        if line.lstrip().startswith("}"):
            scopes.pop()


class CFunction:
    """A compiled function that is called with NumPy arrays of one state, and returns a new array."""

    def __init__(self, function: Any, text: str, shape: tuple[int, ...], dtype: str) -> None:
        self._function, self._shape, self._dtype = function, shape, dtype
        size = re.search(r"^#define \w+_WORK (\d+)$", text, re.M)
        self._work = int(size[1]) if size else None
        function.restype = None

    def __call__(self, *arguments: Any) -> np.ndarray:
        out = np.full(self._shape, np.nan, self._dtype)
        arrays = [np.ascontiguousarray(x, self._dtype) for x in arguments] + [out]
        if self._work is not None:
            arrays.append(np.full(self._work, np.nan, self._dtype))  # code that reads it before it writes gives NaN
        self._function(*(ctypes.c_void_p(x.ctypes.data) for x in arrays))
        return out


def compiled(
    kernels: Sequence[on.Kernel], folder: Path, dtype: str = "float64", flags: Sequence[str] = ()
) -> list[CFunction]:
    """Compile the C code of kernels as one file; every warning is an error."""
    assert COMPILER is not None
    texts = [kernel.c(dtype, f"function{k}") for k, kernel in enumerate(kernels)]
    (folder / "code.c").write_text("\n".join(texts), encoding="utf-8")
    strict = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", *flags)
    library = folder / "code.so"
    subprocess.run(
        [COMPILER, *strict, "-shared", "-fPIC", "-o", str(library), str(folder / "code.c"), "-lm"], check=True
    )
    loaded = ctypes.CDLL(str(library))
    shapes = [k.request.shape(k.question.output) for k in kernels]
    functions = (loaded[f"function{k}"] for k in range(len(kernels)))
    return [CFunction(f, t, s, dtype) for f, t, s in zip(functions, texts, shapes, strict=True)]
