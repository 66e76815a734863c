"""What a shell completes behind a command."""

import pytest

from s2m.config.completion import candidates
from s2m.config.search import search_in


@pytest.mark.parametrize(
    ("command", "begun", "found"),
    [
        ("launch", "ppo.le", ["ppo.learning_rate="]),
        ("launch", "encoder=set", ["encoder=set_transformer", "encoder=set_transformer_pf"]),
        ("launch", "encoder=pfds,fl", ["encoder=pfds,flat_mlp"]),
        ("launch", "permute=", ["permute=true", "permute=false"]),
        ("launch", "normalise=fr", ["normalise=frozen"]),
        ("launch", "ppo.gamma=", ["ppo.gamma=0.99"]),
        ("launch", "+sweep=enc", ["+sweep=encoders"]),
        ("launch", "cluster.part", ["cluster.partition="]),
        ("launch", "nonsense=", []),
        ("distill", "distill=de", ["distill=demo", "distill=desktop"]),
        ("replay", "agent=", ["agent=lqr"]),
        ("status", "", []),
    ],
)
def test_settings_and_values_are_completed(command, begun, found):
    assert candidates(command, begun) == found


def test_an_empty_word_offers_groups_not_every_setting():
    found = candidates("launch", "")
    assert {"encoder=", "ppo.", "seed=", "+sweep="} <= set(found) and len(found) < 45


def test_a_group_that_is_the_only_one_is_opened():
    assert "task.reward.margin=" in candidates("launch", "task.rew")


def test_names_of_a_folder_of_ones_own_are_completed(tmp_path):
    (tmp_path / "ppo").mkdir()
    (tmp_path / "ppo" / "slow.yaml").touch()
    assert candidates("launch", "ppo=s", search_in([tmp_path])) == ["ppo=slow"]
