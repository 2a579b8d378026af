"""A lesson is a number that starts easy where training teaches it, and has its full value everywhere else."""

from __future__ import annotations

import numpy as np
import pytest
from lesson_scenes import LAMP
from scene_files import AGENT, GOOD, SCENE, Save, run

from ecs_rl.arrays import F64
from ecs_rl.components import Clock
from ecs_rl.errors import SceneError
from ecs_rl.loading import load_scene
from ecs_rl.scene.lessons import Lesson, return_above, teach, unread
from ecs_rl.scene.scene import Scene
from ecs_rl.world import World

GAP = 'gap = arena.lesson("gap", 3.0, 1.5, when=return_above(0.7), steps=3)'


def with_lesson(*lines: str, disc: str = "Start(vx=1.0)", scene: str = "") -> str:
    """Return the good scene with these lines before its disc, and more in its Scene."""
    text = GOOD.replace("Start(vx=1.0)", disc).splitlines()
    text[AGENT - 3 : AGENT - 3] = [f"    {line}" for line in lines]
    text[SCENE - 1] = text[SCENE - 1].replace("max_ticks=20", f"max_ticks=20{scene}")
    return "\n".join(text) + "\n"


def loaded(save: Save, *lines: str, disc: str = "Start(vx=1.0)") -> Scene:
    return load_scene(str(save(with_lesson(*lines, disc=disc))))


def taught(world: World) -> None:
    """Begin anew with the easy end, as a training does."""
    teach(world.arena.lessons)
    world.start_over()


def value(world: World) -> list[float]:
    found: F64 = world.arena.lessons[0].value
    return [float(each) for each in found]


# --- values -----------------------------------------------------------------------------------------------------------


def test_a_world_that_nobody_teaches_has_the_full_task_from_the_first_episode_on(save: Save) -> None:
    assert value(run(loaded(save, GAP), ticks=45)) == [1.5] * 3


def test_an_arena_takes_a_step_over_when_its_next_episode_begins_and_not_before(save: Save) -> None:
    world = run(loaded(save, GAP), ticks=0)
    taught(world)
    assert value(world) == [3.0] * 3
    lesson = world.arena.lessons[0]
    lesson.since[:, 0] = world.one(Clock).episode + 1
    for _ in range(19):
        world.tick()
        assert value(world) == [3.0] * 3
    world.tick()
    assert value(world) == [2.5] * 3


def test_the_full_value_is_exact_whatever_the_steps() -> None:
    for steps in range(1, 40):
        lesson = Lesson("x", 0.1, 0.7, when=return_above(0.7), steps=steps)
        assert lesson.bounds(0.0) == (0.1, 0.1)
        assert lesson.bounds(steps / steps) == (0.7, 0.7)


def test_a_lesson_made_before_is_taken_as_it_is(save: Save) -> None:
    line = 'gap = arena.lesson(Lesson("gap", 3.0, 1.5, when=return_above(0.7)))'
    assert run(loaded(save, line), ticks=0).arena.lessons[0].lesson == Lesson("gap", 3.0, 1.5, when=return_above(0.7))


def test_a_start_reads_a_lesson(save: Save) -> None:
    world = run(loaded(save, GAP, disc="Start(x=lambda: gap.value)"), ticks=0)
    assert world.arena.roles[0].x.tolist() == [1.5] * 3
    taught(world)
    assert world.arena.roles[0].x.tolist() == [3.0] * 3


@pytest.mark.parametrize("kind", ["terrain", "path"])
def test_the_rule_of_a_line_reads_the_lessons_of_the_arenas_whose_line_is_drawn(save: Save, kind: str) -> None:
    rule = "lambda drawn: np.stack((np.tile([-1.0, 1.0], (len(drawn), 1)), np.tile(-gap.value[:, None], 2)), axis=2)"
    world = run(loaded(save, GAP, f"line = arena.{kind}({rule}, points=2, draws=1)"), ticks=0, arenas=4)
    lesson, respawn = world.arena.lessons[0], world.stages["respawn"]
    taught(world)
    lesson.since[1] = 0
    lesson.since[3, :2] = 0
    rows = np.array([1, 3])
    respawn.begin(rows)  # type: ignore[attr-defined]
    line = world.arena.terrains[0].earth if kind == "terrain" else world.arena.paths[0]
    assert line.points[:, :, 1].tolist() == [[-3.0] * 2, [-1.5] * 2, [-3.0] * 2, [-2.0] * 2]


def test_each_episode_draws_from_a_range_that_widens(save: Save) -> None:
    line = 'wind = arena.lesson("wind", jitter(0.0), jitter(6.0), when=return_above(0.7), steps=3)'
    world = run(loaded(save, line), ticks=0, arenas=400)
    full = np.array(value(world))
    assert -6.0 < full.min() < -5.5
    assert 5.5 < full.max() < 6.0
    taught(world)
    assert set(value(world)) == {0.0}
    world.arena.lessons[0].since[:, 0] = 0
    world.start_over()
    assert np.allclose(value(world), full / 3.0)  # the same draws


def test_one_lesson_changes_no_draw_of_the_scene(save: Save) -> None:
    plain = run(loaded(save, "side = arena.random('side', jitter(1.0))"), ticks=30)
    taught_too = run(loaded(save, GAP, "side = arena.random('side', jitter(1.0))"), ticks=30)
    sides = [next(n for n in w.arena.numbers if n.name == "side").value.tolist() for w in (plain, taught_too)]
    assert sides[0] == sides[1]


def test_a_lesson_that_nothing_reads_is_found(save: Save) -> None:
    world = run(loaded(save, GAP, "far = lambda: gap.value"), ticks=3)
    assert unread(world.arena.lessons) == ["gap"]
    read = load_scene(str(save(with_lesson(GAP).replace('{"x": X(disc)}', '{"x": lambda: gap.value}'))))
    assert unread(run(read, ticks=3).arena.lessons) == []


def test_the_lamps_lesson_is_how_far_it_stands(save: Save) -> None:
    world = run(load_scene(str(save(LAMP))), ticks=0, arenas=16)
    lamp = next(role for role in world.arena.roles if role.name == "lamp")
    assert np.allclose(np.hypot(lamp.x, lamp.y), 8.0)
    taught(world)
    assert np.allclose(np.hypot(lamp.x, lamp.y), 1.0)


# --- what is refused --------------------------------------------------------------------------------------------------

REFUSED = [
    ("no condition", "arena.lesson('gap', 3.0, 1.5)", "", 8,
     "lesson 'gap' must say when it goes on: when=score_above(0.7), return_above(200) or elo_above(1300)"),
    ("an unknown condition", "arena.lesson('gap', 3.0, 1.5, when='score > 0.7')", "", 8,
     "lesson 'gap' cannot go on by 'score > 0.7': when=score_above(0.7), return_above(200) or elo_above(1300)"),
    ("a condition that is a rule", "arena.lesson('gap', 3.0, 1.5, when=lambda: True)", "", 8,
     "lesson 'gap' cannot go on by a lambda"),
    ("equal ends", "arena.lesson('gap', 3, 3.0, when=return_above(1))", "", 8,
     "lesson 'gap' goes from 3 to 3.0: its ends must differ"),
    ("equal ranges", "arena.lesson('gap', jitter(1), jitter(1.0), when=return_above(1))", "", 8, "must differ"),
    ("one end", "arena.lesson('gap', 3.0, when=return_above(1))", "", 8,
     "a lesson goes from an easy value to a full one: arena.lesson('gap', 3.0, 1.5, ...)"),
    ("an end that is no number", "arena.lesson('gap', 'wide', 3.0, when=return_above(1))", "", 8,
     "an end of lesson 'gap' must be a finite number, not 'wide'"),
    ("no steps", "arena.lesson('gap', 3.0, 1.5, when=return_above(1), steps=0)", "", 8,
     "the steps of lesson 'gap' must be a whole number of at least 1, not 0"),
    ("no episodes", "arena.lesson('gap', 3.0, 1.5, when=return_above(1), episodes=0)", "", 8, "the episodes of lesson"),
    ("no level", "arena.lesson('gap', 3.0, 1.5, when=return_above('much'))", "", 8,
     "the level of return_above must be a finite number, not 'much'"),
    ("a rise that falls", "arena.lesson('gap', 3.0, 1.5, when=return_above(1, rise=-1))", "", 8,
     "the rise of return_above must not be negative, not -1"),
    ("a name that is taken", "arena.number('gap'); arena.lesson('gap', 3.0, 1.5, when=return_above(1))", "", 8,
     "there is a number 'gap' already"),
    ("a name that no file can hold", "arena.lesson('a/b', 3.0, 1.5, when=return_above(1))", "", 8,
     "a lesson is named with letters"),
    ("more than the lesson", "arena.lesson(Lesson('gap', 3.0, 1.5, when=return_above(1)), 2.0)", "", 8,
     "lesson 'gap' says all itself"),
    ("a score where there is none", "arena.lesson('gap', 3.0, 1.5, when=score_above(0.7))", "", 7,
     "lesson 'gap' goes by the score, and Scene(score=...) names none: use return_above"),
    ("a score that nobody declares", "arena.lesson('gap', 3.0, 1.5, when=score_above(0.7, 'far'))", "", 7,
     "lesson 'gap' goes by a score 'far' that is not there: add arena.score(name, rule)"),
    ("a value while building", "print(arena.lesson('gap', 3.0, 1.5, when=return_above(1)).value)", "", 8,
     "has no numbers before the world runs"),
    ("a system that writes it", f"{GAP}; arena.system(lambda: setattr(gap, 'value', 2.0), writes=(gap,), name='spoil')",
     "", 8, "'gap' is a lesson: it goes on as training gets good, and no system writes it"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "scene", "line", "message"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_what_is_no_lesson_is_told_by_file_line_and_cure(
    save: Save, text: str, scene: str, line: int, message: str
) -> None:
    path = save(with_lesson(text, scene=scene))
    with pytest.raises(SceneError) as refused:
        run(load_scene(str(path)))
    assert str(refused.value).startswith(f"{path}, line {line}: ")
    assert message in str(refused.value)
