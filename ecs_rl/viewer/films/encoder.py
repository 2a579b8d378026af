"""Files of films and pictures: frames to GIF, MP4 or PNG, and the names of these files."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import pygame

from ecs_rl.console import tell
from ecs_rl.errors import CommandError, StorageError
from ecs_rl.files import LONGEST_NAME, Folder, temporary_name
from ecs_rl.viewer.films.ffmpeg import require_encoder
from ecs_rl.viewer.panel import App

KINDS = (".mp4", ".gif")
SMALLEST = 16
"""Pixels; encoders refuse less."""
# One set of parameters for every film, so that clips can be joined without encoding them again. Players take untagged
# pictures for either of two standards, with other colours in each: so the standard is named.
COLOURS = (
    "scale=out_color_matrix=bt709:out_range=tv:flags=bicubic+accurate_rnd+full_chroma_int,"
    "setparams=colorspace=bt709:color_primaries=bt709:color_trc=bt709"
)
H264 = (
    *("-vf", COLOURS),
    *("-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-pix_fmt", "yuv420p", "-threads", "1"),
    *("-bf", "0"),  # pictures in the order they are seen: clips of any length follow each other without a gap
)
MP4 = ("-video_track_timescale", "90000", "-movflags", "+faststart", "-f", "mp4")
LOSSLESS = ("-c:v", "libx264rgb", "-preset", "ultrafast", "-qp", "0", "-threads", "1", "-f", "matroska")
PNG = ("-c:v", "png", "-f", "image2", "-update", "1")
SLICE = 0.005
"""Seconds to wait at a time."""
LAST_WORDS = 5
"""Lines of ffmpeg's that an error repeats."""
BITS = 5
"""Of each channel, by which colours count as one: 32,768 of them in all."""
EVERY = 5
"""Of so many pixels of a picture one is counted, in the next picture the one beside it."""
POWER = 1 / 3
"""A colour's place in the palette grows by this power of its pixels: a thousand times as many, ten times the place."""
PIXELS, WIDTH = 60_000, 256
"""Of the picture from which the palette is picked."""


def check_film(path: Path) -> None:
    """Refuse with CommandError a path that no film can have, and everything if there is no encoder."""
    if path.suffix.lower() not in KINDS:
        raise CommandError(f"{path} is no name for a film: it must end in {' or '.join(KINDS)}")
    if not path.parent.is_dir():
        raise CommandError(f"{path} cannot be written: there is no folder {path.parent}; make it first")
    if path.is_dir():
        raise CommandError(f"{path} is a folder: choose another name for the film")
    if len(os.fsencode(path.name)) > LONGEST_NAME:
        raise CommandError(f"{path} has a name of more than {LONGEST_NAME} bytes: choose a shorter one for the film")
    require_encoder()


def film_size(size: tuple[int, int]) -> tuple[int, int]:
    """Return the size of a film of pictures of this size: even numbers, as encoders want them."""
    return max(SMALLEST, size[0] // 2 * 2), max(SMALLEST, size[1] // 2 * 2)


class Film:
    """Encodes pictures into an mp4 or a gif as they come; as a context it is thrown away on an exception.

    What does not fit of a picture is cut off. Without a single picture no file is left.
    """

    def __init__(self, path: Path, size: tuple[int, int], fps: float, *, colours: int = 128) -> None:
        check_film(path)
        self.path, self.fps, self.size = path, fps, film_size(size)
        self.frames = 0
        self._colours = colours
        self._is_gif, self._open = path.suffix.lower() == ".gif", True
        self._seen = Palette() if self._is_gif else None
        self._made, self._palette = _hidden(path), _hidden(path, ".palette")
        self._pictures = _hidden(path, ".pictures") if self._is_gif else self._made
        raw = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{self.size[0]}x{self.size[1]}", "-r", f"{fps:g}")
        how = LOSSLESS if self._is_gif else (*H264, *MP4)
        _make_empty(path, self._pictures)
        try:
            self._encoder = _Encoder(path, *raw, "-i", "pipe:0", "-an", *how, _url(self._pictures))
        except BaseException:
            _remove(self._pictures)
            raise

    @property
    def seconds(self) -> float:
        """How long the film is so far."""
        return self.frames / self.fps

    def add(self, surface: pygame.Surface) -> None:
        """Add one picture; a film that cannot take it is thrown away."""
        if not self._open:
            raise ValueError(f"{self.path} is closed")
        if surface.get_size() != self.size:
            whole = pygame.Surface(self.size)
            whole.blit(surface, (0, 0))
            surface = whole
        data = pygame.image.tobytes(surface, "RGB")
        if self._seen is not None:
            self._seen.add(data)
        try:
            self._encoder.write(data)
        except StorageError:
            self.abandon()
            raise
        self.frames += 1

    def close(self) -> None:
        """Finish the film and give it its name; a second call does nothing."""
        for _ in self.finishing():
            pass

    def finishing(self) -> Iterator[None]:
        """Do the same in slices, so that a window can draw while the encoder catches up."""
        if not self._open:
            return
        self._open = False
        try:
            if not self.frames:
                return
            yield from self._encoder.ending()
            if self._seen is not None:
                yield from self._encode_gif(*self._seen.picture())
            _put_in_place(self._made, self.path)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Throw away what is not finished; a film of this name from before stays."""
        self._open = False
        self._encoder.kill()
        _remove(self._made, self._pictures, self._palette)

    def _encode_gif(self, colours: bytes, height: int) -> Iterator[None]:
        # In two passes over files, so that not even a long film is ever in memory.
        source = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{WIDTH}x{height}", "-i", "pipe:0")
        palette = f"palettegen=max_colors={self._colours}:reserve_transparent=1"
        how = ("-vf", palette, "-frames:v", "1", *PNG, _url(self._palette))
        yield from _running(self.path, *source, *how, data=colours)
        use = "paletteuse=dither=none:diff_mode=rectangle"
        both = ("-i", _url(self._pictures), "-f", "png_pipe", "-i", _url(self._palette))
        yield from _running(self.path, *both, "-lavfi", use, "-loop", "0", "-f", "gif", _url(self._made))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is None:
            self.close()
        else:
            self.abandon()


def joining(clips: Sequence[Path], out: Path) -> Iterator[None]:
    """Join clips that `Film` made with one size and rate, in slices, without encoding anything again."""
    check_film(out)
    made = _hidden(out)
    # The list comes through the pipe; within its quotes only the quote itself means something.
    names = (str(clip.absolute()).replace("'", "'\\''") for clip in clips)
    listed = "".join(f"file 'file:{name}'\n" for name in names)
    source = ("-f", "concat", "-safe", "0", "-protocol_whitelist", "file,pipe,fd", "-i", "pipe:0")
    _make_empty(out, made)
    try:
        yield from _running(out, *source, "-c", "copy", *MP4, _url(made), data=listed.encode())
        _put_in_place(made, out)
    finally:
        _remove(made)


class _Encoder:
    """One ffmpeg; what it says goes into a file, which never fills up as a pipe does that nobody reads."""

    def __init__(self, path: Path, *args: str) -> None:
        self._path = path
        with _refusing(path):
            self._said = tempfile.TemporaryFile()  # noqa: SIM115  # closed in `kill`
        # -xerror: a clip that cannot be read would otherwise be left out, and all would seem well.
        command = [require_encoder(), "-hide_banner", "-loglevel", "error", "-nostats", "-xerror", "-y", *args]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=self._said,
                # Ctrl-C in a terminal reaches every process of its group: it ends the training, not the film.
                start_new_session=True,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
        except OSError as error:
            self._said.close()
            raise CommandError(f"cannot start {command[0]}: {error.strerror}; reinstall imageio-ffmpeg") from error
        assert self._process.stdin is not None
        self._stdin = self._process.stdin

    def write(self, data: bytes) -> None:
        """Hand on some bytes, at the pace of the encoder; StorageError if it has died."""
        try:
            self._stdin.write(data)
        except OSError:
            self._process.wait()
            raise self._error() from None

    def ending(self) -> Iterator[None]:
        """Tell the encoder that this was all, and wait for its end in slices; StorageError if it failed."""
        with suppress(OSError):  # what could not be handed on: the exit code tells
            self._stdin.close()
        while self._process.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(SLICE)
            yield
        if self._process.returncode:
            raise self._error()

    def kill(self) -> None:
        """End the encoder at once, if it still runs."""
        self._process.kill()
        with suppress(OSError):
            self._stdin.close()
        self._process.wait()
        self._said.close()

    def _error(self) -> StorageError:
        """Return what an encoder that has ended said last, or how it ended."""
        self._said.seek(max(0, self._said.seek(0, os.SEEK_END) - 4000))
        words = self._said.read().decode(errors="replace").splitlines()[-LAST_WORDS:]
        code = self._process.returncode
        said = "; ".join(line.strip() for line in words) or (f"it ended with {code}" if code else "it ended too early")
        return StorageError(f"cannot write {self._path}: ffmpeg said: {said}; free some space or choose another folder")


def _running(path: Path, *args: str, data: bytes = b"") -> Iterator[None]:
    encoder = _Encoder(path, *args)
    try:
        if data:
            encoder.write(data)
        yield from encoder.ending()
    finally:
        encoder.kill()


def _hidden(path: Path, part: str = "") -> Path:
    return path.with_name(temporary_name(f"{path.name}{part}"))


def _url(path: Path) -> str:
    return f"file:{path}"  # a name with a colon or a percent sign is nothing but a name


def _make_empty(path: Path, hidden: Path) -> None:
    """Find out now whether the folder takes a new file, not after the first pictures."""
    with _refusing(path):
        hidden.unlink(missing_ok=True)
        hidden.open("xb").close()


def _put_in_place(made: Path, path: Path) -> None:
    with _refusing(path):
        with made.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(made, path)


def _remove(*hidden: Path) -> None:
    for path in hidden:
        with suppress(OSError):  # what cannot be removed is hidden, and does no harm
            path.unlink(missing_ok=True)


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(f"cannot write {path}: {reason}; free some space or choose another folder") from error


class Palette:
    """Counts the colours of the pictures of a film."""

    def __init__(self) -> None:
        self._counts = np.zeros(1 << 3 * BITS, np.int64)
        self._colours = np.zeros((1 << 3 * BITS, 3), np.uint8)
        """One of the colours that count as one, as it was seen."""
        self._pictures = 0

    def add(self, data: bytes) -> None:
        """Look at the RGB bytes of the next picture."""
        pixels = np.frombuffer(data, np.uint8).reshape(-1, 3)[self._pictures % EVERY :: EVERY]
        self._pictures += 1
        numbers = np.zeros(len(pixels), np.uint16)
        for channel in range(3):
            numbers <<= BITS
            numbers |= pixels[:, channel] >> 8 - BITS
        counts = np.bincount(numbers, minlength=len(self._counts))
        new = (counts > 0) & (self._counts == 0)
        if new.any():
            fresh = np.flatnonzero(new[numbers])
            self._colours[numbers[fresh]] = pixels[fresh]
        self._counts += counts

    def picture(self) -> tuple[bytes, int]:
        """Return the RGB bytes of a picture that is `WIDTH` pixels wide, and its height."""
        used = np.flatnonzero(self._counts)
        places = self._counts[used] ** POWER
        times = np.maximum(1, np.rint(PIXELS * places / places.sum())).astype(np.int64)
        times[0] += -times.sum() % WIDTH
        pixels = np.repeat(self._colours[used], times, axis=0)
        return pixels.tobytes(), len(pixels) // WIDTH


def save_png(surface: pygame.Surface, path: Path) -> None:
    """Write a picture as a whole or not at all; StorageError if it cannot be written."""
    data = io.BytesIO()
    pygame.image.save(surface, data, "picture.png")
    Folder(path.parent).write(path.name, data.getvalue(), sync=False)


def stamp() -> str:
    """Return the present time for the name of a file."""
    return datetime.now(UTC).strftime("%Y%m%d_%H%M%S_%f")[:-3]


def short_path(path: Path) -> str:
    """Return the end of a path, as far as it says where in the run a file is."""
    return "/".join(path.parts[-2:])


def write_picture(app: App, surface: pygame.Surface, kind: str, what: str = "picture") -> None:
    """Write a picture of this kind, and say where it is; the terminal has the whole path."""
    path = app.run.folder / "pictures" / f"{kind}_{stamp()}.png"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        pygame.image.save(surface, path)
    except (OSError, pygame.error) as error:
        app.say(f"no {what} could be written to {path}: {error}", "bad")
    else:
        app.say(f"{what} written: {short_path(path)}", "good")
        tell(f"{what} written: {path}", sys.stderr)
