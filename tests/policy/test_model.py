"""The one model of all encoders: what it sees and where exploration starts."""

import pytest
import torch

from s2m.config.compose import load
from s2m.config.encoder import cards
from s2m.config.env import EnvCfg
from s2m.config.run import RunCfg
from s2m.config.task import CommandCfg
from s2m.encoders.symmetry import audit
from s2m.env.transport import TransportEnv
from s2m.learning.ppo import Learner, Storage
from s2m.policy.model import JointInput
from s2m.policy.scaling import Scaler


@pytest.fixture(scope="module")
def observations():
    env = TransportEnv(EnvCfg(num_envs=6), balls=torch.tensor([1, 2, 3, 4, 5, 5]))
    for _ in range(8):
        env.step(torch.randn(6, 12))
    observed = env.get_observations()
    env.close()
    return Scaler(CommandCfg())(observed)


def make(name, *words):
    cfg = load(RunCfg, [f"encoder={name}", "sim=dummy", "budget=demo", *words])
    cfg.budget.num_envs = 6
    torch.manual_seed(0)
    return Learner(cfg, TransportEnv(cfg.environment()))


@pytest.mark.parametrize("name", cards())
def test_every_encoder_acts_and_values(observations, name):
    learner = make(name)
    assert learner.actor(observations).shape == (6, 12)
    assert learner.ppo.critic(observations).shape == (6, 1)


def test_actor_sees_noisy_balls_and_critic_clean_ones(observations):
    learner = make("pfds")
    for part, seen, unseen in (
        (learner.ppo.actor, "balls", "balls_clean"),
        (learner.ppo.critic, "balls_clean", "balls"),
    ):
        before = part(observations)
        changed = observations.clone()
        changed[unseen] += 1.0
        assert torch.equal(part(changed), before)
        changed[seen] *= 0.5
        assert not torch.equal(part(changed), before)


def test_actor_and_critic_share_no_weight():
    learner = make("pfds")
    actor = {id(p) for p in learner.ppo.actor.parameters()}
    assert not actor & {id(p) for p in learner.ppo.critic.parameters()}


def test_exploration_starts_about_the_default_pose(observations):
    learner = make("dshc", "ppo.init_std=0.7")
    assert learner.actor(observations).abs().max() < 0.05
    learner.actor(observations, stochastic_output=True)
    assert torch.allclose(learner.actor.output_std, torch.tensor(0.7))


def test_the_learner_sees_scaled_observations():
    learner = make("pfds")
    for _ in range(2):
        expected = learner.scaler(learner.env.get_observations())
        assert all(torch.equal(learner.obs[name], expected[name]) for name in ("vector", "balls"))
        learner.collect()
        learner.ppo.storage.clear()


def test_the_storage_yields_what_rsl_rl_would_in_every_epoch():
    learner = make("pfds")
    learner.collect()
    storage, passes = learner.ppo.storage, []
    assert isinstance(storage, Storage)
    for generator in (storage.mini_batch_generator, super(Storage, storage).mini_batch_generator):
        torch.manual_seed(3)
        passes.append(list(generator(4, 3)))
    assert len(passes[0]) == 12
    for ours, theirs in zip(*passes, strict=True):
        assert torch.equal(ours.actions, theirs.actions)
        assert torch.equal(ours.observations["balls"], theirs.observations["balls"])


def test_the_first_layer_is_linear_in_vector_and_code_and_learns_as_one():
    torch.manual_seed(0)
    layer = torch.nn.Linear(7, 3).double()
    vector, code = torch.randn(5, 4).double(), torch.randn(5, 3).double().requires_grad_()
    gradients = []
    for out in (layer(torch.cat([vector, code], -1)), JointInput(layer)((vector, code))):
        gradients.append(torch.autograd.grad(out.square().sum(), [code, *layer.parameters()]))
    for whole, joint in zip(*gradients, strict=True):
        torch.testing.assert_close(whole, joint)


def test_the_audit_changes_nothing_but_the_balls(observations):
    learner = make("flat_mlp")
    learner.obs = observations
    before = observations.clone()

    def act(balls):
        return learner.actor(before.clone().update({"balls": balls}))

    expected = audit(act, before["balls"], 3, torch.Generator().manual_seed(5))
    assert learner.audit(samples=3, seed=5) == expected and min(expected.values()) > 0
    assert all(torch.equal(observations[name], before[name]) for name in before.keys())


@pytest.mark.parametrize(("spent", "expected"), [(0.0, 0.02), (0.5, 0.011), (1.0, 0.002)])
def test_steps_become_smaller_towards_the_end_of_the_budget(spent, expected):
    learner = make("pfds", "ppo.kl_target=0.02", "ppo.kl_end=0.1")
    learner.collect()
    learner.update(spent)
    assert learner.ppo.desired_kl == pytest.approx(expected)
