"""What `task=scattered` asks for: more than a plate held still, more than the mean ball."""

from s2m.config.compose import load
from s2m.config.run import RunCfg
from s2m.env.agents import AGENTS
from s2m.env.episodes import run_episodes

EPISODES = 12
CFG = load(RunCfg, ["task=scattered"])
LEVELS = [1, 2, 3, 4]


def judge(agent):
    """Length ratio and mean minimum margin by number of balls."""
    env = CFG.environment()
    rows = run_episodes(env, AGENTS[agent], LEVELS, EPISODES)
    lengths, margins = [], []
    for k in LEVELS:
        own = [row for row in rows if row["k"] == k]
        steps = sum(row["steps"] for row in own)
        lengths.append(steps / EPISODES / env.task.episode_steps)
        margins.append(sum(row["minimum_margin"] * row["steps"] for row in own) / steps)
    return lengths, margins


def test_the_lqr_meets_every_threshold_and_its_like_on_the_mean_ball_does_not():
    asked = CFG.curriculum.margin
    lengths, margins = judge("lqr")
    assert lengths == [1, 1, 1, 1]
    assert all(margin > least for margin, least in zip(margins, asked, strict=True))
    _, margins = judge("lqr_mean")
    met = [margin > least for margin, least in zip(margins, asked, strict=True)]
    assert met == [True, True, False, False]


def test_a_plate_held_still_loses_too_many_balls_at_every_level():
    lengths, _ = judge("zero")
    assert all(length < CFG.curriculum.length_ratio for length in lengths)
