"""Configuration of the documentation; build it with ``./dev docs``."""

from importlib.metadata import version as version_of

project = "ordern"
author = "The ordern authors"
copyright = author
release = version = version_of("ordern")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
exclude_patterns = ["_build"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# With a module's __all__ respected, the reference follows the public names by itself.
autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_format = "short"
napoleon_google_docstring = True
napoleon_numpy_docstring = False

html_theme = "furo"
html_title = f"ordern {release}"
