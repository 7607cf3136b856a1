"""A robot on the screen: embedded in a notebook, or a page that is served, with sliders, switches and curves."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array, array
from ..errors import OrdernError
from .charts import step
from .closing import Closing, closed_near, closed_start
from .motion import Motion, rest
from .scene import TOGGLES
from .server import stop
from .stage import Curves, Stage

__all__ = ["Viewer"]

_SPEEDS = ("0.1x", "0.25x", "0.5x", "1x", "2x", "4x")
_MOST_SLIDERS = 100
_MOST_POSES = 400_000
_SLOW = 0.12
"""Seconds between two updates of sliders and curves while playing."""


class Viewer(contextlib.AbstractContextManager["Viewer"]):
    """A robot that is shown: by a server on this machine, until `close` or until the process ends.

    As the output of a cell, a notebook embeds the whole page, with the robot at its last position. It needs no server
    and no network, and stays in the notebook and in what is exported from it. In a notebook, the server starts when it
    is needed: by `serve`, `url`, `play`, `pause` or `seek`.

    >>> viewer = robot.view(wait=False)                          # doctest: +SKIP
    >>> viewer.pose(q)                                           # doctest: +SKIP
    >>> viewer.close()                                           # doctest: +SKIP
    """

    def __init__(self, stage: Stage, connect: Callable[[], Any]) -> None:
        self._stage, self._connect = stage, connect
        self._server: Any = None
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self._q = stage.q

    def serve(self) -> Viewer:
        """Start the server, unless it runs; return this viewer."""
        with self._lock:
            if self._server is None:
                if self._closed.is_set():
                    raise OrdernError("this viewer is closed; call view() again")
                self._server = self._connect()
                try:
                    self._build()
                except BaseException:
                    self._clock_thread = threading.current_thread()
                    self.close()
                    raise
        return self

    def _build(self) -> None:
        """Fill the page, and start the thread that plays the motion."""
        server, stage = self._server, self._stage
        self._scene = stage.scene(server, collision=True)
        self._closing = Closing(stage.robot, stage.charts)
        self._values = stage.charts.values(stage.q)
        self._shown = rest(stage.q)
        self._frames = stage.frames(_MOST_POSES)
        self._poses, self._turns = stage.poses(self._frames.q)
        self._time = 0.0
        self._playing = False
        self._play_button: Any = None
        self._plot: Any = None
        server.gui.configure_theme(show_logo=False, show_share_button=False)
        server.gui.main_panel.dock_right()
        if stage.moves:
            self._motion_folder()
        self._joint_folder()
        self._show_folder()
        if stage.warning:
            server.gui.add_markdown(f"*{stage.warning}*")
        if self._q is not stage.q:
            self._show_position(self._q)
            self._set_sliders(self._q)
        self._clock_thread = threading.Thread(target=self._run, name="ordern-view", daemon=True)
        self._clock_thread.start()

    @property
    def port(self) -> int:
        """The port of the server."""
        return int(self.serve()._server.get_port())

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://localhost:{self.port}"

    def wait(self) -> None:
        """Serve the page until Ctrl-C, or until it is closed from another thread."""
        self.serve()
        try:
            while not self._closed.wait(0.2):  # on Windows, Ctrl-C cannot interrupt a wait without a timeout
                pass
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """Stop serving."""
        if not self._closed.is_set():
            self._closed.set()
            if self._server is None:
                return
            if threading.current_thread() is not self._clock_thread:
                self._clock_thread.join(timeout=2.0)
            stop(self._server)

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        where = "closed"
        if not self._closed.is_set():
            where = "not served until its url is asked for" if self._server is None else self.url
        return f"<Viewer of {self._stage.robot.name!r}: {where}>"

    def _repr_html_(self) -> str:
        """Return the whole page in a frame, for a notebook: it needs no server, and moves where it is exported to."""
        from .page import embedded

        return embedded(self._stage.at(self._q))

    # ------------------------------------------------------------ the motion

    def _motion_folder(self) -> None:
        gui = self._server.gui
        self._folder = gui.add_folder("Motion")
        with self._folder:
            self._play_button = gui.add_button("Play", icon="player-play")
            self._play_button.on_click(lambda _: self.pause() if self._playing else self.play())
            end = max(self._frames.duration, 1e-9)
            self._clock = gui.add_slider("time [s]", 0.0, end, step(end), 0.0)
            self._clock.on_update(self._scrubbed)
            self._speed = gui.add_dropdown("speed", _SPEEDS, initial_value="1x")
            self._loop = gui.add_checkbox("repeat", True)
            times, self._curves = self._stage.curves()
            self._curve_times = times - self._stage.motion.t[0]
            if self._curves:
                self._choice = gui.add_dropdown("curves", tuple(self._curves))
                self._choice.on_update(lambda _: self._draw())
        if self._curves:
            self._draw()

    def _draw(self) -> None:
        """Draw a new plot of the chosen curves."""
        from viser import uplot

        curves: Curves = self._curves[self._choice.value]
        series = [uplot.Series(label="time")]
        for label, colour in zip(curves.labels, curves.colours, strict=True):
            series.append(uplot.Series(label=label, stroke=f"rgb{colour}", width=2))
        series.append(uplot.Series(label="now", stroke="#8a919c", width=1))
        with self._lock:
            old, self._plot = self._plot, None
            order = None if old is None else old.order
            if old is not None:
                old.remove()
            with self._folder:
                self._plot = self._server.gui.add_uplot(
                    self._plotted(curves),
                    tuple(series),
                    scales={"x": uplot.Scale(time=False, auto=True), "y": uplot.Scale(auto=True)},
                    legend=uplot.Legend(show=len(curves.labels) <= 8),
                    aspect=1.35,
                    order=order,
                )

    def _plotted(self, curves: Curves) -> tuple[Array, ...]:
        """Return the curves, and an upright line at the current time."""
        t = self._curve_times
        now = np.full(len(t), float(curves.values.min()))
        now[int(np.argmin(np.abs(t - self._time)))] = float(curves.values.max())
        return (t, *curves.values.T, now)

    def _scrubbed(self, event: Any) -> None:
        if event.client_id is None:  # moved by the clock
            return
        self.seek(self._clock.value)

    def play(self) -> None:
        """Play the motion."""
        self.serve()
        if self._play_button is None:  # nothing moves
            return
        if self._time >= self._frames.duration:
            self._time = 0.0
        self._playing = True
        self._play_button.label, self._play_button.icon = "Pause", "player-pause"

    def pause(self) -> None:
        """Stop playing."""
        self.serve()
        self._playing = False
        if self._play_button is not None:
            self._play_button.label, self._play_button.icon = "Play", "player-play"

    def seek(self, time: float) -> None:
        """Show the motion at a time since its beginning."""
        self.pause()
        if self._play_button is not None:
            with self._lock:
                self._time = float(time)
                self._show_frame()
                self._follow()

    def _frame(self) -> int:
        share = self._time / self._frames.duration if self._frames.duration > 0 else 0.0
        return int(np.clip(round(share * (len(self._frames.t) - 1)), 0, len(self._frames.t) - 1))

    def _show_frame(self) -> None:
        k = self._frame()
        self._q = self._frames.q[k]
        self._put(self._poses[k], self._turns[k], self._frames.rows(slice(k, k + 1)))

    def _follow(self) -> None:
        """Update the sliders of time and joints, and the curves."""
        self._clock.value = min(self._time, self._clock.max)
        self._set_sliders(self._frames.q[self._frame()])
        if self._plot is not None:
            self._plot.data = self._plotted(self._curves[self._choice.value])

    def _run(self) -> None:
        last, slow = time.monotonic(), 0.0
        while not self._closed.wait(1 / 60):
            now = time.monotonic()
            passed, last = now - last, now
            if not self._playing:
                continue
            with self._lock:
                self._time += passed * float(self._speed.value.rstrip("x"))
                if self._time >= self._frames.duration:
                    if self._loop.value and self._frames.duration > 0:
                        self._time %= self._frames.duration
                    else:
                        self._time = self._frames.duration
                        self.pause()
                self._show_frame()
                if now - slow > _SLOW or not self._playing:
                    slow = now
                    self._follow()

    # ------------------------------------------------------------ the joints

    def _joint_folder(self) -> None:
        gui, sliders = self._server.gui, self._stage.charts.sliders
        self._sliders: list[Any] = []
        if not sliders:
            return
        with gui.add_folder("Joints"):
            for k, slider in enumerate(sliders[:_MOST_SLIDERS]):
                low, high = slider.lower, slider.upper
                value = float(np.clip(self._values[k], low, high))
                handle = gui.add_slider(slider.label, low, high, step(high - low), value)
                handle.on_update(lambda event, k=k: self._moved(event, k))
                self._sliders.append(handle)
            if len(sliders) > _MOST_SLIDERS:
                gui.add_markdown(f"*... and {len(sliders) - _MOST_SLIDERS} more*")
            buttons = gui.add_button_group("position", ("start", "neutral", "random"))
            robot = self._stage.robot
            places = {"start": lambda: self._stage.q, "neutral": robot.neutral, "random": robot.random}
            if robot.nc:
                places["neutral"] = lambda: closed_start(robot, robot.neutral())
                places["random"] = lambda: closed_near(robot, robot.random())
            buttons.on_click(lambda event: self.pose(places[event.target.value]()))

    def _moved(self, event: Any, k: int) -> None:
        if event.client_id is None:
            return
        self.pause()
        with self._lock:
            moved = self._closing.moved(self._q, k, self._sliders[k].value)
            self._values = self._stage.charts.values(moved)
            self._show_position(moved)
            if self._stage.robot.nc:  # loops move other joints, and may hold this one
                self._set_sliders(moved)

    def pose(self, q: ArrayLike) -> None:
        """Put the robot at a position."""
        position = array(q, (self._stage.robot.nq,), "q")
        self._q = position
        if self._server is None:
            return
        self.pause()
        with self._lock:
            self._show_position(position)
            self._set_sliders(position)

    def _show_position(self, q: Array) -> None:
        self._q = q
        self._put(*self._stage.poses(q), rest(q))

    def _put(self, poses: Array, turns: Array, shown: Motion) -> None:
        with self._server.atomic():
            self._shown = shown
            self._scene.pose(poses, turns)
            self._show_forces()

    def _set_sliders(self, q: Array) -> None:
        self._values = self._stage.charts.values(q)
        for handle, value in zip(self._sliders, self._values, strict=False):
            handle.value = float(np.clip(value, handle.min, handle.max))

    # ------------------------------------------------------------ the switches

    def _show_folder(self) -> None:
        gui = self._server.gui
        with gui.add_folder("Show"):
            for name, at_first in TOGGLES.items():
                if name in self._scene.groups:
                    box = gui.add_checkbox(name, at_first)
                    box.on_update(lambda event, name=name: self._toggle(name, event.target.value))
        self._show_forces()

    def _toggle(self, name: str, visible: bool) -> None:
        with self._lock:
            for node in self._scene.groups[name]:
                node.visible = visible
            self._show_forces()

    def _show_forces(self) -> None:
        if any(self._scene.groups[kind][0].visible for kind in self._stage.force_kinds):
            self._scene.draw_forces(self._stage.arrows(self._shown), 0, self._stage.cones(self._shown))
