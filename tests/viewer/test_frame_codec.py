"""A frame that travels to a screen in another process is the same frame there."""

from __future__ import annotations

import gc
import weakref
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pygame
import pytest
from viewer_views import (
    HELP,
    INSPECTOR,
    MESSAGES,
    PROFILE,
    RIBBON,
    STATUS,
    TIMELINE,
    a_grid,
    a_mind,
    a_stacked_learning,
    a_stage,
    ground,
    some_panes,
)

from ecs_rl.session.diagnosis import Finding
from ecs_rl.viewer.camera import Aim
from ecs_rl.viewer.canvas import SliderView
from ecs_rl.viewer.frame import Painter, kinds_of
from ecs_rl.viewer.frame_codec import Frame, FrameReader, FrameWriter, form_of
from ecs_rl.viewer.objects import BodyId
from ecs_rl.viewer.panels import PANELS
from ecs_rl.viewer.panels.end_card import EndView
from ecs_rl.viewer.panels.learning import DrawerView
from ecs_rl.viewer.panels.scrubber import ScrubberView
from ecs_rl.viewer.panels.stage import StagesView
from ecs_rl.viewer.panels.tour import TourView
from ecs_rl.viewer.view import (
    DrawnView,
    GhostView,
    LearningView,
    MapView,
    MindView,
    PaneView,
    SeenPicture,
    StageView,
    WhyView,
)

SIZE = (1280, 720)
KINDS = kinds_of(PANELS)


def a_map(*, on_stage: bool) -> MapView:
    values = np.arange(12.0).reshape(3, 4)[:, ::-1]  # not contiguous
    return MapView(("x", "y"), ((-1.0, 0.0), (1.0, 2.0)), values, np.full((3, 4, 2), np.nan), (0.5, 0.5), on_stage)


def whole_mind() -> MindView:
    """Return a mind of which no field is empty."""
    mind = a_mind()
    why = WhyView("left", 0, (0.5, -1.0), (1,), mind.does[:1], 3.5)
    pictures = (SeenPicture("rays", 0, np.linspace(0, 1, 9).reshape(1, 1, 9)),)
    return replace(mind, why=why, pictures=pictures, begins=(1, 4), who="left")


CURVES = replace(a_stacked_learning(), changes=((3.0, "lr"),), bests=(("left", (1.0, 2.0)),))
DRAWN = DrawnView(np.zeros((4, 5, 3), np.uint8))
FULL_STAGE = replace(
    a_stage(),
    field=a_map(on_stage=True),
    drawn=DRAWN,
    watched=(BodyId("hull", 2), "left"),
    grip=((0.0, 1.0), (2.0, 3.0)),
    selected=BodyId("hull"),
)
GHOSTS = (GhostView("left", (np.zeros((3, 2)), np.ones((2, 2))), "bad"),)
FULL_GRID = replace(a_grid(8), focus=np.zeros((8, 2)), roads=((np.zeros((8, 3, 2)), 1.0, True),))
OF_PANELS: dict[str, Any] = (
    ground()
    | MESSAGES
    | {
        "stage": StagesView((PaneView("", FULL_STAGE), *some_panes()), Aim((0.5, 1.0), 80.0), GHOSTS),
        "grid": FULL_GRID,
        "ribbon": RIBBON,
        "status": STATUS,
        "mind": whole_mind(),
        "learning": DrawerView(CURVES, TIMELINE),
        "finding": Finding("a death that pays", "told", "cure"),
        "scrubber": ScrubberView(3.0, 1.5, ((0.5, "good"),)),
        "plot": a_map(on_stage=False),
        "help": HELP,
        "inspector": INSPECTOR,
        "profile": PROFILE,
        "joy": 0.25,
        "end card": EndView("Solved after 5.9 s of training", ("best 226",)),
        "tour": TourView("stage", "look", 1, 6),
        "weather": (SliderView("gravity", "9.8", 0.5, 0.5),),
        "settings": (SliderView("lr", "0.001", 0.5, 0.25, True),),
    }
)


def frame_of(**panels: Any) -> Frame:
    return Frame(SIZE, views={**OF_PANELS, **panels})


def a_frame_with(stage: StageView) -> Frame:
    return frame_of(stage=StagesView((PaneView("", stage),)))


def assert_same(ours: Any, theirs: Any, where: str = "frame") -> None:
    """Compare by value, arrays and records included."""
    assert type(ours) is type(theirs) or isinstance(ours, np.generic), where
    if is_dataclass(ours):
        for field in fields(ours):
            assert_same(getattr(ours, field.name), getattr(theirs, field.name), f"{where}.{field.name}")
    elif isinstance(ours, dict):
        assert ours.keys() == theirs.keys(), where
        for name, mine in ours.items():
            assert_same(mine, theirs[name], f"{where}[{name}]")
    elif isinstance(ours, tuple):
        assert len(ours) == len(theirs), where
        for i, (mine, yours) in enumerate(zip(ours, theirs, strict=True)):
            assert_same(mine, yours, f"{where}[{i}]")
    elif isinstance(ours, np.ndarray):
        assert ours.dtype == theirs.dtype, where
        np.testing.assert_array_equal(ours, theirs, where)
    else:
        assert ours == theirs, where


def drawn(painter: Painter, frame: Frame) -> bytes:
    surface = pygame.Surface(frame.size)
    painter.draw(surface, frame.views)
    return pygame.image.tobytes(surface, "RGB")


@pytest.mark.parametrize(
    "frame",
    [frame_of(), Frame(SIZE), frame_of(mind=None, status=None)],
    ids=["everything", "nothing", "rooms without a picture"],
)
def test_what_arrives_is_what_was_sent_and_looks_like_it(frame: Frame) -> None:
    there = FrameReader(KINDS).frame(FrameWriter(KINDS).bytes_of(frame))
    assert_same(frame, there)
    assert drawn(Painter(), frame) == drawn(Painter(), there)


def test_there_is_a_view_of_every_panel() -> None:
    assert OF_PANELS.keys() == KINDS.keys()


def test_another_panel_than_those_of_the_list_is_not_sent() -> None:
    with pytest.raises(KeyError):
        FrameWriter(KINDS).bytes_of(frame_of(other=DRAWN))


def test_what_stays_the_same_object_here_stays_one_there_and_is_not_sent_again() -> None:
    writer, reader = FrameWriter(KINDS), FrameReader(KINDS)
    first = writer.bytes_of(frame_of())
    again = writer.bytes_of(a_frame_with(a_stage(1.0)))
    before, after = (reader.frame(each) for each in (first, again))
    for name in ("mind", "learning", "grid"):
        assert before.views[name] == after.views[name]
    (old, *_), (new,) = before.views["stage"].panes, after.views["stage"].panes
    assert new.stage is not old.stage
    assert new.stage.objects[0].position.tolist() == a_stage(1.0).objects[0].position.tolist()
    assert len(again) < len(first) / 5


def test_what_a_frame_leaves_out_is_sent_anew_by_the_next_that_has_it_and_kept_by_nobody() -> None:
    writer, reader = FrameWriter(KINDS), FrameReader(KINDS)
    sizes = []
    nothing = DrawerView(LearningView())
    for frame in (frame_of(), frame_of(learning=nothing), frame_of()):
        sizes.append(len(packed := writer.bytes_of(frame)))
        assert_same(frame, reader.frame(packed))
    assert sizes[2] > sizes[1] + 1000
    stage = a_stage()
    gone = weakref.ref(stage)
    for each in (stage, a_stage(), a_stage()):
        theirs = reader.frame(writer.bytes_of(a_frame_with(each))).views["stage"]
    assert theirs.panes
    del each, stage
    gc.collect()
    assert gone() is None


def test_a_record_that_comes_twice_in_a_frame_is_one_record_there() -> None:
    stage = a_stage()
    panes = tuple(replace(pane, stage=stage) for pane in some_panes())
    sent = frame_of(stage=StagesView(panes))
    there = FrameReader(KINDS).frame(FrameWriter(KINDS).bytes_of(sent)).views["stage"]
    assert len({id(pane.stage) for pane in there.panes}) == 1


def test_numbers_of_numpy_arrive_as_pythons() -> None:
    frame = frame_of(status=replace(STATUS, steps=np.int64(7), best=np.float64(1.5)))  # type: ignore[arg-type]
    status = FrameReader(KINDS).frame(FrameWriter(KINDS).bytes_of(frame)).views["status"]
    assert (type(status.steps), status.steps, type(status.best), status.best) == (int, 7, float, 1.5)


def test_what_no_screen_could_read_is_refused() -> None:
    with pytest.raises(TypeError, match="nothing of the type dict"):
        form_of(dict[str, int])
    with pytest.raises(TypeError, match="could not tell"):
        form_of(MindView | DrawnView)
    with pytest.raises(TypeError, match="nothing of the type"):
        FrameWriter(KINDS).bytes_of(frame_of(status=replace(STATUS, run=object())))  # type: ignore[arg-type]
