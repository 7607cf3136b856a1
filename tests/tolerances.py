"""Every tolerance of the tests, each with its reason.

A comparison divides the difference by the size of what is expected, or by one where that is smaller: numbers in tests
are of order one to a hundred, and what cancels to nothing keeps the rounding of what it came from.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

ROUNDING = 1e-12
"""Two ways to compute one thing in double precision. Each rounding is 1e-16; some thousand of them, on trees of a dozen
bodies whose mass matrices have condition numbers up to 1e4, stay below."""

HUNG = 1800
"""Seconds after which a process that a test started counts as hung. The longest takes a few seconds; an emulated
machine takes twenty times that, and one that is shared takes as often again."""

EXACT = 4e-16
"""Two roundings of double precision: for what should be the same but for the order of two operations."""

EXTENDED = 1e-16
"""The same as ROUNDING, in longdouble, whose unit is 1e-19. On machines where longdouble is double, tests that use it
ask for ROUNDING instead."""

MANY_DIGITS = 1e-30
"""Expressions in mpmath with 80 digits: whatever their condition, two forms of one expression agree to half of that.
Anything computed in double precision on the way would show at 1e-16."""

FINITE_DIFFERENCE = 1e-7
"""Central differences in double precision with steps near 1e-5: the step squared is 1e-10, times third derivatives up
to a hundred, plus rounding over the step, 1e-11."""

SINCOS_ULPS = 2.0
"""Compiled sin and cos, in units of the last place of the exact value: the reduced angle, the polynomial and its last
sum are rounded once each, to half a unit; without fused multiply-add one more product is."""

SINCOS_FAR = {"float64": 2e-33, "float32": 2e-23}
"""Compiled sin and cos near a multiple of pi/2, for each radian of the angle: what is left of pi/2 after its two pieces
in double precision (1.5e-33), or its three in single (1.1e-23). Seen only where the result is tiny."""

SINCOS_FAR_WITHOUT_FMA = {"float64": 2e-33, "float32": 5e-15}
"""The same on machines without fused multiply-add, where the pieces must be short: four of them have 114 bits in double
precision, but only 48 in single, and their last product is rounded to as many."""

ATAN2_ULPS = 3.0
"""Compiled atan2, in units of the last place: a quotient, a rational function of it, and two sums that unfold it."""

PEER = 1e-10
"""Agreement with another library on a real robot, for the worst of all states. The error of a state is the largest
difference in its answer, relative to the largest entry of the peer's answer: two libraries round differently, and on
robots whose mass matrices have condition numbers up to 1e6 that shows at 1e-12."""

CLOSED_FORM = 1e-12
"""A formula on paper for one or two bodies, evaluated in double precision: some dozen roundings on each side."""

PUBLISHED = 1e-11
"""Reference values that are printed with 12 decimals."""

INVERSION = 1e-10
"""There and back again through the mass matrix: rounding times its condition number, up to 1e5 on random trees."""

NEARLY_SINGULAR = 1e-13
"""The inverse of J M^-1 J^T at an angle of one radian from a singular position, in double precision: rounding times
condition numbers up to a thousand. The error grows as the square of the angle falls."""

ENERGY_STEPS = 1e-9
"""The energy balance over ten steps of 1 ms of a rule of fourth order: a step errs by 1e-15, times rates up to 1e5."""

SINGLE = 2e-4
"""float32 code against double precision. Each rounding is 6e-8; a thousand of them, and mass matrices with condition
numbers up to 1e4, leave three digits in accelerations. Everything but accelerations is better by far."""

DEVICE = {"float64": 1e-14, "float32": 5e-6}
"""Code for GPUs against code for this processor, on real robots, relative to the largest number: the graph is the same,
but products and sums are fused in other places, and quotients in single precision are rounded to two units."""

LONG_CHAIN = 1e-9
"""A hundred spherical joints in series, or a thousand bodies, in double precision against longdouble: the figure that
the project has set itself."""

PEER_AT_ORIGIN = 2e-10
"""Velocities, accelerations and rates of Jacobians about the world's origin, of placements that were rounded by 1e-11
as they were loaded: the arm to the origin, about a metre, adds its error to that of the frame."""

PEER_INVERSE = 1e-8
"""Inverses of mass matrices against another library's, whose condition numbers reach 1e6."""

BORROWED = 2e-9
"""Divide and conquer on chains most of whose links have no inertia of their own: what links borrow is a small part of
what their neighbours have, with condition numbers up to 1e4, and two inverses of such matrices follow each other."""

METHODS = 1e-9
"""Different algorithms for one question, on random trees: rounding times condition, and the tolerance at which those
that iterate stop; the figure that the project has set itself."""

METHODS_ON_ROBOTS = 1e-8
"""The same on real robots, whose mass matrices have condition numbers up to 1e6."""


DRAWN = 1e-10
"""A spinning body thrown at some m/s, drawn by cubics between samples 5 ms apart: the fourth derivative of its velocity
in its own axes, 34, times the step to the fourth over 384, is 6e-11."""

DRAWN_RATES = 1e-7
"""The rates of those cubics, which are of third order: 34 times the step cubed times 0.008 is 3e-8."""

TABLEAU = 1e-13
"""Order conditions of Runge-Kutta methods: some dozen products of coefficients up to 50, that are rounded numbers."""

ORDER = 0.7
"""Observed orders of convergence: the next power of the step still shows at steps that are far from rounding."""

SAME_STEPS = 1e-6
"""Steps that two programs choose by the same law: estimates of errors are differences of rounding's size to the
tolerance, 1e-16 to 1e-8, and pass on to the lengths of steps."""


def difference(actual: ArrayLike, expected: ArrayLike) -> float:
    """The largest difference, divided by the largest expected number or by one."""
    a, b = np.asarray(actual), np.asarray(expected)
    assert a.shape == b.shape, f"shapes {a.shape} and {b.shape} differ"
    if not b.size:
        return 0.0
    return float(np.max(np.abs(a - b)) / max(1.0, float(np.max(np.abs(b)))))


def assert_close(actual: Any, expected: Any, tolerance: float) -> None:
    """Fail unless the difference is within the tolerance; NaN never is."""
    found = difference(actual, expected)
    assert found <= tolerance, f"differs by {found:.3g}, more than {tolerance:g}:\n{actual}\nand\n{expected}"


SECOND_DIFFERENCE = 1e-5
"""Central differences of velocities of trajectories that turn by several rad within a second, with steps of 1e-4: the
step squared is 1e-8, times fourth derivatives up to some hundred."""

REACHED = 1e-9
"""Inverse kinematics: the norm of the residual at which a target counts as reached, in rad and m."""

CLOSED_LOOP = 1e-8
"""Errors of controlled robots against the exponentials that they should be, integrated by SciPy with tolerances of
1e-11; kinetic energies and gains up to a hundred."""

REQUESTED = 1e-10
"""Simulations at the default tolerances, rtol = atol = 1e-10, of motions of some seconds that do not magnify errors."""

REQUESTED_FIFTH_ORDER = 1e-9
"""The same by methods of fifth order, whose errors are closer to their estimates, and which take many more steps."""

STEP_LENGTHS = 1e-7
"""Times of adaptive steps by two machines: error estimates of 1e-9 have rounding of 1e-16, which is 1e-7 of them."""

EVENT_TIME = 1e-12
"""When a weight that falls passes a height: its motion is a polynomial, which every method but the first-order one has
exactly, so that only rounding of times of about a second is left."""

FIVE_DECIMALS_OF_PI = (1e-7, 1e-5)
"""Between these, two robots differ whose files differ in pi, which one of them has as 3.14159 and pi/2 as 1.5708: the
angles are wrong by 3e-6 and 4e-6."""

TWELVE_DIGITS_OF_PI = 1e-10
"""The same where both have twelve digits: angles are wrong by 5e-12, and dynamics by some times that."""

JACOBIAN_DIFFERENCE = 1e-5
"""One-sided differences at 1.5e-8, with which a Newton iteration is content, of accelerations up to a hundred."""

DIFFERENCED = 1e-8
"""Derivatives by differences of fourth order at 1e-4, of energies of order 100: rounding of 1e-14 over 1e-4, and what
is left of the angle between two rotations that are nearly equal."""

DISCRETE_MOMENTUM = 1e-13
"""The momentum of a floating robot after a thousand steps of the structure-preserving method: a rounding in each, of
which few add up, and the lever arms of bodies that move away."""

REVERSED = 1e-9
"""Two hundred steps there and back: rounding, which the motion of a tree of bodies makes grow by some thousands."""

VIEWED = 1e-5
"""Poses on a page, whose numbers have single precision or five digits."""

DIFFERENTIATED = 3e-5
"""Accelerations from five samples of positions h = 5e-3 apart, at the ends from one side: 5/6 h^3 times the fifth
derivative, which is 243 of sin(3 t)."""

FREE_FALL = 2e-9
"""Free falls at the default tolerances of 1e-10 against SciPy at 1e-12, of pendula that make errors ten times as
large, and whose velocities reach 20."""

KEPT_ENERGY = 1e-8
"""The drift of the energy over the largest kinetic energy, in free falls at the default settings: what is promised."""

TIMES_REQUESTED = {"dormand-prince-8": 1.0, "dormand-prince": 1.0, "cash-karp": 1.0, "radau": 1.0}
"""Errors after some tenths of a second to 1.5 s, in units of the requested tolerance: what was asked for is kept,
though these motions make an error of the start 11 to 27 times as large, since each step is kept within a share of the
tolerance that is chosen for its method."""

ANDREWS = 1e-8
"""Andrews' squeezing mechanism at 0.03 s against the published solution, whose own digits agree with an independent
integration to 1.5e-9; the figure that the project has set itself."""

ANDREWS_FORCES = 1e-7
"""Its constraint forces there, relative to the largest: at the published q and v themselves, whose velocities leave the
loops at 1e-9 m/s, the equations of motion give forces that differ by 7.4e-8 from the published ones."""

GRASPED = 1e-9
"""Arms that hold an object, against bodies solved one by one or by another method, relative to the largest number: the
matrices have condition numbers up to 1e6, since hands are turned more easily than moved."""

CHAIN_STEPS = 5e-9
"""Four hundred steps of 5 ms of the classical Runge-Kutta method, for squares that fall at up to 9 rad/s: the fifth
power of the step times their rates is 1e-11 a step; what is left of it at the end is 1.4e-9."""

MECHANISM = 1e-10
"""Motions and accelerations of mechanisms against formulas on paper: rounding, times the conditions of their mass
matrices and constraints, some thousands each."""

CASSIE = 1e-8
"""Cassie's file has angles with five digits, so that axes which should be parallel are so to 4e-6 rad, and loops that
should be flat close to some 1e-9 m only, but for the position in the file."""

CLOSED_DYNAMICS = 1e-9
"""Accelerations and forces of random closed systems, by all methods and in maximal coordinates: what is promised.
Rounding of 1e-15, times the conditions of mass matrices and of constraints, which are some thousands each at worst."""

LEAST_NORM = 1e-6
"""Multipliers of least norm where constraints depend on each other, relative: the proximal method adds a stiffness of
1e8 times the rounding of constraints that are not quite consistent, in each step."""

PROXIMAL_PEER = 1e-6
"""Against Pinocchio's proximal constraint dynamics, which stops at residuals of 1e-10; conditions are thousands."""

SHARED = 1e-12
"""Forces of some N that are shared between contacts: pseudo-inverses of matrices with entries of order one."""

LOOP_CLOSED = 1e-12
"""Residuals, and their derivatives along free motions, at a closed pose: tens of roundings of numbers around one."""

LOOP_DIFFERENCE = 1e-7
"""Constraints' derivatives against central differences with steps of 1e-6: rounding 1e-16 / 1e-6, and third derivatives
of up to 1e3 times 1e-12."""

LOOP_MOTION = 2e-8
"""Positions of robots with closed loops after a second or two, by default tolerances of 1e-10 that swings magnify."""
LOOP_ENERGY = 1e-9
"""Energy of robots with closed loops, relative to the largest kinetic energy, over seconds by default tolerances."""
LOOP_FORCE = 1e-5
"""Forces of constraints in N: accelerations of a body of 1e-9 kg are part of them."""
LOOP_SINGULAR = 1e-7
"""Speeds and energy after a singular position was passed: errors of 1e-12 are magnified by its band's 5e-4, squared."""

ROLLED_LOOPS = 1e-8
"""What Baumgarte's stabilisation leaves open (m, rad), and errors of rk4, at steps of 1 ms over 0.2 s: some 1e-9."""

HARD_PEER = 1e-7
"""Accelerations against MuJoCo, relative to the largest: its constraints give way by a share of 1e-4, here of a
compliance that is made 1e6 times smaller than the mechanism's (1e10 for arms, whose mass matrix has a condition of
6e6). What is left grows with the condition of the mechanism, to 1e-8; beyond that, MuJoCo's equations lose digits."""
STIFF_MOTION = 1e-6
"""Positions against MuJoCo after 0.3 s in steps of 0.25 ms, with constraints whose time constant is two steps: 4e-7 for
the Delta robot, 2e-7 and less for the others."""

COMPOSITE_ROUNDING = 2e-14
"""Residuals of joints in series, and their derivatives along free motions, where they are closed: some tens of
roundings of numbers around one."""
COMPOSITE_LOCATED = 1e-11
"""Coordinates of joints in series, found in a relative pose: of those that a sine near one tells, rounding shows by its
root, and parts that are nearly parallel magnify it by a hundred."""

LOOP_BOUNCES = 1e-8
"""Motions of one mechanism that is cut at different joints, over a second and several impacts, each of which magnifies
errors of the default tolerances of 1e-10."""
LOOP_TURNED = 5e-5
"""Positions and velocities after a bounce at a singular position: forces of weak constraints are held constant in the
band around it, of 5e-4, and as that is left where it was entered, errors do not cancel: some 1e-5."""

LOOPS_KEPT = 1e-10
"""What trajectories leave of loops (m, rad), and of their rates and accelerations relative to these: Newton's method
stops at 1e-13, and rates multiply the rounding of that by the inverse of the loops' matrix, below a hundred here."""
MOTORS = 1e-10
"""Accelerations of mechanisms by forward dynamics with forces from their inverse: ROUNDING, times the ratio of the
largest acceleration of a passive joint to those of the motors, which divide it: up to a hundred."""

PAGE_COUNTS = 0.1
"""Numbers of steps in the pages on the papers, relative: where a motion is chaotic, rounding moves some of them."""

PAGE_NUMBERS = 10.0
"""Factor between two numbers in the pages that are errors in units of a tolerance, or that rounding decides (see the
marks in `papers/text.py`). At a tolerance of 1e-12 an error is some roundings, and another processor has others: four
times as many were seen."""

PAGE_ERRORS = 30.0
"""Factor between two errors in the pages: of rounding, the order of magnitude is what is told."""

PAGE_NOTHING = 2e-13
"""Errors in the pages that are rounding and no more, of whatever size."""

C_CODE = {"float64": 2e-13, "float32": 1e-4}
"""C code against our own machine code, which computes the same operations in the same order: sines, cosines and fused
products differ by one rounding each. On the small trees that is seen at 1e-15 (6e-7 in single precision), on a chain of
300 links at 4e-15 (8e-6)."""

JOINT_LAW = 1e-12
"""Positions, in rad or m, of joints at their limits or held by dry friction, whose row is solved exactly: rounding of
some hundred steps, and of gaps divided by steps of 1 ms."""
IMPACT_WORK = 1e-12
"""The work of impulses in impacts of some J, in J: zero by the law where restitution adds energy, up to rounding."""
CONTACT_DERIVATIVE = 1e-8
"""Derivatives of steps with contacts against differences with 50 digits, relative to the largest of a state. Impulses
are solved to 1e-14 m/s, and the matrices of contacts have condition numbers of up to 1e5."""

CONVEX_WEIGHT = 1e-6
"""Forces of convex contacts at rest, in N of some 20: what is left of the start after 0.3 s, at tolerances of 1e-8."""

CONVEX_RATE = {"cylinder": 3e-3, "": 1e-4}
"""Rates of averaged gaps against the velocities of their points, relative to the largest velocity: the angle of the
average. Where the rim of a cylinder is tilted, its lowest point moves out of a chord of 16 corners, by 2 % of the
radius in 1e-3 rad; this counts with the angle of the average."""

CONVEX_JACOBIAN = 1e-3
"""Derivatives of the forces of convex contacts that are made for Newton's method, relative to the largest: without the
change of axes and arms, which is the ratio of the depth to the size of the bodies."""

CONVEX_ENERGY = 1e-7
"""Energy after a collision without friction and dampers, relative, at tolerances of 1e-8: forces have a potential."""
