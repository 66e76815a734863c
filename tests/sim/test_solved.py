"""Every control step is solved: compared, from many states, with a solver of endless patience."""

from pathlib import Path

import numpy as np
import pytest
import torch

from s2m.config.env import EnvCfg
from s2m.config.sim import MujocoCfg, WarpCfg
from s2m.env.agents import AGENTS
from s2m.env.transport import TransportEnv
from s2m.sim.mujoco import WRONG, MujocoSimulator

N, STEPS = 8, 60


class Watched(MujocoSimulator):
    """Compares every environment of each step with the solution from the same state."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.errors: list[list[float]] = []

    def step(self, joint_targets, hub_speeds):
        targets, speeds = joint_targets.numpy(), hub_speeds.numpy()
        right = [self._solved(row, targets[row], speeds[row]).copy() for row in range(N)]
        super().step(joint_targets, hub_speeds)
        self.errors.append(
            [np.abs(self.qvel[row, : len(right[row])] - right[row]).max() for row in range(N)]
        )


def watch(k, act, line_search=50):
    sim = Watched(MujocoCfg(line_search=line_search), N, 0.0025)
    env = TransportEnv(EnvCfg(num_envs=N), balls=torch.full((N,), k), simulator=sim)
    generator = torch.Generator().manual_seed(k)
    explore = lambda: float(act) * torch.randn(N, 12, generator=generator)  # noqa: E731
    agent = AGENTS[act](env) if isinstance(act, str) else explore
    logged = []
    for _ in range(STEPS):
        logged.append(env.step(agent())[3]["log"]["sim/unsolved"].item())
    env.close()
    return np.array(sim.errors), np.array(logged)


@pytest.mark.parametrize("k", range(1, 6))
@pytest.mark.parametrize("act", ["zero", "lqr", 0.3, 0.6, 1.0])
def test_every_step_is_solved(k, act):
    errors, logged = watch(k, act)
    assert errors.max() < WRONG
    assert not logged.any()


@pytest.mark.parametrize("k", [1, 5])
def test_steps_that_are_not_solved_show_in_the_log(k):
    """With 20 steps of line search MuJoCo gives up in many of them."""
    errors, logged = watch(k, 1.0, line_search=20)
    share = (errors > WRONG).mean()
    assert share > 0.05 and errors.max() > 1
    assert set(logged) == {0.0, 1.0}
    assert abs(logged.mean() - share) < 3 * (share * (1 - share) / STEPS) ** 0.5


def early():
    """States of three and five balls, found in 600,000 steps of exploration, and their actions."""
    stored = np.load(Path(__file__).parent / "early.npz")
    states = {name: torch.as_tensor(values) for name, values in stored.items()}
    actions = states.pop("targets"), states.pop("speeds")
    return {**states, "unstable": torch.zeros(len(actions[0]), dtype=torch.bool)}, actions


def errors_of(sim, states, actions):
    """Largest error of a velocity after one control step from each state."""
    patient = MujocoSimulator(MujocoCfg(), len(actions[0]), 0.0025)
    patient.restore(states)
    right = [
        patient._solved(i, *(x[i].numpy() for x in actions)).copy() for i in range(sim.num_envs)
    ]
    sim.restore(states)
    sim.step(*actions)
    found = np.asarray(sim.qvel)
    for simulator in (patient, sim):
        simulator.close()
    return np.array([np.abs(found[i, : len(v)] - v).max() for i, v in enumerate(right)])


@pytest.mark.parametrize(("tolerance", "solved"), [(1e-10, True), (1e-6, False)])
def test_states_from_which_a_looser_solver_stops_too_early(tolerance, solved):
    states, actions = early()
    cfg = MujocoCfg(tolerance=tolerance)
    assert solved == (cfg == MujocoCfg())
    errors = errors_of(MujocoSimulator(cfg, len(actions[0]), 0.0025), states, actions)
    assert (errors < WRONG).all() == solved
    assert solved or errors.max() > 0.1


def test_warp_stops_too_early_in_few_of_them(kernels):
    """Single precision leaves some; at its own least tolerance, 1e-6, most."""
    from s2m.sim.warp import WarpSimulator

    states, actions = early()
    wrong = {}
    for tolerance in (WarpCfg().tolerance, 1e-6):
        cfg = WarpCfg(device="cpu", graph=False, tolerance=tolerance)
        errors = errors_of(WarpSimulator(cfg, len(actions[0]), 0.0025), states, actions)
        wrong[tolerance] = (errors > WRONG).sum()
    assert wrong[1e-6] > len(actions[0]) / 2
    assert wrong[1e-10] < wrong[1e-6] / 2
