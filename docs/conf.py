"""Configuration of the documentation; build it with ``./dev docs``."""

import re
from importlib.metadata import version as version_of

project = "ordern"
author = "The ordern authors"
copyright = author
release = version = version_of("ordern")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax"]
exclude_patterns = ["_build"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# api.md lists the public names by topic; tests/examples/test_docs.py sees that none is missing.
autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_type_aliases = {
    name: name for name in ("Array", "ArrayLike", "External", "Matrix3", "Numbers", "Symmetric3", "Vector3")
}
python_maximum_signature_line_length = 100
default_role = "code"  # docstrings mark code with single backticks

html_theme = "furo"
html_title = f"ordern {release}"


def setup(app):
    """Connect what makes docstrings readable as they are written."""

    def aliases(app, what, name, obj, options, signature, result):
        """Types that have a name appear by it."""

        def plain(text):
            return text and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text)

        return plain(signature), plain(result)

    def shapes(app, what, name, obj, options, lines):
        """The star of a shape such as (*shape, nq) is not the start of emphasis."""
        lines[:] = [re.sub(r"\(\*(?=\w)", r"(\\*", line) for line in lines]

    app.connect("autodoc-process-signature", aliases)
    app.connect("autodoc-process-docstring", shapes)
