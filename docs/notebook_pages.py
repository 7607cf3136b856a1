"""The notebooks of the documentation: run their cells, and show them as pages.

A notebook is stored without outputs. `run` executes its cells in this process as Jupyter does: what a cell prints, and
the value of its last line, in the richest form that it has, are its outputs. `setup` makes Sphinx read notebooks.
"""

import ast
import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from types import ModuleType, SimpleNamespace

__all__ = ["cells_of", "markdown", "run", "setup"]


def cells_of(text):
    """Return the cells of a notebook as pairs: its kind, "markdown" or "code", and its text."""
    return [
        (cell["cell_type"], "".join(cell["source"]))
        for cell in json.loads(text)["cells"]
    ]


class Kernel:
    """Runs cells, and collects their outputs: pairs of a media type and data."""

    def __init__(self, name):
        self.name, self.names, self.outputs = name, {"__name__": "__main__"}, []

    def execute(self, code, number):
        """Run a cell, and return its outputs."""
        self.outputs, printed = [], io.StringIO()
        tree = ast.parse(code, f"{self.name}, cell {number}")
        shown = None
        if (
            tree.body
            and isinstance(tree.body[-1], ast.Expr)
            and not code.rstrip().endswith(";")
        ):
            shown = ast.Expression(tree.body.pop().value)
        where = f"{self.name}, cell {number}"
        with contextlib.redirect_stdout(printed):
            exec(compile(tree, where, "exec"), self.names)
            value = (
                None
                if shown is None
                else eval(compile(shown, where, "eval"), self.names)
            )
            if value is not None:
                self.display(value)
        if printed.getvalue():
            self.outputs.insert(0, ("text/plain", printed.getvalue()))
        return self.outputs

    def display(self, value, raw=False, display_id=False):
        """Add an output, as IPython's `display` does; return a handle that can replace it."""
        at = len(self.outputs)
        outputs = self.outputs
        outputs.append(self._form(value, raw))

        def update(value, raw=False):
            outputs[at] = self._form(value, raw)

        return SimpleNamespace(update=update)

    @staticmethod
    def _form(value, raw):
        if raw:
            return next(
                (kind, value[kind])
                for kind in ("text/html", "text/plain")
                if kind in value
            )
        for method, kind in (("_repr_html_", "text/html"), ("_repr_png_", "image/png")):
            data = getattr(value, method, lambda: None)()
            if data is not None:
                return kind, data
        return "text/plain", f"{value!r}\n"

    @contextlib.contextmanager
    def active(self):
        """Look like a notebook to the library."""
        ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
        ipython.version_info = (9, 0)  # matplotlib asks for it
        ipython.get_ipython = lambda: SimpleNamespace(kernel=self)
        display.display = self.display
        replaced = {"IPython": ipython, "IPython.display": display}
        before = {name: sys.modules.get(name) for name in replaced}
        sys.modules.update(replaced)
        try:
            yield self
        finally:
            for name, module in before.items():
                if module is None:
                    del sys.modules[name]
                else:
                    sys.modules[name] = module


def run(text, name):
    """Run a notebook in an empty folder; return (kind, text of the cell, outputs) for each cell."""
    done = []
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, Kernel(name).active() as kernel:
        os.chdir(folder)
        try:
            for number, (kind, source) in enumerate(cells_of(text), 1):
                outputs = kernel.execute(source, number) if kind == "code" else []
                done.append((kind, source, outputs))
        finally:
            os.chdir(here)
    return done


def markdown(done):
    """Return a notebook that was run as the Markdown of a page."""
    parts = []
    for kind, source, outputs in done:
        if kind == "markdown":
            parts.append(source)
            continue
        parts.append(f"```{{code-block}} python\n{source}\n```")
        for media, data in outputs:
            if media == "text/plain":
                parts.append(f"```{{code-block}} text\n{data.rstrip()}\n```")
            elif media == "image/png":
                picture = base64.b64encode(data).decode()
                look = 'style="max-width:100%" alt="The figure that this cell draws"'
                parts.append(
                    _raw(f'<img src="data:image/png;base64,{picture}" {look}>')
                )
            else:
                parts.append(_raw(f'<div style="overflow-x:auto">{data}</div>'))
    return "\n\n".join(parts) + "\n"


def _raw(text):
    return f"``````{{raw}} html\n{text}\n``````"


def setup(app):
    """Make Sphinx read notebooks: it runs them, and shows the text, the code and the outputs."""
    from myst_parser.parsers.sphinx_ import MystParser

    class NotebookParser(MystParser):
        supported = ("ipynb",)

        def parse(self, inputstring, document):
            name = Path(document["source"]).name
            link = (
                f"This page is the notebook {{download}}`{name}`, with its outputs.\n"
            )
            title, _, rest = markdown(run(inputstring, name)).partition("\n")
            super().parse(f"{title}\n\n{link}\n{rest}", document)

    app.add_source_suffix(".ipynb", "ipynb")
    app.add_source_parser(NotebookParser)
    return {"parallel_read_safe": False}
