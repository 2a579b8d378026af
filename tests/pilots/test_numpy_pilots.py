"""The pilot that needs numpy alone decides as the agents do, for every network that comes with the project."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from pilot_files import KINDS, RECURRENT, checkpoint, observations

import ecs_rl
from ecs_rl.agents import ActMode, Agent, Discrete, PolicySpec
from ecs_rl.agents.base import output_of
from ecs_rl.agents.make import AGENTS
from ecs_rl.agents.policy_heads import EARLIER
from ecs_rl.commands.train import main as train
from ecs_rl.pilots.numpy_policy import NumpyPolicy
from ecs_rl.pilots.ops import NumpyOps
from ecs_rl.pilots.source import saved_policies
from ecs_rl.spaces import Part, spans

ROOT = Path(__file__).parents[2]
TOLERANCE = 2e-5
"""Of probabilities, levers and values, as the README says it."""
SEEN = 1_000
MANY = 500
"""Numbers of a large picture, of which fewer rows are drawn."""


def meant(saved_output: np.ndarray, policy: NumpyPolicy, agent: Agent) -> np.ndarray:
    """Return what a network's output means, in the order of the spec: the obvious formulas."""
    told = []
    for part in policy.head.parts:
        mine = saved_output[:, part.outputs].astype(np.float64)
        if hasattr(part, "spread"):
            told.append(np.tanh(mine) if agent.name in ("sac", "td3") else mine)
        elif agent.name == "dqn":
            dueling = policy.head.parts[0].outputs.start == 1
            told.append(saved_output[:, :1] + mine - mine.mean(1, keepdims=True) if dueling else mine)
        else:
            told.append(np.exp(mine) / np.exp(mine).sum(1, keepdims=True))
    return np.concatenate(told, axis=1)


@pytest.mark.parametrize("kind", KINDS)
def test_it_means_and_does_what_the_agent_does_on_a_thousand_observations(kind: str, tmp_path: Path) -> None:
    path, agent = checkpoint(tmp_path / "a.safetensors", kind)
    policy, seen = NumpyPolicy(saved_policies(path)[0]), observations(agent.spec, SEEN)
    random = np.random.default_rng(1)
    remembered = random.uniform(-1, 1, (SEEN, agent.spec.state)).astype(np.float32)
    ours, after = policy.outputs(NumpyOps(), seen, remembered[:, : policy.state])
    theirs = output_of(agent, seen, remembered)
    assert theirs is not None
    expected, does = meant(ours, policy, agent), theirs.does
    places = [place for _, place in agent.spec.allowed]
    forbidden = np.zeros(does.shape, bool)
    forbidden[:, places] = seen[:, [column for column, _ in agent.spec.allowed]] < 0.5
    if agent.name == "dqn":  # the mean over all advantages would count the forbidden ones, which are lowered
        expected, does = (
            np.where(forbidden.any(1, keepdims=True), 0.0, expected),
            np.where(forbidden.any(1, keepdims=True), 0.0, does),
        )
    largest = np.abs(ours[ours > -1e8]).max()
    np.testing.assert_allclose(expected, does, atol=TOLERANCE * max(1, largest))
    decided = agent.act(seen, ActMode.GREEDY, remembered if agent.spec.state else None)
    action = policy.act(seen, remembered[:, : policy.state], False)[0]
    assert (action.shape, action.dtype) == (decided.action.shape, decided.action.dtype)
    np.testing.assert_allclose(action, np.clip(decided.action, *limits(agent.spec)), atol=TOLERANCE)
    if decided.state is not None:
        np.testing.assert_allclose(after, decided.state[:, : policy.state], atol=TOLERANCE)


def limits(spec: PolicySpec) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the greatest number of each column of an action."""
    most = [len(part.names) if isinstance(part, Discrete) else 1 for part in spec.actions.parts for _ in columns(part)]
    least = [0 if isinstance(part, Discrete) else -1 for part in spec.actions.parts for _ in columns(part)]
    lone = isinstance(spec.actions, Discrete)
    return (np.array(least[0]), np.array(most[0])) if lone else (np.array(least), np.array(most))


def columns(part: Part) -> range:
    return range(part.columns)


@pytest.mark.parametrize("kind", KINDS)
def test_both_backends_decide_alike_in_a_loop(kind: str, tmp_path: Path) -> None:
    path, agent = checkpoint(tmp_path / "a.safetensors", kind, seed=3)
    pilots = ecs_rl.load(path, backend="numpy"), ecs_rl.load(path)
    random = np.random.default_rng(0)
    for tick in range(25):
        seen = observations(agent.spec, 40, seed=tick)
        ours, theirs = (pilot.act(seen) for pilot in pilots)
        np.testing.assert_allclose(ours, theirs, atol=TOLERANCE)
        ended = random.random(40) < 0.1
        for pilot in pilots:
            pilot.reset(ended)


@pytest.mark.parametrize("backend", ["torch", "numpy"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in RECURRENT])
def test_what_is_drawn_is_drawn_as_often_as_the_agent_draws_it(kind: str, backend: str, tmp_path: Path) -> None:
    path, agent = checkpoint(tmp_path / "a.safetensors", kind)
    rows = 20_000 if len(agent.spec.observations) < MANY else 5_000
    seen = np.repeat(observations(agent.spec, 1), rows, axis=0) * np.float32(0.01)
    seen[:, [column for column, _ in agent.spec.allowed]] = 1.0
    seen[:, [column for column, _ in agent.spec.allowed[:1]]] = 0.0
    drawn = ecs_rl.load(path, backend=backend, seed=1).act(seen, sample=True)
    again = ecs_rl.load(path, backend=backend, seed=1).act(seen, sample=True)
    assert np.array_equal(drawn, again)
    reference = ecs_rl.load(path, seed=2).act(seen, sample=True)
    assert drawn.dtype == reference.dtype
    for column, (one, other) in enumerate(zip(drawn.reshape(rows, -1).T, reference.reshape(rows, -1).T, strict=True)):
        part = next(p for p, where, _ in spans(agent.spec.actions) if where.start <= column < where.stop)
        bins = np.arange(len(part.names) + 1) - 0.5 if isinstance(part, Discrete) else np.linspace(-1.001, 1.001, 9)
        shares = [np.histogram(each, bins)[0] / rows for each in (one, other)]
        assert shares[0].sum() == pytest.approx(1)
        np.testing.assert_allclose(shares[0], shares[1], atol=0.02 * math.sqrt(20_000 / rows))


def test_what_older_checkpoints_do_not_say_is_what_the_settings_say_today() -> None:
    for agent, (head, settings) in EARLIER.items():
        algorithm = AGENTS[agent]
        now = algorithm.Config()
        assert settings == {name: getattr(now, name) for name in settings}
        assert head == algorithm.kind.HEAD


@pytest.mark.parametrize("agent", ["ppo", "dqn"])
def test_a_run_of_an_older_version_acts_as_its_agent_does(agent: str) -> None:
    old = ROOT / "tests" / "runs_e2e" / "old_runs" / agent
    for which in ("best", "latest"):
        pilots = [ecs_rl.load(old, backend=backend, checkpoint=which) for backend in ("numpy", "torch")]
        seen = observations(pilots[0].spec, SEEN)
        assert np.array_equal(*(pilot.act(seen) for pilot in pilots))


ALONE = """
import sys
from importlib.abc import MetaPathFinder
class Nothing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        first = name.partition(".")[0]
        if first not in sys.stdlib_module_names and first not in ("numpy", "ecs_rl"):
            raise ImportError(f"there is no {name}")
sys.meta_path.insert(0, Nothing())
import ecs_rl
pilot = ecs_rl.load(sys.argv[1], backend="numpy")
print(pilot.act([0.1] * len(pilot.observations)), sorted({"torch", "pygame", "msgspec"} & set(sys.modules)))
"""


def test_it_needs_numpy_and_nothing_else(tmp_path: Path) -> None:
    path, agent = checkpoint(tmp_path / "a.safetensors", "ppo choice")
    told = subprocess.run(
        [sys.executable, "-c", ALONE, str(path)], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert told.returncode == 0, told.stderr
    wanted = agent.act(np.full((1, 3), 0.1, np.float32), ActMode.GREEDY).action[0]
    assert told.stdout.strip() == f"{wanted} []"


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, ecs_rl; print(sorted({'torch', 'pygame', 'numpy', 'msgspec', 'tyro'} & set(sys.modules)))"
    told = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert told.stdout.strip() == "[]"


def test_a_pilot_solves_its_scene_in_a_gymnasium_loop(tmp_path: Path) -> None:
    gymnasium = pytest.importorskip("gymnasium", reason="needs the extra gym")
    pytest.importorskip("ecs_rl.adapters.gym")
    assert train(["balance", "--until-solved", "--runs", str(tmp_path)]) == 0
    pilot, env = ecs_rl.load("balance", "numpy", runs=tmp_path), gymnasium.make("ecs_rl/Balance-v0")
    earned = []
    for seed in range(5):
        seen, over, total = env.reset(seed=seed)[0], False, 0.0
        while not over:
            seen, reward, terminated, truncated, _ = env.step(pilot.act(seen))
            over, total = terminated or truncated, total + reward
        earned.append(total)
    assert np.mean(earned) > 450, "of at most 500"
