"""Configuration of the documentation; build it with ``./dev docs``."""

import inspect
import re
import sys
from pathlib import Path

import ordern

sys.path.insert(0, str(Path(__file__).parent))  # for notebook_pages and measured

project = "ordern"
author = "The ordern authors"
copyright = author
release = version = ordern.__version__

extensions = [
    "myst_parser",
    "notebook_pages",
    "measured",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
]
exclude_patterns = ["_build"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# The pages in api/ list the public names by topic; tests/examples/test_reference.py checks that none is missing.
autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_type_aliases = {
    name: name
    for name in (
        "Array",
        "ArrayLike",
        "Change",
        "External",
        "Matrix3",
        "Numbers",
        "Spread",
        "Symmetric3",
        "Vector3",
    )
}
python_maximum_signature_line_length = 100
default_role = "code"  # docstrings mark code with single backticks

html_theme = "furo"
html_title = f"ordern {release}"


DOCS = Path(__file__).parent
RETURNED = {
    *(
        "Actuation",
        "Algorithm",
        "Assembly",
        "ClosedMotion",
        "Converter",
        "Coverage",
        "Decoupled",
        "Grasp",
        "GraspMotion",
    ),
    *(
        "GraspState",
        "Incidence",
        "Kernel",
        "Members",
        "Mobility",
        "Omega",
        "Outcome",
        "Operator",
        "Operators",
        "Reach",
        "Robot",
        "Model",
    ),
    *("Parameters", "TipTrajectory", "Viewer"),
    *(
        "Crossing",
        "Crossings",
        "Histogram",
        "Moments",
        "MorrisEffects",
        "Quantiles",
        "SobolIndices",
        "Worst",
    ),
}
"""Classes that functions return and users do not construct: their signatures are left out."""
ARGUMENTS = "| argument | type or shape | meaning |"


def arguments_of(page):
    """Return the arguments that the tables of a page explain: a dictionary from name to (type or shape, meaning)."""
    found = {}
    for table in (DOCS / page).read_text(encoding="utf-8").split(ARGUMENTS)[1:]:
        rows = table.partition("\n\n")[0]
        for names, kind, meaning in re.findall(
            r"^\| (`\w+`(?:, `\w+`)*) \| (.*?) \| (.*) \|$", rows, re.MULTILINE
        ):
            found |= dict.fromkeys(re.findall(r"\w+", names), (kind, meaning))
    return found


def setup(app):
    """Connect the functions that make docstrings readable as they are written."""
    common = arguments_of("api.md")

    def aliases(app, what, name, obj, options, signature, result):
        """Show types that have a name by that name."""

        def plain(text):
            return text and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text)

        if what == "class" and name.rpartition(".")[2] in RETURNED:
            return "", None
        return plain(signature), plain(result)

    def shapes(app, what, name, obj, options, lines):
        """Protect the star of a shape such as (*shape, nq), which is not the start of emphasis."""
        lines[:] = [re.sub(r"\(\*(?=\w)", r"(\\*", line) for line in lines]

    def arguments(app, what, name, obj, options, lines):
        """Add the arguments that api.md and the page itself explain to functions, methods and classes."""
        returned = what == "class" and name.rpartition(".")[2] in RETURNED
        if returned or what not in ("function", "method", "class"):
            return
        try:
            parameters = inspect.signature(obj).parameters
        except (TypeError, ValueError):
            return
        known = common | arguments_of(f"{app.env.docname}.md")
        fields = [
            f":param {p}: {known[p][0]}: {known[p][1]}"
            for p in parameters
            if p in known
        ]
        if fields:
            lines += ["", *fields, ""]

    app.connect("autodoc-process-signature", aliases)
    app.connect("autodoc-process-docstring", shapes)
    app.connect("autodoc-process-docstring", arguments)
