"""Teams: the agents of a kind against those of another; their return is a mean, a score is the arena's."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_runs import TINY, play, rows, train

TEAMS = '''"""Two teams of two; the one that is further right on the whole is ahead."""

import numpy as np

from ecs_rl.scene import *

SCENE = Scene(about="Two teams.", max_ticks=30, gravity=(0.0, 0.0))


def build(arena: Arena) -> None:
    teams = [arena.spawn(name, Body(spins=False), Disc(0.2), Start(x=jitter(0.5), y=(2.0 * i, 2.0 * i + 1.0)), count=2)
             for i, name in enumerate(("red", "blue"))]
    arena.score("lead", lambda: teams[0].x.sum(axis=1) - teams[1].x.sum(axis=1))
    for i, team in enumerate(teams):
        other = teams[1 - i]
        arena.agent(
            of=team, name=team.name, policy=team.name,
            sees=[X(team), Vx(team)],
            does=Choice(left=Push(team, -5.0), right=Push(team, 5.0)),
            earns={"ahead": lambda team=team, other=other: team.x - other.x.mean(axis=1, keepdims=True)},
        )
'''


@pytest.mark.parametrize("score", ["", ", score='lead'"])
def test_teams_are_evaluated_by_their_mean_or_by_the_score_and_play_against_random_ones(
    tmp_path: Path, score: str
) -> None:
    scene = tmp_path / "teams.py"
    scene.write_text(TEAMS.replace("max_ticks=30", f"max_ticks=30{score}"))
    told = train(scene, *TINY, "--against", "random", "--runs", tmp_path / "runs", "--json")
    assert told.code == 0, told.err
    for episode in rows(told.run, "eval_episodes"):
        extras = episode["extras"]
        red, blue = ([extras[f"return/{name} {i}"] for i in (0, 1)] for name in ("red", "blue"))
        assert extras["return/red"] == pytest.approx(sum(red) / 2) == pytest.approx(episode["total_reward"])
        assert extras["return/blue"] == pytest.approx(sum(blue) / 2) == pytest.approx(-extras["return/red"])
        assert extras["red/ahead"] == pytest.approx(extras["return/red"])
    for episode in rows(told.run, "train_episodes"):
        assert episode["total_reward"] == pytest.approx(0.0, abs=1e-6)
    found = play(told.run, "--headless", "--json", "--scene", scene, "--against", "random", "--episodes", 20).json
    leads = found["scores" if score else "returns"]
    assert (found["wins"], found["losses"]) == (sum(x > 0 for x in leads), sum(x < 0 for x in leads))


def test_a_score_of_a_kind_is_refused_unless_it_is_one_number_per_arena(tmp_path: Path) -> None:
    scene = tmp_path / "teams.py"
    scene.write_text(TEAMS.replace("teams[0].x.sum(axis=1) - teams[1].x.sum(axis=1)", "teams[0].x"))
    told = train(scene, *TINY, "--runs", tmp_path / "runs")
    assert told.code == 2
    assert "the score 'lead' must give one number per arena, not (" in told.err
