"""The forecast of a GPU's memory holds what tensors of a run take, as far as a CPU can tell."""

import pytest
import torch
from tensordict import TensorDict

from s2m.cluster.memory import ASSUMED, PAPER_WIDTH, STORED, gpu_memory, kept
from s2m.config.compose import load
from s2m.config.encoder import cards
from s2m.config.run import RunCfg
from s2m.env.transport import TransportEnv
from s2m.learning.ppo import Learner

N = 16


def tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    parts = value.values() if isinstance(value, dict | TensorDict) else value
    return [found for part in parts for found in tensors(part)]


def learner_of(encoder):
    """Return a learner of the paper's size whose five balls all lie on the plate."""
    words = [f"encoder={encoder}", "budget=paper", "sim=dummy", "curriculum.start=5"]
    cfg = load(RunCfg, [*words, f"budget.num_envs={N}"])
    torch.manual_seed(0)
    return Learner(cfg, TransportEnv(cfg.environment()))


def test_a_sample_of_the_rollout_is_as_large_as_forecast():
    learner = learner_of("flat_mlp")
    learner.collect()
    storage = learner.ppo.storage
    kinds = torch.Tensor | TensorDict | tuple
    held = [value for value in vars(storage).values() if isinstance(value, kinds)]
    found = [t for t in tensors(held) if isinstance(t, torch.Tensor) and t.shape[:2] == (24, N)]
    assert sum(t.numel() * t.element_size() for t in found) == STORED * 24 * N


@pytest.mark.parametrize("encoder", cards())
def test_the_update_keeps_as_much_of_a_sample_as_forecast(encoder):
    learner = learner_of(encoder)
    networks = (learner.ppo.actor, learner.ppo.critic)
    weights = {p.untyped_storage().data_ptr() for part in networks for p in part.parameters()}
    kept = {}

    def keep(tensor):
        memory = tensor.untyped_storage()
        kept[memory.data_ptr()] = (memory.nbytes(), tensor)  # held, so that no address comes twice
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        outputs = [part(learner.obs) for part in networks]
    assert all(output.requires_grad for output in outputs)
    size = sum(nbytes for place, (nbytes, _) in kept.items() if place not in weights)
    assert size / N == pytest.approx(cards()[encoder].kept, rel=0.1)


def test_every_encoder_fits_where_its_budget_is_for():
    for encoder in cards():
        small = load(RunCfg, ["budget=workstation", f"encoder={encoder}"])
        large = load(RunCfg, ["budget=paper", "sim=warp", f"encoder={encoder}"])
        assert sum(gpu_memory(small).values()) < 8e9
        assert sum(gpu_memory(large).values()) < 16e9


OWN = b"""
class Mine:
    name = "mine"
    group = "G_0"
    label = "Mine"
    kept = 116_000
"""


def test_an_encoder_of_ones_own_says_what_it_keeps_or_is_taken_for_pfds():
    cfg = load(RunCfg, ["budget=paper", "sim=warp", f"encoder={ASSUMED}"])
    assert cfg.encoder.width == PAPER_WIDTH and kept(cfg, {}) == 58_000
    pfds = gpu_memory(cfg)["update"]
    cfg.encoder.name = "mine"
    silent = OWN.replace(b"kept", b"other")
    assert kept(cfg, {"encoder/mine.py": silent}) == 0
    assert gpu_memory(cfg, {"encoder/mine.py": silent})["update"] == pfds
    assert gpu_memory(cfg, {"encoder/mine.py": OWN})["update"] == 2 * pfds


def test_of_other_simulators_nothing_is_known():
    assert gpu_memory(load(RunCfg, ["budget=paper"])) is None
