"""Where ffmpeg is: the package `imageio-ffmpeg` brings it."""

from __future__ import annotations

from ecs_rl.errors import CommandError, install


def require_encoder(what: str = "a film") -> str:
    """Return where ffmpeg is; refuse with CommandError if the package `imageio-ffmpeg` is not installed."""
    try:
        import imageio_ffmpeg
    except ImportError as error:
        raise CommandError(f"{what} needs an encoder: {install('video')}") from error
    try:
        return str(imageio_ffmpeg.get_ffmpeg_exe())
    except RuntimeError as error:  # a platform for which the package brings none
        raise CommandError(f"{what} needs ffmpeg: install it, or name it in IMAGEIO_FFMPEG_EXE") from error
