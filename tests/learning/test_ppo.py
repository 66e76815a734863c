"""An iteration of PPO: what it logs, how its steps shrink, and that a saved learner goes on."""

from copy import deepcopy

import pytest
import torch

from s2m.config.compose import load
from s2m.config.run import RunCfg
from s2m.env.transport import TransportEnv
from s2m.learning.ppo import Learner

SMALL = [
    "sim=dummy", "budget=demo", "budget.num_envs=6", "budget.steps=4", "encoder.width=8",
    "encoder.embedding=8", "ppo.epochs=2", "ppo.mini_batches=2", "ppo.reward_scale=0.5",
]  # fmt: skip


def make(*words, seed=0):
    cfg = load(RunCfg, [*SMALL, *words])
    torch.manual_seed(seed)
    return Learner(cfg, TransportEnv(cfg.environment()))


def environment(learner):
    assert isinstance(learner.env, TransportEnv)
    return learner.env


def test_what_is_logged_is_the_mean_over_the_steps():
    learner = make()
    rewards, dangers = [], []
    step = learner.env.step

    def watched(actions):
        found = step(actions)
        rewards.append(found[1].mean())
        dangers.append(found[3]["log"]["task/dangerous"])
        return found

    learner.env.step = watched
    row = learner.collect()
    assert len(rewards) == 4
    assert row["reward/mean"] == pytest.approx(torch.stack(rewards).mean().item(), rel=1e-5)
    assert row["task/dangerous"] == pytest.approx(torch.stack(dangers).mean().item(), rel=1e-5)


@pytest.mark.parametrize(("spent", "target"), [(0.0, 0.02), (0.5, 0.011), (1.0, 0.002)])
def test_steps_shrink_towards_the_end_of_the_budget(spent, target):
    learner = make("ppo.kl_target=0.02", "ppo.kl_end=0.1")
    learner.collect()
    learner.update(spent)
    assert learner.ppo.desired_kl == pytest.approx(target)


def test_without_a_target_the_learning_rate_stays():
    learner = make("ppo.kl_target=0", "ppo.learning_rate=0.003")
    for _ in range(3):
        learner.collect()
        row = learner.update(0.5)
    assert row["policy/learning_rate"] == 0.003
    assert learner.ppo.optimizer.param_groups[0]["lr"] == 0.003


def test_the_optimizer_moves_actor_and_critic():
    learner = make()
    networks = learner.ppo.actor, learner.ppo.critic
    before = [deepcopy(network.state_dict()) for network in networks]
    learner.collect()
    learner.update(0.0)
    for network, old in zip(networks, before, strict=True):
        changed = [
            not torch.equal(value, old[name]) for name, value in network.state_dict().items()
        ]
        assert any(changed)


def test_a_saved_learner_goes_on_bit_for_bit():
    learner, other = make(), make(seed=5)
    learner.collect()
    learner.update(0.1)
    saved = deepcopy({"env": environment(learner).state_dict(), "learner": learner.state_dict()})
    rows = []
    for one in (learner, other):
        environment(one).load_state_dict(deepcopy(saved["env"]))
        one.load_state_dict(deepcopy(saved["learner"]))
        rows.append(one.collect() | one.update(0.2))
    assert rows[0] == rows[1]


def test_a_weight_that_is_no_number_is_noticed():
    for part in ("actor", "critic"):
        learner = make()
        assert learner.is_finite()
        with torch.no_grad():
            next(iter(getattr(learner.ppo, part).parameters())).view(-1)[0] = torch.inf
        assert not learner.is_finite()


def test_an_audit_of_an_invariant_policy_finds_no_change_and_repeats():
    learner = make("encoder=pfds", "curriculum.start=5")
    found = learner.audit(samples=3, seed=1)
    assert max(found.values()) < 1e-5 and found == learner.audit(samples=3, seed=1)
    flat = make("encoder=flat_mlp", "curriculum.start=5").audit(samples=3, seed=1)
    assert min(flat.values()) > 10 * max(found.values())
