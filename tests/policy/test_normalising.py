"""Statistics per slot: what rsl-rl's normalisation does to balls that come later."""

from dataclasses import asdict

import pytest
import torch

from s2m.config.compose import load
from s2m.config.encoder import cards
from s2m.config.run import RunCfg
from s2m.console.errors import UserError
from s2m.encoders.flat_mlp import FlatMLP
from s2m.encoders.pfds import PerFrameDeepSets
from s2m.env.transport import TransportEnv
from s2m.learning.ppo import Learner
from s2m.policy.normalising import FREEZES, SlotStatistics, make_statistics
from s2m.policy.onnx import export
from s2m.policy.stored import Trained
from s2m.run.folder import RunFolder
from s2m.run.status import FINISHED
from s2m.stages.execute import execute

TINY = [
    "sim=dummy", "budget=demo", "budget.num_envs=8", "budget.steps=6", "budget.iterations=12",
    "encoder.width=8", "encoder.embedding=8", "ppo.mini_batches=2", "evaluate.episodes=2",
    "evaluate.selection_episodes=2",
]  # fmt: skip


def config(*words):
    return load(RunCfg, [*TINY, *words])


def learner(*words):
    cfg = config(*words)
    torch.manual_seed(0)
    return Learner(cfg, TransportEnv(cfg.environment()))


def test_they_freeze_at_the_fraction_of_the_budget_at_which_rsl_rl_2_does():
    paper = make_statistics(load(RunCfg, ["normalise=frozen", "budget=paper"]), (6, 5, 14))
    desktop = make_statistics(load(RunCfg, ["normalise=frozen"]), (6, 5, 14))
    assert paper is not None and desktop is not None
    assert paper.seen.until == 10**8
    balls = torch.rand(6144, 6, 5, 14)
    seen = []
    for _ in range(20):
        desktop.update(balls)
        seen.append(int(desktop.seen.count))
    assert len(set(seen)) == 17 == round(FREEZES * 500)


def test_running_ones_never_freeze_and_fixed_ones_are_not_there():
    running = make_statistics(config("normalise=running"), (6, 5, 14))
    assert running is not None and running.seen.until is None
    assert make_statistics(config(), (6, 5, 14)) is None
    assert not any("statistics" in name for name in learner().actor.state_dict())


def test_a_slot_that_was_never_active_is_blown_up_and_the_activity_left_alone():
    statistics = SlotStatistics((1, 2, 3), None)
    balls = torch.zeros(1000, 1, 2, 3)
    balls[:, 0, 0] = torch.randn(1000, 3)
    balls[..., 0, -1] = 1.0
    for _ in range(50):
        statistics.update(balls)
    late = torch.tensor([[[[0.5, 0.5, 1.0], [0.5, 0.5, 1.0]]]])
    known, new = statistics(late)[0, 0]
    assert known[:2].abs().max() < 1 and known[2] == new[2] == 1
    assert new[:2].tolist() == pytest.approx([50.0, 50.0], rel=0.1)


@pytest.mark.parametrize("encoder", ["pfds", "dshc"])
def test_the_audit_shows_that_no_encoder_is_invariant_behind_them(encoder):
    """Trained with one ball in the first slot, then audited with five."""
    gaps = {}
    for normalise in ("fixed", "frozen"):
        one = learner(f"encoder={encoder}", f"normalise={normalise}", "permute=false")
        for _ in range(3):
            one.collect()
            one.update(0.1)
        cfg = one.cfg
        env = TransportEnv(cfg.environment(), balls=torch.full((8,), 5))
        env.step(torch.zeros(8, 12))
        one.obs = one.scaler(env.get_observations())
        gaps[normalise] = one.audit(4, seed=0)["symmetry/diag_max"]
    assert gaps["fixed"] < 1e-5 < 1e-3 < gaps["frozen"]


def test_statistics_are_in_the_checkpoint_and_in_the_exported_model(tmp_path):
    folder = RunFolder.create(tmp_path / "run", asdict(config("normalise=frozen")))
    assert execute(folder) == FINISHED
    trained = Trained(folder.path)
    assert trained.actor.statistics is not None
    assert trained.actor.statistics.seen.count > 0
    assert not trained.actor.statistics.training
    assert export(str(folder.path), str(tmp_path), steps=20) == 0


def test_the_critic_may_have_an_encoder_of_its_own():
    one = learner("critic.encoder=flat_mlp")
    assert isinstance(one.actor.encoder, PerFrameDeepSets)
    assert isinstance(one.ppo.critic.encoder, FlatMLP)
    actor, critic = (
        sum(p.numel() for name, p in net.named_parameters() if name.startswith("encoder."))
        for net in (one.ppo.actor, one.ppo.critic)
    )
    assert critic == pytest.approx(actor, rel=0.05)
    for name in cards():
        assert learner(f"critic.encoder={name}").ppo.critic.encoder is not None


def test_names_of_no_encoder_and_of_no_normalisation_are_refused():
    with pytest.raises(UserError, match="unknown critic.encoder 'flat'"):
        config("critic.encoder=flat")
    with pytest.raises(UserError, match="unknown normalise 'froze'"):
        config("normalise=froze")
