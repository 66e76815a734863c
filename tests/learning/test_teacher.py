"""Who labels a student's steps: the very policy it was launched for, or the controller."""

from dataclasses import asdict, replace

import pytest
import torch

from s2m.cluster.distill import compose_student
from s2m.config.compose import from_dict
from s2m.config.distill import StudentCfg
from s2m.config.sim import DummyCfg
from s2m.console.errors import UserError
from s2m.env.transport import TransportEnv
from s2m.learning.teacher import AgentTeacher, Classroom, PolicyTeacher
from s2m.policy.stored import Trained
from tests.taught import STUDENT
from tests.words import latest


@pytest.fixture
def cfg(teacher):
    return compose_student(latest(f"teacher={teacher.path}", *STUDENT, "distill.num_envs=4"))


@pytest.fixture
def env(cfg):
    env = TransportEnv(cfg.environment(), balls=torch.tensor([1, 2, 3, 5]))
    env.step(torch.randn(4, 12, generator=torch.Generator().manual_seed(0)))
    yield env
    env.close()


def with_distill(cfg, **changes):
    return replace(cfg, distill=replace(cfg.distill, **changes))


@pytest.mark.parametrize("labels", ["clean", "noisy"])
def test_labels_follow_the_balls_that_are_asked_for_and_acts_the_noisy_ones(cfg, env, labels):
    cfg = with_distill(cfg, labels=labels)
    teacher, trained = Classroom(cfg).teacher(env), Trained(cfg.teacher)
    observed = env.get_observations()
    noisy = trained.act(observed)
    clean = trained.act(observed.clone().update({"balls": observed["balls_clean"]}))
    assert not torch.equal(noisy, clean)
    teacher.observe()
    (label,) = teacher.finish()
    torch.testing.assert_close(label, clean if labels == "clean" else noisy)
    torch.testing.assert_close(teacher.act(), noisy)


def test_states_are_labelled_in_batches_and_none_is_lost(cfg, env):
    teacher = Classroom(with_distill(cfg, teacher_batch=9)).teacher(env)
    counts, labels = [], []
    for _ in range(5):
        teacher.observe()
        labels += (ready := teacher.labels())
        counts.append(len(ready))
        env.step(torch.zeros(4, 12))
    labels += teacher.finish()
    assert counts == [0, 2, 0, 2, 0]
    assert [label.shape for label in labels] == [(4, 12)] * 5
    assert teacher.finish() == []


def test_a_batch_gives_the_labels_that_single_steps_give(cfg, env):
    one, many = (Classroom(with_distill(cfg, teacher_batch=size)).teacher(env) for size in (1, 100))
    single = []
    for _ in range(4):
        one.observe()
        many.observe()
        single += one.labels()
        env.step(torch.zeros(4, 12))
    torch.testing.assert_close(torch.stack(single), torch.stack(many.finish()))


def test_labels_stay_within_the_actions_that_are_possible(cfg, env):
    clip = 1e-3
    cfg = replace(cfg, task=replace(cfg.task, action=replace(cfg.task.action, clip=clip)))
    trained = Trained(cfg.teacher)
    teacher = PolicyTeacher(trained, env, cfg)
    teacher.observe()
    (label,) = teacher.finish()
    assert label.abs().max() == pytest.approx(clip)


def test_a_student_is_taught_by_the_checkpoint_it_was_launched_for(cfg):
    config = replace(cfg, taught_by=replace(cfg.taught_by, checkpoint="0" * 64))
    with pytest.raises(UserError, match="no longer has the checkpoint 000000000000 that"):
        Classroom(config)


def test_the_controller_labels_at_once_from_the_tilt_that_was_commanded():
    cfg = StudentCfg(sim=DummyCfg())
    cfg.distill.num_envs = 2
    env = TransportEnv(cfg.environment(), balls=torch.tensor([1, 5]))
    teacher = Classroom(cfg).teacher(env)
    assert isinstance(teacher, AgentTeacher)
    labels = []
    env.episode_length_buf[:] = 1
    for driven in (0.0, 0.5):
        env.action[:] = driven
        teacher.observe()
        labels += teacher.labels()
    assert len(labels) == 2 and not torch.equal(*labels)
    assert teacher.finish() == []


def test_what_a_student_s_config_holds_is_enough_to_find_its_teacher(cfg):
    again = from_dict(StudentCfg, asdict(cfg))
    assert Classroom(again).trained.folder.identity.signature == cfg.taught_by.signature
