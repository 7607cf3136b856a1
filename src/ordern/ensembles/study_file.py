"""Studies from TOML files: an ensemble in words, for the command line.

robot = "double-pendulum"
members = 1_000_000
steps = 1000
dt = 1e-3
keep = ["final", "energy"]
out = "falls.zarr"

[starts]
q = { uniform = [-3.1, 3.1] }

[parameters.mass]
upper = { normal = [1.0, 0.1] }

[[reduce]]
moments = "energy_change"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError, OrdernError, unknown_name
from ..records import dataclass
from ..simulate.events import Event
from . import distributions, reductions, sensitivity
from .ensemble import Ensemble
from .keep import crossing, forces, series
from .stopping import precise

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Study", "read_study"]

_DISTRIBUTIONS: dict[str, Callable[..., Any]] = {
    **{"uniform": distributions.uniform, "normal": distributions.normal, "log_normal": distributions.log_normal},
    **{"choice": distributions.choice, "within_limits": distributions.within_limits, "around": distributions.around},
}
_REDUCTIONS: dict[str, Callable[..., Any]] = {
    **{"moments": reductions.moments, "histogram": reductions.histogram, "quantiles": reductions.quantiles},
    **{"worst": reductions.worst, "coverage": reductions.coverage},
    **{"sobol": sensitivity.sobol, "morris": sensitivity.morris},
}
_EVENTS: dict[str, Callable[..., Event]] = {"height": Event.height, "plane": Event.plane, "limit": Event.limit}
_TABLES = (
    *("robot", "starts", "parameters", "forces", "keep", "reduce", "stop", "every", "out", "format", "task"),
    "events",
)


@dataclass(frozen=True, slots=True)
class Study:
    """An ensemble from a file, and where its results go."""

    ensemble: Ensemble
    out: Path | None
    format: str | None
    task: str | None


def read_study(path: str | Path, load: Callable[[str], Robot], changes: Mapping[str, Any] | None = None) -> Study:
    """Return the study of a file. `load` loads its robot, whose path is relative to the file, as `out` is.

    `changes` are settings in the place of those of the file.
    """
    try:
        import tomllib
    except ImportError:  # Python 3.10
        try:
            import tomli as tomllib
        except ImportError:
            raise ArgumentError(
                "study files need Python 3.11 or later, or the package tomli: pip install tomli"
            ) from None
    try:
        text = Path(path).read_text(encoding="utf-8")
        given: dict[str, Any] = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as e:
        raise ArgumentError(f"{path}: {getattr(e, 'strerror', None) or e}") from None
    try:
        given |= changes or {}
        places = {name: _text(name, given.get(name)) for name in ("out", "format", "task")}
        out = None if places["out"] is None else Path(path).parent / places["out"]
        return Study(_ensemble(Path(path), given, load), out, places["format"], places["task"])
    except OrdernError as e:
        raise ArgumentError(f"{path}: {e}") from None


def _ensemble(path: Path, given: dict[str, Any], load: Callable[[str], Robot]) -> Ensemble:
    if not isinstance(given.get("robot"), str):
        raise ArgumentError('give the robot, such as robot = "puma560" or robot = "arm.urdf"')
    beside = path.parent / given["robot"]
    robot = load(str(beside) if beside.exists() else given["robot"])
    plain = {name: x for name, x in given.items() if name not in _TABLES}
    keep: list[Any] = [_kept(x, given.get("every", 1)) for x in _listed(given.get("keep", ["final"]))]
    keep += [_reduction(x) for x in _listed(given.get("reduce", []))]
    parameters = {
        field: {name: _value(x, f"parameters.{field}.{name}") for name, x in named.items()}
        if isinstance(named, Mapping) and field != "gravity"
        else _value(named, f"parameters.{field}")
        for field, named in _table(given, "parameters").items()
    }
    starts = {name: _value(x, f"starts.{name}") for name, x in _table(given, "starts").items()}
    forces = None if given.get("forces") is None else _value(given["forces"], "forces")
    stop = _rule(_table(given, "stop")) if "stop" in given else None
    if "events" in given:
        plain["events"] = [_event(x) for x in _listed(given["events"])]
    return Ensemble(robot, starts=starts, parameters=parameters, forces=forces, keep=keep, stop=stop, **plain)


def _text(name: str, x: Any) -> str | None:
    if x is not None and not isinstance(x, str):
        raise ArgumentError(f"{name} must be text in quotes, not {x!r}")
    return x


def _table(given: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a table of the file; an empty one if it is not there."""
    found = given.get(name, {})
    if not isinstance(found, Mapping):
        raise ArgumentError(f"{name} must be a table, [{name}] with lines below it, not {found!r}")
    return found


def _rule(table: Mapping[str, Any]) -> Any:
    try:
        return precise(**table)
    except TypeError as e:
        raise ArgumentError(f'stop: give name = "energy_change_moments" and error = 0.01: {e}') from None


def _listed(x: Any) -> list[Any]:
    return list(x) if isinstance(x, list) else [x]


def _kept(x: Any, every: Any) -> Any:
    if isinstance(x, Mapping) and set(x) - {"state"} == {"crossing"}:
        return crossing(x["crossing"], state=x.get("state", True))
    return series(every) if x == "series" else forces(every) if x == "forces" else x


def _value(x: Any, where: str) -> Any:
    """Return a number, a list of numbers, or a distribution such as { uniform = [-1, 1] }."""
    if not isinstance(x, Mapping):
        return x
    if len(x) != 1:
        raise ArgumentError(f"{where}: give one distribution, such as {{ uniform = [-1.0, 1.0] }}, not {dict(x)}")
    name, arguments = next(iter(x.items()))
    if name not in _DISTRIBUTIONS:
        raise unknown_name("distribution", name, _DISTRIBUTIONS, where)
    try:
        if isinstance(arguments, Mapping):
            return _DISTRIBUTIONS[name](**arguments)
        if name == "choice":
            return _DISTRIBUTIONS[name](arguments)
        return _DISTRIBUTIONS[name](*(arguments if isinstance(arguments, list) else []))
    except TypeError as e:
        raise ArgumentError(f"{where}: {name}: {e}") from None


def _event(x: Any) -> Event:
    """Return an event from a table such as { height = "tip", at = 0.2, name = "low", terminal = true }."""
    kinds = [name for name in _EVENTS if isinstance(x, Mapping) and name in x]
    if len(kinds) != 1:
        raise ArgumentError(f'events: give one of {", ".join(_EVENTS)}, such as height = "tip", not {x!r}')
    settings = {name: value for name, value in x.items() if name not in (kinds[0], "name")}
    if kinds[0] == "height" and "at" in settings:
        settings["height"] = settings.pop("at")
    try:
        made = _EVENTS[kinds[0]](x[kinds[0]], **settings)
    except TypeError as e:
        raise ArgumentError(f"events: {kinds[0]}: {e}") from None
    return replace(made, name=x["name"]) if "name" in x else made


def _reduction(x: Any) -> Any:
    """Return a reduction from a table such as { moments = "energy" }."""
    kinds = [name for name in _REDUCTIONS if isinstance(x, Mapping) and name in x]
    if len(kinds) != 1:
        raise ArgumentError(f'reduce: give one of {", ".join(_REDUCTIONS)}, such as moments = "energy", not {x!r}')
    settings = {name: value for name, value in x.items() if name != kinds[0]}
    try:
        return _REDUCTIONS[kinds[0]](x[kinds[0]], **settings)
    except TypeError as e:
        raise ArgumentError(f"reduce: {kinds[0]}: {e}") from None
