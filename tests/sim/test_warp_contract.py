"""The contract on MuJoCo Warp, launch by launch and as a captured graph, and on wrong copies."""

import sys

import pytest

from tests.sim.benches import WarpBench
from tests.sim.contract import CHECKS
from tests.sim.mutants import mutated, survives

MUTANTS = {
    "quaternion order of the base": (
        "conjugate(qpos[:, None, 3:7])", "conjugate(qpos[:, None, [6, 3, 4, 5]])"),
    "quaternion order of the balls": (
        "multiply(inverse, ball[..., 3:])", "multiply(inverse, ball[..., [6, 3, 4, 5]])"),
    "quaternion of either sign": (
        "upper(multiply(inverse, ball[..., 3:]))", "multiply(inverse, ball[..., 3:])"),
    "product in the other order": (
        "multiply(inverse, ball[..., 3:])", "multiply(ball[..., 3:], inverse)"),
    "quaternion order at a reset": ("= spawn.rotation", "= spawn.rotation[..., [1, 2, 3, 0]]"),
    "world instead of base frame": (
        "rotate(inverse, torch.cat([own, place, velocity], 1))",
        "torch.cat([own, place, velocity], 1)"),
    "turned the other way": ("inverse = conjugate(qpos", "inverse = (qpos"),
    "gravity upwards": ("-self.up.expand", "self.up.expand"),
    "places in the world": ("ball[..., :3] - qpos[:, None, :3]", "ball[..., :3]"),
    "velocities in the world": ("motion[..., :3] - qvel[:, None, :3]", "motion[..., :3]"),
    "spin in the ball's own frame": (
        "rotate(rotation, motion[..., 3:]) - qvel", "motion[..., 3:] - qvel"),
    "spin that is not relative": (" - qvel[:, None, 3:6]", ""),
    "linear instead of angular velocity": ("[qvel[:, 3:6], own", "[qvel[:, :3], own"),
    "height of something else": ("qpos[:, 2:3], own", "qpos[:, 1:2], own"),
    "hubs among the joints": ("[..., :3].flatten(1)", "[..., 1:].flatten(1)"),
    "hub order": ("hub_speeds.to(targets)", "hub_speeds.to(targets).flip(1)"),
    "weight not carried": (" + self.offsets[self.balls]", ""),
    "actions of other rows": ("control[group.rows]", "control[: len(group.control)]"),
    "one physics step per control step": ("range(self.cfg.decimation)", "range(1)"),
    "another control period": ("self.dt = cfg.dt", "self.dt = cfg.timestep"),
    "no step at all": ("group.advance()", "pass"),
    "stale places in the engine": ("group.qpos.copy_(qpos)", "pass"),
    "stale velocities in the engine": ("group.qvel.copy_(self.qvel[rows, :nv])", "pass"),
    "stale warm start in the engine": (
        "group.warmstart.copy_(self.warmstart[rows, :nv])", "pass"),
    "no velocity at a reset": ("motion[..., :2] = spawn.velocity", "pass"),
    "no spin at a reset": (
        "motion[..., 3:] = rotate(conjugate(ball[..., 3:]), spin)", "pass"),
    "spin of the wrong sign": ("motion[..., :3]) / BALL", "motion[..., :3]) / -BALL"),
    "spin in the world's frame": ("rotate(conjugate(ball[..., 3:]), spin)", "spin"),
    "balls in the plate": ("+ ROBOT.plate_height + self.ball_height[count]",
                           "+ ROBOT.plate_height"),
    "numbers of balls forgotten": ("self.balls[env_ids] = count", "pass"),
    "groups of the numbers before": ("if regroup:", "if not self.groups:"),
    "groups of the numbers before a restore": (
        "copy_(state[name])\n        self._regroup()", "copy_(state[name])"),
    "slots without balls": (" * active.unsqueeze(-1)", ""),
    "contact over the plate": ("return resting & ", "return "),
    "contact beside the plate": ("self.half_plate).all(-1)", "self.half_plate).any(-1)"),
    "breakdowns unnoticed": ("self.unstable[rows] = ~sound", "pass"),
    "breakdowns not undone": ("torch.where(on, group.qpos, qpos)", "group.qpos"),
    "breakdowns that go on moving": ("torch.where(on, group.qvel, 0.0)", "group.qvel"),
    "breakdowns for ever": ("self.unstable[env_ids] = False", "pass"),
    "snapshot without velocities": (
        "clone() for name in STATE", 'clone() for name in STATE if name != "qvel"'),
    "snapshot without warm start": (
        "copy_(state[name])", 'copy_(state[name] * (name != "warmstart"))'),
    "snapshot that shares memory": (
        "getattr(self, name).clone() for name", "getattr(self, name) for name"),
    "view instead of copy": ("self.unstable[rows].clone()", "self.unstable[rows]"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def original(kernels, monkeypatch):
    """Put the module back that mutants replace."""
    import s2m.sim.warp as sound

    monkeypatch.setitem(sys.modules, "s2m.sim.warp", sound)


@pytest.mark.parametrize("graph", [False, True], ids=["launches", "graph"])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
def test_contract(check, graph):
    check(WarpBench(graph))


def test_a_mutant_without_a_mutation_passes():
    assert survives(WarpBench(True, mutated("warp", "", "").WarpSimulator))


@pytest.mark.parametrize("name", MUTANTS)
def test_the_contract_notices(name):
    assert not survives(WarpBench(True, mutated("warp", *MUTANTS[name]).WarpSimulator))
