"""The API reference is complete: every public name, every public method, every parameter, every shape."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import re
import runpy
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import ordern as on

DOCS = Path(__file__).parents[2] / "docs"
CONFIGURATION = runpy.run_path(str(DOCS / "conf.py"))
PAGES = sorted((DOCS / "api").glob("*.md"))
pytestmark = pytest.mark.needs("gymnasium")
"""The reference has the environments of `ordern.gym`, whose classes are derived from Gymnasium's."""
MODULES = (
    "control.trajectories",
    "contact.tasks",
    "control.controllers",
    "grasping.contacts",
    "plot",
    "robots",
    "rotations",
)
"""Modules that users reach as `on.trajectories` and so on; their names are public too."""

INTERNAL = {
    "Array": {"view"},
    "Device": {"once"},
    "DeviceKernel": {"numbers", "sets"},
    "Builder": {"unused"},
    "Event": {"bound"},
    "Grasp": {"arm_of", "contact_index", "sizes", "usual_method"},
    "GraspState": {"gathered", "moving_at", "positions_only", "rows", "spread", "stacked"},
    "Index": {"kind", "row", "turn"},
    "Kernel": {"fast", "single", "with_way"},
    "Model": {"constraint_hint", "digest", "loop_digest", "loop_table", "require_inertia", "singular", "tables"},
    "Omega": {"solve_dense"},
    "Quantiles": {"of_counts"},
    "Result": {"arrays", "cubics", "with_arrays"},
    "Task": {"importance", "rows", "wanted", "what"},
    "Table": {"line", "next_break", "piece", "within"},
    "Trajectory": {"space"},
    "Tree": {"above", "carry", "within"},
}
"""Members that other modules of the library use, and former names. They are not in the reference."""


AUTHORS = "api/authors.md"
"""The page on the types of scalars and vectors, whose operators take one operand each."""

METHODS = ("method", "property", "attribute")
"""Directives that name one member of a class."""


class Entry:
    """One `auto...` directive of the reference."""

    def __init__(self, page: str, kind: str, path: str, options: dict[str, str]) -> None:
        self.page, self.kind, self.path, self.options = page, kind, path, options
        self.value = resolve(path)

    def shows(self, member: str) -> bool:
        """Return whether the directive of a class also shows this member."""
        excluded = {name.strip() for name in self.options.get("exclude-members", "").split(",")}
        own = member in vars(self.value) or "inherited-members" in self.options
        return own and "no-members" not in self.options and member not in excluded


def resolve(path: str) -> Any:
    """Import the object with this dotted path."""
    parts = path.split(".")
    value: Any = import_module(parts[0])
    for k, part in enumerate(parts[1:], 2):
        if inspect.isclass(value):
            fields = {name for base in value.__mro__ for name in inspect.get_annotations(base)}
            value = part if part in fields else inspect.getattr_static(value, part)
        elif isinstance(value, ModuleType) and not hasattr(value, part):
            value = import_module(".".join(parts[:k]))
        else:
            value = getattr(value, part)
    return value


def directives(page: Path) -> Iterator[Entry]:
    """Parse the directives of a page, with their options; nested ones belong to the class above them."""
    module, owner = "ordern", ""
    lines = page.read_text(encoding="utf-8").splitlines()
    for k, line in enumerate(lines):
        if found := re.match(r"\.\. currentmodule:: (\S+)$", line):
            module = found[1]
        if found := re.match(r"( *)\.\. auto(\w+):: (\S+)$", line):
            indent, kind, name = found.groups()
            options = {}
            for option in lines[k + 1 :]:
                if not (given := re.match(indent + r"   :([\w-]+):(.*)$", option)):
                    break
                options[given[1]] = given[2]
            path = name if name.startswith("ordern.") else f"{owner if indent else module}.{name}"
            owner = owner if indent else path
            yield Entry(f"api/{page.name}", kind, path, options)


@functools.cache
def entries() -> tuple[Entry, ...]:
    return tuple(entry for page in PAGES for entry in directives(page))


@functools.cache
def explained(page: str) -> frozenset[str]:
    """Return the arguments that the tables of this page, and that of common arguments, explain."""
    arguments_of = CONFIGURATION["arguments_of"]
    return frozenset(arguments_of(page)) | frozenset(arguments_of("api.md"))


@functools.cache
def classes() -> dict[type, Entry]:
    return {entry.value: entry for entry in entries() if inspect.isclass(entry.value)}


def is_method(value: object) -> bool:
    kinds = (staticmethod, classmethod, property, functools.cached_property)
    return inspect.isroutine(value) or isinstance(value, kinds) or type(value).__module__.startswith("ordern")


def public_methods(cls: type) -> list[str]:
    """Return the methods and properties that a user of the class can name."""
    found = []
    for name in dir(cls):
        home = next((base for base in cls.__mro__ if name in vars(base)), object)
        internal = any(name in INTERNAL.get(base.__name__, ()) for base in cls.__mro__)
        if name.startswith("_") or internal or not home.__module__.startswith("ordern"):
            continue
        if is_method(vars(home)[name]):
            found.append(name)
    return found


def is_shown(cls: type, member: str) -> bool:
    """Return whether the reference has the member: by itself, or with the class or one of its base classes."""
    explicit = {entry.path.rpartition(".")[0::2] for entry in entries() if entry.kind in METHODS}
    for base in cls.__mro__:
        entry = classes().get(base)
        if entry is not None and ((entry.path, member) in explicit or entry.shows(member)):
            return True
    return False


def test_every_public_name_is_in_the_reference() -> None:
    listed = {entry.path for entry in entries()}
    assert {name for name in on.__all__ if f"ordern.{name}" not in listed} == set()


@pytest.mark.parametrize("module", MODULES)
def test_every_name_of_a_public_module_is_in_the_reference(module: str) -> None:
    names: ModuleType = import_module(f"ordern.{module}")
    listed = [entry.value for entry in entries()]
    public = [name for name in names.__all__ if callable(getattr(names, name))]
    assert public
    assert [name for name in public if getattr(names, name) not in listed] == []


def test_every_public_method_is_in_the_reference() -> None:
    assert {on.Robot, on.Result, on.Grasp, on.Builder, on.Kernel} <= set(classes())
    missing = [f"{cls.__name__}.{name}" for cls in classes() for name in public_methods(cls) if not is_shown(cls, name)]
    assert missing == []


@functools.cache
def functions() -> dict[str, tuple[str, Any]]:
    """Return the page and the value of all functions, methods and classes of the reference, by their paths."""
    found = {e.path: (e.page, e.value) for e in entries() if e.kind in ("function", "method", "class")}
    for cls, entry in classes().items():
        for name in public_methods(cls):
            # a method that overrides one of a class in the reference is explained there
            if entry.shows(name) and not any(name in vars(base) for base in cls.__mro__[1:] if base in classes()):
                found[f"{entry.path}.{name}"] = (entry.page, inspect.getattr_static(cls, name))
    return found


def documentation(value: Any) -> str:
    """Return the docstring; of a class also that of `__init__` and the names of its fields that have docstrings."""
    text = inspect.getdoc(value) or ""
    for base in value.__mro__ if inspect.isclass(value) else ():
        if base.__module__.startswith("ordern"):
            text += f" {inspect.getdoc(base.__init__)} " + " ".join(documented_fields(base))
    return text


def documented_fields(cls: type) -> list[str]:
    """Return the fields of a class that a string follows."""
    definition = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    assert isinstance(definition, ast.ClassDef)
    pairs = itertools.pairwise(definition.body)
    strings = ((a, b.value) for a, b in pairs if isinstance(b, ast.Expr) and isinstance(a, ast.AnnAssign))
    return [ast.unparse(a.target) for a, b in strings if isinstance(b, ast.Constant)]


def parameters(value: Any) -> list[str]:
    value = getattr(value, "__func__", value)
    if isinstance(value, (property, functools.cached_property)) or not callable(value):
        return []
    names = inspect.signature(value).parameters
    return [name for name in names if name not in ("self", "cls") and not name.startswith("_")]


def test_every_function_and_method_has_a_docstring() -> None:
    assert [path for path, (_, value) in functions().items() if not documentation(value)] == []


def test_every_parameter_is_explained() -> None:
    """By its name in the docstring, or in a table of arguments of its page."""
    missing = []
    for path, (page, value) in functions().items():
        text = documentation(value)
        returned = path.rpartition(".")[2] in CONFIGURATION["RETURNED"]
        for name in parameters(value) if page != AUTHORS and not returned else ():
            if name not in explained(page) and not re.search(rf"\b{name}\b", text):
                missing.append(f"{path}({name})")
    assert missing == []


def test_functions_that_return_arrays_say_their_shape() -> None:
    missing = []
    for name in public_methods(on.Robot):
        function = inspect.getattr_static(on.Robot, name)
        if callable(function) and "Array" in str(inspect.signature(function).return_annotation):
            text = inspect.getdoc(function) or ""
            if "shape" not in text and "(..." not in text:
                missing.append(name)
    assert missing == []


def test_a_missing_method_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on.Robot, "brand_new", lambda self: None, raising=False)
    assert "brand_new" in public_methods(on.Robot)
    assert is_shown(on.Robot, "simulate")
    assert not is_shown(on.Robot, "brand_new")
