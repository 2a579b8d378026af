"""A scene with a bug is refused with its file, its line and what is wrong; never a bare traceback, never an abort."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scene_files import AGENT, DISC, DOES, EARNS, ENDS, GOOD, OTHER, SCENE, SEES, Save, run, with_line

from ecs_rl.errors import CommandError, SceneError
from ecs_rl.loading import load_scene
from ecs_rl.shipped import scene_names
from ecs_rl.training.evaluator import play_episodes

ROOT = Path(__file__).parents[2]
TOLD_BY_3_13 = "Scene.__init__() got an unexpected keyword argument 'max_tick'. Did you mean 'max_ticks'?"


def test_the_good_scene_runs_by_its_path(save: Save) -> None:
    scene = load_scene(str(save(GOOD)))
    assert scene.name == "mine"
    assert run(scene).ticks == 20


BUILD = [
    (
        "NaN mass",
        DISC,
        'disc = arena.spawn("disc", Body(mass=float("nan")), Disc(0.1))',
        "mass must be a finite number",
    ),
    ("infinite mass", DISC, 'disc = arena.spawn("disc", Body(mass=float("inf")), Disc(0.1))', "mass must be a finite"),
    ("negative mass", DISC, 'disc = arena.spawn("disc", Body(mass=-1.0), Disc(0.1))', "mass must be above zero"),
    ("no mass", DISC, 'disc = arena.spawn("disc", Body(mass=0), Disc(0.1))', "mass must be above zero"),
    ("mass in words", DISC, 'disc = arena.spawn("disc", Body(mass="1"), Disc(0.1))', "mass must be a finite number"),
    ("NaN friction", DISC, 'disc = arena.spawn("disc", Body(friction=float("nan")), Disc(0.1))', "friction"),
    ("negative friction", DISC, 'disc = arena.spawn("disc", Body(friction=-0.1), Disc(0.1))', "friction"),
    ("NaN elasticity", DISC, 'disc = arena.spawn("disc", Body(elasticity=float("nan")), Disc(0.1))', "elasticity"),
    ("negative elasticity", DISC, 'disc = arena.spawn("disc", Body(elasticity=-1), Disc(0.1))', "elasticity"),
    ("no radius", DISC, 'disc = arena.spawn("disc", Body(), Disc(0.0))', "radius must be above zero"),
    ("negative radius", DISC, 'disc = arena.spawn("disc", Body(), Disc(-1.0))', "radius must be above zero"),
    ("NaN centre", DISC, 'disc = arena.spawn("disc", Body(), Disc(1.0, at=(0.0, float("nan"))))', "centre"),
    ("no width", OTHER, 'other = arena.spawn("other", Body(), Box(0.0, 1.0))', "width must be above zero"),
    ("negative height", OTHER, 'other = arena.spawn("other", Body(), Box(1.0, -1.0))', "height must be above zero"),
    ("no length", OTHER, 'other = arena.spawn("other", Body(), Rod(0.0))', "above zero"),
    ("two points", OTHER, 'other = arena.spawn("other", Body(), Polygon(((0, 0), (1, 1))))', "three points"),
    ("points on a line", OTHER, 'other = arena.spawn("other", Body(), Polygon(((0, 0), (1, 1), (2, 2))))', "one line"),
    ("no shape", OTHER, 'other = arena.spawn("other", Body())', "at least one shape"),
    ("two bodies", OTHER, 'other = arena.spawn("other", Body(), Body(), Disc(1.0))', "one Body"),
    ("something else", OTHER, 'other = arena.spawn("other", Body(), Disc(1.0), "red")', "made of a Body"),
    ("a role twice", OTHER, 'other = arena.spawn("disc", Body(), Disc(1.0))', "a role 'disc' already"),
    ("a role named ground", OTHER, 'other = arena.spawn("ground", Body(), Disc(1.0))', "a role 'ground' already"),
    ("NaN start", OTHER, 'other = arena.spawn("other", Body(), Disc(1.0), Start(x=float("nan")))', "start's x"),
    (
        "a start from high to low",
        OTHER,
        'other = arena.spawn("o", Body(), Disc(1.0), Start(x=between(2, 1)))',
        "low to",
    ),
    ("NaN force", DOES, "does=Choice(left=Push(disc, float('nan')), right=None),", "a push must be a finite number"),
    ("infinite thrust", DOES, "does=Levers(up=Thrust(disc, y=float('inf'))),", "a thrust must be a finite number"),
    ("NaN torque", DOES, "does=Levers(turn=Twist(disc, float('nan'))),", "a torque must be a finite number"),
    ("negative strength", DOES, "does=Levers(m=Motor(disc, other, 1.0, -1.0)),", "strength must not be negative"),
    ("one option", DOES, "does=Choice(left=Push(disc, 1.0)),", "at least two options"),
    ("no lever", DOES, "does=Levers(),", "at least one effect"),
    ("an option that is a number", DOES, "does=Choice(left=1.0, right=2.0),", "made of effects"),
    ("nothing to see", SEES, "sees=[],", "something to see"),
    ("sight of the ground", SEES, "sees=[X(arena.ground)],", "nothing to sense"),
    ("NaN scale", SEES, "sees=[X(disc, float('nan'))],", "the scale of"),
    ("no ray", SEES, "sees=[Rays(disc, (), 1.0)],", "at least one angle"),
    ("rays that hit nothing", SEES, "sees=[Rays(disc, (0.0,), 1.0, hits=())],", "what rays hit must be at least one"),
    (
        "rays that hit no name",
        SEES,
        "sees=[Rays(disc, (0.0,), 1.0, hits={})],",
        "hit needs at least one name",
    ),
    ("rays that hit a text", SEES, "sees=[Rays(disc, (0.0,), 1.0, hits='other')],", "what rays hit is a role"),
    (
        "rays that hit themselves",
        SEES,
        "sees=[Rays(disc, (0.0,), 1.0, hits={'me': disc})],",
        "what rays hit as 'me' cannot be 'disc', which looks",
    ),
    ("rays from nowhere", SEES, "sees=[Rays(disc, (0.0,), 1.0, at=1.0)],", "where rays begin must be a pair"),
    ("numbers without names", SEES, "sees=[Feels((), lambda: disc.position)],", "Feels takes names for its numbers"),
    ("numbers with one text", SEES, "sees=[Feels('xy', lambda: disc.position)],", "Feels takes names for its numbers"),
    ("a number without a name", SEES, "sees=[Feels(('x', ''), lambda: disc.position)],", "each number of Feels needs"),
    ("no reach", SEES, "sees=[Rays(disc, (0.0,), 0.0)],", "reach must be above zero"),
    ("nothing to earn", EARNS, "earns={},", "something to earn"),
    ("NaN reward", EARNS, "earns={'x': float('nan')},", "the reward 'x' must be a number or a rule"),
    ("a reward in words", EARNS, "earns={'x': 'much'},", "the reward 'x' must be a number or a rule"),
    ("NaN limit", ENDS, "ends={'out': beyond(X(disc), float('nan'))},", "a limit must be a finite number"),
    ("no ticks", ENDS, "ends={'out': Lasting(X(disc), ticks=0)},", "at least one tick"),
    ("a name that is not there", SEES, "sees=[X(disk)],", "NameError: name 'disk' is not defined"),
    ("columns read too early", EARNS, "earns={'x': disc.x},", "no numbers before the world runs"),
    ("a recipe for nobody", SCENE, 'SCENE = Scene(about="", max_ticks=9, recipes={"p p": {}})', "unknown agent 'p p'"),
    ("no tick at all", SCENE, 'SCENE = Scene(about="", max_ticks=0)', "max_ticks must be a whole number"),
    ("half ticks", SCENE, 'SCENE = Scene(about="", max_ticks=9.5)', "max_ticks must be a whole number"),
    ("NaN dt", SCENE, 'SCENE = Scene(about="", max_ticks=9, dt=float("nan"))', "dt must be a finite number"),
    ("negative dt", SCENE, 'SCENE = Scene(about="", max_ticks=9, dt=-0.1)', "dt must be a finite number above zero"),
    ("no substep", SCENE, 'SCENE = Scene(about="", max_ticks=9, substeps=0)', "substeps must be a whole number"),
    ("NaN gravity", SCENE, 'SCENE = Scene(about="", max_ticks=9, gravity=(0.0, float("nan")))', "gravity"),
    ("no extent", SCENE, 'SCENE = Scene(about="", max_ticks=9, extent=0.0)', "extent must be a finite number"),
    ("a goal in words", SCENE, 'SCENE = Scene(about="", max_ticks=9, solved_at="200")', "solved_at must be a finite"),
    ("a NaN goal", SCENE, 'SCENE = Scene(about="", max_ticks=9, solved_at=float("nan"))', "solved_at must be a finite"),
    ("about a number", SCENE, "SCENE = Scene(about=5, max_ticks=9)", "about must be a text, not 5"),
    ("a recipe that is a list", SCENE, 'SCENE = Scene(about="", max_ticks=9, recipes={"ppo": [1]})', "must be a dict"),
    ("recipes in a list", SCENE, 'SCENE = Scene(about="", max_ticks=9, recipes=["ppo"])', "recipes must be a dict"),
    ("a recipe for a number", SCENE, 'SCENE = Scene(about="", max_ticks=9, recipes={1: {}})', "unknown agent '1'"),
    ("a misspelt setting as Python 3.13 tells it", SCENE, f'raise TypeError("{TOLD_BY_3_13}")', "_tick': did you"),
    ("a misspelt setting", SCENE, 'SCENE = Scene(about="", max_tick=9)', "'max_tick': did you mean 'max_ticks'?"),
    ("a misspelt argument", OTHER, 'other = arena.spawn("o", Body(mas=1), Disc(1.0))', "did you mean 'mass'?"),
    ("a misspelt part of an agent", SEES, "sees=[X(disc)], end={},", "did you mean 'ends'?"),
    ("a sensor without its role", SEES, "sees=[X, Vx(disc)],", "sees must be made of sensors such as X(cart), not"),
    ("a sensor alone", SEES, "sees=X(disc),", "sees must be a list of sensors"),
    ("an effect alone", DOES, "does=Thrust(disc),", "does must be a Choice(...), Levers(...) or Controls(...)"),
    ("rewards in a list", EARNS, "earns=[X(disc)],", "earns must be a dict of names and rules"),
    ("ends in a list", ENDS, "ends=[beyond(X(disc), 2.0)],", "ends must be a dict of names and rules"),
    ("an end that is always so", ENDS, "ends={'lost': True},", "the end 'lost' must be a rule such as"),
    ("a sensor of a number", SEES, "sees=[Feel('x', 1.0)],", "what 'x' reads must be a rule"),
    ("a limit on a number", ENDS, "ends={'out': beyond(1.0, 2.0)},", "what is compared with a limit must be a rule"),
    ("progress of a number", EARNS, "earns={'x': Progress(1.0)},", "what Progress looks at must be a rule"),
    ("a role without a name", OTHER, 'other = arena.spawn("", Body(), Disc(1.0))', "a role needs a name"),
    ("a shape for a name", OTHER, "other = arena.spawn(Disc(1.0))", "a role needs a name"),
    ("a sensor without a name", SEES, "sees=[Feel('', disc)],", "a sensor needs a name"),
    ("a reward without a name", EARNS, "earns={'': 1.0},", "each reward needs a name"),
    ("an end without a name", ENDS, "ends={'': beyond(X(disc), 2.0)},", "each end needs a name"),
    ("an end that has a number for a name", ENDS, "ends={1: beyond(X(disc), 2.0)},", "each end needs a name"),
    ("a reward named as an end", EARNS, "earns={'end/x': 1.0},", "must not begin with 'end/'"),
    ("an end named as an end", ENDS, "ends={'end/x': beyond(X(disc), 2.0)},", "must not begin with 'end/'"),
    ("a number seen twice", SEES, "sees=[X(disc), X(disc)],", "'agent' sees 'disc x' twice"),
    ("an agent without a name", SEES, "sees=[X(disc)], name='',", "an agent needs a name"),
    ("an agent named end", SEES, "sees=[X(disc)], name='end',", "an agent cannot be named 'end'"),
    ("an agent named as a path", SEES, "sees=[X(disc)], name='a/b',", "an agent is named with letters"),
    ("a policy without a name", SEES, "sees=[X(disc)], policy=' ',", "a policy needs a name"),
    ("a policy named as another's part", SEES, "sees=[X(disc)], policy='red/2',", "a policy is named with letters"),
    ("drag below zero", DISC, 'disc = arena.spawn("disc", Body(drag=-1.0), Disc(0.1))', "must not be negative"),
    ("grip without axes", DISC, 'disc = arena.spawn("disc", Body(grip=1.0), Disc(0.1))', "say drag=(along, across)"),
    ("a pull to nowhere", DOES, "does=Levers(p=Pull(disc, 'home')),", "what a pull goes to must be a pair (x, y)"),
    ("a jump off nothing", DOES, "does=Levers(p=Jump(disc, 2.0)),", "missing"),
    ("a force that is none", OTHER, "arena.always(arena.spawn('other', Disc(0.1)))", "effects such as Push or Pull"),
    ("draws without a number", OTHER, "arena.draws('bends', 0.5)", "the draws of 'bends' must be a whole number"),
    ("a path without a rule", OTHER, "arena.path(None, points=3, draws=1)", "shaped by a function of its draws"),
    (
        "a line read too early",
        OTHER,
        "arena.terrain(lambda d: d, points=2, draws=-1)",
        "the draws of a terrain must be",
    ),
    ("an exit", DISC, "import sys; sys.exit(0)", "must not call exit"),
    ("an exit of the file", 1, "raise SystemExit", "must not call exit"),
    ("an import that fails", 1, "import nump as np", "ModuleNotFoundError: No module named 'nump'"),
]


@pytest.mark.parametrize(("what", "line", "text", "message"), BUILD, ids=[row[0] for row in BUILD])
def test_bad_input_is_refused_with_file_and_line(save: Save, what: str, line: int, text: str, message: str) -> None:
    path = save(with_line(line, text))
    with pytest.raises(SceneError, match=re.escape(message)) as refused:
        load_scene(str(path))
    lines = (line, AGENT) if line > AGENT else (line,)  # what an argument of a call is wrong with is told at the call
    assert any(str(refused.value).startswith(f"{path}, line {number}: ") for number in lines)
    assert "Traceback" not in str(refused.value)
    assert refused.value.exit_code == 2


RUNNING = [
    ("a rule that raises", EARNS, "earns={'x': lambda: 1 / (disc.x[0] * 0)},", "Warning|inf|nan|not finite"),
    ("a rule with a wrong name", EARNS, "earns={'x': lambda: disc.xx},", "AttributeError: .*'xx'"),
    ("a rule with a wrong name in ends", ENDS, "ends={'out': lambda: disk.x > 1},", "NameError: name 'disk'"),
    ("a sensor with a wrong name", SEES, "sees=[Feel('x', lambda: disk.x)],", "NameError: name 'disk'"),
    ("a wrong name inside beyond", ENDS, "ends={'out': beyond(lambda: disk.x, 1.0)},", "NameError: name 'disk'"),
    ("a division by zero inside below", ENDS, "ends={'out': below(lambda: 1 / 0, 1.0)},", "ZeroDivisionError"),
    ("two numbers inside beyond", ENDS, "ends={'out': beyond(lambda: disc.position, 1)},", "must give one number"),
    ("two further in", ENDS, "ends={'out': Lasting(above(lambda: disc.position, 1), 2)},", "Lasting needs one number"),
    ("words inside beyond", ENDS, "ends={'out': beyond(lambda: 'much', 1.0)},", "compared with 1 .*, not str"),
    ("nothing inside below", ENDS, "ends={'out': below(lambda: None, 1.5)},", "compared with 1.5 .*, not NoneType"),
    ("lists inside above", ENDS, "ends={'out': above(lambda: [1, [2, 3]], 1.0)},", "compared with 1 .*, not list"),
    ("a reward of two numbers", EARNS, "earns={'x': lambda: disc.position},", "one number per arena, not .3, 2."),
    ("a reward in words", EARNS, "earns={'x': lambda: 'much'},", "one number per arena"),
    ("a reward of nothing", EARNS, "earns={'x': lambda: None},", "one number per arena"),
    ("an end of two numbers", ENDS, "ends={'out': lambda: disc.position > 1},", "the end 'out' must give one number"),
    ("an end of nothing", ENDS, "ends={'out': lambda: None},", "the end 'out' must give one number"),
    (
        "a sensor of two numbers",
        SEES,
        "sees=[Feel('x', lambda: disc.position)],",
        "the sensor 'x' must give one number",
    ),
    ("a scaled one", SEES, "sees=[Feel('x', lambda: disc.position, 0.5)],", "the sensor 'x' must give one number"),
    ("progress of two numbers", EARNS, "earns={'x': Progress(lambda: disc.position)},", "Progress needs one number"),
    (
        "a reward that is NaN later",
        EARNS,
        "earns={'x': lambda: np.where(disc.x > 0.1, np.nan, 0.0)},",
        "the reward 'x'",
    ),
    (
        "one that is infinite later",
        EARNS,
        "earns={'x': lambda: np.where(disc.x > 0.1, np.inf, 0.0)},",
        "not finite: inf in",
    ),
    ("progress that is NaN later", EARNS, "earns={'x': Progress(lambda: np.where(disc.x > 0.1, np.nan, 0.0))},", "'x'"),
    ("a sensor that is NaN later", SEES, "sees=[Feel('x', lambda: np.where(disc.x > 0.1, np.nan, 0))],", "sensor 'x'"),
    ("a second sensor that is", SEES, "sees=[X(disc), Feel('s', lambda: np.where(disc.x > 0.1, np.inf, 0))],", "'s'"),
    ("an end that is a number", ENDS, "ends={'lost': lambda: disc.x},", "the end 'lost' must give true or false"),
    ("a reward of several lengths", EARNS, "earns={'x': lambda: [1, [2, 3]]},", "not lists of several lengths"),
    ("lasting of a number", ENDS, "ends={'out': Lasting(lambda: disc.x, 2)},", "Lasting needs a rule that gives true"),
    (
        "a reward of another shape later",
        EARNS,
        "earns={'x': lambda: disc.x if disc.x[0] < 0.1 else disc.position},",
        "the reward 'x' must give one number per arena, not .3, 2.",
    ),
    ("a reward in words later", EARNS, "earns={'x': lambda: 0 if disc.x[0] < 0.1 else 'much'},", "'x' .* not str"),
    (
        "an end of another shape later",
        ENDS,
        "ends={'out': lambda: (disc.x if disc.x[0] < 0.1 else disc.position) > 9},",
        "the end 'out' must give one number per arena, not .3, 2.",
    ),
    (
        "progress of another shape later",
        EARNS,
        "earns={'x': Progress(lambda: disc.x if disc.x[0] < 0.1 else disc.position)},",
        "Progress needs one number per arena, not .3, 2.",
    ),
    ("an exit of a rule", ENDS, "ends={'out': lambda: __import__('sys').exit(0)},", "must not call exit"),
    ("a rule that raises later", ENDS, "ends={'out': lambda: disc.x / (1 if disc.x[0] < 0.1 else []) > 9},", "Error"),
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("what", "line", "text", "message"), RUNNING, ids=[row[0] for row in RUNNING])
def test_a_rule_that_goes_wrong_is_told_by_file_and_line(
    save: Save, what: str, line: int, text: str, message: str
) -> None:
    path = save(with_line(line, text))
    scene = load_scene(str(path))
    with pytest.raises(SceneError, match=message) as refused:
        run(scene)
    assert re.match(rf"{re.escape(str(path))}, line {line}: ", str(refused.value))
    assert str(refused.value).count(str(path)) == 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("earns", "message"),
    [
        (
            "earns={'small': 1.0, 'big': 1e39},",
            "the reward 'big' of 'agent' gave 1e+39, too large to learn from, in arena 0 at tick 1 of its episode",
        ),
        (
            "earns={'big': lambda: disc.x * 0 - 1e39},",
            "the reward 'big' of 'agent' gave -1e+39, too large to learn from, in arena 0 at tick 1 of its episode",
        ),
        ("earns={'one': 2e8, 'two': 2e9},", "the reward 'two' of 'agent' gave 2e+09, too large to learn from"),
    ],
)
def test_a_reward_too_large_to_learn_from_is_named_without_a_warning(save: Save, earns: str, message: str) -> None:
    scene = load_scene(str(save(with_line(EARNS, earns))))
    with pytest.raises(SceneError, match=re.escape(message)):
        run(scene)


@pytest.mark.filterwarnings("error")
def test_large_rewards_that_fit_are_not_refused(save: Save) -> None:
    assert run(load_scene(str(save(with_line(EARNS, "earns={'x': 1e7},")))), ticks=3).ticks == 3


@pytest.mark.filterwarnings("error")
def test_a_sight_too_large_to_learn_from_is_named_without_a_warning(save: Save) -> None:
    scene = load_scene(str(save(with_line(SEES, "sees=[X(disc), Feel('far', lambda: disc.x + 1e39)],"))))
    with pytest.raises(SceneError, match="the sensor 'far' gave a number that is not finite: inf in arena 0"):
        run(scene)


def test_two_fans_of_rays_on_one_role_have_names_of_their_own(save: Save) -> None:
    text = with_line(SEES, "sees=[Rays(disc, (0.0, 1.0), 1.0), Rays(disc, (0.0,), 2.0)],")
    seen = load_scene(str(save(text))).describe().agents[0].observation_names
    assert seen == ("disc ray 0", "disc ray 1", "disc ray 2")


def test_a_scene_that_explodes_in_every_episode_is_told_by_how_to_find_it(save: Save) -> None:
    path = save(GOOD.replace("vx=1.0", "vx=1e6").replace("beyond(X(disc), 2.0)", "lambda: disc.x > 1e9"))
    nobody = {"policy": lambda seen, state: np.zeros(len(seen), int)}
    with pytest.raises(SceneError, match=re.escape(f"`train.py {path} --check`")):
        play_episodes(load_scene(str(path)), nobody, [1, 2])


FILES = [
    ("a file with a NUL byte", GOOD + "\0", "^(?!.*line None).*null byte"),
    ("a missing bracket", GOOD.replace("Disc(0.1), Start(vx=1.0))", "Disc(0.1"), r", line \d+: .*never closed"),
    ("no SCENE", GOOD.replace("SCENE", "SCEN"), "has no `SCENE = Scene"),
    ("a SCENE that is none", GOOD.replace('Scene(about="A test.", max_ticks=20)', "5"), "has no `SCENE = Scene"),
    ("no build", GOOD.replace("def build", "def built"), "has no `def build"),
    ("a build that takes nothing", GOOD.replace("build(arena)", "build()"), "has no `def build"),
    ("no agent", GOOD.replace("    arena.agent(", "    dict("), "needs at least one agent"),
    ("an empty file", "", "has no `SCENE = Scene"),
]


@pytest.mark.parametrize(("what", "text", "message"), FILES, ids=[row[0] for row in FILES])
def test_a_file_that_is_no_scene_is_refused(save: Save, what: str, text: str, message: str) -> None:
    path = save(text)
    with pytest.raises(SceneError, match=message) as refused:
        load_scene(str(path))
    assert str(refused.value).startswith(str(path))


def test_an_effect_shared_by_two_agents_is_refused_with_its_line(save: Save) -> None:
    text = GOOD + "    arena.agent(name='b', sees=[X(disc)], does=arena.agents[0].does, earns={'x': 1.0})\n"
    with pytest.raises(SceneError, match=r"line 16: 'b' must have effects of its own"):
        load_scene(str(save(text)))


@pytest.mark.parametrize(("typed", "meant"), [("balence", "balance"), ("landr", "lander"), ("swing", "swingup")])
def test_an_unknown_scene_is_refused_with_the_nearest_name(typed: str, meant: str) -> None:
    with pytest.raises(CommandError, match=f"did you mean '{meant}'"):
        load_scene(typed)


def test_a_scene_like_no_other_is_refused_with_the_list() -> None:
    with pytest.raises(CommandError) as refused:
        load_scene("zzz")
    assert all(name in str(refused.value) for name in scene_names())
    assert refused.value.exit_code == 2


def test_a_path_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="there is no scene file"):
        load_scene(str(tmp_path / "nothing.py"))


def test_a_scene_may_have_any_file_name(save: Save) -> None:
    path = save(GOOD).rename(save(GOOD).parent / "..my scene (2).v3.py")
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", load_scene(str(path)).name)


def test_python_without_its_checks_is_refused() -> None:
    code = "from ecs_rl.loading import load_scene\nfrom ecs_rl.worlds import make_world\nprint('started')"
    done = subprocess.run(
        [sys.executable, "-O", "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode != 0
    assert "started" not in done.stdout
    assert "run without -O" in done.stderr
