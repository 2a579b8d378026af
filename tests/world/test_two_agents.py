"""Two agents in one arena, with one policy for both or one for each: `two_agents_scene.py`."""

from __future__ import annotations

import numpy as np
import pytest
from two_agents_scene import NAMES, OWN_POLICIES, SAME_POLICY
from world_helpers import SMALL_DQN, SMALL_PPO, always, random_world, role_of, scene_of

from ecs_rl.agents.config import AgentConfig
from ecs_rl.components import Done, EpisodeEnd, Finished, Observation, Policy, Reward
from ecs_rl.errors import SceneError
from ecs_rl.physics.physics import Physics
from ecs_rl.scene import Arena, Body, Choice, Disc, Push, Start, Vx, X, Y, above
from ecs_rl.scene.scene import Scene
from ecs_rl.spaces import ActMode
from ecs_rl.training.prepare import prepare
from ecs_rl.training.settings import TrainingSettings
from ecs_rl.training.team import Team
from ecs_rl.training.training import Training
from ecs_rl.training_stages.tally import records_of
from ecs_rl.worlds import make_world

ARENAS = 5


def trained(scene: Scene, agent: str, config: AgentConfig, steps: int = 400, seed: int = 3) -> Training:
    training = prepare(
        scene, agent, config, TrainingSettings(arenas=ARENAS, steps=steps, seed=seed, eval_every=200, eval_episodes=2)
    )
    while not training.done:
        training.tick()
    training.close()
    return training


def test_rows_of_a_shared_policy_are_batched_agent_after_agent() -> None:
    world = random_world(SAME_POLICY, ARENAS)
    (batch,) = world.batches
    assert [slot.spec.name for slot in batch.slots] == list(NAMES)
    for _ in range(10):
        seen = world.of(batch.entity, Observation).value
        one, two = role_of(world, "one"), role_of(world, "two")
        assert seen.shape == (2 * ARENAS, 3)
        assert (seen[:ARENAS] == np.stack((one.x, one.vx, two.x), axis=1).astype(np.float32)).all()
        assert (seen[ARENAS:] == np.stack((two.x, two.vx, one.x), axis=1).astype(np.float32)).all()
        world.tick()


def test_different_policies_have_a_batch_each() -> None:
    world = random_world(OWN_POLICIES, ARENAS)
    assert [batch.name for batch in world.batches] == list(NAMES)
    for batch in world.batches:
        assert world.of(batch.entity, Observation).value.shape == (ARENAS, 3)
        assert world.of(batch.entity, Policy).name == batch.name


@pytest.mark.parametrize("agent", [0, 1])
@pytest.mark.parametrize("arena", [0, ARENAS - 1])
def test_an_action_moves_only_its_own_role_in_its_own_arena(agent: int, arena: int) -> None:
    calm = np.zeros(2 * ARENAS, int)
    changed = calm.copy()
    changed[agent * ARENAS + arena] = 1
    before = make_world(SAME_POLICY, arenas=ARENAS, policies=always(calm))
    after = make_world(SAME_POLICY, arenas=ARENAS, policies=always(changed))
    before.tick()
    after.tick()
    differs = (before.engine_as(Physics).state != after.engine_as(Physics).state).any(axis=0)
    assert np.argwhere(differs).tolist() == [[agent, arena]]
    gained = after.engine_as(Physics).state[3, agent, arena] - before.engine_as(Physics).state[3, agent, arena]
    assert gained == pytest.approx(2 * (5 + 5 * agent) * SAME_POLICY.dt)  # from -F to +F on a kilogram


@pytest.mark.parametrize("agent", [0, 1])
def test_an_action_of_a_policy_of_its_own_moves_only_its_role(agent: int) -> None:
    calm = np.zeros(2, int)
    worlds = [
        make_world(OWN_POLICIES, arenas=2, policies={**always(calm, "one"), **always(calm, "two"), **changed})
        for changed in ({}, always(calm + 1, NAMES[agent]))
    ]
    for world in worlds:
        world.tick()
    differs = (worlds[0].engine_as(Physics).state != worlds[1].engine_as(Physics).state).any(axis=(0, 2))
    assert differs.tolist() == [agent == 0, agent == 1]


def test_every_agent_earns_its_own_reward_and_all_end_together() -> None:
    world = random_world(SAME_POLICY, ARENAS)
    (batch,) = world.batches
    reward, rows, ending = world.of(batch.entity, Reward), world.of(batch.entity, Done), world.one(EpisodeEnd)
    judged, expected = world.stages["judge"], np.zeros(2 * ARENAS)
    honest = judged.run

    def judge() -> None:
        expected[:ARENAS] = 1.0 - np.abs(role_of(world, "one").x) + 1.0
        expected[ARENAS:] = 1.0 - np.abs(role_of(world, "two").x) + 2.0
        honest()

    judged.run = judge  # type: ignore[method-assign]
    ended = 0
    for _ in range(120):
        world.tick()
        assert reward.value == pytest.approx(expected, rel=1e-6)
        for part in (slice(0, ARENAS), slice(ARENAS, None)):
            assert (rows.terminated[part] == ending.terminated).all()
            assert (rows.truncated[part] == ending.truncated).all()
        ended += ending.ended.sum()
    assert ended > 5


def test_episodes_name_each_agents_terms_and_reasons() -> None:
    world = random_world(SAME_POLICY, ARENAS)
    seen: set[str] = set()
    world.drive("policy", lambda rows, state: np.ones(len(rows), int))
    for _ in range(120):
        world.tick()
        for record in records_of(world, world.one(Finished)):
            assert record.extras["one/number"] == record.length
            assert record.extras["two/number"] == 2.0 * record.length
            terms = {name: value for name, value in record.extras.items() if not name.startswith(("end/", "return/"))}
            assert record.total_reward == pytest.approx(sum(terms.values()) / 2)
            for agent in ("one", "two"):
                own = sum(value for name, value in terms.items() if name.startswith(f"{agent}/"))
                assert record.extras[f"return/{agent}"] == pytest.approx(own)
            seen |= set(record.extras)
    assert {"one/middle", "two/middle", "end/one/out"} <= seen


def test_one_shared_policy_learns_from_the_rows_of_both_agents() -> None:
    training = trained(SAME_POLICY, "ppo", SMALL_PPO)
    agent = training.session.agent
    assert agent.metrics()
    assert training.session.total_steps == 400  # steps are decisions of arenas, not of agents
    assert training.agents.keys() == {"policy"}


@pytest.mark.parametrize(("name", "config"), [("ppo", SMALL_PPO), ("dqn", SMALL_DQN)])
def test_policies_of_their_own_all_learn(name: str, config: AgentConfig) -> None:
    fresh = prepare(OWN_POLICIES, name, config, TrainingSettings(arenas=ARENAS, steps=400, seed=3))
    training = trained(OWN_POLICIES, name, config)
    for policy in NAMES:
        assert training.agents[policy].parameters_sha256() != fresh.agents[policy].parameters_sha256()
    assert training.agents["one"].parameters_sha256() != training.agents["two"].parameters_sha256()
    assert isinstance(training.session.agent, Team)
    assert any(key.startswith("two/") for key in training.session.agent.metrics())
    fresh.close()


@pytest.mark.parametrize("scene", [SAME_POLICY, OWN_POLICIES])
@pytest.mark.parametrize(("name", "config"), [("ppo", SMALL_PPO), ("dqn", SMALL_DQN)])
def test_two_agents_with_the_same_seed_learn_the_same(scene: Scene, name: str, config: AgentConfig) -> None:
    one, other = (trained(scene, name, config).session.agent.parameters_sha256() for _ in range(2))
    assert one == other
    assert one != trained(scene, name, config, seed=4).session.agent.parameters_sha256()


@pytest.mark.parametrize("part", ["policy_state", "state"])
def test_a_team_comes_back_from_its_state(part: str) -> None:
    training = trained(OWN_POLICIES, "ppo", SMALL_PPO)
    other = prepare(OWN_POLICIES, "ppo", SMALL_PPO, TrainingSettings(arenas=ARENAS, steps=400, seed=9))
    team, copy = training.session.agent, other.session.agent
    assert team.parameters_sha256() != copy.parameters_sha256()
    state = getattr(team, part)()
    assert {name.split("/")[0] for name in state} == set(NAMES)
    getattr(copy, f"load_{part}")(state)
    assert copy.parameters_sha256() == team.parameters_sha256()
    seen = np.random.default_rng(0).normal(size=(ARENAS, 3)).astype(np.float32)
    for ours, theirs in zip(training.agents.values(), other.agents.values(), strict=True):
        assert (ours.act(seen, ActMode.GREEDY).action == theirs.act(seen, ActMode.GREEDY).action).all()
    other.close()


def test_agents_that_share_a_policy_must_see_and_do_alike() -> None:
    def build(arena: Arena) -> None:
        disc = arena.spawn("disc", Body(), Disc(0.1))
        for name, sees in (("one", [X(disc)]), ("two", [X(disc), Vx(disc)])):
            does = Choice(left=Push(disc, -1.0), right=Push(disc, 1.0))
            arena.agent(name=name, sees=sees, does=does, earns={"x": 1.0})

    with pytest.raises(SceneError, match="both must see and do alike"):
        Scene(about="", max_ticks=5, build=build).describe()


def test_terms_and_ends_keep_their_names_where_agents_of_two_policies_take_turns() -> None:
    def build(arena: Arena) -> None:
        for i, (name, policy) in enumerate((("a", "p"), ("b", "q"), ("c", "p"))):
            disc = arena.spawn(name, Body(), Disc(0.1), Start(y=5.0 * i))
            does = Choice(left=Push(disc, -1.0), right=Push(disc, 1.0))
            ends = {"late": above(Y(disc), 5.0 * i - 1.0 if name == "b" else 99.0)}
            arena.agent(name=name, policy=policy, sees=[X(disc)], does=does, earns={f"of {name}": i + 1.0}, ends=ends)

    still = {policy: lambda seen, state: np.zeros(len(seen), int) for policy in "pq"}
    world = make_world(scene_of(build, gravity=(0.0, 0.0)), arenas=2, policies=still)
    world.tick()
    (record, _) = records_of(world, world.one(Finished))
    terms = {name: value for name, value in record.extras.items() if not name.startswith(("end/", "return/"))}
    assert terms == {"a/of a": 1.0, "b/of b": 2.0, "c/of c": 3.0}
    assert [name for name in record.extras if name.startswith("end/") and record.extras[name]] == ["end/b/late"]
    for batch in world.batches:
        earned = [float(world.of(batch.entity, Reward).value[slot.rows][0]) for slot in batch.slots]
        assert earned == ([1.0, 3.0] if batch.name == "p" else [2.0])
