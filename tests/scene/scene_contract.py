"""What every scene must keep; inherit `SceneContract`, name the scene, and pytest does the rest."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from ecs_rl.components import Explosion, Finished, NextObservation, Observation, Reward
from ecs_rl.loading import load_scene
from ecs_rl.physics.physics import Physics
from ecs_rl.scene.agents import AgentSpec
from ecs_rl.scene.scene import Scene
from ecs_rl.session import EpisodeRecord
from ecs_rl.spaces import Continuous, Discrete, PolicySpec
from ecs_rl.training_stages.tally import records_of
from ecs_rl.world import policy_specs
from ecs_rl.worlds import make_world

ARENAS, TICKS = 24, 200


class Played:
    """A scene after 200 ticks of random actions, and what was seen on the way."""

    def __init__(self, scene: Scene) -> None:
        rng = np.random.default_rng(0)
        self.specs = policy_specs(scene.describe())

        def choose(name: str, rows: int) -> np.ndarray:
            actions = self.specs[name].actions
            if isinstance(actions, Continuous):
                return rng.uniform(-1.5, 1.5, (rows, actions.columns)).astype(np.float32)
            return actions.random(rng, rows)

        policies = {name: (lambda seen, state, name=name: choose(name, len(seen))) for name in self.specs}
        self.world = make_world(scene, arenas=ARENAS, seed=3, policies=policies)
        self.records: list[EpisodeRecord] = []
        seen, earned, states = [], [], []
        batch = self.world.batches[0]
        for _ in range(TICKS):
            self.world.tick()
            states.append(self.world.engine_as(Physics).state.copy())
            seen.append(self.world.of(batch.entity, Observation).value.copy())
            seen.append(self.world.of(batch.entity, NextObservation).value.copy())
            earned.append(self.world.of(batch.entity, Reward).value.copy())
            self.records += records_of(self.world, self.world.one(Finished))
        self.states, self.seen, self.earned = np.array(states), np.array(seen), np.array(earned)


def resting(spec: PolicySpec, seen: np.ndarray, state: np.ndarray) -> np.ndarray:
    """Return the action that comes first, or levers left alone."""
    if isinstance(spec.actions, Discrete):
        return np.zeros(len(seen), int)
    return np.zeros((len(seen), spec.actions.columns), np.float32)


def names_of(plan: AgentSpec, agents: list[AgentSpec]) -> list[str]:
    """Return the names of an agent's terms in the record of an episode; several agents' begin with their own."""
    return [name if len(agents) == 1 else f"{plan.name}/{name}" for name in plan.earns]


@cache
def played(name: str, again: bool = False) -> Played:
    return Played(load_scene(name))


class SceneContract:
    """Inherit, and set `scene` to a name or a path."""

    scene: str

    def test_it_says_what_it_is_about_and_how_to_train_it(self) -> None:
        scene = load_scene(self.scene)
        assert scene.about.endswith(".")
        assert scene.recipes
        assert scene.solved_at is not None

    def test_it_is_one_file_of_about_a_hundred_lines_without_a_loop_over_arenas(self) -> None:
        with open(load_scene(self.scene).file) as file:
            assert len(file.readlines()) <= 110

    def test_every_number_is_finite(self) -> None:
        found = played(self.scene)
        assert np.isfinite(found.states).all()
        assert np.isfinite(found.seen).all()
        assert np.isfinite(found.earned).all()
        assert found.world.one(Explosion).count == 0

    def test_observations_are_of_a_size_that_networks_like(self) -> None:
        assert np.abs(played(self.scene).seen).max() < 100

    def test_every_observed_number_has_a_name_of_its_own(self) -> None:
        found = played(self.scene)
        names = found.specs[found.world.batches[0].name].observations
        assert found.seen.shape[2] == len(names) == len(set(names))
        assert all(names)

    def test_every_observed_number_changes(self) -> None:
        found = played(self.scene)
        names = found.specs[found.world.batches[0].name].observations
        constant = [
            name
            for name, column in zip(names, found.seen.reshape(-1, len(names)).T, strict=True)
            if np.ptp(column) == 0 and not name.endswith(" there")  # Nearest, of what is always there
        ]
        assert constant == []

    def test_every_arena_starts_otherwise(self) -> None:
        world = make_world(load_scene(self.scene), arenas=ARENAS, seed=1, policies={})
        starts = {tuple(row) for row in world.engine_as(Physics).state.reshape(-1, ARENAS).T.tolist()}
        assert len(starts) == ARENAS

    def test_episodes_end_and_tell_every_named_term(self) -> None:
        scene = load_scene(self.scene)
        records = played(self.scene).records or self.long_episodes(scene)
        assert records
        agents = scene.describe().agents
        for record in records:
            assert 0 < record.length <= scene.max_ticks
            earned = [[record.extras[name] for name in names_of(plan, agents)] for plan in agents]
            assert np.isclose(record.total_reward, np.mean([sum(terms) for terms in earned]))
            assert record.status in ("Terminated", "Truncated")

    def long_episodes(self, scene: Scene) -> list[EpisodeRecord]:
        from ecs_rl.training.evaluator import play_episodes

        rest = {name: partial(resting, spec) for name, spec in policy_specs(scene.describe()).items()}
        return play_episodes(scene, rest, (1, 2))

    def test_the_same_seed_gives_the_same_result(self) -> None:
        one, other = played(self.scene), played(self.scene, again=True)
        assert one is not other
        assert (one.states == other.states).all()
        assert (one.seen == other.seen).all()
        assert (one.earned == other.earned).all()
        assert one.records == other.records
