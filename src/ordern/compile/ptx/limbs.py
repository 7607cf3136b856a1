"""The work of a robot with limbs, divided among warps: arms, legs and trunk.

An operation belongs to the limb whose arguments alone it depends on, besides those of the trunk, or whose results alone
it reaches. All else is work of the trunk. Warps compute in phases: a value that another warp needs is passed on in
shared memory, and is there in the next phase. Within a limb, operations keep the order in which they were traced. A
limb could compute its articulated inertias before it knows its velocities, but would have to keep 21 numbers for each
joint.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ...graph import Node
from ...model import BASE, Model
from ...records import dataclass

__all__ = ["Division", "bodies_of", "divided", "undivided"]

_SHARE = 0.3
"""The largest part of a robot's bodies that is a limb: each arm and leg of a humanoid robot is one."""
_TRUNK = -1
_UNEVEN = 1.25
"""How much more work than the largest limb a warp with several small limbs may have."""
_MOST_PHASES = 8
_MOST_WORK = 0.6
"""The largest part of the work that one warp may have. After the first stage of a Runge-Kutta step, all depends on all
limbs, and would be work of the trunk."""


@dataclass(frozen=True, slots=True)
class Division:
    """The operations of each warp in each phase, and the places of values that pass from one warp to another."""

    warps: list[list[list[Node]]]
    """By warp and phase."""
    passed: dict[int, int]
    """The slots of values that other warps need, by the index of the node."""
    slots: int

    @property
    def phases(self) -> int:
        """The number of phases."""
        return len(self.warps[0])


def undivided(work: list[Node]) -> Division:
    """Return all work as that of one warp."""
    return Division([[work]], {}, 0)


def divided(
    model: Model,
    inputs: Sequence[list[int] | None],
    outputs: Sequence[int] | None,
    results: Sequence[object],
    work: list[Node],
) -> Division:
    """Divide work among warps, given the bodies of the numbers of arguments and results.

    It stays undivided if the results do not belong to bodies, or if the robot has no limbs.
    """
    limb = _limbs(model)
    if outputs is None or len(outputs) != len(results) or max(limb, default=_TRUNK) < 1 or not work:
        return undivided(work)
    units = _units(work, results, limb, inputs, outputs)
    warp_of = _packed(work, units)
    phase = _phases(work, warp_of, units)
    loads = Counter(warp_of.values())
    if max(phase.values()) >= _MOST_PHASES or max(loads.values()) > _MOST_WORK * len(work):
        return undivided(work)
    return _division(work, warp_of, phase)


def bodies_of(model: Model, kind: str) -> list[int] | None:
    """Return the body of each number of an argument or result, or None if its numbers do not belong to bodies."""
    t = model.tables
    if kind == "bodies":
        return [body for body in range(len(model.bodies)) for _ in range(6)]
    if kind not in ("q", "v", "f"):
        return None
    start = t.q_start if kind == "q" else t.v_start
    size = [c.type.nq if kind == "q" else c.type.nv for c in model.joints]
    found = [BASE] * (model.nq if kind == "q" else model.nv)
    for body in reversed(range(len(model.bodies))):  # of joints that follow one another, the first one counts
        found[start[body] : start[body] + size[body]] = [body] * size[body]
    return found


def _limbs(model: Model) -> list[int]:
    """Return the number of each body's limb: a subtree that is small, but not part of another one."""
    parents = [c.parent for c in model.joints]
    sizes = [1] * len(parents)
    for k in reversed(range(len(parents))):
        if parents[k] != BASE:
            sizes[parents[k]] += sizes[k]
    limb, count = [_TRUNK] * len(parents), 0
    for k, parent in enumerate(parents):
        if parent == BASE:
            continue
        if limb[parent] != _TRUNK:
            limb[k] = limb[parent]
        elif sizes[k] <= _SHARE * len(parents):
            limb[k], count = count, count + 1
    return limb


def _units(
    work: Sequence[Node],
    results: Sequence[object],
    limb: Sequence[int],
    numbers: Sequence[list[int] | None],
    outputs: Sequence[int],
) -> dict[int, int]:
    """Return the limb of each operation, by the index of the node."""

    def limb_of(body: int) -> int:
        return _TRUNK if body == BASE else limb[body]

    needs: dict[int, frozenset[int]] = {}

    def needed(node: Node) -> frozenset[int]:
        if node.op != "leaf":
            return needs.get(node.index, frozenset())
        port, number = node.data
        bodies = numbers[port] if port < len(numbers) else None
        unit = _TRUNK if bodies is None else limb_of(bodies[number])
        return frozenset() if unit == _TRUNK else frozenset((unit,))

    for node in work:
        needs[node.index] = frozenset().union(*(needed(a) for a in node.args))
    reaches: dict[int, set[int]] = {node.index: set() for node in work}
    for body, x in zip(outputs, results, strict=True):
        if isinstance(x, Node) and x.index in reaches:
            reaches[x.index].add(limb_of(body))
    for node in reversed(work):
        for a in node.args:
            if a.args:
                reaches[a.index] |= reaches[node.index]
    found = {}
    for node in work:
        reached, need = reaches[node.index], needs[node.index]
        one = reached if len(reached) == 1 and _TRUNK not in reached else need
        found[node.index] = next(iter(one)) if len(one) == 1 else _TRUNK
    return found


def _packed(work: Iterable[Node], units: dict[int, int]) -> dict[int, int]:
    """Return the warp of each operation: limbs with little work share one."""
    sizes: dict[int, int] = {}
    for node in work:
        sizes[units[node.index]] = sizes.get(units[node.index], 0) + 1
    most = _UNEVEN * max(sizes.values())
    loads: list[int] = []
    warp: dict[int, int] = {}
    for unit in sorted(sizes, key=lambda unit: (-sizes[unit], unit)):
        fits = [w for w, load in enumerate(loads) if load + sizes[unit] <= most]
        warp[unit] = min(fits, key=loads.__getitem__, default=len(loads))
        if warp[unit] == len(loads):
            loads.append(0)
        loads[warp[unit]] += sizes[unit]
    return {index: warp[unit] for index, unit in units.items()}


def _phases(work: Sequence[Node], warp_of: dict[int, int], units: dict[int, int]) -> dict[int, int]:
    """Return the phase of each operation: after those of other warps that it needs, and of its limb before it."""
    now: dict[int, int] = {}
    found: dict[int, int] = {}
    for node in work:
        warp, unit = warp_of[node.index], units[node.index]
        needed = (found[a.index] + (warp_of[a.index] != warp) for a in node.args if a.args)
        found[node.index] = now[unit] = max(now.get(unit, 0), *needed, 0)
    _delay(work, warp_of, units, found)
    return found


def _delay(work: Sequence[Node], warp_of: dict[int, int], units: dict[int, int], phase: dict[int, int]) -> None:
    """Move the work of a limb in a phase to the next one, if no other warp needs any of it so soon.

    A leg that needs nothing of the trunk would otherwise begin at once, while arms wait until it is done: all warps
    wait for each other at the end of a phase.
    """
    users: dict[int, list[int]] = {}
    for node in work:
        for a in node.args:
            if a.args:
                users.setdefault(a.index, []).append(node.index)
    for now in reversed(range(max(phase.values(), default=0))):
        blocks: dict[int, list[int]] = {}
        for node in work:
            if phase[node.index] == now:
                blocks.setdefault(units[node.index], []).append(node.index)
        for unit, block in blocks.items():
            if all(
                phase[user] - (warp_of[user] != warp_of[index]) > now or (units[user] == unit and phase[user] == now)
                for index in block
                for user in users.get(index, ())
            ):
                phase.update(dict.fromkeys(block, now + 1))


def _division(work: Sequence[Node], warp_of: dict[int, int], phase: dict[int, int]) -> Division:
    """Return the operations by warp and phase, and a slot for each value until the last phase that reads it."""
    warps: list[list[list[Node]]] = [
        [[] for _ in range(max(phase.values()) + 1)] for _ in range(max(warp_of.values()) + 1)
    ]
    last: dict[int, int] = {}
    for node in work:
        warps[warp_of[node.index]][phase[node.index]].append(node)
        for a in node.args:
            if a.args and warp_of[a.index] != warp_of[node.index]:
                last[a.index] = max(last.get(a.index, 0), phase[node.index])
    passed: dict[int, int] = {}
    busy: list[int] = []  # the last phase in which each slot is read
    for index in sorted(last, key=lambda index: (phase[index], index)):
        free = (s for s, until in enumerate(busy) if until < phase[index])
        slot = next(free, len(busy))
        if slot == len(busy):
            busy.append(0)
        passed[index], busy[slot] = slot, last[index]
    return Division(warps, passed, len(busy))
