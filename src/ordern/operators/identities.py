"""The identities by which expressions are simplified, each as the papers have it.

They hold for trees as for chains: where a paper has "the link before", a tree has the sum over all children. With
armature (A, which no paper has) D is H P H* + A; GH is then not a projection, and identities that need one are listed
apart. Each rule also gives its transpose.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from .expression import One, Operator, Sum, Zero, product, total
from .spaces import ANY

if TYPE_CHECKING:
    from .operators import Operators

__all__ = ["INVERSES", "PRODUCTS", "SUMS", "Rules", "inverse_sides", "parse", "rules_of", "sides"]

PRODUCTS: dict[str, tuple[str, ...]] = {
    "always": (
        "phi E_phi = phi~",  # Jain, after (26)
        "E_phi phi = phi~",
        "psi E_psi = psi~",
        "E_psi psi = psi~",
        "S X* = E_phi",  # Rodriguez-Kreutz (a.8), (a.9)
        "X* G = L",  # R-K (4.6)
        "S L = K",
        "E_phi G = K",  # Jain (53)
        "E_phi tau_bar = E_psi",
        "G H = tau",
        "P H* D^-1 = G",
        "(I - H psi K) H phi = H psi",  # Jain (57), R-K (5.4)
        "(I + H phi K) H psi = H phi",  # R-K (a.32)
        "psi (I + K H phi) = phi",  # R-K (a.14)
        "phi (I - K H psi) = psi",  # R-K (a.23)
        "(I + phi K H) psi = phi",  # R-K (a.22)
        "(I - psi K H) phi = psi",  # R-K (a.15)
        "H T_J = 0",  # Featherstone-Orin: T* S = 0
    ),
    "without armature": (
        "H P H* = D",  # Jain (32)
        "H G = I",
        "H tau = H",
        "tau G = G",
        "tau tau = tau",  # Jain, after (39): projections
        "H tau_bar = 0",  # Jain (38)
        "tau_bar G = 0",
        "tau tau_bar = 0",
        "tau_bar tau = 0",
        "tau_bar tau_bar = tau_bar",
        "tau_bar P H* = 0",  # Jain (38)
    ),
    "with armature": (),
}
SUMS: dict[str, tuple[str, ...]] = {
    "always": (
        "phi - I = phi~",
        "psi - I = psi~",
        "phi~ + I = phi",
        "psi~ + I = psi",
        "I - tau = tau_bar",
        "I - tau_bar = tau",
        "tau + tau_bar = I",
        "E_phi - K H = E_psi",  # Jain, Lemma 6.1
        "E_psi + K H = E_phi",
        "E_phi - E_psi = K H",
        "R - E_phi R E_phi* = M",  # Jain, Lemma 3.1
        "P - E_psi P E_phi* = M",  # Jain (58)
        "R + phi~ R + R phi~* = phi M phi*",  # Jain (27)
        "P + psi~ P + P phi~* = psi M phi*",  # R-K (a.46)
    ),
    "without armature": (
        "P - E_psi P E_psi* = M",  # Jain (42)
        "P + psi~ P + P psi~* = psi M psi*",  # R-K (a.47)
    ),
    "with armature": (
        "H P H* + A = D",
        "P - E_psi P E_psi* - K A K* = M",
    ),
}
INVERSES: dict[str, tuple[str, ...]] = {
    "always": (
        "(phi)^-1 = I - E_phi",  # Jain (20)
        "(psi)^-1 = I - E_psi",  # Jain (54)
        "(I + H phi K)^-1 = I - H psi K",  # Jain, Lemma 6.3; R-K, Fact 4.2
        "(I + K H phi)^-1 = I - K H psi",
        "(I + phi K H)^-1 = I - psi K H",
    ),
    "without armature": (
        "(H phi M phi* H*)^-1 = (I - K* psi* H*) D^-1 (I - H psi K)",
    ),  # Jain, Lemma 6.4; R-K, Theorem 4.1
    "with armature": ("(H phi M phi* H* + A)^-1 = (I - K* psi* H*) D^-1 (I - H psi K)",),
}

Sides = Callable[["Operators", str], tuple[Operator, Operator]]


class Rules:
    """The identities, ready to be looked up by the keys of expressions."""

    def __init__(self) -> None:
        self.products: dict[str, Operator] = {}
        self.sums: list[tuple[tuple[tuple[str, float], ...], Operator]] = []
        self.inverses: dict[str, Operator] = {}


def rules_of(context: Operators, armature: bool) -> Rules:
    """Return the identities between the operators of one state."""
    rules, groups = Rules(), ("always", "with armature" if armature else "without armature")

    def both(table: dict[str, tuple[str, ...]], sides: Sides) -> Iterator[tuple[Operator, Operator]]:
        """Yield the sides of the identities of a table, and their transposes."""
        for text in (text for group in groups for text in table[group]):
            left, right = sides(context, text)
            yield left, right
            yield left.T, right.T

    rules.products |= {one.key: other for one, other in both(PRODUCTS, sides)}
    for one, other in both(SUMS, sides):
        assert isinstance(one, Sum)
        pattern = tuple((t.key, c) for c, t in one.terms)
        if (pattern, other) not in rules.sums:
            rules.sums.append((pattern, other))
    for one, other in both(INVERSES, inverse_sides):
        rules.inverses |= {one.key: other, other.key: one}
    return rules


def sides(context: Operators, text: str) -> tuple[Operator, Operator]:
    """Return both sides of an identity, as they are written."""
    left, right = (parse(context, side, simplify=False) for side in text.split("="))
    if isinstance(right, Zero):
        return left, Zero(context, left.domain, left.codomain)
    return left, One(context, left.domain) if isinstance(right, One) else right


def inverse_sides(context: Operators, text: str) -> tuple[Operator, Operator]:
    """Return an operator and its inverse."""
    inverted, inverse = text.split("^-1 =", 1)
    return parse(context, inverted, simplify=False), parse(context, inverse, simplify=False)


def parse(context: Operators, text: str, simplify: bool = True) -> Operator:
    """Return an expression from its text, such as "(I - H psi K)* D^-1 (I - H psi K)"."""
    tokens = re.findall(r"\^-1|[A-Za-z]\w*~?|\d+(?:\.\d+)?(?:e[-+]?\d+)?|[-+*()]|\S", text)
    position = iter([*tokens, ""])
    found, last = _sum(context, next(position), position, simplify)
    if last:
        raise SyntaxError(f"{text!r} is not an expression: {last!r} is not expected")
    return found


def _sum(context: Operators, token: str, rest: Iterator[str], simplify: bool) -> tuple[Operator, str]:
    terms: list[tuple[float, Operator]] = []
    while True:
        scale = -1.0 if token == "-" else 1.0
        if token in ("+", "-"):
            token = next(rest)
        if token[:1].isdigit() and token != "0":
            scale, token = scale * float(token), next(rest)
        factors = []
        while token and token not in "+-)":
            factor, token = _factor(context, token, rest, simplify)
            factors.append(factor)
        if not factors:
            raise SyntaxError(f"an operator is expected before {token!r}")
        terms.append((scale, product(factors, simplify)))
        if token not in ("+", "-"):
            alone = len(terms) == 1 and scale == 1.0
            return (terms[0][1] if alone else total(terms, simplify)), token


def _factor(context: Operators, token: str, rest: Iterator[str], simplify: bool) -> tuple[Operator, str]:
    found: Operator
    if token == "(":
        found, token = _sum(context, next(rest), rest, simplify)
        if token != ")":
            raise SyntaxError("a parenthesis is not closed")
    elif token == "I":
        found = One(context)
    elif token == "0":
        found = Zero(context, ANY, ANY)
    else:
        found = context.leaf(token)
    for token in rest:
        if token == "*":
            found = found.T
        elif token == "^-1":
            found = found.inv()
        else:
            return found, token
    return found, ""
