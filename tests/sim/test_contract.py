"""One contract for all simulators, and proof that it would notice a wrong adapter.

That of MuJoCo Warp stands in test_warp_contract.py: Isaac Lab is tried on a pretended Warp.
"""

import sys

import pytest

from tests.sim.benches import IsaacLabBench, MujocoBench
from tests.sim.contract import CHECKS
from tests.sim.mutants import close_scene, mutated, survives

MUTANTS = {
    "quaternion order of the base": (
        "base, turning = pose[:, 3:], motion", "base, turning = pose[:, [6, 3, 4, 5]], motion"),
    "quaternion order of the balls": (
        "quat_conjugate(bases), ball[..., 3:]", "quat_conjugate(bases), ball[..., [6, 3, 4, 5]]"),
    "quaternion of either sign": ("self.math.quat_unique(rotation)", "rotation"),
    "quaternion order at a reset": (
        "= spawn.rotation", "= spawn.rotation[..., [1, 2, 3, 0]]"),
    "joint order": ("preserve_order=True", "preserve_order=False"),
    "hub order": ("[joint.name for joint in hubs]", "[joint.name for joint in hubs[::-1]]"),
    "stale contact after a reset": (
        "self.contact[env_ids] = active & (support_margin(spawn.position) > 0)", "pass"),
    "contact of the sensor after a reset": (
        "self.contact[env_ids] = active & (support_margin(spawn.position) > 0)",
        "self.contact[env_ids] = self.plate.data.force_matrix_w[env_ids, 0].norm(dim=-1) > 0"),
    "world instead of base frame": (
        "(self.math.quat_apply_inverse(bases, vectors) * on)", "(vectors * on)"),
    "base velocity in the world": ("linear_velocity=in_base(velocity)", "linear_velocity=velocity"),
    "velocity of the centre of mass": (
        "motion[:, :3] - torch.linalg.cross(turning, com)", "motion[:, :3]"),
    "velocity that a reset does not refresh": (
        "motion[:, :3] - torch.linalg.cross(turning, com)", "robot.root_link_lin_vel_w[rows]"),
    "weight not carried": ("+ self.offsets[self.count]", ""),
    "one physics step per control step": ("range(self.cfg.decimation)", "range(1)"),
    "no rolling resistance": ("self._resist_rolling()\n", "pass\n"),
    "rolling resistance of the wrong sign": ("return -torque * rate", "return torque * rate"),
    "balls that wait are forgotten": ("active.unsqueeze(-1), self._spawned", "True, self._spawned"),
    "no spin at a reset": ("state[..., 11] = spawn.velocity[..., 0] / BALL_RADIUS", "pass"),
    "breakdowns unnoticed": ("self.unstable = ~sound", "self.unstable = sound & ~sound"),
    "snapshot without contact": ('_OWN = ("count", "contact",', '_OWN = ("count",'),
    "snapshot that shares memory": (
        '"joints": robot.joint_pos.clone()', '"joints": robot.joint_pos'),
    "view instead of copy": ("self.contact[rows].clone()", "self.contact[rows]"),
    "wrong keyword": (
        "self.balls.write_object_state_to_sim(balls, env_ids=env_ids)",
        "self.balls.write_object_state_to_sim(balls, envs=env_ids)"),
    "wrong attribute": ("balls.object_com_vel_w[rows]", "balls.object_com_velocity_w[rows]"),
    "numbers of environments in a list": (
        "self.balls.write_object_state_to_sim(balls, env_ids=env_ids)",
        "self.balls.write_object_state_to_sim(balls, env_ids=env_ids.tolist())"),
}  # fmt: skip
SCENE_MUTANTS = {
    "wrong config field": ("enabled_self_collisions=", "enable_self_collisions="),
    "missing config field": ("fix_base=False,\n", "\n"),
    "plate melted into the base": ("merge_fixed_joints=False", "merge_fixed_joints=True"),
    "robot without contact reports": (
        "activate_contact_sensors=True,\n            articulation", "articulation"),
    "filters in another order": ("list(_PATHS)", "list(reversed(_PATHS))"),
    "wrong body sensed": ("Robot/plate", "Robot/plates"),
}  # fmt: skip


@pytest.fixture(params=["mujoco", "isaaclab"])
def bench(request):
    if request.param == "mujoco":
        return MujocoBench()
    return IsaacLabBench(request.getfixturevalue("kit"))


@pytest.fixture(autouse=True)
def close_afterwards():
    yield
    close_scene()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
def test_contract(bench, check):
    check(bench)


def test_a_mutant_without_a_mutation_passes(kit, monkeypatch):
    """Copies fail for what was changed in them, not for being copies."""
    for name in ("isaaclab", "isaaclab_scene"):
        sound = __import__(f"s2m.sim.{name}", fromlist=[name])
        monkeypatch.setitem(sys.modules, sound.__name__, sound)
    mutated("isaaclab_scene", "", "")
    assert survives(IsaacLabBench(kit, mutated("isaaclab", "", "").IsaacLabSimulator))


@pytest.mark.parametrize("name", MUTANTS)
def test_the_contract_notices(kit, monkeypatch, name):
    import s2m.sim.isaaclab as sound

    monkeypatch.setitem(sys.modules, "s2m.sim.isaaclab", sound)
    mutant = mutated("isaaclab", *MUTANTS[name])
    assert not survives(IsaacLabBench(kit, mutant.IsaacLabSimulator))


@pytest.mark.parametrize("name", SCENE_MUTANTS)
def test_the_contract_notices_a_wrong_scene(kit, monkeypatch, name):
    import s2m.sim.isaaclab_scene as sound

    monkeypatch.setitem(sys.modules, "s2m.sim.isaaclab_scene", sound)
    try:
        mutated("isaaclab_scene", *SCENE_MUTANTS[name])
    except TypeError:
        return
    assert not survives(IsaacLabBench(kit))
