from __future__ import annotations

import resource
import sys
from pathlib import Path

import imageio_ffmpeg
import numpy as np
import pygame
import pytest
from film_helpers import difference, left_behind, picture, pixels, shown

from ecs_rl.errors import CommandError, StorageError
from ecs_rl.viewer.films.encoder import Film, joining
from ecs_rl.viewer.films.ffmpeg import require_encoder

COUNT = 7


def join(clips: list[Path], out: Path) -> None:
    for _ in joining(clips, out):
        pass


def film(path: Path, *, size: tuple[int, int] = (64, 48), first: int = 0, fps: float = 10.0) -> Path:
    with Film(path, size, fps) as made:
        for number in range(first, first + COUNT):
            made.add(picture(number, size))
    return path


@pytest.mark.parametrize("kind", [".mp4", ".gif"])
def test_a_film_shows_the_pictures_it_was_given_in_their_order(tmp_path: Path, kind: str) -> None:
    frames, facts = shown(film(tmp_path / f"film{kind}"))
    assert len(frames) == COUNT
    assert facts["fps"] == 10.0
    assert facts["size"] == (64, 48)
    for number, frame in enumerate(frames):
        assert difference(frame, pixels(picture(number))) < 4.0
        assert difference(frame, pixels(picture(number + 1))) > 8.0
    assert left_behind(tmp_path) == [f"film{kind}"]


SMALL = [(40, 220, 80), (160, 60, 200), (250, 220, 40), (230, 40, 40), (60, 200, 230)]
"""The colours of small things that never move: an exit, gems, a key."""


def shaded(number: int, size: tuple[int, int]) -> pygame.Surface:
    """Return a picture with a shaded sky, moving bodies of many browns, and a row of small things."""
    w, h = size
    down, across = np.mgrid[0:h, 0:w]
    sky = np.stack([60 + 120 * across / w, 90 + 110 * down / h, 160 + 60 * (across + down) / (w + h)], -1)
    surface = pygame.surfarray.make_surface(sky.astype(np.uint8).swapaxes(0, 1))
    for i in range(80):
        brown = 90 + i % 40 * 3, 60 + i % 30 * 3, 30 + i % 20 * 3
        pygame.draw.circle(
            surface, brown, ((i * 97 + number * 7) % w, 40 + (i * 53 + number * 3) % (h - 40)), 5 + i % 9
        )
    for i, colour in enumerate(SMALL):
        pygame.draw.rect(surface, colour, (10 + 20 * i, 8, 6, 6))
    return surface


def test_small_things_keep_their_colours_in_a_gif(tmp_path: Path) -> None:
    size = 320, 200
    with Film(tmp_path / "film.gif", size, 10) as made:
        for number in range(12):
            made.add(shaded(number, size))
    frames, _ = shown(tmp_path / "film.gif")
    for number, frame in enumerate(frames):
        for i, colour in enumerate(SMALL):
            off = np.abs(frame[9:13, 11 + 20 * i : 15 + 20 * i].astype(int) - colour).max()
            assert off <= 25, f"{colour} in picture {number} is off by {off}"
        assert difference(frame, pixels(shaded(number, size))) < 6.0


def test_an_mp4_plays_everywhere_and_says_which_colours_it_means(tmp_path: Path) -> None:
    _, facts = shown(film(tmp_path / "film.mp4"))
    assert facts["codec"] == "h264"
    assert facts["pix_fmt"].startswith("yuv420p(tv, bt709")
    data = (tmp_path / "film.mp4").read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")  # a browser begins before it has all of it


def test_flat_colours_come_out_as_they_went_in(tmp_path: Path) -> None:
    surface = pygame.Surface((32, 32))
    for colour in ((236, 166, 42), (19, 24, 34), (92, 184, 236)):
        surface.fill(colour)
        with Film(tmp_path / "flat.mp4", (32, 32), 5) as made:
            made.add(surface)
        frames, _ = shown(tmp_path / "flat.mp4")
        assert abs(frames[0, 16, 16].astype(int) - colour).max() <= 3


def test_an_odd_size_loses_its_last_row_and_column(tmp_path: Path) -> None:
    frames, facts = shown(film(tmp_path / "odd.mp4", size=(65, 49)))
    assert facts["size"] == (64, 48)
    assert difference(frames[0], pixels(picture(0, (65, 49)))[:48, :64]) < 4.0


def test_a_film_of_no_size_is_not_refused_by_the_encoder(tmp_path: Path) -> None:
    _, facts = shown(film(tmp_path / "film.mp4", size=(1, 1)))
    assert facts["size"] == (16, 16)


def test_an_exception_leaves_nothing_and_the_film_from_before_stays(tmp_path: Path) -> None:
    before = film(tmp_path / "film.gif").read_bytes()
    made = Film(tmp_path / "film.gif", (64, 48), 10)
    with pytest.raises(ZeroDivisionError), made:
        made.add(picture(1 // 0))
    assert left_behind(tmp_path) == ["film.gif"]
    assert (tmp_path / "film.gif").read_bytes() == before


def test_a_film_has_its_name_only_when_it_is_whole(tmp_path: Path) -> None:
    made = Film(tmp_path / "film.mp4", (64, 48), 10)
    made.add(picture(0))
    assert left_behind(tmp_path) == [".film.mp4.tmp"]
    made.close()
    made.close()
    assert left_behind(tmp_path) == ["film.mp4"]
    with pytest.raises(ValueError, match="closed"):
        made.add(picture(0))


def test_a_film_without_a_picture_leaves_no_file(tmp_path: Path) -> None:
    with Film(tmp_path / "film.gif", (64, 48), 10):
        pass
    assert left_behind(tmp_path) == []


def test_names_with_signs_that_mean_something_to_ffmpeg_are_nothing_but_names(tmp_path: Path) -> None:
    folder = tmp_path / "it's 100%"
    folder.mkdir()
    clips = [film(folder / name) for name in ("a:%d.mp4", "-b'.mp4")]
    film(folder / "c:[0].gif")
    join(clips, folder / "http:%03d.mp4")
    assert len(shown(folder / "http:%03d.mp4")[0]) == 2 * COUNT
    assert left_behind(folder) == sorted(["a:%d.mp4", "-b'.mp4", "c:[0].gif", "http:%03d.mp4"])


def test_joined_clips_follow_each_other_with_every_picture(tmp_path: Path) -> None:
    clips = [film(tmp_path / f"{first}.mp4", first=first) for first in (0, 1, 2)]
    join(clips, tmp_path / "all.mp4")
    frames, facts = shown(tmp_path / "all.mp4")
    wanted = [number for first in (0, 1, 2) for number in range(first, first + COUNT)]
    assert facts["duration"] == pytest.approx(len(wanted) / 10)
    assert len(frames) == len(wanted)
    assert max(difference(f, pixels(picture(n))) for f, n in zip(frames, wanted, strict=True)) < 4.0


def test_clips_of_a_single_picture_can_be_joined_too(tmp_path: Path) -> None:
    for number in range(3):
        with Film(tmp_path / f"{number}.mp4", (64, 48), 10) as made:
            made.add(picture(number))
    join([tmp_path / f"{number}.mp4" for number in range(3)], tmp_path / "all.mp4")
    frames, _ = shown(tmp_path / "all.mp4")
    assert len(frames) == 3
    assert max(difference(frame, pixels(picture(n))) for n, frame in enumerate(frames)) < 4.0


def test_a_clip_that_cannot_be_joined_leaves_the_film_from_before(tmp_path: Path) -> None:
    film(tmp_path / "all.mp4")
    before = (tmp_path / "all.mp4").read_bytes()
    (tmp_path / "broken.mp4").write_bytes(b"no film")
    with pytest.raises(StorageError, match=r"broken\.mp4"):
        join([tmp_path / "all.mp4", tmp_path / "broken.mp4", tmp_path / "all.mp4"], tmp_path / "all.mp4")
    assert (tmp_path / "all.mp4").read_bytes() == before
    assert left_behind(tmp_path) == ["all.mp4", "broken.mp4"]


@pytest.mark.parametrize("name", ["film.avi", "film", "film.mp4.txt"])
def test_another_kind_of_film_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(CommandError, match=r"\.mp4 or \.gif"):
        Film(tmp_path / name, (64, 48), 10)
    assert left_behind(tmp_path) == []


def test_a_folder_that_is_not_there_is_told_before_anything_is_played(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="there is no folder"):
        Film(tmp_path / "none" / "film.mp4", (64, 48), 10)
    (tmp_path / "dir.mp4").mkdir()
    with pytest.raises(CommandError, match="is a folder"):
        Film(tmp_path / "dir.mp4", (64, 48), 10)


def test_a_folder_that_takes_no_files_is_told_before_anything_is_played() -> None:
    with pytest.raises(StorageError, match=r"cannot write /proc/film\.mp4"):
        Film(Path("/proc/film.mp4"), (64, 48), 10)


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(CommandError, match=r"--record-every needs an encoder: python -m pip install 'ecs-rl\[video\]'"):
        require_encoder("--record-every")
    with pytest.raises(CommandError, match=r"pip install"):
        Film(tmp_path / "film.mp4", (64, 48), 10)
    assert left_behind(tmp_path) == []


def stand_in(path: Path, script: str) -> str:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("name", ["film.mp4", "film.gif"])
def test_an_encoder_that_dies_is_told_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    folder = tmp_path / "films"
    folder.mkdir()
    lines = "i=0; while [ $i -lt 20000 ]; do echo line $i >&2; i=$((i+1)); done; echo out of luck >&2; exit 3"
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", stand_in(tmp_path / "ffmpeg", lines))
    with pytest.raises(StorageError, match=r"line 19999; out of luck"):
        film(folder / name, size=(640, 480))  # more than fits into a pipe
    assert left_behind(folder) == []


def test_an_encoder_that_says_nothing_is_told_by_its_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", stand_in(tmp_path / "ffmpeg", "cat >/dev/null; exit 5"))
    with pytest.raises(StorageError, match=r"it ended with 5"):
        film(tmp_path / "film.mp4")
    assert left_behind(tmp_path) == ["ffmpeg"]


def test_an_encoder_that_cannot_be_started_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(tmp_path / "none"))
    with pytest.raises(CommandError, match="cannot start"):
        film(tmp_path / "film.mp4")
    assert left_behind(tmp_path) == []


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux limits a running process")
@pytest.mark.parametrize("name", ["film.mp4", "film.gif"])
def test_a_disk_that_is_full_is_told_and_nothing_is_left(tmp_path: Path, name: str) -> None:
    made = Film(tmp_path / name, (64, 48), 10)
    resource.prlimit(made._encoder._process.pid, resource.RLIMIT_FSIZE, (1500, 1500))
    made.add(picture(0))
    with pytest.raises(StorageError, match=r"cannot write .*film\.\w+: ffmpeg"):
        made.close()
    assert left_behind(tmp_path) == []


def test_the_encoder_does_not_hear_the_terminals_interrupt(tmp_path: Path) -> None:
    import os

    made = Film(tmp_path / "film.mp4", (64, 48), 10)
    assert os.getpgid(made._encoder._process.pid) != os.getpgid(0)
    made.abandon()
    assert left_behind(tmp_path) == []


def test_a_film_keeps_no_pictures_in_memory(tmp_path: Path) -> None:
    import tracemalloc

    surface = picture(0, (320, 240))
    with Film(tmp_path / "film.gif", (320, 240), 10) as made:
        made.add(surface)
        tracemalloc.start()
        for _ in range(60):
            made.add(surface)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert most < 4 * 320 * 240 * 3


def test_it_needs_no_display(tmp_path: Path) -> None:
    film(tmp_path / "film.mp4")
    assert not pygame.display.get_init()
    assert imageio_ffmpeg.count_frames_and_secs(str(tmp_path / "film.mp4"))[0] == COUNT
