"""Headless Chromium, driven over its DevTools protocol: pages, what they log and request, clicks, pictures."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from websockets.sync.client import connect

__all__ = ["HOW_TO_GET_ONE", "Page", "find_browser", "page"]

HOW_TO_GET_ONE = (
    "no Chromium found: install one (Debian: apt-get install chromium; macOS: brew install --cask chromium), or name "
    "it in the environment variable CHROMIUM"
)
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge", "microsoft-edge")
_PLACES = (
    "/usr/bin/chromium",
    "/snap/bin/chromium",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--disable-features=Translate,OptimizationHints,MediaRouter",
    "--hide-scrollbars",
    "--mute-audio",
    "--remote-debugging-port=0",
)
Picture = NDArray[np.uint8]


def find_browser() -> str | None:
    """The path of a browser of Chromium's family."""
    for variable in ("CHROMIUM", "CHROME"):
        named = os.environ.get(variable)
        if named:
            return shutil.which(named)
    return next((found for name in (*_NAMES, *_PLACES) if (found := shutil.which(name))), None)


class Page:
    """A page in the browser."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._next = 0
        self.errors: list[str] = []
        self.requests: list[str] = []
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Ask the browser; what it answers."""
        self._next += 1
        self._socket.send(json.dumps({"id": self._next, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=120))
            if message.get("id") == self._next:
                assert "error" not in message, (method, message["error"])
                return dict(message.get("result", {}))
            self._note(message)

    def _note(self, message: dict[str, Any]) -> None:
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Network.webSocketCreated":
            self.requests.append(parameters["url"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(parameters["exceptionDetails"])[:600])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "assert"):
            self.errors.append(json.dumps(parameters["args"])[:600])
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.errors.append(json.dumps(parameters["entry"])[:600])

    def open(self, url: str) -> None:
        """Go to an address."""
        self.call("Page.navigate", url=url)

    def run(self, expression: str) -> Any:
        """The value of an expression of JavaScript."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, (expression, answer["exceptionDetails"])
        return answer["result"].get("value")

    def until(self, expression: str, seconds: float = 90.0) -> Any:
        """Wait for an expression to be true; its value."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = self.run(expression)
            if value:
                return value
            time.sleep(0.05)
        raise AssertionError(f"not within {seconds:g} s: {expression}; errors: {self.errors}")

    def click(self, x: float, y: float) -> None:
        """Press and release the left button."""
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def key(self, name: str, code: int, times: int = 1) -> None:
        """Press a key."""
        for _ in range(times):
            for kind in ("rawKeyDown", "keyUp"):
                self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code)

    def png(self) -> bytes:
        """What is seen."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def picture(self) -> Picture:
        """What is seen, as an array (height, width, 3)."""
        from PIL import Image

        return np.asarray(Image.open(io.BytesIO(self.png())).convert("RGB"))

    def still(self, seconds: float = 30.0) -> Picture:
        """What is seen when it no longer changes."""
        end = time.monotonic() + seconds
        last = self.picture()
        while time.monotonic() < end:
            time.sleep(0.15)
            now = self.picture()
            if np.array_equal(now, last):
                return now
            last = now
        return last


@contextlib.contextmanager
def page(width: int = 1100, height: int = 700) -> Iterator[Page]:
    """An empty page in a browser of its own, which knows nothing and leaves nothing."""
    browser = find_browser()
    assert browser is not None, HOW_TO_GET_ONE
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        profile = f"--user-data-dir={folder}"
        command = [browser, *_FLAGS, profile, f"--window-size={width},{height}", "about:blank"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            with connect(_address(Path(folder), process), max_size=None, compression=None) as socket:
                made = Page(socket)
                made.call(
                    "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
                )
                yield made
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _address(folder: Path, process: subprocess.Popen[bytes]) -> str:
    """Where the browser's first page listens."""
    import urllib.request

    told = folder / "DevToolsActivePort"
    end = time.monotonic() + 60
    while time.monotonic() < end:
        assert process.poll() is None, f"the browser ended with {process.returncode}"
        with contextlib.suppress(OSError, ValueError, IndexError):
            port = int(told.read_text().split()[0])
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=10) as answer:
                pages = [x for x in json.load(answer) if x["type"] == "page"]
            return str(pages[0]["webSocketDebuggerUrl"])
        time.sleep(0.05)
    raise AssertionError("the browser did not start")
