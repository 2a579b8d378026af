from __future__ import annotations

import pytest

from ecs_rl.cli.parse import Recipes, parse_play, parse_train
from ecs_rl.errors import CommandError
from ecs_rl.shipped import scene_names
from ecs_rl.values import LARGEST


def recipes(scene: str) -> Recipes:
    return {}


def train_refusal(line: str) -> str:
    with pytest.raises(CommandError) as caught:
        parse_train(line.split(), recipes)
    return str(caught.value)


def play_refusal(line: str) -> str:
    with pytest.raises(CommandError) as caught:
        parse_play(line.split())
    return str(caught.value)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", f"SCENE is missing: name a scene, as in: train.py balance (there is: {', '.join(scene_names())})"),
        ("--resume cartpole", "--resume took 'cartpole' as its run: write SCENE before it"),
        ("a --sed 1", "unknown flag '--sed': did you mean '--seed'?"),
        ("a --sed=1", "unknown flag '--sed': did you mean '--seed'?"),
        ("a --ppo.lrr 1", "unknown flag '--ppo.lrr': did you mean '--ppo.lr'?"),
        ("a --lr 1", ".lr'?"),
        ("a --ppo.learning-rate 1", "unknown flag '--ppo.learning-rate': did you mean '--ppo.lr'?"),
        ("a --learning_rate 1", "unknown flag '--learning_rate': did you mean '--ppo.lr'?"),
        ("a --dqn.batch-size 1", "unknown flag '--dqn.batch-size': did you mean '--dqn.batch'?"),
        ("a --total-timesteps 1", "unknown flag '--total-timesteps': did you mean '--steps'?"),
        (
            "a --agent sac --ppo.lr 1e-3",
            "--ppo.lr is a setting of ppo, and sac learns: leave it out, or write --sac.lr",
        ),
        ("a --dqn.batch 8", "--dqn.batch is a setting of dqn, and ppo learns: leave it out"),
        ("a --agent dqn --ppo.clip 0.1", "--ppo.clip is a setting of ppo, and dqn learns: leave it out"),
        ("a --workers 0", "--workers must be a whole number of at least 1, not 0"),
        ("a --clipp 1", "unknown flag '--clipp': did you mean '--ppo.clip'?"),
        ("a --human", "unknown flag '--human' (train.py"),
        ("a --until=plateau", "--until must be steps, solved or 'plateau N', not 'plateau'"),
        ("a --minutes -1", "--minutes must be a finite number of at least 0, not -1"),
        (
            "a --agent mine.py:Mine",
            "--agent mine.py:Mine: there is no file mine.py: check the path",
        ),
        ("a --xyzzyx", "unknown flag '--xyzzyx' (train.py --help lists all flags)"),
        ("a -x", "unknown flag '-x' (train.py"),
        ("a b", "'b' is one argument too many"),
        ("a --watch=3", "'3' is one argument too many"),
        ("a --agent pp", "--agent must be ppo or dqn or sac or td3 or iql, not 'pp': did you mean 'ppo'?"),
        ("a --seed", "'--seed'"),
        ("a --seed x", "--seed: 'x' is not a whole number: write it like 5000, 500k, 2M"),
        ("a --seed=x", "--seed: 'x' is not a whole number"),
        ("a --seed -1", "--seed must be a whole number of at least 0, not -1"),
        ("a --steps -5", "--steps must be a whole number of at least 1, not -5"),
        ("a --steps=-5k", "--steps must be a whole number of at least 1, not -5000"),
        ("a --dqn.batch -2", "--dqn.batch must be a whole number from 1 to 1,000,000, not -2"),
        ("a --steps 1.5", "--steps: '1.5' is not a whole number: it has a fraction"),
        ("a --name x --steps x", "--steps: 'x' is not a whole number"),
        ("a --eval_every x", "--eval-every: 'x' is not a whole number"),
        ("a --ppo.lr fast", "--ppo.lr: 'fast' is not a number: write it like 0.5 or 3e-4"),
        ("a --ppo.lr nan", "--ppo.lr must be a finite number greater than 0, not nan"),
        ("a --ppo.lr inf", "--ppo.lr must be a finite number greater than 0, not inf"),
        ("a --ppo.hidden 64 x", "--ppo.hidden: 'x' is not a whole number"),
        ("a --ppo.hidden 64 0", "--ppo.hidden must be a list of at most 16 whole numbers from 1 to 8,192"),
        ("a --ppo.activation tan", "--ppo.activation must be tanh or relu, not 'tan': did you mean 'tanh'?"),
        ("--resume one two", "--resume: takes at most one run: write SCENE before it"),
        ("a --resume --init-from b", "--resume and --init-from exclude each other"),
        ("a --arenas 0", "--arenas must be a whole number from 1 to 100,000, not 0"),
        ("a --steps 0", "--steps must be a whole number of at least 1, not 0"),
        ("a --eval-episodes 0", "--eval-episodes must be a whole number from 1 to 100,000, not 0"),
        ("a --eval-every 0", "--eval-every must be a whole number of at least 1, not 0"),
        ("a --checkpoint-every 0", "--checkpoint-every must be a whole number of at least 1, not 0"),
        ("a --keep -1", "--keep must be a whole number of at least 0, not -1"),
        ("a --threads -1", "--threads must be a whole number of at least 0, not -1"),
        ("a --ppo.gamma 1.1", "--ppo.gamma must be a finite number from 0 to 1, not 1.1"),
        ("a --dqn.lr 0", "--dqn.lr must be a finite number greater than 0, not 0.0"),
        ("a --ppo.entropy -1", "--ppo.entropy must be a finite number of at least 0, not -1.0"),
        ("a --name ../b", "--name must be letters, digits"),
        ("a --name .hidden", "--name must be letters, digits"),
        (f"a --name {'x' * 65}", "--name must be letters, digits"),
        ("a --version v/1", "--version must be letters, digits"),
        ("a --version=", "an empty value stands behind --version: give it one, or leave it out"),
        ("a --runs= --seed 1", "an empty value stands behind --runs"),
        ("a --resume=", "an empty value stands behind --resume"),
    ],
)
def test_bad_input_to_train_gives_one_short_line_with_place_and_remedy(line: str, words: str) -> None:
    message = train_refusal(line)
    assert words in message
    assert "\n" not in message
    assert "│" not in message


@pytest.mark.parametrize("flags", ["--init-from b", "--imitate b"])
def test_a_sweep_that_goes_on_may_begin_its_other_runs_from_a_policy_or_a_demonstration(flags: str) -> None:
    settings = parse_train(f"a --sweep ppo.lr=1,2 --resume b {flags}".split(), recipes)
    assert (settings.resume, str(settings.init_from or settings.imitate)) == ("b", "b")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--speed 0", "--speed must be a finite number greater than 0, not 0.0"),
        ("--speed fast", "--speed: 'fast' is not a number"),
        ("--episodes 0", "--episodes must be a whole number from 1 to 100,000, not 0"),
        ("--episodes 1000000", "--episodes must be a whole number from 1 to 100,000, not 1000000"),
        ("--seed -1", "--seed must be a whole number of at least 0, not -1"),
        (
            "--seed 9223372036854775806 --episodes 3",
            "--seed and --episodes together must be at most 9223372036854775807",
        ),
        ("--checkpoint -5", "--checkpoint: there is no checkpoint '-5'"),
        ("--record film.avi", "--record must be a path that ends in .mp4 or .gif, not 'film.avi'"),
        ("--checkpoint bst", "--checkpoint: there is no checkpoint 'bst': name best, latest, pilot, random or a step"),
        (
            "run --pilot --checkpoint latest",
            "--pilot and --checkpoint latest exclude each other: leave one of them out",
        ),
        ("run --compare", "--compare: needs at least one checkpoint, such as: best 10000"),
        ("run --compare --json", "--compare: needs at least one checkpoint"),
        ("run --compare best --checkpoint oops", "--checkpoint: there is no checkpoint 'oops'"),
        ("--headles", "unknown flag '--headles': did you mean '--headless'? (play.py --help lists all flags)"),
        ("--rums x", "unknown flag '--rums': did you mean '--runs'?"),
        ("--hum", "unknown flag '--hum': did you mean '--human'? (play.py --help lists all flags)"),
        ("run other", "'other' is one argument too many"),
    ],
)
def test_bad_input_to_play_gives_one_short_line_with_place_and_remedy(line: str, words: str) -> None:
    message = play_refusal(line)
    assert words in message
    assert "\n" not in message


@pytest.mark.parametrize("flag", ["--runs", "--name", "--resume", "--config"])
def test_an_explicit_empty_value_is_refused_and_does_not_choose_something_nobody_named(flag: str) -> None:
    with pytest.raises(CommandError, match=f"an empty value stands behind {flag}: give it one"):
        parse_train(["a", flag, ""], recipes)


def test_an_empty_run_is_refused_and_does_not_play_the_newest() -> None:
    with pytest.raises(CommandError, match="an empty value stands behind TARGET"):
        parse_play([""])


def test_an_empty_scene_is_a_missing_one() -> None:
    with pytest.raises(CommandError, match="SCENE is missing"):
        parse_train([""], recipes)


def test_the_completion_of_a_shell_is_printed_and_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        parse_train(["--tyro-print-completion", "bash"], recipes)
    assert not stop.value.code
    assert "--eval-every" in capsys.readouterr().out


def test_a_scene_with_a_recipe_for_sac_alone_is_trained_with_it() -> None:
    settings = parse_train(["a"], lambda scene: {"sac": {"lr": 1}})
    assert (settings.agent, settings.sac.lr) == ("sac", 1.0)


def test_the_last_seed_that_fits_is_played() -> None:
    assert parse_play(["--seed", str(LARGEST - 3), "--episodes", "3"]).seed == LARGEST - 3
    assert parse_play(["--episodes", "100k"]).episodes == 100_000


def test_a_refusal_prints_nothing_by_itself(capfd: pytest.CaptureFixture[str]) -> None:
    train_refusal("a --seed")
    train_refusal("a --sed 1")
    assert capfd.readouterr() == ("", "")


def test_a_bad_flag_is_refused_before_the_scene_is_loaded() -> None:
    def load(scene: str) -> Recipes:
        raise AssertionError("the scene was loaded")

    for line in ("a --arenas 0", "a --nonsense", "a --agent pp"):
        with pytest.raises(CommandError):
            parse_train(line.split(), load)
