"""MJCF and URDF are the same robot: MuJoCo reads both, and its dynamics terms agree."""

from xml.etree import ElementTree

import mujoco
import numpy as np
import pytest

from s2m.config.sim import MujocoCfg
from s2m.robot.mjcf import mjcf
from s2m.robot.model import ROBOT
from s2m.robot.urdf import urdf

NAMES = [link.name for link in ROBOT.links]


@pytest.fixture(scope="module")
def models():
    """The MJCF without rotor inertias, of which URDF knows nothing, and the URDF on a free base."""
    built = mujoco.MjModel.from_xml_string(mjcf(ROBOT, 0, MujocoCfg()))
    built.dof_armature[:] = 0.0
    spec = mujoco.MjSpec.from_string(urdf(ROBOT))
    spec.compiler.fusestatic = False
    spec.body("base").add_freejoint()
    imported = spec.compile()
    assert (built.nq, built.nv) == (imported.nq, imported.nv) == (23, 22)
    return built, imported


def inertia(body):
    """Inertia tensor about the centre of mass, in the axes of the link."""
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, body.iquat)
    axes = matrix.reshape(3, 3)
    return axes @ np.diag(body.inertia) @ axes.T


@pytest.mark.parametrize("name", NAMES)
def test_links(models, name):
    built, imported = (model.body(name) for model in models)
    link = next(link for link in ROBOT.links if link.name == name)
    for body in (built, imported):
        assert body.mass == pytest.approx(link.mass)
        assert body.ipos == pytest.approx(link.com)
        assert inertia(body) == pytest.approx(np.diag(link.inertia), abs=1e-9)
    if link.parent:
        assert built.pos == pytest.approx(imported.pos)


@pytest.mark.parametrize("joint", ROBOT.joints, ids=lambda joint: joint.name)
def test_joints(models, joint):
    built, imported = (model.joint(joint.name) for model in models)
    assert built.qposadr == imported.qposadr
    for found in (built, imported):
        assert found.axis == pytest.approx(joint.axis)
        if joint.limits is None:
            assert not found.limited
        else:
            assert found.limited and found.range == pytest.approx(joint.limits)


def test_limits_of_effort_and_speed(models):
    limits = {
        element.get("name"): element.find("limit")
        for element in ElementTree.fromstring(urdf(ROBOT)).iter("joint")
    }
    for joint in ROBOT.joints:
        limit = limits[joint.name]
        assert limit is not None and float(limit.get("velocity", 0)) == joint.velocity
        assert float(limit.get("effort", 0)) == joint.effort
        assert models[0].actuator(joint.name).forcerange == pytest.approx(
            [-joint.effort, joint.effort]
        )


def test_the_default_pose_stands_alike(models):
    """Wheels touch the ground, the plate is level and where the task expects it."""
    for model in models:
        data = mujoco.MjData(model)
        data.qpos[2] = ROBOT.stance_height
        for joint in ROBOT.joints:
            data.qpos[model.joint(joint.name).qposadr] = joint.default
        mujoco.mj_forward(model, data)
        wheels = [data.body(name).xpos[2] for name in NAMES if name.endswith("wheel")]
        assert wheels == pytest.approx([ROBOT.wheel_radius] * 4)
        plate = data.body("plate")
        assert plate.xpos == pytest.approx([0, 0, ROBOT.stance_height + ROBOT.plate_height])
        assert plate.xquat == pytest.approx([1, 0, 0, 0])


@pytest.mark.parametrize("seed", range(5))
def test_dynamics(models, seed):
    """Mass matrix, Coriolis and gravity forces, and places, at random states."""
    random = np.random.default_rng(seed)
    pose, speeds = random.uniform(-0.7, 0.7, 16), random.normal(size=22)
    turn = random.normal(size=4)
    terms = []
    for model in models:
        data = mujoco.MjData(model)
        data.qpos[:3], data.qpos[3:7] = [0.3, -0.2, 1.0], turn / np.linalg.norm(turn)
        data.qpos[7:], data.qvel[:] = pose, speeds
        mujoco.mj_forward(model, data)
        mass = np.stack([_times(model, data, unit) for unit in np.eye(model.nv)])
        places = np.array([[*data.body(name).xpos, *data.body(name).xquat] for name in NAMES])
        terms.append((mass, data.qfrc_bias.copy(), places))
    for built, imported in zip(*terms, strict=True):
        assert built == pytest.approx(imported, abs=1e-9)


def _times(model, data, vector):
    result = np.zeros(model.nv)
    mujoco.mj_mulM(model, data, result, vector)
    return result


def test_what_collides_is_the_same():
    """Only the plate and the wheels, with the same shapes."""
    tree = ElementTree.fromstring(urdf(ROBOT))
    hard = {
        link.get("name", ""): collision.find("geometry")
        for link in tree.iter("link")
        for collision in link.iter("collision")
    }
    assert set(hard) == {"plate", *(name for name in NAMES if name.endswith("wheel"))}
    model = mujoco.MjModel.from_xml_string(mjcf(ROBOT, 0, MujocoCfg()))
    for name, geometry in hard.items():
        assert geometry is not None
        box, sphere = geometry.find("box"), geometry.find("sphere")
        if box is not None:
            size = np.array(box.get("size", "").split(), dtype=float) / 2
            assert model.geom(name).size == pytest.approx(size)
        else:
            assert sphere is not None
            assert model.geom(name).size[0] == pytest.approx(float(sphere.get("radius", 0)))
