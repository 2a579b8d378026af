"""The diagnosis keeps still while the scenes that come along are learned, and each alarm knows its pattern.

Recorded are rows of real trainings by the scenes' own recipes: every fourth one, and every second evaluation.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ecs_rl.loading import load_scene
from ecs_rl.session.diagnosis import LOOKS, OPPOSED, WORDS, Diagnosis, Finding, dwarfed, of_random_play
from ecs_rl.shipped import scene_names
from ecs_rl.world import policy_specs

ROOT = Path(__file__).parents[2]
RECORDED = Path(__file__).with_name("recorded") / "metrics.jsonl.gz"
Run = dict[str, Any]


def recorded() -> list[Run]:
    with gzip.open(RECORDED, "rt") as file:
        return [json.loads(line) for line in file]


RUNS = recorded()


def findings(diagnosis: Diagnosis, rows: list[dict[str, float]]) -> Iterator[Finding]:
    for row in rows:
        diagnosis.add(row)
        if diagnosis.finding is not None:
            yield diagnosis.finding


def of_scene(run: Run, **more: Any) -> Diagnosis:
    scene = load_scene(run["scene"])
    levers = sum(spec.actions.levers for spec in policy_specs(scene.describe()).values())
    goal = {"solved_at": scene.solved_at, "score": scene.score, "levers": levers} | more
    return Diagnosis(run["whole"], **goal)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run['scene']}-{run['seed']}")
def test_no_alarm_is_raised_while_a_scene_that_comes_along_is_learned(run: Run) -> None:
    assert list(map(str, findings(of_scene(run), run["rows"]))) == []


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run['scene']}-{run['seed']}")
def test_nor_where_the_scene_does_not_say_when_it_is_solved(run: Run) -> None:
    assert list(map(str, findings(of_scene(run, solved_at=None), run["rows"]))) == []


def test_the_recorded_runs_are_of_scenes_that_come_along_from_beginning_to_end() -> None:
    assert len({run["scene"] for run in RUNS}) >= 12
    assert len(RUNS) >= 39
    assert {run["scene"] for run in RUNS} <= set(scene_names())
    assert all(run["rows"][-1]["total_steps"] > 0.5 * run["whole"] and len(run["rows"]) > 50 for run in RUNS)


# --- patterns -------------------------------------------------------------------------------------------------------

WHOLE = 100
Number = Callable[[float], float]
Numbers = dict[str, Number | float]


def rows(**numbers: Number | float) -> list[dict[str, float]]:
    """Return a hundred rows; a number is a function of the share of the training that is over, `_` is `/`."""
    made = []
    for step in range(1, WHOLE + 1):
        told = {name.replace("__", "/"): x(step / WHOLE) if callable(x) else x for name, x in numbers.items()}
        made.append({"total_steps": step, "rollout/std_return": 5.0, **told})
    return made


def last(told: list[dict[str, float]], **goal: Any) -> str:
    found = list(findings(Diagnosis(WHOLE, **goal), told))
    return found[-1].name if found else ""


def falling(start: float, end: float) -> Number:
    return lambda share: start + (end - start) * min(1.0, 3 * share)


LEARNS: Numbers = {"rollout__mean_return": falling(0.0, 50.0), "eval__mean_return": falling(0.0, 60.0)}


def test_episodes_that_are_cut_short_to_pay_less_are_a_death_that_pays() -> None:
    shorter: Numbers = {"rollout__mean_length": falling(100.0, 15.0), "rollout__mean_return": falling(-100.0, -45.0)}
    assert last(rows(**shorter)) == "a death that pays"
    assert last(rows(**shorter), solved_at=-50.0) == "a death that pays"
    fined: Numbers = {"rollout__end/crashed": 1.0, "rollout__term/crashed": -5.0, "rollout__term/living": -50.0}
    cheap: Numbers = {**shorter, "rollout__mean_return": falling(-100.0, -16.0)}
    assert last(rows(**cheap, **fined)) == "a death that pays"
    assert last(rows(**cheap, eval__mean_return=falling(-100, -16)), solved_at=-20.0) == ""


def test_a_goal_that_is_reached_sooner_is_no_death() -> None:
    same = {"rollout__mean_length": falling(100.0, 15.0), "rollout__mean_return": falling(-100.0, -15.0)}
    assert last(rows(**same)) == ""
    better = {"rollout__mean_length": falling(100.0, 15.0), "rollout__mean_return": falling(-100.0, 40.0)}
    assert last(rows(**better)) == ""
    longer = {"rollout__mean_length": falling(15.0, 100.0), "rollout__mean_return": falling(-100.0, -40.0)}
    assert last(rows(**longer)) == ""


def test_a_term_that_was_300_times_the_others_all_the_time_drowns_them() -> None:
    terms: Numbers = {"rollout__term/way": falling(400.0, 9000.0), "rollout__term/effort": -1.0}
    assert last(rows(**LEARNS, **terms)) == "a term that drowns the others"
    terms["rollout__term/way"] = falling(10.0, 9000.0)
    assert last(rows(**LEARNS, **terms)) == "", "at first it was not"
    assert last(rows(**LEARNS, **{"rollout__term/way": 9000.0, "rollout__term/never": 0.0})) == ""
    assert last(rows(**LEARNS, **{"rollout__term/way": 9000.0})) == ""


def test_which_term_drowns_the_others_and_by_how_much_is_told() -> None:
    found = of_random_play({"way": 2.0, "effort": -0.005, "never": 0.0}, opposed=False)
    assert found == dwarfed("way", 400.0)
    assert "'way' is 400 times all other reward terms" in str(found)
    assert of_random_play({"way": 1.0, "effort": -0.005}, opposed=False) is None
    assert of_random_play({}, opposed=True) is OPPOSED


def test_entropy_that_is_gone_before_it_has_come_far_has_collapsed() -> None:
    stuck = {"rollout__mean_return": falling(0.0, 30.0), "eval__mean_return": falling(0.0, 30.0)}
    chooses = {"train__entropy": falling(0.69, 0.01)}
    assert last(rows(**stuck, **chooses), solved_at=100.0) == "entropy collapsed"
    assert last(rows(**stuck, **chooses), solved_at=30.0) == ""
    assert last(rows(**stuck, **chooses), solved_at=33.0) == "", "it is nearly there"
    assert last(rows(**stuck, train__entropy=falling(0.69, 0.05)), solved_at=100.0) == ""
    assert last(rows(**stuck, train__entropy=falling(2.8, -3.0)), solved_at=100.0, levers=2) == ""
    assert last(rows(**stuck, train__entropy=falling(2.8, -7.0)), solved_at=100.0, levers=2) == "entropy collapsed"


def test_a_value_that_explains_nothing_for_long_is_far_off() -> None:
    slow: Numbers = {"rollout__mean_return": falling(0.0, 8.0)}
    assert last(rows(**slow, train__explained_variance=0.02), solved_at=100.0) == "a value far off"
    assert last(rows(**slow, train__explained_variance=0.3), solved_at=100.0) == ""
    assert last(rows(**slow, train__explained_variance=falling(0.0, 0.5)), solved_at=100.0) == ""
    same: Numbers = {**slow, "rollout__std_return": 0.1}
    assert last(rows(**same, train__explained_variance=0.02), solved_at=100.0) == "", "there is nothing to explain"


def test_updates_that_move_the_policy_far_are_told_before_what_they_lead_to() -> None:
    stands: Numbers = {"rollout__mean_return": 1.0, "eval__mean_return": 1.5, "train__explained_variance": 0.0}
    far: Numbers = {"train__kl": 0.1, "train__clip_fraction": 0.4}
    assert last(rows(**stands, **far), solved_at=100.0) == "updates that go too far"
    (told,) = {finding.told for finding in findings(Diagnosis(WHOLE, solved_at=100.0), rows(**stands, **far))}
    assert told == "updates have a KL of 0.1 and clip 40% of decisions (usual are 0.01 and 10%)"
    for usual in ({"train__kl": 0.01}, {"train__clip_fraction": 0.1}):
        assert last(rows(**stands, **{**far, **usual}), solved_at=100.0) != "updates that go too far"
    learns: Numbers = {"rollout__mean_return": falling(1.0, 90.0), **far}
    diagnosis = Diagnosis(WHOLE, solved_at=100.0)
    for row in rows(**learns):
        diagnosis.add(row)
    assert diagnosis.finding is None, "it comes along all the same"


def test_nothing_learned_says_how_large_the_updates_were() -> None:
    stands = rows(rollout__mean_return=1.0, train__kl=0.004, train__clip_fraction=0.05)
    told = list(findings(Diagnosis(WHOLE, solved_at=100.0), stands))[-1].told
    assert told.endswith("is where it began, by updates of the usual size (KL 0.004, 5% clipped)")


def test_action_values_beyond_any_return_are_far_off() -> None:
    told: Numbers = {"rollout__mean_return": falling(0.0, 30.0), "rollout__max_return": 40.0}
    assert last(rows(**told, train__q_mean=falling(0.0, 500.0)), solved_at=100.0) == "a value far off"
    assert last(rows(**told, train__q_mean=falling(0.0, 300.0)), solved_at=100.0) == ""


def test_results_that_stand_where_they_began_are_told_late_and_not_early() -> None:
    told = rows(rollout__mean_return=1.0, eval__mean_return=1.5)
    assert last(told, solved_at=100.0) == "nothing learned"
    assert last(told[:38], solved_at=100.0) == ""
    assert last(told) == "nothing learned"
    assert last(told[::4], solved_at=100.0) == "", "a short trial need not learn"
    assert last(rows(rollout__mean_return=falling(1.0, 7.0)), solved_at=100.0) == ""
    assert last(rows(rollout__mean_return=falling(1.0, 7.0))) == ""
    rated: Numbers = {"rollout__mean_return": 0.0, "rollout__elo": falling(1000.0, 1400.0)}
    assert last(rows(**rated), solved_at=1.0) == ""
    assert last(rows(**{**rated, "rollout__elo": falling(1000.0, 1020.0)}), solved_at=1.0) == "nothing learned"
    scored = rows(rollout__mean_return=falling(0.0, 90.0), **{"rollout__score/laps": 0.0})
    assert last(scored, solved_at=2.0, score="laps") == "nothing learned"


def test_a_return_that_rises_while_the_score_falls_is_not_the_score() -> None:
    earned: Numbers = {"rollout__mean_return": falling(0.3, 1.1), "rollout__score/storeys": falling(1.9, 1.0)}
    assert last(rows(**earned), score="storeys", solved_at=9.0) == "a return that is not the score"
    assert last(rows(**earned), score="storeys") == "a return that is not the score"
    told = list(findings(Diagnosis(WHOLE, score="storeys", solved_at=9.0), rows(**earned)))[-1].told
    assert told == "the return rose from 0.516 to 1.1 while 'storeys' fell from 1.657 to 1"


@pytest.mark.parametrize(
    "changed",
    [
        {"rollout__score/storeys": falling(1.9, 1.7)},
        {"rollout__score/storeys": falling(1.0, 1.9)},
        {"rollout__mean_return": falling(1.1, 0.3)},
        {"lesson_step__way": 1.0},
        {"rollout__elo": falling(1000.0, 1400.0)},
        {"eval__score/storeys": 2.5},
    ],
    ids=["falls little", "rises too", "both fall", "has lessons", "self-play", "solved"],
)
def test_a_return_that_may_well_be_the_score_is_no_alarm(changed: Numbers) -> None:
    earned: Numbers = {
        "rollout__mean_return": falling(0.3, 1.1),
        "rollout__score/storeys": falling(1.9, 1.0),
        "eval__score/storeys": falling(1.9, 2.0),
    }
    assert last(rows(**earned | changed), score="storeys", solved_at=2.5) != "a return that is not the score"


def test_greedy_play_far_below_sampled_play_falls_behind() -> None:
    behind: Numbers = {"rollout__score/storeys": falling(0.1, 1.6), "rollout__mean_return": falling(0.0, 9.0)}
    told = rows(**behind, **{"eval__score/storeys": 0.4})
    found = list(findings(Diagnosis(WHOLE, score="storeys", solved_at=9.0), told))[-1]
    assert found.name == "greedy play that falls behind"
    assert found.told == "the best action each time comes to 0.4, actions drawn as in training to 1.6"
    rare = [{k: x for k, x in row.items() if i % 10 == 0 or "eval" not in k} for i, row in enumerate(told)]
    assert last(rare, score="storeys", solved_at=9.0) == "greedy play that falls behind"
    assert last(rows(**behind, **{"eval__score/storeys": 1.0}), score="storeys", solved_at=9.0) == ""
    assert last(told[:14], score="storeys", solved_at=9.0) == "", "not for long enough"
    assert last(rows(**behind, rollout__elo=falling(1000.0, 1400.0), **{"eval__score/storeys": 0.4})) == ""


def test_greedy_play_by_the_return_must_lie_below_by_more_than_episodes_scatter() -> None:
    sampled: Numbers = {"rollout__mean_return": falling(0.0, 30.0), "eval__mean_return": 10.0}
    assert last(rows(**sampled), solved_at=100.0) == "greedy play that falls behind"
    assert last(rows(**sampled, rollout__std_return=50.0), solved_at=100.0) == ""


def test_returns_that_cancel_out_cannot_be_compared_unless_something_else_can() -> None:
    told = {"rollout__return/one": falling(1.0, 9.0), "rollout__return/two": falling(-1.0, -9.0)}
    assert last(rows(**told, rollout__mean_return=0.0)[:30]) == OPPOSED.name
    assert last(rows(**told, rollout__mean_return=0.0)[:30], comparable=True) == ""
    assert last(rows(**told, rollout__mean_return=0.0, rollout__elo=1000.0)[:30]) == ""
    told["rollout__return/two"] = falling(-1.0, -8.0)
    assert last(rows(**told, **LEARNS)[:30]) == ""


def test_what_is_not_told_or_is_no_number_is_no_alarm() -> None:
    assert last([{"total_steps": step} for step in range(WHOLE)]) == ""
    nothing: list[dict[str, Any]] = [{"total_steps": step, "rollout/mean_return": None} for step in range(WHOLE)]
    assert last(nothing) == ""


def test_every_alarm_has_a_section_that_tells_more() -> None:
    headings = re.findall(r"^### (.+)$", (ROOT / WORDS).read_text(), re.MULTILINE)
    source = (ROOT / "ecs_rl" / "session" / "diagnosis.py").read_text()
    names = set(re.findall(r'Finding\(\s*"([^"]+)"', source))
    assert len(names) == len(LOOKS) == 9
    assert names <= {heading.lower() for heading in headings}
    assert OPPOSED.link == f"{WORDS}#a-return-that-cannot-be-compared"
