"""Robots that touch: a free block, a ball, a hopper on two joints, and bodies that float beside each other."""

from __future__ import annotations

from collections.abc import Sequence

import ordern as on

__all__ = ["ball", "block", "floating", "hopper"]


def block(sides: tuple[float, float, float] = (0.2, 0.2, 0.1), mass: float = 2.0) -> on.Robot:
    """Return a free box, with a box as its collision shape."""
    x, y, z = sides
    builder = on.Builder("block")
    inertia = tuple(mass / 12.0 * s for s in (y * y + z * z, x * x + z * z, x * x + y * y))
    builder.body("block", mass=mass, inertia=inertia)
    builder.shape("block", "box", sides, role="collision")
    return builder.build(floating=True)


def ball(mass: float = 1.0, radius: float = 0.1) -> on.Robot:
    """Return a free, solid ball."""
    builder = on.Builder("ball")
    builder.body("ball", mass=mass, inertia=(0.4 * mass * radius * radius,) * 3)
    builder.shape("ball", "sphere", (radius,), role="collision")
    return builder.build(floating=True)


def hopper() -> on.Robot:
    """Return a leg with two joints below a free trunk, with damping and limits; its foot is a frame."""
    builder = on.Builder("hopper")
    builder.body("trunk", mass=5.0, inertia=(0.1, 0.1, 0.1))
    builder.body("thigh", mass=1.0, com=(0.0, 0.0, -0.1), inertia=(0.01, 0.01, 0.002))
    builder.body("shin", mass=0.5, com=(0.0, 0.0, -0.1), inertia=(0.005, 0.005, 0.001))
    limits = {"lower": -1.5, "upper": 1.5, "damping": 0.5, "armature": 0.01}
    builder.joint("hip", on.Revolute((0.0, 1.0, 0.0)), "trunk", "thigh", **limits)
    builder.joint("knee", on.Revolute((0.0, 1.0, 0.0)), "thigh", "shin", at=(0.0, 0.0, -0.2), **limits)
    builder.frame("foot", "shin", (0.0, 0.0, -0.2))
    return builder.build(floating=True)


def floating(shapes: Sequence[tuple[str, tuple[float, ...]]], gravity: float = 0.0) -> on.Robot:
    """Return bodies of 1 kg with one collision shape each, that float freely: "0", "1" and so on."""
    builder = on.Builder("floating")
    builder.body("hub")
    for k, (kind, size) in enumerate(shapes):
        builder.body(str(k), mass=1.0, inertia=(0.004,) * 3)
        builder.shape(str(k), kind, size, role="collision")
        builder.joint(f"float {k}", on.Free(), "hub", str(k))
    builder.gravity = (0.0, 0.0, -gravity)
    return builder.build()
