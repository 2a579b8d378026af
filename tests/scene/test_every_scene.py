from __future__ import annotations

from pathlib import Path

from scene_contract import SceneContract

from ecs_rl.loading import load_scene
from ecs_rl.shipped import SCENES, scene_names


class TestBalance(SceneContract):
    scene = "balance"


class TestSwingup(SceneContract):
    scene = "swingup"


class TestLander(SceneContract):
    scene = "lander"


class TestReacher(SceneContract):
    scene = "reacher"


class TestFlappy(SceneContract):
    scene = "flappy"


class TestForager(SceneContract):
    scene = "forager"


class TestAsteroids(SceneContract):
    scene = "asteroids"


class TestRacer(SceneContract):
    scene = "racer"


class TestWalker(SceneContract):
    scene = "walker"


class TestSheepdog(SceneContract):
    scene = "sheepdog"


class TestSoccer(SceneContract):
    scene = "soccer"


class TestSumo(SceneContract):
    scene = "sumo"


class TestBalanceByPath(SceneContract):
    scene = str(SCENES / "balance.py")


def test_every_shipped_scene_is_under_contract() -> None:
    contracts = {contract.scene for contract in SceneContract.__subclasses__()}
    assert set(scene_names()) <= contracts


def test_a_scene_by_path_is_the_scene_by_name() -> None:
    by_name, by_path = load_scene("balance"), load_scene(str(Path(SCENES / "balance.py")))
    assert (by_name.name, by_name.file, by_name.max_ticks) == (by_path.name, by_path.file, by_path.max_ticks)


def test_the_promises_of_the_three_scenes() -> None:
    promised = {name: load_scene(name) for name in ("balance", "swingup", "lander")}
    assert {name: scene.max_ticks for name, scene in promised.items()} == {
        "balance": 500,
        "swingup": 500,
        "lander": 1000,
    }
    assert (promised["balance"].solved_at, promised["lander"].solved_at) == (475, 200)
    actions = {name: scene.describe().agents[0].does.names for name, scene in promised.items()}
    assert {name: len(names) for name, names in actions.items()} == {"balance": 2, "swingup": 1, "lander": 4}
