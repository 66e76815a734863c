import mujoco
import numpy as np
import pytest

from s2m.config.sim import MujocoCfg
from s2m.robot.mjcf import mjcf
from s2m.robot.model import BALL_RADIUS, LEGS, PLATE_SIZE, ROBOT
from s2m.robot.urdf import urdf


@pytest.fixture(scope="module")
def models():
    return (
        mujoco.MjModel.from_xml_string(mjcf(ROBOT, 0, MujocoCfg())),
        mujoco.MjModel.from_xml_string(urdf(ROBOT)),
    )


def test_sizes_are_the_papers():
    assert BALL_RADIUS == 0.055 and PLATE_SIZE == (0.224, 0.151)
    assert len(ROBOT.leg_joints) == 12 and len(ROBOT.hub_joints) == 4


def test_joint_order_is_leg_by_leg():
    expected = [f"{leg}_{joint}" for leg in LEGS for joint in ("abduct", "thigh", "steer")]
    assert [joint.name for joint in ROBOT.leg_joints] == expected


def test_wheels_stand_on_the_ground_right_under_their_steering_axes():
    where = ROBOT.placed()
    for leg, contact in zip(LEGS, ROBOT.wheel_positions, strict=True):
        expected = [*contact, ROBOT.wheel_radius - ROBOT.stance_height]
        assert where[f"{leg}_wheel"] == pytest.approx(expected)
        assert where[f"{leg}_fork"] == pytest.approx(expected)


def test_lines_from_contact_through_hip_meet_in_the_plate_centre():
    where = ROBOT.placed()
    centre = np.array([0, 0, ROBOT.plate_height])
    for leg, contact in zip(LEGS, ROBOT.wheel_positions, strict=True):
        ground = np.array([*contact, -ROBOT.stance_height])
        assert np.cross(where[f"{leg}_hip"] - ground, centre - ground) == pytest.approx(np.zeros(3))


def test_mjcf_and_urdf_have_the_same_masses_and_joints(models):
    built, imported = models
    assert built.body_mass.sum() == pytest.approx(ROBOT.mass)
    for joint in ROBOT.joints:
        a, b = built.joint(joint.name), imported.joint(joint.name)
        assert a.axis == pytest.approx(b.axis)
        if joint.limits:
            assert a.range == pytest.approx(joint.limits)
            assert b.range == pytest.approx(joint.limits)


def test_mjcf_and_urdf_have_the_same_mass_matrix(models):
    """The URDF is read with a fixed base: compare the leg block at a random pose."""
    built, imported = models
    a, b = mujoco.MjData(built), mujoco.MjData(imported)
    pose = np.random.default_rng(0).uniform(-0.5, 0.5, 16)
    a.qpos[7:] = pose
    b.qpos[:] = pose
    matrices = []
    for model, data, first in ((built, a, 6), (imported, b, 0)):
        model.dof_armature[:] = 0.0
        mujoco.mj_forward(model, data)
        columns = np.zeros((model.nv, model.nv))
        for column, unit in zip(columns, np.eye(model.nv), strict=True):
            mujoco.mj_mulM(model, data, column, unit)
        matrices.append(columns[first:, first:])
    assert matrices[0] == pytest.approx(matrices[1], abs=1e-9)


def test_gravity_offsets_hold_the_stance_without_sideways_help():
    """On a floor without friction only the drives can hold the splayed legs."""
    cfg = MujocoCfg()
    slippery = mjcf(ROBOT, 0, cfg).replace("1.0 1.0 0.005 0.0001 0.0001", "1e-5 1e-5 0 0 0")
    model = mujoco.MjModel.from_xml_string(slippery)
    data = mujoco.MjData(model)
    data.ctrl[:12] = ROBOT.default_pose + ROBOT.gravity_offsets(0.0)
    for _ in range(200):
        mujoco.mj_step(model, data)
    assert data.qpos[2] == pytest.approx(ROBOT.stance_height, abs=0.002)
    assert np.abs(data.qpos[7:]).reshape(4, 4)[:, :3].max() < 0.01
