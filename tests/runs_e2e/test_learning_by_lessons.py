"""A training goes through the lessons of its scene by what its episodes came to, and says so wherever it is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pygame
import pytest
from command_runs import TINY, Told, play, rows, train
from lesson_scenes import FAR, LAMP, SCHOOL
from score_scenes import DUEL
from small_learners import PPO

from ecs_rl.agents.config import PPOConfig
from ecs_rl.components import Clock
from ecs_rl.errors import CheckpointError
from ecs_rl.loading import load_scene
from ecs_rl.many.seeds_report import lessons_of
from ecs_rl.records import LESSON_STEP
from ecs_rl.runs.manifest import LessonFacts
from ecs_rl.scene.lessons import NEVER
from ecs_rl.session import EpisodeRecord
from ecs_rl.session.diagnosis import Diagnosis
from ecs_rl.training.prepare import prepare
from ecs_rl.training.settings import TrainingSettings
from ecs_rl.training.training import Training
from ecs_rl.viewer.canvas import Canvas
from ecs_rl.viewer.history import History
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.panels.status import Status, StatusView

LEARNS = ("--arenas", "64", "--steps", "26k", "--schedule-steps", "150k", "--eval-every", "8k", "--threads", "1")
STEP = f"{LESSON_STEP}way"


def saved(folder: Path, text: str, name: str = "lamp") -> Path:
    path = folder / f"{name}.py"
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Told:
    folder = tmp_path_factory.mktemp("learned")
    told = train(saved(folder, LAMP), *LEARNS, "--runs", folder / "runs", "--json")
    assert told.code == 0, told.err
    return told


def training_of(path: Path, *, arenas: int = 8, debug: bool = False) -> Training:
    config = PPOConfig(rollout=16, minibatch=64, epochs=2, hidden=(16,))
    settings = TrainingSettings(arenas=arenas, steps=4000, eval_every=1000, eval_episodes=2)
    return prepare(load_scene(str(path)), "ppo", config, settings, debug=debug)


# --- what is decided --------------------------------------------------------------------------------------------------


def test_a_step_comes_when_the_newest_episodes_since_the_last_one_are_good_enough(learned: Told) -> None:
    episodes = rows(learned.run, "train_episodes")
    taken = {int(row["extras"][STEP]) for row in episodes}
    assert taken == set(range(max(taken) + 1))
    assert max(taken) >= 1
    moments = [min(r["total_steps"] for r in episodes if r["extras"][STEP] == step) for step in sorted(taken)]
    for step, moment in enumerate(moments[1:]):
        before = [row for row in episodes if row["extras"][STEP] == step and row["total_steps"] < moment]
        scores = [row["extras"]["score/found"] for row in before]
        assert len(scores) >= 100
        rolling = [np.mean(scores[i : i + 100]) > 0.7 for i in range(len(scores) - 99)]
        assert any(rolling)
        first = 100 + rolling.index(True)  # episodes until it was due: nobody began at the next step before
        assert moment > before[first - 1]["total_steps"]
        settled = [
            r["extras"][STEP] for r in episodes if r["total_steps"] > before[first - 1]["total_steps"] + 64 * 101
        ]
        assert min(settled, default=step + 1) > step  # and after the longest episode nobody plays the old one


def test_evaluations_have_the_full_task_from_the_first_one_on(learned: Told) -> None:
    assert {row["extras"][STEP] for row in rows(learned.run, "eval_episodes")} == {7.0}


def test_the_same_seed_learns_the_same_and_goes_on_at_the_same_steps(learned: Told, tmp_path: Path) -> None:
    again = train(saved(tmp_path, LAMP), *LEARNS, "--runs", tmp_path / "runs", "--json")
    assert again.sha == learned.sha
    metrics = [[(r["total_steps"], r["lesson/way"]) for r in rows(told.run, "metrics")] for told in (again, learned)]
    assert metrics[0] == metrics[1]


def test_a_lesson_never_declares_less_than_it_changes(tmp_path: Path) -> None:
    training = training_of(saved(tmp_path, SCHOOL), debug=True)
    for _ in range(120):
        training.tick()
    assert training.lessons.parts[0].step > 2
    training.close()


def test_episodes_from_before_a_step_do_not_count(tmp_path: Path) -> None:
    training = training_of(saved(tmp_path, LAMP))
    part = training.lessons.parts[0]

    def ended(step: float, score: float) -> EpisodeRecord:
        return EpisodeRecord(0.0, 9, "Terminated", {STEP: step, "score/found": score})

    training.lessons.take([ended(0.0, 1.0)] * 99)
    training.lessons.advance(training.lessons.due)
    assert part.step == 0
    training.lessons.take([ended(0.0, 1.0), ended(0.0, np.nan)])
    training.lessons.advance(training.lessons.due)
    assert (part.step, len(part.results)) == (1, 0)
    training.lessons.take([ended(0.0, 1.0)] * 100 + [ended(1.0, 0.0)])
    assert list(part.results) == [0.0]
    training.lessons.take([ended(1.0, 1.0)] * 69)
    assert not part.is_due
    training.lessons.take([ended(1.0, 0.7)] * 100)  # 0.7 is not above 0.7
    assert not part.is_due
    training.lessons.take([ended(1.0, 0.71)])
    assert part.is_due
    training.close()


def test_what_is_asked_for_rises_with_the_steps_and_every_arena_counts(tmp_path: Path) -> None:
    text = LAMP.replace("score_above(0.7)", "return_above(1.0, rise=2.0)").replace("steps=7)", "steps=7, episodes=5)")
    training = training_of(saved(tmp_path, text))
    part = training.lessons.parts[0]
    assert part.results.maxlen == 8
    part.results.extend([1.5] * 8)
    assert part.is_due
    part.step = 1
    assert not part.is_due
    part.results.extend([3.5] * 8)
    assert part.is_due
    part.step = 7
    assert not part.is_due
    training.close()


# --- where it is told -------------------------------------------------------------------------------------------------


def test_the_step_is_in_the_metrics_the_messages_and_the_json(learned: Told) -> None:
    metrics = rows(learned.run, "metrics")
    steps = [row["lesson_step/way"] for row in metrics]
    assert steps == sorted(steps)
    assert (steps[0], metrics[0]["lesson/way"]) == (0.0, 1.0)
    last = learned.json["lessons"]["way"]
    assert last == {"value": 1.0 + last["step"], "step": int(steps[-1]), "steps": 7}
    told = [line for line in learned.err.splitlines() if "lesson way" in line and line.startswith("train.py: at step")]
    assert len(told) == last["step"] >= 1
    assert told[0].endswith("lesson way 2 (1/7)")
    assert f"lesson way {last['value']:g} ({last['step']}/7)" in learned.err


def test_a_range_is_told_by_both_of_its_ends(tmp_path: Path) -> None:
    training = training_of(saved(tmp_path, SCHOOL))
    found = training.lessons.metrics()
    assert (found["lesson/wind/low"], found["lesson/wind/high"], found["lesson_step/wind"]) == (0.0, 0.0, 0.0)
    assert training.lessons.summary()["wind"] == {"value": [0.0, 0.0], "step": 0, "steps": 9}
    assert str(training.lessons) == "low 0 (0/20), wind 0 to 0 (0/9), place 0 (0/7)"
    training.close()


def test_several_seeds_tell_how_many_came_to_the_full_task() -> None:
    runs = [{"lessons": {"way": {"value": 8.0, "step": step, "steps": 7}}} for step in (7, 7, 3)]
    assert lessons_of(runs) == ["lesson way: 2 of 3 came to the full task, else at 3/7"]
    assert lessons_of([{}, {}]) == []


def status_line(view: StatusView) -> list[str]:
    """Return the words of the status line."""
    canvas, surface = Canvas(), pygame.Surface((1280, 34))
    canvas.begin(surface)
    with canvas.painting("status"):
        Status().paint(canvas, view, surface.get_rect())
    return [text for _, text in canvas.texts()]


def test_the_window_names_the_lesson_and_marks_its_steps_on_the_curve(learned: Told) -> None:
    marks = [words for _, words in History(learned.run).refresh().changes]
    steps = learned.json["lessons"]["way"]["step"]
    assert [words for words in marks if not words.startswith("first ")] == [f"way {i + 2}" for i in range(steps)]
    words = status_line(StatusView("lamp", lessons="way 2 (1/7)"))
    assert words[words.index("lesson") + 1] == "way 2 (1/7)"
    assert "lesson" not in status_line(StatusView("lamp"))


def test_a_training_arena_on_the_stage_ends_its_episode_and_the_next_is_the_full_task(tmp_path: Path) -> None:
    training = training_of(saved(tmp_path, LAMP))
    show = LiveEpisode(training.world.scene, training.agents, seeds=[10_000])
    (lesson,) = show.world.arena.lessons
    assert lesson.value.tolist() == [8.0]
    show.adopt(training.world, 3, "training arena 3")
    assert lesson.value.tolist() == [1.0]
    show.new_episode()
    assert lesson.value.tolist() == [8.0]
    show.close()
    training.close()


def test_a_check_lists_lessons_and_notes_one_that_nothing_reads(tmp_path: Path) -> None:
    told = train(saved(tmp_path, LAMP), "--check")
    assert told.code == 0
    assert "  way                      1 -> 8 in 7 steps, each when score above 0.7" in told.out
    assert "note:" not in told.out
    idle = LAMP.replace(
        "    side = ", '    arena.lesson("wind", jitter(0.0), jitter(1.0), when=return_above(2))\n    side = '
    )
    told = train(saved(tmp_path, idle), "--check", "--json")
    assert told.code == 0
    assert told.json["notes"] == ["nothing reads lesson 'wind': take wind.value in a start, a terrain or a rule"]
    assert [(each["name"], each["easy"], each["full"]) for each in told.json["lessons"]] == [
        ("way", "1", "8"),
        ("wind", "0 to 0", "-1 to 1"),
    ]


def test_the_diagnosis_does_not_compare_results_of_different_lessons() -> None:
    def found(step: float) -> object:
        d = Diagnosis(100_000, solved_at=1.0)
        for i in range(100):
            row = {"total_steps": 1000.0 * (i + 1), "rollout/mean_return": 0.0, "rollout/std_return": 0.1}
            d.add(row | {"lesson_step/way": step})
        return d.finding

    assert "nothing learned" in str(found(0.0))
    assert found(1.0) is None


# --- with self-play ---------------------------------------------------------------------------------------------------

POOL = ("--self-play", "--pool-every", 500, "--pool-size", 3)
FIELD = '    far = arena.lesson("far", 90.0, 30.0, when={when}, steps=4, episodes=10)\n    carts = '


def test_self_play_goes_on_by_elo_and_by_nothing_else(tmp_path: Path) -> None:
    def duel(when: str) -> Path:
        text = DUEL.replace("    carts = ", FIELD.format(when=when))
        return saved(
            tmp_path,
            text.replace(
                "    for i, cart in enum", "    arena.score('far', lambda: far.value)\n    for i, cart in enum"
            ),
            "duel",
        )

    told = train(duel("elo_above(1000)"), *TINY, *POOL, "--runs", tmp_path / "runs", "--json")
    assert told.code == 0, told.err
    assert told.json["lessons"]["far"]["step"] >= 2
    told = train(duel("elo_above(9000)"), *TINY, *POOL, "--runs", tmp_path / "runs", "--json")
    assert told.json["lessons"]["far"]["step"] == 0
    told = train(duel("elo_above(1000)"), *TINY, "--runs", tmp_path / "runs")
    assert told.code == 2
    assert "lesson 'far' goes on by Elo, which only --self-play has: add --self-play, or take score_above" in told.err
    told = train(duel("return_above(1)"), *TINY, *POOL, "--runs", tmp_path / "runs")
    assert told.code == 2
    assert "lesson 'far' goes on by return above 1, and results against oneself say nothing: take elo_above" in told.err


# --- saved and gone on with -------------------------------------------------------------------------------------------


def test_a_run_from_before_there_was_a_lesson_goes_on_with_its_easy_end(tmp_path: Path) -> None:
    path, flags = saved(tmp_path, FAR), (*PPO, "--arenas", "8", "--eval-every", "1000", "--eval-episodes", "2")
    first = train(path, *flags, "--steps", "1k", "--runs", tmp_path / "runs", "--json")
    saved(tmp_path, LAMP)
    told = train(path, "--resume", first.run, "--steps", "3k", "--runs", tmp_path / "runs", "--json")
    assert told.code == 0, told.err
    assert told.json["lessons"]["way"]["step"] == 0
    steps = [row["extras"][STEP] for row in rows(told.run, "train_episodes") if row["total_steps"] > 1800]
    assert set(steps) == {0.0}


def test_a_checkpoint_whose_lesson_stands_elsewhere_than_its_arenas_is_refused(tmp_path: Path) -> None:
    training = training_of(saved(tmp_path, LAMP))
    with pytest.raises(CheckpointError, match="the saved lesson 'way' stands at step 2, and its arenas elsewhere"):
        training.lessons.restore({"way": LessonFacts(step=2)})
    training.lessons.restore({"way": LessonFacts(step=0, results=[1.0, 0.0])})
    assert list(training.lessons.parts[0].results) == [1.0, 0.0]
    assert (training.lessons.parts[0].taught.since == NEVER).all()
    assert (training.world.one(Clock).episode == 0).all()
    training.close()


def test_what_was_learned_by_lessons_is_played_back_on_the_full_task(learned: Told) -> None:
    told = play(learned.run, "--headless", "--json")
    metadata_best = learned.json["best_eval"]
    assert told.json["mean_score"] == metadata_best
