"""Cables (<composite type="cable">): chains of bodies with ball joints, which are made as MuJoCo makes them.

The bodies follow a line of points. The x axis of each is along its piece of the line, and its other axes are carried
along with as little twist as possible. Names are PREFIX + B_first, B_1, ..., B_last, and J_... for the joints. Classes
of defaults do not apply to the parts of a cable. Other types of composites are deprecated in MuJoCo.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...arguments import Array
from ...rotations import about
from ..attributes import keyword, vector
from ..xml import MAX_PARTS, Element
from .document import PLAIN

__all__ = ["cable", "is_cable"]

_TYPES = ("particle", "grid", "rope", "loop", "cable", "cloth")
_CURVES = ("s", "cos(s)", "sin(s)", "0")
_GEOMS = ("capsule", "cylinder", "box")
_GEOM = "type size contype conaffinity group mass density rgba material"
_JOINT = "armature damping frictionloss range limited"
_SMALL = 1e-14
"""A vector with a smaller square is not normalized, as in MuJoCo."""


def is_cable(composite: Element) -> bool:
    """Return whether a composite is a cable."""
    return keyword(composite, "type", _TYPES, "particle", "a composite") == "cable"


def cable(composite: Element) -> Element:
    """Return an element that contains the bodies of a cable, one in the other."""
    what = f"composite {composite.attributes['prefix']!r}" if composite.attributes.get("prefix") else "a composite"
    points = _points(composite, what)
    lengths, turns = _frames(points)
    names = ["first", *map(str, range(1, len(lengths) - 1)), "last"][: len(lengths)]
    inner: Element | None = None
    for k in reversed(range(len(lengths))):
        R = turns[k] if k == 0 else turns[k - 1].T @ turns[k]
        place = (
            np.array(vector(composite, "offset", 3, what, (0.0,) * 3)) + points[0] if k == 0 else lengths[k - 1] * _X
        )
        x, y = R[:, 0], R[:, 1]
        place_and_turn = {"pos": _text(place), "xyaxes": _text([*x, *y])}
        children = _parts(composite, what, k, names[k], lengths[k], k == len(lengths) - 1)
        if inner is not None:
            children.append(inner)
        inner = _made(composite, "body", {"name": _prefixed(composite, f"B_{names[k]}"), **place_and_turn}, children)
    return _made(composite, "frame", {}, [inner] if inner else [])


_X = np.array([1.0, 0.0, 0.0])


def _points(composite: Element, what: str) -> Array:
    """Return the points of the line, in single precision, as in MuJoCo."""
    has = composite.attributes
    counts = vector(composite, "count", range(1, 4), what, (1.0,))
    if counts[0] > MAX_PARTS // 4:
        raise composite.error(f"{what} has {counts[0]:g} points; expected 3 to {MAX_PARTS // 4:,}")
    if any(x != 1.0 for x in counts[1:]) or counts[0] != int(counts[0]):
        raise composite.error(f'{what} has count="{has["count"]}"; a cable has one line of points: N 1 1')
    if "vertex" in has:
        numbers = vector(composite, "vertex", len(has["vertex"].split()), what)
        if len(numbers) % 3 or counts[0] > 1.0:
            raise composite.error(f"{what}: expected three numbers of `vertex` for each point, and no `count`")
        points = np.reshape(numbers, (-1, 3))
    else:
        points = _curve(composite, int(counts[0]), what)
    if not 3 <= len(points) <= MAX_PARTS // 4:
        raise composite.error(f"{what} has {len(points)} points; expected 3 to {MAX_PARTS // 4:,}")
    return points.astype(np.float32).astype(np.float64)


def _curve(composite: Element, n: int, what: str) -> Array:
    given = vector(composite, "size", range(1, 4), what, (1.0,))
    length, radius, turns = (*given, *(0.0, 0.0)[len(given) - 1 :])
    words = composite.attributes.get("curve", "").split()
    if len(words) > 3 or not set(words) <= set(_CURVES):
        raise composite.error(f'{what} has curve="{" ".join(words)}"; expected three of {", ".join(_CURVES)} at most')
    s = np.arange(n) / max(1, n - 1)
    phase = math.pi * turns * s
    known = {"s": length * s, "cos(s)": radius * np.cos(phase), "sin(s)": radius * np.sin(phase), "0": 0.0 * s}
    points = np.column_stack([known[word] for word in (*words, "0", "0", "0")[:3]])
    w, x, y, z = vector(composite, "quat", 4, what, (1.0, 0.0, 0.0, 0.0))
    u = np.array([x, y, z])
    return points + 2.0 * np.cross(u, np.cross(u, points) + w * points)


def _frames(points: Array) -> tuple[list[float], list[Array]]:
    """Return lengths and orientations of the pieces between points."""
    edges = np.diff(points.astype(np.float32), axis=0).astype(np.float64)
    tangents = [_unit(edge) for edge in edges]
    turns: list[Array] = []
    normal = np.array([0.0, 1.0, 0.0])
    for k, tangent in enumerate(tangents):
        if k == 0:
            binormal = _unit(np.cross(tangent, tangents[1]))
            normal = _unit(np.cross(binormal, tangent))
        else:
            bend = np.cross(tangents[k - 1], tangent)
            sine = math.sqrt(bend @ bend) if bend @ bend >= _SMALL else 0.0
            if sine:
                normal = about(bend / sine, math.atan2(sine, tangents[k - 1] @ tangent)) @ normal
            normal = _unit(normal)
            binormal = _unit(np.cross(tangent, normal))
        turns.append(_nearest(np.column_stack([tangent, normal, binormal])))
    return [math.sqrt(edge @ edge) for edge in edges], turns


def _nearest(M: Array) -> Array:
    """Return the rotation that MuJoCo makes of three axes, which may not be a frame where the line is straight."""
    diagonal = M.diagonal()
    signs = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    sums = signs @ diagonal
    k = 0 if sums[0] > 0.0 else 3 - int(np.argmax(diagonal[::-1]))  # of equal ones the last
    largest = 0.5 * math.sqrt(1.0 + sums[k])
    off = {(0, 1): M[2, 1] - M[1, 2], (0, 2): M[0, 2] - M[2, 0], (0, 3): M[1, 0] - M[0, 1]}
    off |= {(1, 2): M[0, 1] + M[1, 0], (1, 3): M[0, 2] + M[2, 0], (2, 3): M[1, 2] + M[2, 1]}
    q = [largest if j == k else 0.25 * off[min(j, k), max(j, k)] / largest for j in range(4)]
    w, u = q[0], np.array(q[1:])
    size = w * w + u @ u
    cross = np.array([[0.0, -u[2], u[1]], [u[2], 0.0, -u[0]], [-u[1], u[0], 0.0]])
    return np.asarray(np.eye(3) + 2.0 / size * (w * cross + cross @ cross))


def _unit(x: Array) -> Array:
    return np.asarray(x / math.sqrt(x @ x)) if x @ x >= _SMALL else x


def _parts(composite: Element, what: str, k: int, name: str, length: float, last: bool) -> list[Element]:
    """Return joint, geom and site of a body of a cable."""
    found: list[Element] = []
    initial = composite.attributes.get("initial", "ball")
    if k or initial != "none":
        free = not k and initial == "free"
        joint = {} if free else _chosen(next(composite.all("joint"), None), _JOINT)
        own = {"name": _prefixed(composite, f"J_{name}"), "type": "free" if free else "ball"}
        found.append(_made(composite, "joint", {**joint, **own, "class": PLAIN}))
    given = next(composite.all("geom"), None)
    geom = _chosen(given, _GEOM)
    kind = geom.get("type", "sphere")
    if kind not in _GEOMS:
        raise (given or composite).error(f"{what} has a geom of type {kind!r}; a cable has {', '.join(_GEOMS)}")
    if kind == "box":
        size = vector(given or composite, "size", 3, what)
        geom |= {"pos": _text([length / 2.0, 0.0, 0.0]), "size": _text([length / 2.0, *size[1:]])}
    else:
        geom["fromto"] = _text([0.0, 0.0, 0.0, length, 0.0, 0.0])
    found.append(_made(composite, "geom", {**geom, "name": _prefixed(composite, f"G{k}"), "class": PLAIN}))
    if not k or last:
        at = _text([length if last else 0.0, 0.0, 0.0])
        found.append(_made(composite, "site", {"name": _prefixed(composite, f"S_{name}"), "pos": at, "class": PLAIN}))
    return found


def _chosen(element: Element | None, keys: str) -> dict[str, str]:
    has = {} if element is None else element.attributes
    return {key: has[key] for key in keys.split() if key in has}


def _prefixed(composite: Element, name: str) -> str:
    return composite.attributes.get("prefix", "") + name


def _made(like: Element, tag: str, attributes: Mapping[str, str], children: Sequence[Element] = ()) -> Element:
    return replace(like, tag=tag, attributes=dict(attributes), children=list(children), text="")


def _text(numbers: Sequence[float] | Array) -> str:
    return " ".join(repr(float(x)) for x in numbers)
