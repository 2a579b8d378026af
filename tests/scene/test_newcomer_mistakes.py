"""What somebody writes who is new to scenes is answered in one line: file, line, what is wrong and what was meant."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scene_files import DISC, DOES, EARNS, ENDS, GOOD, OTHER, SCENE, SEES, Save, run, with_line

from ecs_rl.errors import SceneError
from ecs_rl.loading import load_scene
from ecs_rl.scene import Body, Disc, Spread, X
from ecs_rl.scene.arena import Arena
from ecs_rl.scene.checks import LONGEST, quote

TRUTH = "use np.where(condition, a, b) for `if`; `&`, `|`, `~` and brackets"
CALL = "a function is not a number: call it"
A_RULE = "a sensor is a rule, not a number: call it inside a rule"

KIND = "arena.spawn('o', Disc(0.1), Start(x=20.0), count=4)"
PLAIN = "arena.spawn('o', Disc(1.0), type('Gun', (), {})())"


def component(field: str) -> str:
    hint, _, start = field.partition(" = ")
    return f"component(type('Gun', (), {{'__annotations__': {{'s': {hint}}}, 's': {start}}}))"


def system(body: str) -> str:
    return f"o = {KIND}; arena.system(lambda: {body}, name='s', writes=(Pose,))"


MISTAKES = [
    ("a misspelt role", SEES, "sees=[X(dics)],", "did you mean 'disc'?"),
    ("a misspelt role in a rule", EARNS, "earns={'x': lambda: othr.x},", "did you mean 'other'?"),
    ("a misspelt sensor", SEES, "sees=[Headng(disc)],", "did you mean 'Heading'?"),
    ("a sensor in small letters", SEES, "sees=[heading(disc)],", "did you mean 'Heading'?"),
    ("a misspelt column", EARNS, "earns={'x': lambda: disc.px},", "no attribute 'px': did you mean 'x'?"),
    ("a misspelt column of a draw", EARNS, "earns={'x': arena.random('w', jitter(1)).val},", "did you mean 'value'?"),
    ("a misspelt word of the arena", OTHER, 'other = arena.spwn("other", Body(), Disc(1.0))', "did you mean 'spawn'?"),
    ("a misspelt function of numpy", EARNS, "earns={'x': lambda: np.hypott(disc.x, 1)},", "did you mean 'hypot'?"),
    ("a misspelt builtin", DISC, "lenn([])", "did you mean 'len'?"),
    ("a misspelt import", 2, "from ecs_rl.scene import Arena, Boddy", "did you mean 'Body'?"),
    ("a misspelt module", 2, "from ecs_rl.scenes import *", "a scene imports with `from ecs_rl.scene import *`"),
    ("no numpy", 1, "np.pi", "'np' is not defined: add `import numpy as np`"),
    ("no import", 2, "", "'Scene' is not defined: add `from ecs_rl.scene import *`"),
    ("a role before it is spawned", DISC, "disc = arena.spawn('d', Body(), Disc(disc.x))", "'disc' is used before the"),
    ("if", EARNS, "earns={'x': lambda: 1.0 if disc.x < 1 else 0.0},", TRUTH),
    ("and", ENDS, "ends={'out': lambda: disc.x > 1 and disc.y < 1},", TRUTH),
    ("not", ENDS, "ends={'out': lambda: not disc.x < 1},", TRUTH),
    ("between two numbers", ENDS, "ends={'out': lambda: 1 < disc.x < 2},", TRUTH),
    ("max of Python", EARNS, "earns={'x': lambda: max(0, disc.x)},", "np.maximum for `max`"),
    ("math", EARNS, "earns={'x': lambda: __import__('math').exp(disc.x)},", "use np.exp for math.exp"),
    ("one number of all arenas", EARNS, "earns={'x': lambda: float(disc.x)},", "neither float(...) nor int(...)"),
    ("two numbers and one", EARNS, "earns={'x': lambda: disc.position * disc.x},", "take them apart, as in cart.x"),
    ("brackets after a column", EARNS, "earns={'x': lambda: disc.x()},", "leave the brackets away"),
    ("a rule that moves a body", EARNS, "earns={'x': lambda: setattr(disc, 'x', 0.0)},", "rules only read"),
    ("a function for its number", EARNS, "earns={'x': lambda: -build},", CALL),
    ("a function inside numpy", EARNS, "earns={'x': lambda: np.exp(build)},", CALL),
    ("a function for an answer", EARNS, "earns={'x': lambda: build},", "which is no number: call it"),
    ("a sensor for its number", EARNS, "earns={'x': 2 * X(disc)},", A_RULE),
    ("a sensor that is compared", ENDS, "ends={'out': X(disc) > 2},", A_RULE),
    ("a sensor in a lambda", EARNS, "earns={'x': lambda: -X(disc)},", A_RULE),
    ("a contact for its number", EARNS, "earns={'x': lambda: -Touching(disc)},", A_RULE),
    ("progress for its number", EARNS, "earns={'x': lambda: -Progress(X(disc))},", A_RULE),
    ("a draw for its number", EARNS, "earns={'x': arena.random('w', jitter(1)) * 2},", "a draw's number is its value"),
    ("a role for its number", EARNS, "earns={'x': lambda: disc * 2},", "a role's numbers are its x, y, angle"),
    (
        "a rule with an argument",
        EARNS,
        "earns={'x': lambda arena: 1.0},",
        "the reward 'x' must be a rule without arguments",
    ),
    ("an end with an argument", ENDS, "ends={'out': lambda arena: True},", "the end 'out' must be a rule without"),
    ("a sensor with an argument", SEES, "sees=[Feel('x', lambda a: disc.x)],", "what 'x' reads must be a rule without"),
    (
        "a class for a rule",
        EARNS,
        "earns={'x': Progress},",
        "must be a rule such as `lambda: cart.x`, not the class Prog",
    ),
    ("a list of three", EARNS, "earns={'x': lambda: [1.0, 2.0]},", "not list of length 2: there are 3 arenas"),
    ("a tuple of two", EARNS, "earns={'x': lambda: (1.0, 2.0)},", "not tuple of length 2: there are 3 arenas"),
    ("texts", EARNS, "earns={'x': lambda: ['good'] * 3},", "not list of text"),
    ("a text", EARNS, "earns={'x': lambda: 'good'},", "not str 'good'"),
    ("no return", EARNS, "earns={'x': lambda: None},", "not NoneType: is its `return` missing?"),
    (
        "nothing to see",
        SEES,
        "sees=[Feel('x', lambda: None)],",
        "the sensor 'x' must give one number per arena, not NoneT",
    ),
    ("a scaled nothing", SEES, "sees=[Feel('x', lambda: None, 2.0)],", "the sensor 'x' must give one number per arena"),
    ("a text to see", SEES, "sees=[Feel('x', lambda: 'a')],", "the sensor 'x' must give one number per arena, not str"),
    ("a rule to see", SEES, "sees=[lambda: disc.x],", "not of a lambda: give it a name, as in Feel('height', rule)"),
    ("a role to see", SEES, "sees=[disc],", "sees must be made of sensors such as X(cart), not of Role 'disc'"),
    ("lists to see", SEES, "sees=[[X(disc)]],", "not of [Sensor 'disc x']"),
    (
        "an end that is a number",
        ENDS,
        "ends={'out': 2.0},",
        "the end 'out' must be a rule such as `beyond(X(cart), 2.0)`",
    ),
    ("ends in an empty list", ENDS, "ends=[],", "ends must be a dict of names and rules, not []"),
    ("actions in a list", DOES, "does=[Push(disc, 1.0), Push(disc, -1.0)],", "effects, not [Push(...), Push(...)]"),
    ("an option in a list", DOES, "does=Levers(x=[Push(disc, 1.0)]),", "[Push(...)]: several go into a tuple"),
    ("an effect without a name", DOES, "does=Levers(Push(disc, 1.0)),", "each effect in Levers needs a name"),
    ("a choice without names", DOES, "does=Choice(Push(disc), None),", "each effect in Choice needs a name"),
    ("a class for an effect", DOES, "does=Levers(push=Push),", "Push or Thrust, not of the class Push"),
    ("a role for an effect", DOES, "does=Levers(push=disc),", "Push or Thrust, not of Role 'disc'"),
    (
        "an effect on a name",
        DOES,
        "does=Levers(push=Push('disc', 1.0)),",
        "a Push works on a role, which arena.spawn(...)",
    ),
    ("a motor against a number", DOES, "does=Levers(turn=Motor(disc, 3.0)),", "a Motor turns against a role, which"),
    ("an effect on the ground", DOES, "does=Levers(push=Push(arena.ground, 1.0)),", "works on the ground, which never"),
    (
        "a sensor of a name",
        SEES,
        "sees=[X('disc')],",
        "a sensor looks at a role, which arena.spawn(...) returns, not 'disc'",
    ),
    ("a heading of a name", SEES, "sees=[Heading('disc')],", "Heading looks at a role"),
    ("the way to a number", SEES, "sees=[Toward(disc, 1.0)],", "Toward looks at a role"),
    ("closing in on a number", SEES, "sees=[Closing(disc, 1.0)],", "Closing looks at a role"),
    ("a touch of a name", SEES, "sees=[Touching(disc, 'ground')],", "what it touches is a role"),
    ("one angle", SEES, "sees=[Rays(disc, 0.5, 1.0)],", "the angles of rays must be a tuple"),
    ("a joint to a name", OTHER, "arena.join(Pivot(disc, 'pole'))", "a Pivot joins a role, which"),
    ("a spring to a number", OTHER, "arena.join(Spring(1.0, disc, 1.0, 1.0, 1.0))", "a Spring joins a role, which"),
    ("a joint that is none", OTHER, "arena.join(disc)", "as in arena.join(Pivot(a, b)), not by Role 'disc'"),
    ("joints in a list", OTHER, "arena.join([Pivot(arena.ground, disc)])", "not by [Pivot(...)]"),
    ("an argument too few", OTHER, "Box(1.0)", "it is called as Box(width, height)"),
    ("an argument too many", OTHER, "jitter(0.1, 0.2)", "it is called as jitter(size)"),
    ("an argument of nothing", OTHER, "Thrust(disc, z=1.0)", "called as Thrust(role, x=0.0, y=0.0, at=(0.0, 0.0))"),
    (
        "parts by name",
        OTHER,
        "arena.spawn('o', body=Body())",
        "it is called as spawn(name, *parts, count=None, here=None)",
    ),
    (
        "an agent of nothing",
        OTHER,
        "arena.agent(sees=[X(disc)])",
        "agent(*, sees, does, earns, ends=None, name=None",
    ),
    (
        "a scene of nothing",
        SCENE,
        "SCENE = Scene()",
        "called as Scene(about, max_ticks, solved_at=None, dt=0.02, substep",
    ),
    ("two starts", OTHER, "arena.spawn('o', Disc(1.0), Start(), Start())", "has 2 starts: say all of it in one Start("),
    ("a class for a part", OTHER, "arena.spawn('o', Body, Disc(1.0))", "a Look and components, not of the class Body"),
    ("spins in words", OTHER, "Body(spins='no')", "a body's spins must be True or False, not 'no'"),
    ("a number for a polygon", OTHER, "Polygon(3)", "a polygon is made of points, as in ((0, 0), (1, 0), (0, 1))"),
    (
        "a random number that is fixed",
        OTHER,
        "arena.random('x', 3.0)",
        "'x' is drawn from a spread such as jitter(1.0)",
    ),
    (
        "ticks in words",
        ENDS,
        "ends={'out': Lasting(beyond(X(disc), 1), '3')},",
        "the ticks of Lasting must be a finite num",
    ),
    ("a terrain that is a number", OTHER, "arena.terrain(3, points=3, draws=1)", "shaped by a function of its draws"),
    (
        "points in words",
        OTHER,
        "arena.terrain(lambda u: u, points='3', draws=1)",
        "points of a terrain must be a whole",
    ),
    (
        "less than no draws",
        OTHER,
        "arena.terrain(lambda u: u, points=3, draws=-1)",
        "draws of a terrain must be a whole",
    ),
    (
        "a use of a lambda",
        OTHER,
        "arena.use(lambda: 1.0)",
        "arena.use takes a sensor, Progress or Lasting; a lambda needs",
    ),
    ("a colour that there is not", OTHER, "Look('red')", "blue, green, orange, purple, sky, vermilion, yellow"),
    ("a colour for a look", OTHER, "arena.spawn('o', Disc(1), 'green')", "not of 'green': a colour or a picture is"),
    ("a place for a start", OTHER, "arena.spawn('o', Disc(1), (1, 2))", "a place is a Start, as in Start(x=1.0"),
    ("a class for a shape", OTHER, "arena.spawn('o', Disc)", "not of the class Disc: make one, as in Disc(...)"),
    (
        "a component that is a list",
        OTHER,
        component("list = []"),
        "Gun.s starts as a number or a tuple of them",
    ),
    ("a component that is an array", OTHER, component("float = np.ones(2)"), "starts as a number or a tuple of them"),
    ("a class without @component", OTHER, PLAIN, "not of Gun(...): is `@component` missing in the line above"),
    ("a trigger among levers", DOES, "does=Levers(fire=Trigger()),", "Controls(...) mixes choices, triggers and lev"),
    (
        "a trigger of nobody",
        EARNS,
        "earns={'x': (lambda fire: lambda: fire.on)(Trigger())},",
        "a Trigger whose .on is r",
    ),
    ("a trigger for its truth", EARNS, "earns={'x': 2 * Trigger()},", "what the agent decided is its `on`, as in"),
    ("a choice for its number", EARNS, "earns={'x': 2 * Choice(a=None, b=None)},", "is its `picked`, as in"),
    ("dice for their number", EARNS, "earns={'x': 2 * arena.dice()},", "dice are a rule: call them inside a rule or"),
    ("a spread that is moved", OTHER, "Start(x=jitter(7.0) + 1)", "say both bounds, as in between(-6, 8)"),
    (
        "a number for its column",
        EARNS,
        "earns={'x': 2 * arena.number('n')},",
        "its column is its value, as in `coins.v",
    ),
    ("a number for a rule", EARNS, "earns={'x': arena.number('n')},", "take `lambda: coins.value`"),
    ("progress of a number", EARNS, "earns={'x': Progress(arena.number('n'))},", "take `lambda: coins.value`"),
    ("a member in brackets", OTHER, "arena.spawn('o', Disc(1), count=3)[0]", "its columns are, as in coins.x[:, 0]"),
    (
        "members taken apart",
        OTHER,
        "a, b = arena.spawn('o', Disc(1), count=2)",
        "'o' is not taken apart, its columns are",
    ),
    ("a sensor of a kind", SEES, f"sees=[X({KIND})],", "the sensor 'o x' must give one number per arena, not (3, 4)"),
    (
        "a touch of a kind as an end",
        ENDS,
        f"ends={{'hit': Touching(disc, {KIND})}},",
        "one number per arena, not (3, 4)",
    ),
    (
        "a kind against an arena",
        EARNS,
        f"earns={{'x': (lambda o: lambda: disc.x - o.x)({KIND})}},",
        "cart.x[:, None] st",
    ),
    ("a kind placed in build", OTHER, f"{KIND}.place(True)", "'o' is placed, started anew or taken away by a system"),
    ("a kind that leaves in build", OTHER, f"{KIND}.leave(True)", "is said in spawn(..., Start(x=2.0), here=False)"),
    ("placed at a text", OTHER, system("o.place(True, x='left')"), "'o' cannot be placed at x=str 'left': it takes nu"),
    ("nobody to restart", OTHER, system("arena.restart(disc.x > 9)"), "arena.restart takes the roles that start anew"),
    ("a restart by members", OTHER, system("arena.restart(o.here, o)"), "where (arenas,) truths say, not where (3, 4)"),
    ("a role as what is written", OTHER, "arena.system(lambda: None, name='s', writes=(disc,))", "not Role 'disc'"),
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("what", "line", "text", "message"), MISTAKES, ids=[row[0] for row in MISTAKES])
def test_a_mistake_is_told_by_file_and_line_with_what_was_meant(
    save: Save, what: str, line: int, text: str, message: str
) -> None:
    path = save(with_line(line, text))
    with pytest.raises(SceneError) as refused:
        run(load_scene(str(path)))
    told = str(refused.value)
    assert re.match(rf"{re.escape(str(path))}, line \d+: ", told)
    assert message in told
    assert len(told.removeprefix(str(path))) < 300
    assert "\n" not in told


HELPERS = GOOD.replace("    arena.agent(\n", "    def far():\n        return disc.px\n\n    arena.agent(\n")


@pytest.mark.parametrize(
    ("earns", "told"),
    [
        ("earns={'x': lambda: far()},", "line 11: .* did you mean 'x'\\? \\(called in line 16\\)"),
        ("earns={'x': far()},", "line 11: .* did you mean 'x'\\? \\(called in line 16\\)"),
    ],
)
def test_a_mistake_in_a_function_is_told_with_the_line_that_calls_it(save: Save, earns: str, told: str) -> None:
    path = save(HELPERS.replace('earns={"x": X(disc)},', earns))
    with pytest.raises(SceneError, match=told):
        run(load_scene(str(path)))


def test_columns_read_too_early_in_a_function_name_the_line_that_calls_it(save: Save) -> None:
    path = save(HELPERS.replace("disc.px", "disc.x").replace("beyond(X(disc), 2.0)", "beyond(far(), 2.0)"))
    with pytest.raises(SceneError, match=r"line 11: 'disc' has no numbers before .* \(called in line 17\)"):
        load_scene(str(path))


SECOND = """
    arena.agent(
        name="second", sees=[{sees}], does={does}, earns={{"x": 1.0}}
    )
"""
TWO = "Choice(left=Push(other, -1.0), right=Push(other, 1.0))"


@pytest.mark.parametrize(
    ("sees", "does", "message"),
    [
        (
            "X(other), Y(other)",
            TWO,
            "'second' sees 2 numbers, 'agent' 1 number (number 2 is 'other y' against 'not there')",
        ),
        (
            "X(other)",
            "Choice(a=Push(other), b=None, c=None)",
            "has Choice(a, b, c), 'agent' Choice(left, right)",
        ),
        ("X(other)", "Levers(a=Push(other, 1.0))", "'second' has Levers(a), 'agent' Choice(left, right)"),
    ],
)
def test_agents_that_share_a_policy_and_differ_are_told_in_what_and_where(
    save: Save, sees: str, does: str, message: str
) -> None:
    path = save(GOOD + SECOND.format(sees=sees, does=does))
    with pytest.raises(
        SceneError, match=re.escape(f"{path}, line 17: 'second' shares the policy of 'agent'")
    ) as refused:
        load_scene(str(path))
    assert message in str(refused.value)
    assert "policy of its own" in str(refused.value)


def test_agents_that_share_a_policy_and_see_alike_are_taken(save: Save) -> None:
    path = save(GOOD + SECOND.format(sees="X(other)", does=TWO))
    assert len(load_scene(str(path)).describe().agents) == 2


def test_numbers_of_numpy_are_numbers(save: Save) -> None:
    text = GOOD.replace("Body(), Disc(0.1)", "Body(mass=np.float32(2.0), spins=np.True_), Disc(np.int64(1))")
    assert run(load_scene(str(save(text)))).ticks == 20


@pytest.mark.parametrize("places", ["[20, 21, 22, 23]", "np.linspace(20, 23, 4)", "(20, 21, 22, 23)"])
def test_a_list_or_an_array_of_numbers_is_a_start_for_each_member(save: Save, places: str) -> None:
    kind = f'other = arena.spawn("other", Body(), Disc(0.1), Start(x={places}), count=4)'
    world = run(load_scene(str(save(with_line(OTHER, kind)))), ticks=1)
    np.testing.assert_allclose(world.arena.roles[1].x, np.tile([20.0, 21.0, 22.0, 23.0], (3, 1)))


COUNTING = """
    n = arena.number("n")

    @arena.system(writes=(n,))
    def count():
        n += 1
"""


def test_a_number_that_is_counted_up_without_its_value_is_told_how(save: Save) -> None:
    with pytest.raises(SceneError, match=r"line 21: .* make a new 'n': write into the column, as `n.value \+= 1`"):
        run(load_scene(str(save(GOOD + COUNTING))))


def test_points_in_a_list_make_a_polygon(save: Save) -> None:
    text = GOOD.replace("Box(0.1, 0.2)", "Polygon([(0, 0), (1, 0), (0, 1)])")
    role = load_scene(str(save(text))).describe().roles[1]
    assert hash(role.shapes) == hash(role.shapes)


class Loud:
    """Its repr must never be asked for: it may be long, slow or broken."""

    def __repr__(self) -> str:
        raise AssertionError("nobody should ask")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.5, "1.5"),
        ("a\nb", "'a\\nb'"),
        ("long " * 50, "'" + "long " * 11 + "l..."),
        (Loud(), "Loud(...)"),
        ([Loud(), {"a": Loud()}], "[Loud(...), {'a': Loud(...)}]"),
        (Body, "the class Body"),
        (X, "the function X"),
        (lambda: 1, "a lambda"),
        (np.zeros((300, 2)), "an array (300, 2) of float64"),
        (Spread(0.0, 1.0), "Spread(low=0.0, high=1.0)"),
        (Arena().spawn("cart", Body(), Disc(1.0)), "Role 'cart'"),
    ],
)
def test_what_a_message_quotes_is_one_short_line(value: object, text: str) -> None:
    assert quote(value) == text
    assert len(quote(value)) <= LONGEST
