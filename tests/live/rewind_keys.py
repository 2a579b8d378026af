"""What the keys that go back on the stage must do, for the test that tries every key."""

from __future__ import annotations

import math
from collections.abc import Callable

from live_windows import Live, same

from ecs_rl.viewer.live_episode import LiveEpisode

Hit = Callable[[], None]
State = dict[str, bytes]


def left(live: Live, hit: Hit) -> None:
    states = ticked(live, 6)
    trained = live.trains.world.save_columns()
    for ago in (1, 2, 3, 4):
        hit()
        assert live.show.paused
        assert arena_of(live.show) == states[-1 - ago]
        assert live.show.rewind.ago == ago * live.show.scene.dt
    live.draw()
    assert f"{4 * live.show.scene.dt:.1f} S AGO" in live.chips
    assert live.window.views["scrubber"].ago == 4 * live.show.scene.dt
    assert live.stage.tick == 2
    live.hit("Right")
    assert arena_of(live.show) == states[-4]
    for _ in range(20):
        hit()
    assert arena_of(live.show) == states[0], "there is nothing before the first moment"
    live.hit("Esc")
    assert arena_of(live.show) == states[-1]
    assert same(live.trains.world.save_columns(), trained)


def second_back(live: Live, hit: Hit) -> None:
    notes = noted(live, 70)
    hit()
    assert (live.show.paused, live.show.rewind.at) == (True, notes - 1 - 50)
    assert live.show.rewind.ago == 1.0
    hit()
    assert live.show.rewind.at == max(0, notes - 1 - 100)


def second_on(live: Live, hit: Hit) -> None:
    notes = noted(live, 70)
    live.hit("PgUp", "PgUp")
    first = live.show.rewind.here
    hit()
    assert live.show.rewind.at == first + 50
    hit()
    assert live.show.rewind.at is None
    hit()
    assert len(live.show.log.past) == notes, "it does not go on by a second of its own"


def enter(live: Live, hit: Hit) -> None:
    hit()
    assert "training arena" not in live.show.caption, "without the grid nothing is chosen"
    live.hit("G", "]", "]")
    hit()
    assert live.window.stage.grid is None
    assert "training arena 2" in live.show.caption
    for role in ("cart", "pole"):
        there, here = (world.arena.roles for world in (live.trains.world, live.show.world))
        (theirs,), (ours,) = ([each for each in roles if each.name == role] for roles in (there, here))
        assert ours.position[0].tolist() == theirs.position[2].tolist()
    states = ticked(live, 8)
    for _ in range(5):
        live.hit("Left")
    hit()
    assert (live.show.paused, live.show.rewind.at) == (False, None)
    assert arena_of(live.show) == states[3]
    live.window.advance(0.05, math.inf)
    assert int(live.show.clock.tick[0]) > 3
    assert live.show.rewind.here == len(live.show.log.past) - 1, "what came after is forgotten"


def noted(live: Live, count: int) -> int:
    """Let the stage tick; return how many moments of it are known."""
    for _ in range(count):
        live.show.tick()
    return len(live.show.log.past)


def ticked(live: Live, count: int) -> list[State]:
    """Begin an episode of the stage and let it tick; return what its arena was before and after each tick."""
    live.window.stage.set_speed(1.0)
    live.show.log.past.clear()
    live.show.new_episode()
    states = [arena_of(live.show)]
    for _ in range(count):
        live.show.tick()
        states.append(arena_of(live.show))
    assert len(set(map(str, states))) == count + 1
    return states


def arena_of(show: LiveEpisode) -> State:
    """Return all that the watched arena is right now, bit for bit."""
    return {key: part.tobytes() for key, part in show.world.arena_columns(show.arena).items()}
