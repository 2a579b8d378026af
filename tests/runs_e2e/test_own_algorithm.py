"""`--agent FILE.py:CLASS`: an algorithm of a user's own trains, is resumed, plays, and is trusted as scenes are."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command_runs import ROOT, Told, metadata, play, train
from pages import example

from ecs_rl.runs import read_manifest

CEM = example("algorithm")
SMALL = ("--arenas", 8, "--eval-every", 1000, "--eval-episodes", 3, "--json", "--cem.batch", 16)
PLAYED = ("--headless", "--json", "--episodes", 2)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my agents" / "cem.py"
    path.parent.mkdir()
    path.write_text(CEM)
    return path


def trained(file: Path, *more: object, steps: int = 4000, runs: str = "runs") -> Told:
    return train(
        "balance", "--agent", f"{file}:CEM", *SMALL, "--steps", steps, "--runs", file.parent.parent / runs, *more
    )


def changed(file: Path, old: str, new: str) -> Path:
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))
    return file


def refusal(told: Told, code: int = 2) -> str:
    assert (told.code, told.out) == (code, ""), told.err
    assert len(told.err.splitlines()) == 1
    return told.err


def test_the_example_of_the_readme_has_less_than_90_lines_and_solves_balance(file: Path) -> None:
    assert CEM.count("\n") < 90
    told = train("balance", "--agent", f"{file}:CEM", "--until-solved", "--json", "--runs", file.parent / "runs")
    assert told.code == 0
    assert told.json["status"] == "solved"
    assert told.json["agent"] == "cem"
    assert play(told.run, *PLAYED).json["mean_return"] > 400


def test_a_run_and_its_checkpoints_name_the_algorithm_its_settings_its_file_and_the_sha256(file: Path) -> None:
    told = trained(file)
    config = json.loads((told.run / "config.json").read_text())
    assert (config["agent"], config["cem"]) == ("cem", {"batch": 16})
    assert not {"ppo", "dqn"} & config.keys()
    assert metadata(told.run)["agent"] == "cem"
    for checkpoint in (told.run / "checkpoints").glob("*.safetensors"):
        manifest = read_manifest(checkpoint)
        assert manifest.agent == "cem"
        assert manifest.config["agent_file"] == f"{file}:CEM"
        assert len(manifest.config["agent_sha256"]) == 64


def test_a_run_in_two_parts_is_the_run_in_one_to_the_last_bit(file: Path) -> None:
    whole = trained(file, "--checkpoint-every", 1000, runs="whole")
    part = trained(file, "--checkpoint-every", 1000, steps=2500)
    on = train("balance", "--resume", "--steps", 4000, "--json", "--runs", part.run.parents[2])
    assert (on.code, on.err.count("changed")) == (0, 0)
    assert on.run == part.run
    assert on.sha == whole.sha
    assert on.json["episodes"] == whole.json["episodes"]


def test_a_checkpoint_plays_as_it_was_evaluated_without_naming_its_algorithm(file: Path) -> None:
    told = trained(file)
    played = play(told.run, "--headless", "--json", "--episodes", 3)
    assert (played.code, played.err) == (0, "")
    assert played.json["mean_return"] == told.json["best_eval"]


def test_its_settings_come_by_flag_toml_and_recipe_and_the_flag_counts_most(file: Path, tmp_path: Path) -> None:
    scene = tmp_path / "mine.py"
    text = (ROOT / "scenes" / "balance.py").read_text()
    scene.write_text(text.replace("recipes={", 'recipes={"cem": {"batch": 9, "arenas": 4},', 1))
    toml = tmp_path / "cem.toml"
    toml.write_text(f'agent = "{file}:CEM"\n[cem]\nbatch = 10\n')
    base = ("--steps", 100, "--eval-episodes", 2, "--json", "--runs", tmp_path / "runs")

    def config(*more: object) -> tuple[int, int]:
        told = train(scene, *more, *base)
        assert told.code == 0, told.err
        found = json.loads((told.run / "config.json").read_text())
        return found["arenas"], found["cem"]["batch"]

    assert config("--agent", f"{file}:CEM") == (4, 9)
    assert config("--config", toml) == (4, 10)
    assert config("--config", toml, "--cem.batch", 11) == (4, 11)
    assert train(scene, "--config", toml, "--agent", "ppo", *base).json["agent"] == "ppo"
    assert train(scene, "--agent", "ppo", *base).code == 0


def test_help_shows_its_settings_with_their_texts(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from ecs_rl.cli.parse import parse_train

    with pytest.raises(SystemExit):
        parse_train(["balance", "--agent", f"{file}:CEM", "--help"], lambda scene: {"cem": {"batch": 9}})
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "--cem.batch N Episodes between two updates. (default: 9)" in shown


def test_several_policies_of_a_scene_have_one_each(file: Path, tmp_path: Path) -> None:
    scene = Path(__file__).parents[1] / "world" / "two_agents_scene.py"
    common = ("--agent", f"{file}:CEM", *SMALL, "--runs", tmp_path / "runs")
    told = train(scene, *common, "--steps", 1500, "--checkpoint-every", 500)
    assert told.code == 0, told.err
    assert play(told.run, *PLAYED).code == 0
    assert train(scene, "--resume", "--steps", 2000, "--json", "--runs", tmp_path / "runs").code == 0


# --- trust ------------------------------------------------------------------------------------------------------------


def test_a_file_that_changed_since_is_run_only_where_the_user_names_it(file: Path) -> None:
    told = trained(file)
    marker = file.parent / "sprung"
    file.write_text(f"open({str(marker)!r}, 'w').close()\n{CEM}")
    for refused in (
        play(told.run, *PLAYED),
        train("balance", "--resume", "--steps", 5000, "--json", "--runs", told.run.parents[2]),
    ):
        message = refusal(refused, 3)
        assert message.endswith(f"{file} has changed since: if you trust it, add --agent {file}:CEM\n")
    assert not marker.exists()
    played = play(told.run, "--agent", f"{file}:CEM", *PLAYED)
    assert played.code == 0
    assert f"{file} is not as it was when" in played.err
    on = trained(file, "--resume", steps=5000)
    assert on.code == 0
    assert f"{file} has changed since" in on.err
    assert play(told.run, *PLAYED).code == 0  # what it was resumed with is what it is now


def test_a_file_that_moved_is_found_below_the_current_folder_or_named(file: Path, tmp_path: Path) -> None:
    told = trained(file)
    moved = tmp_path / "elsewhere" / "my agents" / "cem.py"
    moved.parent.mkdir(parents=True)
    file.rename(moved)
    assert "there is no such file: name it with --agent FILE.py:CEM" in refusal(play(told.run, *PLAYED), 3)
    with pytest.MonkeyPatch.context() as there:
        there.chdir(tmp_path / "elsewhere")
        assert play(told.run, *PLAYED).code == 0
    assert play(told.run, "--agent", f"{moved}:CEM", *PLAYED).code == 0
    assert play(told.run, *PLAYED).code == 0  # where it is, is known from now on


def test_another_algorithm_is_not_what_made_a_checkpoint(file: Path) -> None:
    told = trained(file)
    other = changed(file, 'name = "cem"', 'name = "other"')
    assert "was made by cem, not by other" in refusal(play(told.run, "--agent", f"{other}:CEM", *PLAYED), 3)
    again = train("balance", "--resume", "--agent", "ppo", "--json", "--runs", told.run.parents[2])
    assert "trains cem, not ppo" in refusal(again)


def test_a_new_run_can_begin_from_a_policy_of_ones_own(file: Path) -> None:
    best = trained(file).run / "checkpoints" / "best.safetensors"
    assert trained(file, "--init-from", best, runs="more").code == 0
    message = refusal(train("balance", "--init-from", best, "--json", "--runs", file.parent / "runs"), 3)
    assert f"add --agent {file}:CEM" in message


# --- mistakes ---------------------------------------------------------------------------------------------------------

MISTAKES = [
    ("def act(self, observation, mode, state=None):", "def acts(self, observation, mode):", "no method act(self, "),
    ("def act(self, observation, mode, state=None):", "def act(self):", "act must be called as act(self, observation,"),
    ('name = "cem"', 'name = "ppo"', "the name 'ppo' is taken by an algorithm that comes with the project"),
    ('name = "cem"', 'name = "Cem Two"', "the class needs a name, a text of small letters, digits and '_'"),
    ('name = "cem"', 'title = "cem"', 'the class needs a name, as in: name = "mine"'),
    ('name = "cem"', 'name = "seed"', "its name is that of a setting of every training, 'seed'"),
    ('name = "cem"', 'name = "algorithm"', "its name is that of a setting of every training, 'algorithm'"),
    ("@dataclass(frozen=True)\n", "\n", "its settings must be a dataclass `Config` inside the class"),
    ("class Config:", "class Settings:", "its settings must be a dataclass `Config` inside the class"),
    ("batch: int = 64", "batch: int", "Config.batch needs a default, as in: batch: float = 0.1"),
    ("batch: int = 64", "batch: dict = None", "Config.batch: settings are whole numbers"),
    ("batch: int = 64", "batch: int = 0.5", "cem.batch: '0.5' is not a whole number"),
    ("batch: int = 64", "steps: int = 64", "Config.steps is that of a setting of every training"),
    ("seed, rows, threads=1)", "seed, rows)", "it must be made as CEM(spec, config, *, seed, rows, threads)"),
    ("out.argmax(1)", "out", "act must choose (64,) whole numbers, not (64, 2) of float32"),
    ("out.argmax(1)", "out.argmax(1) + 7", "act chose 7..8 of 2 options"),
    ("return Decision(", "return list(", "act must return a Decision with an array as its action, not list"),
    ("            yield\n", "", "learn must be a generator: put a `yield`"),
    ("out.argmax(1)", "out.argmax(1)[3:]", "act must choose (64,) whole numbers, not (61,)"),
    ("return copies(self.parts)", "return {'x': 1}", "state must return a dict of torch tensors by name: 'x' is a int"),
    ('return {"spread"', 'return [] and {"spread"', "metrics must return a dict of numbers, not []"),
    ("self.ended += 1", "self.ended += one", "NameError: name 'one' is not defined"),
    ('return "cannot do', 'return "does not do this" if True else "cannot do', "does not do this"),
]


@pytest.mark.parametrize(("old", "new", "words"), MISTAKES)
def test_a_mistake_in_it_is_one_clear_message_and_leaves_with_2(file: Path, old: str, new: str, words: str) -> None:
    changed(file, old, new)
    told = train("balance", "--agent", f"{file}:CEM", "--steps", 3000, "--runs", file.parent / "runs")
    assert told.code == 2, told.err
    (line,) = told.err.splitlines()
    assert words in line
    assert str(file) in line or "cem." in line


def test_a_name_that_is_not_there_and_a_thing_that_is_no_class_are_told(file: Path) -> None:
    assert "did you mean 'CEM'?" in refusal(train("balance", "--agent", f"{file}:CME", "--json"))
    file.write_text("CEM = 3\n")
    assert "an algorithm is a class, and this is 3" in refusal(train("balance", "--agent", f"{file}:CEM", "--json"))


def test_a_line_that_breaks_while_training_is_named(file: Path) -> None:
    changed(file, "self.ended.zero_()", "self.ended.zerro_()")
    told = trained(file)
    assert told.code == 2
    assert re.search(r"cem\.py, line \d+: AttributeError: .*did you mean 'zero_'\?", told.err)


DIVERGED = "from ecs_rl.errors import DivergedError\n            raise DivergedError('far')"


@pytest.mark.parametrize("new", ["self.policy['mean'][:] = 0.0 / torch.zeros(1)", DIVERGED])
def test_numbers_that_are_not_finite_end_the_training_with_5(file: Path, new: str) -> None:
    changed(file, "self.ended.zero_()", new)
    told = trained(file, "--checkpoint-every", 1000)
    assert told.code == 5, told.err
    assert "training diverged" in told.err


def test_levers_that_are_not_finite_end_the_training_with_5(file: Path) -> None:
    changed(file, "out.tanh()", "(out.tanh() / 0.0 * 0.0)")
    told = train("swingup", "--agent", f"{file}:CEM", *SMALL, "--steps", 4000, "--runs", file.parent / "runs")
    assert told.code == 5, told.err
    assert "not a finite number" in told.err


def test_a_setting_of_an_unknown_table_says_that_its_algorithm_must_be_named(file: Path) -> None:
    message = refusal(train("balance", "--cem.batch", 9, "--json"))
    assert "unknown flag '--cem.batch'" in message
    assert "--agent FILE.py:CLASS" in message


def test_a_recipe_for_an_algorithm_that_nobody_named_is_told(file: Path, tmp_path: Path) -> None:
    scene = tmp_path / "mine.py"
    scene.write_text((ROOT / "scenes" / "balance.py").read_text().replace('"ppo": {', '"cem": {}, "ppo": {', 1))
    message = refusal(train(scene, "--json"))
    assert "unknown agent 'cem'" in message
    assert "--agent FILE.py:CLASS" in message
