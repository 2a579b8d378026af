"""A score is what an episode came to by a rule of its own, whatever was earned; what makes none is refused by line."""

from __future__ import annotations

import numpy as np
import pytest
from scene_files import AGENT, GOOD, SCENE, Save, run

from ecs_rl.components import Finished
from ecs_rl.errors import SceneError
from ecs_rl.loading import load_scene
from ecs_rl.results import Results
from ecs_rl.training_stages.tally import records_of
from ecs_rl.world import World

COUNTED = "coins = arena.number('coins', start=3.0); "


def with_scores(*lines: str, scene: str = "") -> str:
    """Return the good scene with these lines before its agent, and more in its Scene."""
    text = GOOD.splitlines()
    text[AGENT - 1 : AGENT - 1] = [f"    {line}" for line in lines]
    text[SCENE - 1] = text[SCENE - 1].replace("max_ticks=20", f"max_ticks=20{scene}")
    return "\n".join(text) + "\n"


REFUSED = [
    ("two of a name", ["arena.score('c', X(disc))", "arena.score('c', lambda: disc.x)"], "", 11,
     "there is a score 'c' already: give this one another name"),
    ("no name", ["arena.score('', lambda: disc.x)"], "", 10, "a score needs a name"),
    ("a name that is no word", ["arena.score('a/b', lambda: disc.x)"], "", 10, "a score is named with letters"),
    ("no rule", ["arena.score('c', 3.0)"], "", 10, "the score 'c' must be a rule such as `lambda: coins.value`, not 3"),
    ("a number itself", [f"{COUNTED}arena.score('c', coins)"], "", 10, "must be a rule such as `lambda: coins.value`"),
    ("two numbers", ["arena.score('c', lambda: disc.position)"], "", 10,
     "the score 'c' must give one number per arena, not (3, 2) of float64"),
    ("words", ["arena.score('c', lambda: 'much')"], "", 10, "the score 'c' must give one number per arena"),
    ("a score that nobody declares", [], ", score='c'", 7,
     "Scene(score='c') names a score that `build` does not declare: add arena.score('c', rule)"),
    ("another name", ["arena.score('coins', lambda: disc.x)"], ", score='coin'", 7, "did you mean 'coins'?"),
    ("a score that is no name", [], ", score=3", 4, "score must be the name of an arena.score, not 3"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "scene", "line", "message"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_what_is_no_score_is_told_by_file_line_and_cure(
    save: Save, lines: list[str], scene: str, line: int, message: str
) -> None:
    path = save(with_scores(*lines, scene=scene))
    with pytest.raises(SceneError) as refused:
        run(load_scene(str(path)))
    assert str(refused.value).startswith(f"{path}, line {line}: ")
    assert message in str(refused.value)


@pytest.mark.parametrize("earns", ["{'score/c': 1.0}", "{'score/other': 1.0}"])
def test_a_reward_cannot_be_named_as_scores_are_told(save: Save, earns: str) -> None:
    with pytest.raises(SceneError, match="must not begin with 'score/'"):
        load_scene(str(save(GOOD.replace('{"x": X(disc)}', earns))))


def test_an_agent_cannot_be_named_as_scores_are_told(save: Save) -> None:
    with pytest.raises(SceneError, match="an agent cannot be named 'score'"):
        load_scene(str(save(GOOD.replace("sees=", "name='score', sees="))))


@pytest.mark.parametrize("value", ["np.nan", "np.inf"])
def test_a_score_that_is_not_finite_tells_arena_tick_and_value(save: Save, value: str) -> None:
    lines = ["late = lambda: np.where((disc.x > 0.1) & (np.arange(len(disc.x)) == 1), " + value + ", disc.x)"]
    path = save(with_scores(*lines, "arena.score('far', late)"))
    with pytest.raises(SceneError) as refused:
        run(load_scene(str(path)), ticks=40)
    said = value.removeprefix("np.")
    told = f"line 10: the score 'far' gave a number that is not finite: {said} in arena 1 at tick 20 of its episode"
    assert str(refused.value) == f"{path}, {told}"


def test_a_score_that_is_bad_only_before_the_end_is_none_of_anybodys_business(save: Save) -> None:
    early = "arena.score('far', lambda: np.where(disc.x > 0.3, disc.x, np.nan))"
    assert run(load_scene(str(save(with_scores(early)))), ticks=40).ticks == 40


def episodes(save: Save, *lines: str) -> tuple[World, list[dict[str, float]]]:
    """Return a world, and the extras of all episodes that end in it within 40 ticks."""
    world = run(load_scene(str(save(with_scores(*lines)))), ticks=0)
    found = []
    for _ in range(40):
        world.tick()
        found += [dict(record.extras) for record in records_of(world, world.one(Finished))]
    assert len(found) == 6
    return world, found


def test_a_score_is_what_its_rule_gives_as_the_episode_ends(save: Save) -> None:
    _, found = episodes(
        save,
        COUNTED,
        "arena.system(lambda: np.add(coins.value, 1.0, out=coins.value), writes=(coins,), name='count')",
        "arena.score('coins', lambda: coins.value)",
        "arena.score('place', X(disc))",
        "arena.score('step', Progress(X(disc)))",
        "arena.score('nothing', lambda: np.zeros(len(disc.x)))",
        "arena.score('far', above(X(disc), 0.2))",
    )
    for extras in found:
        assert extras["score/coins"] == 3.0 + 20
        assert 0.2 < extras["score/place"] < 0.4
        assert 0 < extras["score/step"] < 0.1
        assert extras["score/nothing"] == 0.0
        assert extras["score/far"] == 1.0
        assert extras["x"] != extras["score/place"]


def test_what_declares_a_score_may_be_read_as_a_rule(save: Save) -> None:
    world, found = episodes(save, "far = arena.score('far', X(disc))", "arena.score('twice', lambda: 2.0 * far())")
    assert [extras["score/twice"] for extras in found] == [2.0 * extras["score/far"] for extras in found]
    world.tick()
    role = world.arena.roles[0]
    assert np.array_equal(Results(world).score("far"), role.x)


def test_what_stands_for_a_running_episode_is_the_score_that_the_scene_names(save: Save) -> None:
    lines = "arena.score('place', lambda: 5.0 + disc.x)"
    plain, scored = (run(load_scene(str(save(with_scores(lines, scene=s)))), 5) for s in ("", ", score='place'"))
    assert np.array_equal(Results(scored).now(), 5.0 + scored.arena.roles[0].x)
    assert (np.abs(Results(plain).now()) < 5.0).all()
