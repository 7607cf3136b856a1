"""Names of C code."""

from __future__ import annotations

import re

from ...errors import ArgumentError

__all__ = ["c_name"]

_C = """auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while"""
_CPP = """bool catch class delete explicit export false friend mutable namespace new operator private protected public
template this throw true try typename using virtual"""
_USED = "main NAN INFINITY sin cos sqrt atan2 sinf cosf sqrtf atan2f"
_RESERVED = frozenset(f"{_C} {_CPP} {_USED}".split())
"""Words of C and C++, and the names that the code itself uses."""


def c_name(text: str, *, strict: bool = False) -> str:
    """Return a name as C takes it: other characters become underscores. With `strict`, such a name is an error."""
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", text)
    if not plain or plain[0].isdigit() or plain[0] == "_" or plain in _RESERVED:
        plain = f"the{'' if plain[:1] == '_' else '_'}{plain}"
    if re.fullmatch(r"[xni]\d+", plain):  # values and indices in the function have such names
        plain += "_"
    if strict and plain != text:
        raise ArgumentError(f"{text!r} is not a name for a C function; {plain!r} would be")
    return plain
