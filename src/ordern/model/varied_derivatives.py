"""Derivatives of the numbers that code reads by the parameters that vary, through the graph of `varied_rows`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..arguments import Array
from ..graph import Node, Scalar
from ..graph.derive import evaluate, forward, reverse
from .model import Model
from .varied_rows import varied_rows

__all__ = ["by_field", "from_fields", "pull_numbers", "push_numbers"]


def push_numbers(structure: Model, regroup: bool, values: Array, rates: Array) -> Array:
    """Return the rates (..., numbers) of what code reads for rates (..., count) of the values that vary."""
    return _evaluated(structure, regroup, values, rates, push=True)


def pull_numbers(structure: Model, regroup: bool, values: Array, weights: Array) -> Array:
    """Return the derivatives (..., count) of a sum of what code reads, with weights (..., numbers), by the values."""
    return _evaluated(structure, regroup, values, weights, push=False)


def _graph(structure: Model, regroup: bool, push: bool) -> tuple[list[Node], list[Scalar]]:
    """Return leaves for rates or weights, and the results; they are derived once."""
    known: dict[tuple[bool, bool], tuple[list[Node], list[Scalar]]]
    known = structure.__dict__.setdefault("_varied_derivatives", {})
    if (regroup, push) not in known:
        rows = varied_rows(structure, regroup)
        graph = rows.leaves[0].graph
        moving = [graph.leaf(("moving", k)) for k in range(len(rows.leaves if push else rows.nodes))]
        if push:
            along = {leaf.index: x for leaf, x in zip(rows.leaves, moving, strict=True)}
            known[regroup, push] = moving, forward(rows.nodes, along)
        else:
            known[regroup, push] = moving, reverse(rows.nodes, moving, rows.leaves)
    return known[regroup, push]


def _evaluated(structure: Model, regroup: bool, values: Array, given: Array, push: bool) -> Array:
    moving, results = _graph(structure, regroup, push)
    leaves: Sequence[Node] = [*varied_rows(structure, regroup).leaves, *moving]
    arrays = [*np.moveaxis(values, -1, 0), *np.moveaxis(given, -1, 0)]
    found = evaluate(results, {leaf.index: x for leaf, x in zip(leaves, arrays, strict=True)})
    whole = np.empty((*np.broadcast_shapes(values.shape[:-1], given.shape[:-1]), len(found)))
    for k, x in enumerate(found):
        whole[..., k] = x
    return whole


def by_field(structure: Model, values: Array) -> dict[str, Array]:
    """Return an array of the field's shape for each field that varies, from (..., count): zero where it is fixed."""
    assert structure.variation is not None
    found, start = {}, 0
    for field, mask in structure.variation.masks.items():
        stop = start + int(mask.sum())
        found[field] = np.zeros((*values.shape[:-1], *mask.shape))
        found[field][..., mask] = values[..., start:stop]
        start = stop
    return found


def from_fields(structure: Model, fields: Mapping[str, Array], batch: tuple[int, ...]) -> Array:
    """Return (*batch, count) from arrays of fields; fields that are not given are zero."""
    assert structure.variation is not None
    parts = []
    for field, mask in structure.variation.masks.items():
        given = fields.get(field, np.zeros(mask.shape))
        parts.append(np.broadcast_to(given, (*batch, *mask.shape))[..., mask])
    return np.concatenate(parts, axis=-1)
