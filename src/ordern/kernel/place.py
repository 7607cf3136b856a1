"""The device that a call computes on: this machine, or a GPU for calls with `device="cuda"`.

A call with a device holds it while it runs, in its own thread. Every kernel that runs as compiled code then computes
there, also those that the call uses on its way: so derivatives, loops and methods made of several kernels need to know
nothing about devices.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import update_wrapper
from importlib import import_module
from typing import Any, TypeVar, cast

__all__ = ["PLACE", "Place", "computing_on", "placed"]

F = TypeVar("F", bound=Callable[..., Any])


class Place(threading.local):
    """The device of the call that this thread is in; None for this machine."""

    device: Any = None


PLACE = Place()


class computing_on:
    """Let kernels of this thread compute on a device: "cuda", "cuda:1" or "cpu"; None changes nothing.

    `asking` is the name of the function, for errors.
    """

    __slots__ = ("_before", "_device")

    def __init__(self, device: str | None, asking: str) -> None:
        self._device: Any = PLACE.device
        if device is not None:
            gpu: Any = import_module("ordern.gpu.device")  # a layer above this one
            self._device = gpu.find_device(device) if gpu.is_gpu(device, asking) else None

    def __enter__(self) -> None:
        self._before = PLACE.device
        PLACE.device = self._device

    def __exit__(self, *error: object) -> None:
        PLACE.device = self._before


def placed(function: F) -> F:
    """Let a method with an argument `device` compute there; the method itself does not see it."""

    def method(self: Any, *given: Any, **named: Any) -> Any:
        device = named.pop("device", None)
        if device is None:
            return function(self, *given, **named)
        with computing_on(device, function.__name__):
            return function(self, *given, **named)

    return cast("F", update_wrapper(method, function))
