"""Motions as tables of other libraries."""

from __future__ import annotations

import json
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError, OrdernError
from .series import columns, labels

if TYPE_CHECKING:
    from .result import Result

__all__ = ["library", "to_arrow", "to_pandas", "to_xarray"]


def library(name: str, what: str, extra: str = "data") -> Any:
    """Import a library of an extra; the error says how to install it."""
    try:
        return import_module(name)
    except ImportError:
        raise OrdernError(f"{what} needs {name.split('.', maxsplit=1)[0]}: pip install 'ordern[{extra}]'") from None


def to_pandas(result: Result, which: tuple[str, ...] = ()) -> Any:
    """Return a DataFrame with the time as index, and a column for each name."""
    pandas = library("pandas", "a pandas DataFrame")
    return pandas.DataFrame(_columns(result, which), index=pandas.Index(result.t, name="t"))


def _columns(result: Result, which: tuple[str, ...]) -> dict[str, Any]:
    found = columns(result, which or None)
    if "t" in found:
        raise ArgumentError("the time is always a column; do not name it")
    return found


def to_xarray(result: Result) -> Any:
    """Return a Dataset over time and joints."""
    xarray = library("xarray", "an xarray Dataset")
    q, v = labels(result.robot)
    of_q = "joint" if q == v else "joint_q"
    variables: dict[str, Any] = {"q": (("time", of_q), result.q)}
    variables |= {name: (("time", "joint"), getattr(result, name)) for name in ("v", "a", "tau")}
    for name in ("work", "dissipated"):
        if getattr(result, name) is not None:
            variables[name] = (("time",), getattr(result, name))
    for name, x in result.extra.items():
        variables[name] = (("time", *(f"{name}_{k}" for k in range(1, x.ndim))), x)
    coordinates = {"time": result.t, "joint": list(v), of_q: list(q)}
    return xarray.Dataset(variables, coordinates, {"robot": result.robot.name})


def to_arrow(result: Result, which: tuple[str, ...] = ()) -> Any:
    """Return a Table with the time and a column for each name, and metadata with robot, events and report as JSON."""
    from .formats.header import header

    arrow = library("pyarrow", "an Arrow table")
    found = {"t": result.t, **_columns(result, which)}
    metadata = {"ordern": json.dumps(header(result), separators=(",", ":"))}
    return arrow.table({name: arrow.array(x) for name, x in found.items()}).replace_schema_metadata(metadata)
