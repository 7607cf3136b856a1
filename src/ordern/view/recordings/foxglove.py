"""JSON schemas of the messages in MCAP files: those that Foxglove knows by name, and two of our own."""

from __future__ import annotations

from typing import Any

__all__ = ["SCHEMAS"]

Schema = dict[str, Any]


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


_NUMBER: Schema = {"type": "number"}
_INTEGER: Schema = {"type": "integer"}
_TEXT: Schema = {"type": "string"}
_FLAG: Schema = {"type": "boolean"}
_MAYBE: Schema = {"type": ["number", "null"]}
_TIME = {**_object(sec=_INTEGER, nsec=_INTEGER), "title": "time"}
_DURATION = {**_object(sec=_INTEGER, nsec=_INTEGER), "title": "duration"}
_VECTOR = _object(x=_NUMBER, y=_NUMBER, z=_NUMBER)
_QUATERNION = _object(x=_NUMBER, y=_NUMBER, z=_NUMBER, w=_NUMBER)
_POSE = _object(position=_VECTOR, orientation=_QUATERNION)
_COLOUR = _object(r=_NUMBER, g=_NUMBER, b=_NUMBER, a=_NUMBER)
_TRIANGLES = _object(pose=_POSE, points=_list(_VECTOR), color=_COLOUR, colors=_list(_COLOUR), indices=_list(_INTEGER))
_CYLINDER = _object(pose=_POSE, size=_VECTOR, bottom_scale=_NUMBER, top_scale=_NUMBER, color=_COLOUR)
_UNUSED = _list(_object())
_ENTITY = _object(
    timestamp=_TIME,
    frame_id=_TEXT,
    id=_TEXT,
    lifetime=_DURATION,
    frame_locked=_FLAG,
    metadata=_list(_object(key=_TEXT, value=_TEXT)),
    arrows=_UNUSED,
    cubes=_UNUSED,
    spheres=_UNUSED,
    cylinders=_list(_CYLINDER),
    lines=_UNUSED,
    triangles=_list(_TRIANGLES),
    texts=_UNUSED,
    models=_UNUSED,
)
_TRANSFORM = _object(
    timestamp=_TIME, parent_frame_id=_TEXT, child_frame_id=_TEXT, translation=_VECTOR, rotation=_QUATERNION
)
_DELETION = _object(timestamp=_TIME, type=_INTEGER, id=_TEXT)

SCHEMAS: dict[str, Schema] = {
    name: {"title": name, **schema}
    for name, schema in {
        "foxglove.SceneUpdate": _object(deletions=_list(_DELETION), entities=_list(_ENTITY)),
        "foxglove.FrameTransforms": _object(transforms=_list(_TRANSFORM)),
        "foxglove.Log": _object(timestamp=_TIME, level=_INTEGER, message=_TEXT, name=_TEXT, file=_TEXT, line=_INTEGER),
        "ordern.JointStates": _object(
            timestamp=_TIME,
            position_names=_list(_TEXT),
            velocity_names=_list(_TEXT),
            position=_list(_MAYBE),
            velocity=_list(_MAYBE),
            acceleration=_list(_MAYBE),
            effort=_list(_MAYBE),
        ),
        "ordern.Series": {**_object(timestamp=_TIME), "additionalProperties": _MAYBE},
    }.items()
}
"""The schema of each kind of message."""
