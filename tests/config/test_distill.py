import pytest

from s2m.config.distill import DistillCfg, StudentCfg, TaughtByCfg
from s2m.distill import main


@pytest.mark.parametrize(("rounds", "epochs", "more"), [(1, 7, 3), (2, 1, 0), (8, 2000, 500)])
def test_all_epochs_are_those_of_the_rounds(rounds, epochs, more):
    cfg = DistillCfg(rounds=rounds, epochs=epochs, epochs_more=more)
    assert cfg.epochs_of(0) == epochs
    assert cfg.total_epochs() == sum(cfg.epochs_of(i) for i in range(rounds))


def test_a_teacher_is_named_by_its_folder_or_as_an_agent():
    found = TaughtByCfg("pfds_off", 41, "0123456789abcdef", 100, "f" * 64)
    assert found.name == "pfds_off-s41-01234567"
    assert TaughtByCfg("lqr").name == "agent lqr"


def test_a_student_learns_in_its_teacher_s_task_with_a_plate_that_feels():
    cfg = StudentCfg(permute=False, seed=3)
    cfg.task.episode_steps = 9
    env = cfg.environment()
    assert (env.permute, env.seed, env.num_envs) == (False, 3, cfg.distill.num_envs)
    assert env.task.episode_steps == 9 and env.task.tactile_observation
    assert not cfg.task.tactile_observation


def test_help_has_no_settings_that_follow_from_others(capsys):
    main(["--help"])
    out = capsys.readouterr().out
    assert "\n  distill.rounds=" in out and "taught_by" not in out
