"""Algorithms that are the articulated-body recursion under other names.

Jain 1991, sec. 5, compares the O(n) algorithms of the literature, and finds that apart from the joints that they allow
and the way in which they are derived several are one recursion: the one in `articulated_body`.

* Featherstone 1983: articulated-body inertias, by physical insight, for joints with one freedom.
* Rodriguez 1987: Kalman filtering and smoothing, for general joints; the notation is Jain's.
* Brandl, Johanni and Otter 1986: elimination in the Newton-Euler equations, for general joints.
* Rosenthal 1987: Kane's method, for joints with one freedom.

His table 1 is the dictionary between them, here with the names in the code:

    what                  code    Jain, Rodriguez   Featherstone    Brandl et al.   Rosenthal
    link                  i       n - k + 1         k               k
    joint velocity        qd      beta(k)           q'_k            q'(k)           u_k
    motions of the joint  S       H*(k)             s_k             phi_k           ~ lambda_k
    joint force           tau     T(k)              Q_k             lambda_k        tau_k
    from parent to body   X       phi*(k+1, k)      k_X_k+1         C_k+1
    acceleration          a       alpha(k)          a_k             (alpha_k, a_k)  (alpha^k, a^k)
    force of the joint            f(k)              f_k             (tau_k, f_k)
    articulated inertia   IA      P(k)              I^A_k           I*_k            M
    joint inertia         D       D(k)              s* I^A s        M_k             m_kk
    correction force      pA      z(k)              p_k             beta*_k         X(k)

Correction forces are equal at rest; how they differ otherwise is in the documentation's page on notation. Vereshchagin,
Armstrong, and Bae and Haug, whom Jain compares as well, have equations of their own.

Reference: Jain 1991, sec. 5, table 1 (which the text calls table 5).
"""

from __future__ import annotations

from ..registry import alias
from .articulated_body import articulated_body

__all__ = ["articulated_body"]

for _name, _paper, _equations in (
    ("featherstone", "Featherstone 1983, as in Jain 1991", "Jain sec. 5, table 1, Ref. 9"),
    ("rodriguez", "Rodriguez 1987, as in Jain 1991", "Jain (45), (46), (60); table 1"),
    ("brandl-johanni-otter", "Brandl, Johanni and Otter 1986, as in Jain 1991", "Jain sec. 5, table 1, Ref. 11"),
    ("rosenthal", "Rosenthal 1987, as in Jain 1991", "Jain sec. 5, table 1, Ref. 13"),
):
    alias("forward_dynamics", _name, of="articulated-body", paper=_paper, equations=_equations)
