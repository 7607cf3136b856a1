"""Machines that emit the derivatives of steps: those of `ordern.simulate.integrators.differentiated` as native code.

The derivatives of a kernel are kernels, too: "pull_dynamics" has the derivatives of weighted accelerations, and
"push_dynamics" the rates of accelerations. Sums between them are small functions, as in `machine`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...model import Model
from .machine import Emitter, Kernels, Numbers, Tile

__all__ = ["Puller", "Pusher"]

Terms = Sequence[tuple[float, str, Tile]]


class _Derivatives(Emitter):
    """The common part of both machines."""

    def __init__(self, kernels: Kernels, model: Model) -> None:
        super().__init__(kernels, model, works=False)
        self.turning = "euler_position" in kernels.requests
        self.given = self.tile(model.nv)
        """The place from which kernels read accelerations."""
        self.stretched = self.tile(1)
        """The derivative by the length of the step, or the rate of this length."""
        self.by_force = any(
            p.name == "tau"
            for name in ("pull_dynamics", "push_dynamics")
            if name in kernels.requests
            for p in kernels.requests[name].question.inputs
        )
        """True if the derivatives of accelerations are computed from joint forces, and not from the accelerations."""
        self.stages: list[Tile] = []
        """The accelerations of the stages of a step."""
        nq, nv = model.nq, model.nv
        self.parts = {
            "dynamics": (nq, nv, nv),
            "passive": (nq, nv),
            "integrate": (nq, nv, 1),
            "euler_position": (nq, nv, nv, 1),
            "euler_velocity": (nq, nv, nv, 1),
            "rate": (nq, nv),
            "normalize": (nq,),
            "difference": (nq, nq),
            "external_force": (nq, self.external.size),
        }
        """The sizes of the arguments by which kernels are differentiated."""

    def section(self, whole: Tile, name: str) -> Tile:
        """Return the part of an array, laid out as the numbers of a varied robot, that belongs to a kernel."""
        request, way = self.kernels.requests[name], self.kernels.ways[name]
        places = self.numbers_of(request, way)
        return Tile(places[0] - self.parameters.at + whole.at, request.varied(way)) if places else Tile(whole.at, 0)

    def integrate(self, q: Tile, v: Tile) -> Tile:
        """Return the position after a step along a velocity."""
        self.copy(q, self.q)
        self.copy(v, self.v)
        return self._call("integrate")

    def acceleration(self, node: float, q: Tile, v: Tile) -> Tile:
        """Return dv/dt at a stage, and keep its place."""
        made = super().acceleration(node, q, v)
        self.stages.append(made)
        return made

    def combine(self, terms: Terms) -> Tile:
        """Return a weighted sum of values; the further factors are the step, or the rate of its length."""
        made = self.tile(terms[0][2].size)
        self.sum_to(terms, made)
        return made

    def sum_to(self, terms: Terms, to: Tile) -> None:
        """Write a weighted sum of values to a place."""
        factors = {"h": self.h, "dh": self.stretched}

        def body(e: Numbers) -> None:
            total = ""
            for c, factor, x in terms:
                part = e.load_at(x) if c == 1.0 else e.binary("fmul", e.constant(c), e.load_at(x))
                part = e.binary("fmul", part, e.once(factors[factor])) if factor else part
                total = e.binary("fadd", total, part) if total else part
            e.store_at(total, to)

        self.function(to.size, body)

    def clear(self, *tiles: Tile) -> None:
        """Write zeros."""
        for tile in tiles:
            if tile.size:
                self.function(tile.size, lambda e, tile=tile: e.store_at(e.constant(0.0), tile))  # type: ignore[misc]

    def product(self, a: Tile, b: Tile) -> Tile:
        """Return the products of the numbers of two values."""
        made = self.tile(a.size)
        self.function(a.size, lambda e: e.store_at(e.binary("fmul", e.load_at(a), e.load_at(b)), made))
        return made

    def unclipped(self, x: Tile) -> Tile:
        """Return values of joints, and zero where the force of feedback is beyond its limit, and so constant."""
        made = self.tile(x.size)

        def body(e: Numbers) -> None:
            pull = e.binary("fmul", e.load_at(self.stiffness), e.load_at(self.results["difference"]))
            pull = e.binary("fsub", pull, e.binary("fmul", e.load_at(self.damping), e.load_at(self.v)))
            most, zero = e.load_at(self.effort), e.constant(0.0)
            e.store_at(e.select_less(most, e.intrinsic("fabs", pull), zero, e.load_at(x)), made)

        self.function(made.size, body)
        return made

    def _state(self, q: Tile, v: Tile | None = None, a: Tile | None = None) -> None:
        """Set the place from which kernels read."""
        for x, to in ((q, self.q), (v, self.v), (a, self.given)):
            if x is not None:
                self.copy(x, to)


class Puller(_Derivatives):
    """Emits the derivatives of weighted results, from the end of a step to its start."""

    def __init__(self, kernels: Kernels, model: Model) -> None:
        super().__init__(kernels, model)
        nq, nv = model.nq, model.nv
        self.weights = self.tile(max(nq, nv))
        """The place from which kernels read the weights of their results."""
        loads, goals = self.external.size, nq if self.feedback else 0
        gains = nv if self.feedback else 0
        self.collected = {
            name: self.tile(size)
            for name, size in {"tau": nv, "external": loads, "goal": goals, "kp": gains, "kd": gains}.items()
        }
        self.collected["parameters"] = self.tile(self.parameters.size)
        """The derivatives by inputs of the step, summed over its stages; positions by their numbers."""
        forces = self.split("dynamics")[2] if "pull_dynamics" in self.results else self.weights
        weighted = {name: (*self.arguments[name], self.weights) for name in self.parts}
        weighted["dynamics"] = (self.q, self.v, self.force if self.by_force else self.given, self.weights)
        weighted |= {name: (*self.arguments[name], forces) for name in ("passive", "external_force")}
        for name in ("euler_position", "euler_velocity"):
            weighted[name] = (self.q, self.v, self.given, self.h, self.weights)
        self.arguments |= {f"pull_{name}": tiles for name, tiles in weighted.items()}
        self.arguments["pull_tangent"] = (self.q, self.given, self.weights)
        self.replaying: list[Tile] | None = None
        """The accelerations of the stages that are known, while a step is traced again."""

    def acceleration(self, node: float, q: Tile, v: Tile) -> Tile:
        """Return dv/dt at a stage, or its place if it is known."""
        if self.replaying is None:
            return super().acceleration(node, q, v)
        return self.replaying.pop(0)

    def split(self, name: str) -> list[Tile]:
        """Return the places of the derivatives of a kernel, one for each argument; numbers follow them."""
        at, found = self.results[f"pull_{name}"].at, []
        for size in self.parts[name]:
            found.append(Tile(at, size))
            at += size
        return found

    def stretch(self, terms: Sequence[tuple[float, Tile]], weights: Tile) -> None:
        """Add the derivative by the length of the step of h times a weighted sum."""
        one = len(terms) == 1 and terms[0][0] == 1.0
        rate = terms[0][1] if one else self.combine([(c, "", k) for c, k in terms])

        def after(e: Numbers, sums: list[str]) -> None:
            e.store(e.binary("fadd", e.load("%ws", self.stretched.at), sums[0]), "%ws", self.stretched.at)

        self.function(rate.size, lambda e: [e.binary("fmul", e.load_at(rate), e.load_at(weights))], after)

    def pull_acceleration(self, node: float, q: Tile, v: Tile, a: Tile, weights: Tile) -> tuple[Tile, Tile]:
        """Return derivatives by q and v; collect those by forces."""
        self._state(q, v)
        if self.by_force:
            self.apply_forces(node)
        else:
            self.copy(a, self.given)
        by_q, by_v, forces = self._pull("dynamics", weights)
        q_terms, v_terms = [by_q], [(1.0, "", by_v)]
        self._collect("tau", forces)
        if "passive" in self.kernels.requests:
            found = self._derived("passive")
            q_terms.append(found[0])
            v_terms.append((1.0, "", found[1]))
        if self.has_external:
            self.copy(self.external, self.loads)
            found = self._derived("external_force")
            q_terms.append(found[0])
            self._collect("external", found[1])
        if self.feedback:
            self.kernel("difference")
            forces = self.unclipped(forces)
            self._collect("kp", self.product(forces, self.results["difference"]))
            self._collect("kd", self.product(forces, self.v), -1.0)
            v_terms.append((-1.0, "", self.product(forces, self.damping)))
            found = self._pull("difference", self.product(forces, self.stiffness))
            q_terms.append(found[0])
            self._collect("goal", found[1])
        return self.combine([(1.0, "", x) for x in q_terms]), self.combine(v_terms)

    def pull_rate(self, q: Tile, v: Tile, weights: Tile) -> tuple[Tile, Tile]:
        """Return derivatives by q and v of the rates of positions."""
        self._state(q, v)
        by_q, by_v = self._kept(self._pull("rate", weights))
        return by_q, by_v

    def pull_integrate(self, q: Tile, v: Tile, weights: Tile) -> tuple[Tile, Tile]:
        """Return derivatives by q and v of a step along a velocity."""
        self._state(q, v)
        by_q, by_v, by_h = self._pull("integrate", weights)
        self._accumulate(self.stretched, by_h)
        by_q, by_v = self._kept([by_q, by_v])
        return by_q, by_v

    def pull_euler(self, q: Tile, v: Tile, a: Tile, weights: tuple[Tile, Tile]) -> tuple[Tile, Tile, Tile]:
        """Return derivatives by q, v and a of the joints' own steps."""
        self._state(q, v, a)
        found = [self._pull(name, x) for name, x in zip(("euler_position", "euler_velocity"), weights, strict=True)]
        by_q, by_v, by_a, by_h = (
            self.combine([(1.0, "", first), (1.0, "", second)]) for first, second in zip(*found, strict=True)
        )
        self._accumulate(self.stretched, by_h)
        return by_q, by_v, by_a

    def pull_project(self, q: Tile, weights: Tile) -> Tile:
        """Return derivatives of the projection."""
        self._state(q)
        [found] = self._kept(self._pull("normalize", weights))
        return found

    def pull_tangent(self, q: Tile, weights: Tile) -> Tile:
        """Return derivatives by the numbers of q from those in its tangent."""
        self._state(q)
        self.copy(weights, Tile(self.weights.at, weights.size))
        self.kernel("pull_tangent")
        return self.results["pull_tangent"]

    def in_tangent(self, q: Tile, weights: Tile) -> Tile:
        """Return derivatives in the tangent of q from those by its numbers."""
        if self.flat:
            return weights
        self._state(q)
        self.copy(weights, Tile(self.weights.at, weights.size))
        self.kernel("pull_rate")
        return self.split("rate")[1]

    def _pull(self, name: str, weights: Tile) -> list[Tile]:
        """Call the kernel of derivatives at the state that is set; return their places."""
        self.copy(weights, Tile(self.weights.at, weights.size))
        return self._derived(name)

    def _derived(self, name: str) -> list[Tile]:
        """Call the kernel of derivatives; collect those by the numbers of a varied robot, and return the others."""
        self.kernel(f"pull_{name}")
        found = self.split(name)
        if self.parameters.size and self.kernels.depends(f"pull_{name}", sum(self.parts[name])):
            last, to = found[-1], self.section(self.collected["parameters"], f"pull_{name}")
            self._accumulate(to, Tile(last.at + last.size, to.size))
        return found

    def _kept(self, found: list[Tile]) -> list[Tile]:
        """Return copies, which the next call of the kernel does not change."""
        return [self.combine([(1.0, "", x)]) for x in found]

    def _collect(self, name: str, found: Tile, factor: float = 1.0) -> None:
        self._accumulate(self.collected[name], found, factor)

    def _accumulate(self, to: Tile, found: Tile, factor: float = 1.0) -> None:
        self.sum_to([(1.0, "", to), (factor, "", found)], to)


class Pusher(_Derivatives):
    """Emits the rates of all values of a step, beside the values."""

    def __init__(self, kernels: Kernels, model: Model) -> None:
        super().__init__(kernels, model)
        nq, nv = model.nq, model.nv
        self.q_rate, self.v_rate, self.a_rate = self.tile(nq), self.tile(nv), self.tile(nv)
        """The places from which kernels read the rates of their arguments."""
        loads, goals = self.external.size, nq if self.feedback else 0
        gains = nv if self.feedback else 0
        self.rates = {
            name: self.tile(size)
            for name, size in {"tau": nv, "external": loads, "goal": goals, "kp": gains, "kd": gains}.items()
        }
        self.rates["parameters"] = self.tile(self.parameters.size)
        """The rates of the inputs of the step; those of positions by their numbers."""
        q, v, a = self.q_rate, self.v_rate, self.a_rate
        moving = {
            "dynamics": (self.q, self.v, self.force if self.by_force else self.given, q, v, a),
            "passive": (*self.arguments["passive"], q, v),
            "integrate": (*self.arguments["integrate"], q, v, self.stretched),
            "rate": (self.q, self.v, q, v),
            "normalize": (self.q, q),
            "difference": (self.q, self.goal, q, self.rates["goal"]),
            "external_force": (self.q, self.loads, q, self.rates["external"]),
        }
        for name in ("euler_position", "euler_velocity"):
            moving[name] = (self.q, self.v, self.given, self.h, q, v, a, self.stretched)
        for name, tiles in moving.items():
            varied = self.parameters.size and f"push_{name}" in kernels.requests
            more = [self.section(self.rates["parameters"], f"push_{name}")] if varied else []
            self.arguments[f"push_{name}"] = (*tiles, *more)
        self.arguments["tangent"] = (self.q, q)

    def push_acceleration(self, node: float, q: Tile, v: Tile, a: Tile, rates: tuple[Tile, Tile]) -> Tile:
        """Return the rate of dv/dt, with the rates of forces."""
        self._move(q, v, rates)
        terms: list[tuple[float, str, Tile]] = [(1.0, "", self.rates["tau"])]
        for name in ("passive", "external_force"):
            if name in self.kernels.requests:
                self.kernel(f"push_{name}")
                terms.append((1.0, "", self.results[f"push_{name}"]))
        if self.feedback:
            for name in ("difference", "push_difference"):
                self.kernel(name)
            products = (
                (1.0, self.stiffness, self.results["push_difference"]),
                (1.0, self.rates["kp"], self.results["difference"]),
                (-1.0, self.damping, rates[1]),
                (-1.0, self.rates["kd"], v),
            )
            fed = self.combine([(sign, "", self.product(x, y)) for sign, x, y in products])
            terms.append((1.0, "", self.unclipped(fed)))
        self.sum_to(terms, self.a_rate)
        if not self.by_force:
            self.copy(a, self.given)  # the forces of the stage are still where they were
        return self._call("push_dynamics")

    def push_rate(self, q: Tile, v: Tile, rates: tuple[Tile, Tile]) -> Tile:
        """Return the rate of dq/dt."""
        self._move(q, v, rates)
        return self._call("push_rate")

    def push_integrate(self, q: Tile, v: Tile, rates: tuple[Tile, Tile]) -> Tile:
        """Return the rate of a step along a velocity."""
        self._move(q, v, rates)
        return self._call("push_integrate")

    def push_euler(self, q: Tile, v: Tile, a: Tile, rates: tuple[Tile, Tile, Tile]) -> tuple[Tile, Tile]:
        """Return the rates of the joints' own steps."""
        self._move(q, v, rates[:2])
        self.copy(a, self.given)
        self.copy(rates[2], self.a_rate)
        return self._call("push_euler_position"), self._call("push_euler_velocity")

    def push_project(self, q: Tile, rate: Tile) -> Tile:
        """Return the rate of the projection."""
        self._state(q)
        self.copy(rate, self.q_rate)
        return self._call("push_normalize")

    def as_numbers(self, q: Tile, tangent: Tile) -> Tile:
        """Return the rates of the numbers of q for a tangent."""
        if self.flat:
            return tangent
        self._state(q, tangent)
        return self._call("rate")

    def as_tangent(self, q: Tile, rate: Tile) -> Tile:
        """Return the tangent of rates of the numbers of q."""
        if self.flat:
            return rate
        self._state(q)
        self.copy(rate, self.q_rate)
        return self._call("tangent")

    def _move(self, q: Tile, v: Tile, rates: tuple[Tile, Tile]) -> None:
        self._state(q, v)
        self.copy(rates[0], self.q_rate)
        self.copy(rates[1], self.v_rate)
