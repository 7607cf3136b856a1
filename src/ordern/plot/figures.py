"""Figures that show themselves: in a notebook below the cell, elsewhere by `show()` in a window or in the browser."""

from __future__ import annotations

import io
import os
import tempfile
import webbrowser
from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import OrdernError
from ..screen.notebook import in_notebook, show_in_notebook

__all__ = ["ShownFigure"]

Figure: Any = import_module("matplotlib.figure").Figure
_SCREEN = 110.0
"""Dots per inch on a screen."""


class ShownFigure(Figure):  # type: ignore[misc]
    """A figure of matplotlib that belongs to no window until it is shown."""

    def _repr_png_(self) -> bytes:
        """Return the picture that a notebook displays, even if pyplot was never imported."""
        data = io.BytesIO()
        self.savefig(data, format="png", dpi=_SCREEN)
        return data.getvalue()

    def show(self, warn: bool = True) -> None:
        """Show the figure: below the cell of a notebook, in a window, or in the browser where no window can open."""
        if in_notebook():
            show_in_notebook(self)
        elif not self._in_window():
            self._in_browser()

    def _in_window(self) -> bool:
        """Show a window and return True, if matplotlib can open one here."""
        pyplot: Any = import_module("matplotlib.pyplot")
        if self.canvas.manager is None:
            other = pyplot.figure(figsize=self.get_size_inches(), dpi=_SCREEN)  # the backend's window is made for it
            canvas = other.canvas
            if canvas.required_interactive_framework is None:
                pyplot.close(other)
                return False
            canvas.figure = self
            self.set_canvas(canvas)
        pyplot.show()
        return True

    def _in_browser(self) -> None:
        handle, name = tempfile.mkstemp(prefix="ordern-", suffix=".png")
        with os.fdopen(handle, "wb") as file:
            file.write(self._repr_png_())
        if not webbrowser.open(Path(name).as_uri()):
            Path(name).unlink()
            raise OrdernError(
                "this figure cannot be shown: there is no window system and no browser here. "
                'Write it to a file instead: ordern.plot.save(figure, "figure.png")'
            )
