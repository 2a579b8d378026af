"""The nearest of a kind, and what lies in the cells around a role, against loops over every arena and member."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from world_helpers import always, random_world, role_of, scene_of, sights

from ecs_rl.arrays import F64
from ecs_rl.components import Ground
from ecs_rl.errors import SceneError
from ecs_rl.physics.physics import Physics
from ecs_rl.scene import (
    Arena,
    Body,
    Disc,
    Feel,
    Grid,
    Levers,
    Motion,
    Nearest,
    Pose,
    Push,
    Rays,
    Scene,
    Start,
    between,
    jitter,
)
from ecs_rl.world import World
from ecs_rl.worlds import make_world

N, COINS = 4, 7
ANYWHERE = Start(x=jitter(3.0), y=jitter(3.0), angle=jitter(3.0), vx=jitter(1.0), vy=jitter(1.0))


def hilly(drawn: F64) -> F64:
    x = np.broadcast_to(np.linspace(-4.0, 4.0, 9), drawn.shape)
    return np.stack((x, 3.0 * drawn - 1.0), axis=2)


def forage(sees: Any, *, players: int | None = None, spins: bool = True) -> Scene:
    """Return a scene of players among coins that come and go, some walls and hills."""

    def build(arena: Arena) -> None:
        player = arena.spawn("player", Body(solid=False, spins=spins), Disc(0.2), ANYWHERE, count=players)
        coins = arena.spawn("coin", Body(solid=False), Disc(0.1), ANYWHERE, count=COINS)
        arena.spawn("post", Body(), Disc(0.3), Start(x=between(-2, 2), y=8.0))
        arena.wall((-2.0, -1.5), (2.5, -1.0))
        arena.wall((1.0, -3.0), (1.0, 3.0))
        arena.terrain(hilly, points=9, draws=9)
        ticks = arena.number("ticks")

        @arena.system(writes=(ticks, Pose, Motion))
        def vanish() -> None:
            ticks.value += 1
            coins.leave((np.arange(COINS) == ticks.value[:, None] % COINS) & (np.arange(N) % 2 == 0)[:, None])

        agent: Any = {"of": player} if players else {}
        arena.agent(sees=sees(arena, player, coins), does=Levers(p=Push(player, x=1.0)), earns={"x": 1.0}, **agent)

    return scene_of(build, gravity=(0.0, 0.0))


def seen_in(world: World, players: int | None) -> F64:
    """Return (arenas, players, numbers)."""
    seen = sights(world)[1].value
    return seen.reshape(players or 1, N, -1).swapaxes(0, 1).astype(np.float64)


def members(column: Any) -> F64:
    """Return (arenas, members, ...)."""
    return np.asarray(column if np.ndim(column) > 2 else column[:, None])


def by_loops(role: Any, kind: Any, k: int, *, spins: bool, velocity: bool) -> F64:
    starts, places = members(role.position), members(kind.position)
    numbers = np.zeros((N, starts.shape[1], k, 5 if velocity else 3))
    for arena in range(N):
        for viewer in range(starts.shape[1]):
            angle = float(np.reshape(role.angle[arena], -1)[viewer]) if spins else 0.0
            turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
            others = [m for m in range(places.shape[1]) if kind.here[arena, m] and not (kind is role and m == viewer)]
            others.sort(key=lambda m: float(np.linalg.norm(places[arena, m] - starts[arena, viewer])))
            for i, m in enumerate(others[:k]):
                told = [1.0, *(turn @ (places[arena, m] - starts[arena, viewer]))]
                if velocity:
                    told += [*(turn @ (members(kind.velocity)[arena, m] - members(role.velocity)[arena, viewer]))]
                numbers[arena, viewer, i] = told
    return numbers.reshape(N, starts.shape[1], -1)


# --- nearest ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [None, 3])
@pytest.mark.parametrize("spins", [True, False])
@pytest.mark.parametrize("velocity", [True, False])
def test_the_nearest_of_a_kind_are_seen_in_order_with_zeros_where_fewer_are_here(
    players: int | None, spins: bool, velocity: bool
) -> None:
    see = lambda arena, player, coins: [Nearest(player, coins, 4, velocity=1.0 if velocity else None)]  # noqa: E731
    world = random_world(forage(see, players=players, spins=spins), N, debug=True)
    player, coins = role_of(world, "player"), role_of(world, "coin")
    for tick in range(6):
        world.tick()
        wanted = by_loops(player, coins, 4, spins=spins, velocity=velocity)
        assert seen_in(world, players) == pytest.approx(wanted, abs=1e-5)
        if tick == 5:
            assert coins.here[0].sum() < 4
            assert (seen_in(world, players)[0, :, -1] == 0).all()


def test_a_member_that_looks_at_its_own_kind_leaves_itself_out() -> None:
    world = random_world(forage(lambda arena, player, coins: [Nearest(player, player, 2)], players=3), N)
    world.tick()
    player = role_of(world, "player")
    assert seen_in(world, 3) == pytest.approx(by_loops(player, player, 2, spins=True, velocity=False), abs=1e-5)
    assert (seen_in(world, 3)[..., 0] == 1).all()


def test_the_numbers_of_the_nearest_have_names_and_scales() -> None:
    see = lambda arena, player, coins: [Nearest(player, coins, 1, scale=0.5, velocity=0.1), Nearest(player, coins, 2)]  # noqa: E731
    with pytest.raises(SceneError, match="sees 'player to coin 0 there' twice"):
        forage(see).describe()
    see = lambda arena, player, coins: [Nearest(player, coins, 2, scale=0.5, velocity=0.1)]  # noqa: E731
    world = random_world(forage(see), N)
    names = world.batches[0].spec.observations
    assert names[:5] == tuple(
        f"player to coin 0 {e}" for e in ("there", "ahead", "aside", "moves ahead", "moves aside")
    )
    world.tick()
    wanted = by_loops(role_of(world, "player"), role_of(world, "coin"), 2, spins=True, velocity=True)
    assert seen_in(world, None) == pytest.approx(wanted * ([1.0, 0.5, 0.5, 0.1, 0.1] * 2), abs=1e-5)


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda a, p, c: Nearest(p, c, 8), "Nearest cannot see 8 of 'coin': there are 7"),
        (lambda a, p, c: Nearest(p, p, 1), "Nearest looks at a kind, as arena.spawn"),
        (lambda a, p, c: Nearest(c, c, 7), "Nearest cannot see 7 of 'coin': there are 6"),
        (lambda a, p, c: Nearest(p, c, 0), "must be a whole number of at least 1, not 0"),
        (lambda a, p, c: Nearest(p, a.ground), "Nearest looks at a kind"),
        (lambda a, p, c: Nearest(a.ground, c), "the ground never moves: Nearest looks from a role"),
        (lambda a, p, c: Nearest(p, Arena().spawn("x", Body(), Disc(1.0), count=2)), "looks at 'x', a role of another"),
        (lambda a, p, c: Grid(p, (3,), layers={"c": c}), "the cells of a Grid are"),  # type: ignore[arg-type]
        (lambda a, p, c: Grid(p, (3, 0), layers={"c": c}), "the cells of a Grid must be a whole number of at least 1"),
        (lambda a, p, c: Grid(p, (3, 3), 0.0, layers={"c": c}), "a cell's size must be above zero"),
        (lambda a, p, c: Grid(p, layers=c), "the layers of a Grid are roles by name"),
        (lambda a, p, c: Grid(p, layers={}), "a layer of a Grid needs at least one name"),
        (lambda a, p, c: Grid(p, layers={"me": p}), "a layer of a Grid as 'me' cannot be 'player', which looks"),
        (lambda a, p, c: Grid(a.ground, layers={"c": c}), "the ground never moves: a Grid looks from a role"),
    ],
)
def test_what_cannot_be_seen_is_refused(made: Any, told: str) -> None:
    with pytest.raises(SceneError, match=told.replace("(", r"\(")):
        forage(lambda arena, player, coins: [made(arena, player, coins)]).describe()


# --- grid -------------------------------------------------------------------------------------------------------------


def cells_of(world: World, players: int | None, layers: int, up: int, across: int) -> F64:
    """Return (arenas, players, layers, up, across)."""
    return seen_in(world, players).reshape(N, players or 1, layers, up, across)


def in_cells(points: F64, role: Any, arena: int, viewer: int, *, turns: bool, cell: float, up: int, across: int) -> Any:
    """Return the row and the column of each point, as fractions, seen by a viewer."""
    angle = float(np.reshape(role.angle[arena], -1)[viewer]) if turns else 0.0
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    own = (points - members(role.position)[arena, viewer]) @ turn.T / cell
    return own[:, 1] + up / 2, own[:, 0] + across / 2


@pytest.mark.parametrize("players", [None, 3])
@pytest.mark.parametrize("turns", [True, False])
def test_a_grid_counts_what_is_here_in_each_cell(players: int | None, turns: bool) -> None:
    def see(arena: Arena, player: Any, coins: Any) -> Any:
        layers = {"coin": coins, "any": (coins, player) if players else coins}
        return [Grid(player, (5, 4), 0.7, layers=layers, turns=turns)]

    world = random_world(forage(see, players=players), N, debug=True)
    player, coins = role_of(world, "player"), role_of(world, "coin")
    for _ in range(3):
        world.tick()
        wanted = np.zeros((N, players or 1, 2, 4, 5))
        for arena in range(N):
            for viewer in range(players or 1):
                for kind, layers in ((coins, (0, 1)), (player, (1,))):
                    spots = members(kind.position)[arena]
                    near = in_cells(spots, player, arena, viewer, turns=turns, cell=0.7, up=4, across=5)
                    for m, (row, column) in enumerate(np.floor(near).T.astype(int).tolist()):
                        there = (kind is coins and coins.here[arena, m]) or (kind is player and players and m != viewer)
                        if there and 0 <= row < 4 and 0 <= column < 5:
                            wanted[arena, viewer, list(layers), row, column] += 1
        found = cells_of(world, players, 2, 4, 5)
        assert (found == wanted).all()
        assert found.any()


@pytest.mark.parametrize("players", [None, 3])
@pytest.mark.parametrize("turns", [True, False])
def test_a_grid_shows_the_ground_in_every_cell_that_it_passes_and_in_no_other(players: int | None, turns: bool) -> None:
    see = lambda arena, player, coins: [Grid(player, (9, 6), 0.4, layers={"wall": arena.ground}, turns=turns)]  # noqa: E731
    world = random_world(forage(see, players=players), N)
    player, share = role_of(world, "player"), np.linspace(0.0, 1.0, 4_001)[:, None]
    for _ in range(3):
        for role in ("x", "y"):
            moved = world.of("player", Pose)
            moved.position[...] += 0.4 if role == "x" else -0.3
        world.tick()
        segments = world.one(Ground).segments
        found = cells_of(world, players, 1, 6, 9)[:, :, 0]
        for arena in range(N):
            for viewer in range(players or 1):
                must, may = np.zeros((6, 9), bool), np.zeros((6, 9), bool)
                for one, other in segments[arena]:
                    points = one + share * (other - one)
                    row, column = in_cells(points, player, arena, viewer, turns=turns, cell=0.4, up=6, across=9)
                    for slack, cells in ((0.01, may), (-0.01, must)):
                        for y in range(6):
                            for x in range(9):
                                cells[y, x] |= bool(
                                    (
                                        (row >= y - slack)
                                        & (row <= y + 1 + slack)
                                        & (column >= x - slack)
                                        & (column <= x + 1 + slack)
                                    ).any()
                                )
                assert (found[arena, viewer][must] == 1).all()
                assert (found[arena, viewer][~may] == 0).all()
        assert 0.05 < found.mean() < 0.9


def test_a_grid_names_its_cells_from_the_lowest_row_up() -> None:
    see = lambda arena, player, coins: [Grid(player, (2, 1), layers={"coin": coins, "wall": arena.ground})]  # noqa: E731
    names = forage(see).describe().agents[0].observation_names
    assert names == ("player coin 0,0", "player coin 1,0", "player wall 0,0", "player wall 1,0")


# --- rays of a kind ---------------------------------------------------------------------------------------------------


def test_each_member_sees_by_rays_what_a_single_role_in_its_place_would() -> None:
    angles = (0.0, 1.0, -2.0, 3.0)
    see = lambda arena, player, coins: [Rays(player, angles, 3.0, at=(0.1, 0.2), hits=(coins, player, arena.ground))]  # noqa: E731
    world = random_world(forage(see, players=3), N)
    for _ in range(3):
        world.tick()
    together = seen_in(world, 3)

    def one(arena: Arena) -> None:
        me = arena.spawn("me", Body(solid=False), Disc(0.2))
        others = arena.spawn("player", Body(solid=False), Disc(0.2), count=2)
        coins = arena.spawn("coin", Body(solid=False), Disc(0.1), count=COINS)
        arena.wall((-2.0, -1.5), (2.5, -1.0))
        arena.wall((1.0, -3.0), (1.0, 3.0))
        arena.terrain(hilly, points=9, draws=9)
        sees = [Rays(me, angles, 3.0, at=(0.1, 0.2), hits=(coins, others, arena.ground)), Feel("n", lambda: me.x)]
        arena.agent(sees=sees, does=Levers(p=Push(me)), earns={"x": 1.0})

    alone = make_world(scene_of(one, gravity=(0.0, 0.0)), arenas=N, policies=always(np.zeros((N, 1), np.float32)))
    alone.one(Ground).segments[...] = world.one(Ground).segments
    alone.rebuild()
    player, coins = role_of(world, "player"), role_of(world, "coin")
    for member in range(3):
        alone.of("me", Pose).position[...] = player.position[:, member]
        alone.of("me", Pose).angle[...] = player.angle[:, member]
        alone.of("player", Pose).position[...] = np.delete(player.position, member, axis=1)
        alone.of("coin", Pose).position[...] = coins.position
        alone.engine_as(Physics).here[role_of(alone, "coin").rows] = coins.here.T
        alone.stages["sense"].process()
        assert (sights(alone)[1].value[:, :4] == together[:, member].astype(np.float32)).all()
    assert 0.1 < (together > 0).mean() < 1.0


def test_what_is_not_here_is_seen_by_no_ray_and_what_is_not_solid_is() -> None:
    def build(arena: Arena) -> None:
        eye = arena.spawn("eye", Body(), Disc(0.1))
        ghosts = arena.spawn("ghost", Body(solid=False), Disc(0.5), Start(x=(2.0, -2.0)), count=2)
        ticks = arena.number("ticks")

        @arena.system(writes=(Pose, ticks))
        def vanish() -> None:
            ticks.value += 1
            ghosts.leave((ticks.value >= 2)[:, None] & np.array([True, False]))

        arena.agent(sees=[Rays(eye, (0.0, np.pi), 3.0)], does=Levers(p=Push(eye)), earns={"x": 1.0})

    world = random_world(scene_of(build, gravity=(0.0, 0.0)), 2)
    world.tick()
    assert sights(world)[1].value == pytest.approx(np.full((2, 2), 0.5), abs=1e-6)
    world.tick()
    assert sights(world)[1].value == pytest.approx(np.array([[0.0, 0.5]] * 2), abs=1e-6)
