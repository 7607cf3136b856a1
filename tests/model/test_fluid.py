"""Bodies in a fluid: added inertia, buoyancy and drag; and rotors as bodies of their own."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.errors import ArgumentError, ModelError
from ordern.model import placement
from ordern.model.fluid import in_frame, matrix_of, virtual_mass
from ordern.model.json_form import from_plain, to_plain
from tests.tolerances import assert_close as close_to


def assert_close(a: Any, b: Any, tolerance: float = 1e-13) -> None:
    close_to(np.asarray(a), np.asarray(b), tolerance)


WAYS = ("interpreted", "unrolled", "rolled")
JOINTS = (on.Revolute((0, 1, 0)), on.Spherical(), on.Prismatic((1, 0, 1)), on.Revolute((1, 2, 3)))


def _positive(rng: np.random.Generator) -> np.ndarray:
    B = rng.normal(size=(6, 6))
    return 0.3 * B @ B.T


def _swimmer(seed: int = 0, floating: bool = True, joints: tuple[Any, ...] = JOINTS, drag: bool = True) -> on.Robot:
    """A chain of bodies in a fluid; each second one has a part that is fixed to it and has a fluid of its own."""
    rng = np.random.default_rng(seed)
    builder = on.Builder("swimmer")
    builder.body("hull", mass=2.0, inertia=(0.1, 0.2, 0.15), added_inertia=_positive(rng), displaced=(2.5, (0, 0, 0.1)))
    last = "hull"
    for k, joint in enumerate(joints):
        for name, type, of in ((f"link{k}", joint, last), (f"fin{k}", on.Fixed(), f"link{k}"))[: 1 + k % 2]:
            drags = [
                on.Drag(rng.uniform(0, 1, 6), rng.uniform(0, 1, 6), at=(rng.normal(size=3), rng.normal(size=3))),
                on.EllipsoidDrag((0.1, 0.2, 0.3), 100.0, 0.1, at=(rng.normal(size=3), rng.normal(size=3))),
            ]
            builder.body(
                name,
                mass=1.0 + k,
                com=0.1 * rng.normal(size=3),
                inertia=(0.1, 0.2, 0.25),
                parent=of,
                joint=type,
                at=(0.3 * rng.normal(size=3), rng.normal(size=3)),
                added_inertia=_positive(rng),
                displaced=(rng.uniform(0, 2), 0.2 * rng.normal(size=3)),
                drag=drags if drag else None,
            )
        last = f"link{k}"
    return builder.build(floating=floating)


@pytest.fixture(scope="module")
def swimmer() -> on.Robot:
    return _swimmer()


@pytest.fixture
def state(swimmer: on.Robot) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(1)
    return swimmer.random(rng), *(rng.normal(size=swimmer.nv) for _ in range(3))


def test_the_functions_agree(swimmer: on.Robot, state: tuple[np.ndarray, ...]) -> None:
    q, v, a, tau = state
    M, bias = swimmer.mass_matrix(q), swimmer.bias_force(q, v)
    assert_close(swimmer.kinetic_energy(q, v), 0.5 * v @ M @ v)
    assert_close(swimmer.inverse_dynamics(q, v, a), M @ a + bias, 1e-12)
    assert_close(M @ swimmer.forward_dynamics(q, v, tau) + bias, tau, 1e-12)
    assert_close(M @ swimmer.mass_matrix_solve(q, tau), tau, 1e-12)
    assert_close(swimmer.mass_matrix_product(q, a), M @ a, 1e-12)
    wrench = swimmer.joint_wrenches(q, v, a)[0]  # of the free joint: its own force
    assert_close(wrench, swimmer.inverse_dynamics(q, v, a)[:6], 1e-12)


def test_the_mass_matrix_has_the_added_inertia_of_every_body(swimmer: on.Robot, state: tuple[np.ndarray, ...]) -> None:
    q = state[0]
    builder = on.Builder.of(swimmer)
    builder._links = {k: on.Body(b.name, b.mass, b.com, b.inertia) for k, b in builder._links.items()}
    dry = builder.build(merge=False)
    more = sum(
        J.T @ matrix_of(b.added_inertia) @ J
        for b in swimmer.bodies
        for J in [swimmer.jacobian(q, b.name, axes="frame")]
    )
    assert_close(swimmer.mass_matrix(q), dry.mass_matrix(q) + more, 1e-12)


def test_gravity_forces_are_the_gradient_of_the_potential_energy(
    swimmer: on.Robot, state: tuple[np.ndarray, ...]
) -> None:
    q, h = state[0], 1e-5
    ends = [
        [swimmer.potential_energy(swimmer.integrate(q, s * h * e, 1.0)) for s in (1, -1)] for e in np.eye(swimmer.nv)
    ]
    assert_close(swimmer.gravity_force(q), np.array([(x - y) / (2 * h) for x, y in ends]), 1e-7)


def test_bias_forces_are_those_of_lagrange() -> None:
    robot = _swimmer(floating=False, joints=(on.Revolute((0, 1, 0)), on.Prismatic((1, 0, 1)), on.Revolute((1, 2, 3))))
    rng = np.random.default_rng(2)
    q, v, h = robot.random(rng), rng.normal(size=robot.nv), 1e-5
    dM = np.array([(robot.mass_matrix(q + h * e) - robot.mass_matrix(q - h * e)) / (2 * h) for e in np.eye(robot.nv)])
    expected = np.einsum("kij,k,j->i", dM, v, v) - 0.5 * np.einsum("ijk,j,k->i", dM, v, v) + robot.gravity_force(q)
    assert_close(robot.bias_force(q, v), expected, 1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_ways_of_running(swimmer: on.Robot, state: tuple[np.ndarray, ...], way: str) -> None:
    q, v, a, tau = state
    calls = {
        "inverse_dynamics": (q, v, a),
        "forward_dynamics": (q, v, tau),
        "mass_matrix": (q,),
        "potential_energy": (q,),
    }
    for question, arguments in (calls | {"passive_force": (q, v, 0.01), "mass_matrix_inverse": (q,)}).items():
        usual = getattr(swimmer, question)(*arguments)
        assert_close(swimmer.kernel(question, way=way)(*arguments), usual, 1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("tau", [None, lambda t, q, v: -v])
def test_energy_is_balanced(swimmer: on.Robot, tau: Any) -> None:
    run = swimmer.simulate(until=0.3, tau=tau, v0=np.full(swimmer.nv, 0.3))
    assert run.report.stopped == "end"
    assert run.report.dissipated > 0.0
    assert abs(run.report.energy_drift) < 1e-9


def test_a_body_as_dense_as_the_fluid_rests() -> None:
    fish = on.Builder("fish").body("fish", mass=3.0, inertia=(1, 1, 1), displaced=(3.0, (0, 0, 0))).build(floating=True)
    assert_close(fish.forward_dynamics(fish.neutral(), np.zeros(6), np.zeros(6)), np.zeros(6))


def test_a_sphere_falls_with_half_its_displaced_mass_added() -> None:
    mass, _ = virtual_mass((0.1, 0.1, 0.1))
    added = 1000.0 * np.diag([0, 0, 0, *mass])
    fluid = 1000.0 * 4 / 3 * np.pi * 0.1**3
    builder = on.Builder("ball").body(
        "ball", mass=10.0, inertia=(1, 1, 1), added_inertia=added, displaced=(fluid, (0, 0, 0))
    )
    ball = builder.build(floating=True)
    a = ball.forward_dynamics(ball.neutral(), np.zeros(6), np.zeros(6))
    assert_close(a[5], -9.81 * (10.0 - fluid) / (10.0 + 0.5 * fluid))


def test_thin_ellipsoids_move_no_fluid_along_their_length() -> None:
    from scipy.special import elliprd

    mass, inertia = virtual_mass((0.1, 0.2, 0.3))
    kappa = 2 / 3 * 0.1 * 0.2 * 0.3 * elliprd(0.04, 0.09, 0.01)
    assert_close(mass[0], 4 / 3 * np.pi * 0.006 * kappa / (2 - kappa))
    needle, _ = virtual_mass((1e-3, 1e-3, 1.0))
    assert needle[2] < 1e-3 * needle[0]
    assert min(inertia) > 0.0


def test_drag_by_hand() -> None:
    drag = on.Drag(linear=(1, 2, 3, 4, 5, 6), quadratic=0.5)
    fish = (
        on.Builder("fish", current=(0.5, 0, 0)).body("fish", mass=1, inertia=(1, 1, 1), drag=drag).build(floating=True)
    )
    v = np.array([1.0, -1.0, 0.0, 2.0, 0.0, -3.0])
    relative = v - [0, 0, 0, 0.5, 0, 0]
    expected = -(np.arange(1, 7) + 0.5 * np.abs(relative)) * relative
    assert_close(fish.passive_force(fish.neutral(), v), expected)


@pytest.mark.slow
def test_drag_has_derivatives_at_rest() -> None:
    """Quadratic drag has none there, and the length of a velocity that vanishes leaves no NaN."""
    drag = (on.Drag(linear=2.0, quadratic=0.5), on.EllipsoidDrag((0.1, 0.2, 0.3), 100.0, 0.1))
    fish = on.Builder("fish").body("fish", mass=1, inertia=(1, 1, 1), drag=drag).build(floating=True)
    q, rest = fish.neutral(), np.zeros(6)
    found = fish.derivatives.passive_force(q, rest, wrt="v").v
    h = 1e-7
    differences = [(fish.passive_force(q, h * e) - fish.passive_force(q, -h * e)) / (2 * h) for e in np.eye(6)]
    assert_close(found, np.stack(differences, axis=-1), 1e-5)
    assert_close(fish.vjp("passive_force", (q, rest), np.ones(6)).v, found.sum(axis=0), 1e-12)


MJCF = """<mujoco><option density="{density}" viscosity="{viscosity}" wind="{wind}"/>
<worldbody><body name="a" pos="0 0 1"><freejoint/><geom type="box" size=".1 .2 .3" euler="10 20 30" {shape}/>
<body name="b" pos=".3 .1 0"><joint type="hinge" axis="0 1 1"/>
<geom type="capsule" fromto="0 0 0 .3 .2 .1" size=".05" {shape}/><geom type="sphere" size=".08" pos=".1 .2 .3" {shape}/>
<body name="c" pos=".1 0 .4"><joint type="ball"/><geom type="ellipsoid" size=".1 .05 .2" euler="40 0 10" {shape}/>
<geom type="cylinder" pos="0 .1 0" size=".06 .1" {shape}/></body></body></body></worldbody></mujoco>"""


@pytest.mark.parametrize(
    "shape", ["", 'fluidshape="ellipsoid" fluidcoef="0.4 0.3 1.2 0.9 0.8"', 'fluidshape="ellipsoid"']
)
@pytest.mark.parametrize(
    ("density", "viscosity", "wind"), [(1.2, 0, "0 0 0"), (0, 0.3, "0 0 0"), (1000, 0.1, "1 -2 3")]
)
def test_mjcf_is_mujocos(shape: str, density: float, viscosity: float, wind: str) -> None:
    import mujoco

    text = MJCF.format(shape=shape, density=density, viscosity=viscosity, wind=wind)
    robot, m = on.load(text), mujoco.MjModel.from_xml_string(text)
    d, peer, rng = mujoco.MjData(m), on.convert(robot, m), np.random.default_rng(0)
    for _ in range(3):
        q, v = robot.random(rng), rng.normal(size=robot.nv)
        d.qpos[:], d.qvel[:] = peer.to_peer(q, v)
        mujoco.mj_forward(m, d)
        # MuJoCo's quadrature of the added mass of ellipsoids has eight digits
        assert_close(robot.passive_force(q, v), peer.velocity_matrix(q).T @ d.qfrc_fluid, 1e-7 if shape else 1e-12)


def test_sdf_has_added_mass_about_the_mass_centre() -> None:
    text = """<sdf version="1.10"><model name="m"><link name="l"><inertial><pose>.1 .2 .3 .4 .5 .6</pose><mass>2</mass>
    <fluid_added_mass><xx>3</xx><yy>4</yy><zz>5</zz><xq>.1</xq><pp>.6</pp><qq>.7</qq><rr>.8</rr></fluid_added_mass>
    </inertial></link></model></sdf>"""
    robot = on.load(text, floating=True)
    A = np.diag([0.6, 0.7, 0.8, 3, 4, 5])
    A[3, 1] = A[1, 3] = 0.1
    (body,) = robot.bodies
    at = placement(((0.1, 0.2, 0.3), (0.4, 0.5, 0.6)))
    assert_close(matrix_of(body.added_inertia), in_frame(A, at), 1e-12)
    # the energy of a motion of the mass centre along its own axes
    v = np.concatenate([np.zeros(3), at.R[:, 0]])
    assert_close(robot.kinetic_energy(robot.neutral(), v), 0.5 * (2 + 3))


def test_it_travels_in_files_and_builders(swimmer: on.Robot) -> None:
    again = from_plain(json.loads(json.dumps(to_plain(swimmer))), on.Robot)
    assert again == swimmer
    assert on.Builder.of(swimmer).build(merge=False).bodies == swimmer.bodies
    arm = _swimmer(floating=False, joints=(on.Revolute((0, 1, 0)), on.Prismatic((1, 0, 1))))
    for write in (arm.to_urdf, swimmer.to_mjcf):
        with pytest.raises(ModelError, match=r"added inertia of body .*; buoyancy of body .*; drag of body"):
            write()


def test_methods_without_terms_for_fluids_are_refused(swimmer: on.Robot, state: tuple[np.ndarray, ...]) -> None:
    q, v, _, tau = state
    with pytest.raises(ArgumentError, match="no terms for the added inertia"):
        swimmer.forward_dynamics(q, v, tau, method="fd1")
    with pytest.raises(ArgumentError, match="no terms for the added inertia"):
        swimmer.mass_matrix(q, method="composite-body-absolute")


@pytest.mark.parametrize(
    ("fluid", "words"),
    [
        ({"added_inertia": np.ones((6, 5))}, "6x6 matrix or its 21"),
        ({"added_inertia": np.triu(np.ones((6, 6)))}, "symmetric"),
        ({"added_inertia": -np.eye(6)}, "must not be negative"),
        ({"added_inertia": np.full(21, np.nan)}, "finite"),
        ({"displaced": (-1.0, (0, 0, 0))}, "must not be below zero"),
        ({"drag": "much"}, "a Drag or an EllipsoidDrag"),
    ],
)
def test_what_is_impossible_is_refused_by_name(fluid: dict[str, Any], words: str) -> None:
    with pytest.raises(ModelError, match=f"body 'b': .*{words}"):
        on.Builder("r").body("b", mass=1, inertia=(1, 1, 1), **fluid)


def test_drag_that_is_impossible_is_refused() -> None:
    with pytest.raises(ModelError, match="linear must not be below zero"):
        on.Drag(linear=-1.0)
    with pytest.raises(ModelError, match="semi-axes must be positive"):
        on.EllipsoidDrag((1, 1, 0), 1.0)
    with pytest.raises(ModelError, match="a fluid that flows are not modelled"):
        on.Builder("r", current=(1, 0, 0)).body("b", mass=1, added_inertia=np.eye(6)).build(floating=True)


def _geared(rotor: bool, ratio: float = 50.0) -> on.Robot:
    builder = on.Builder("arm").body("ground")
    builder.body(
        "upper", mass=2, com=(0, 0, 0.2), inertia=(0.1, 0.1, 0.02), parent="ground", joint=on.Revolute((0, 0, 1))
    )
    armature = 0.0 if rotor else 1e-4 * ratio**2
    builder.body(
        "lower",
        mass=1,
        com=(0.2, 0, 0),
        inertia=(0.01, 0.05, 0.05),
        parent="upper",
        joint=on.Revolute((0, 1, 0)),
        joint_name="elbow",
        at=(0, 0, 0.4),
        armature=armature,
    )
    if rotor:
        builder.rotor("elbow", ratio, mass=0.0, inertia=(5e-5, 1e-4, 5e-5))
    return builder.build()


def test_a_rotor_has_the_armature_of_its_joint_and_gyroscopic_forces() -> None:
    geared, simple = _geared(True), _geared(False)
    q, v, J, ratio = np.array([0.3, 0.7]), np.array([1.1, -0.4]), 1e-4, 50.0
    turned = geared.mass_matrix(q)
    assert_close(turned[1, 1], simple.mass_matrix(q)[1, 1], 1e-12)
    across = 5e-5  # the rotor is round across its axis, and so does not turn the other joint
    assert_close(turned[0, 0], simple.mass_matrix(q)[0, 0] + across, 1e-12)
    # the rotor's momentum about y turns with the upper arm about z: the bearing of joint 1 takes a moment about x
    wrench = geared.joint_wrenches(q, v, np.zeros(2))[0] - simple.joint_wrenches(q, v, np.zeros(2))[0]
    assert_close(wrench[0], -J * ratio * v[1] * v[0], 1e-9)


def test_a_rotor_may_turn_about_another_axis() -> None:
    builder = on.Builder.of(_geared(False))
    builder.rotor(
        "elbow", -30.0, mass=0.1, inertia=(1e-5, 1e-5, 1e-4), axis=(0, 0, 1), on="upper", at=(0, 0, 0.1), name="m"
    )
    robot = builder.build()
    M = robot.mass_matrix(robot.neutral())
    assert_close(M[0, 1], -30.0 * 1e-4, 1e-9)  # along the first joint: they are coupled
    with pytest.raises(ModelError, match="give its `axis`"):
        on.Builder("r").body("a").body("b", mass=1, parent="a", joint=on.Prismatic(), joint_name="j").rotor(
            "j", 2.0, mass=1, inertia=(1, 1, 1)
        )
