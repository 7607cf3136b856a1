"""Files of pictures: stills as .png, .jpg and .webp, films as .gif, .webp, .apng, .mp4, .webm and .mkv."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ArgumentError, OrdernError
from ..io.writing import replacing
from .render import Picture

__all__ = ["FILMS", "STILLS", "MissingEncoderError", "film_rate", "png", "require_encoder", "write_film", "write_still"]

_BY_PILLOW = (".gif", ".webp", ".apng")
_BY_FFMPEG = (".mp4", ".webm", ".mkv", ".mov")
FILMS = (*_BY_PILLOW, *_BY_FFMPEG)
"""Suffixes of films."""
STILLS = (".png", ".jpg", ".jpeg", ".webp")
"""Suffixes of single pictures. A .webp of a motion is a film."""


class MissingEncoderError(OrdernError, ImportError):
    """A package or program that writes pictures or films is not installed."""


def require_encoder(suffix: str) -> None:
    """Raise if files with this suffix cannot be written here, before anything is drawn."""
    if suffix in _BY_FFMPEG:
        _ffmpeg(suffix)
    elif suffix != ".png":
        _pillow(suffix)


def _pillow(suffix: str) -> Any:
    try:
        return import_module("PIL.Image")
    except ImportError:
        raise MissingEncoderError(
            f"{suffix} files need Pillow, which is not installed: pip install 'ordern[film]'; a .png needs no package"
        ) from None


def _ffmpeg(suffix: str) -> str:
    found = shutil.which("ffmpeg")
    if found is not None:
        return found
    try:
        return str(import_module("imageio_ffmpeg").get_ffmpeg_exe())
    except (ImportError, RuntimeError):
        raise MissingEncoderError(
            f"{suffix} files need the program ffmpeg, which is not on the PATH: install it, or pip install "
            "'ordern[film]', which brings one; a .gif needs Pillow only"
        ) from None


def png(picture: Picture) -> bytes:
    """Return a picture (height, width, 3) as a PNG file."""
    height, width, _ = picture.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), picture.reshape(height, 3 * width)], axis=1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = zlib.compress(rows.tobytes(), 6)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def write_still(picture: Picture, path: str | os.PathLike[str]) -> None:
    """Write a picture, whole or not at all."""
    suffix = Path(path).suffix.lower()
    with replacing(path) as file:
        if suffix == ".png":
            file.write(png(picture))
        else:
            kind = {".webp": "WEBP"}.get(suffix, "JPEG")
            _pillow(suffix).fromarray(picture).save(file, kind, quality=92)


def film_rate(suffix: str, fps: float) -> float:
    """Return the rate next to `fps` at which a film can run: a .gif counts in hundredths of a second."""
    return 100.0 / max(round(100.0 / fps), 2) if suffix == ".gif" else fps


def write_film(pictures: Iterable[Picture], fps: float, path: str | os.PathLike[str]) -> None:
    """Write pictures as a film at so many pictures per second, whole or not at all."""
    suffix = Path(path).suffix.lower()
    with replacing(path) as file:
        if suffix in _BY_FFMPEG:
            with tempfile.TemporaryDirectory() as folder:
                beside = Path(folder) / f"film{suffix}"
                _encode(iter(pictures), fps, beside)
                file.write(beside.read_bytes())
        else:
            _animate(pictures, fps, suffix, file)


def _animate(pictures: Iterable[Picture], fps: float, suffix: str, file: Any) -> None:
    image = _pillow(suffix)
    first, *others = (image.fromarray(p) for p in pictures)
    options: dict[str, Any] = {"duration": 1000.0 / fps, "loop": 0, "save_all": True, "append_images": others}
    if suffix == ".gif":
        colours = first.quantize(255, dither=0)  # one table of colours, so that the ground does not flicker
        made = [p.quantize(palette=colours, dither=0) for p in (first, *others)]
        made[0].save(file, "GIF", **{**options, "append_images": made[1:], "duration": round(1000.0 / fps)})
    elif suffix == ".webp":
        first.save(file, "WEBP", quality=85, **{**options, "duration": round(1000.0 / fps)})
    else:
        first.save(file, "PNG", **options)


def _encode(pictures: Iterator[Picture], fps: float, path: Path) -> None:
    """Send pictures to ffmpeg."""
    first = next(pictures)
    height, width, _ = first.shape
    codec = {".webm": ["-c:v", "libvpx-vp9", "-crf", "32", "-b:v", "0"]}.get(
        path.suffix, ["-c:v", "libx264", "-crf", "18", "-preset", "medium", "-movflags", "+faststart"]
    )
    raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{fps:.6f}", "-i", "-"]
    even = ["-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2:color=white"]  # most players need even numbers of pixels
    command = [_ffmpeg(path.suffix), "-y", "-loglevel", "error", *raw, "-an", *even, *codec, "-pix_fmt", "yuv420p"]
    with subprocess.Popen(
        [*command, str(path)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None and process.stderr is not None
        try:
            process.stdin.write(first.tobytes())
            for picture in pictures:
                process.stdin.write(picture.tobytes())
            process.stdin.close()
            told = process.stderr.read().decode(errors="replace").strip()
        except BrokenPipeError:
            told = process.stderr.read().decode(errors="replace").strip()
        except BaseException:
            process.kill()
            raise
    if process.returncode or not path.exists():
        raise ArgumentError(f"{path.suffix}: ffmpeg cannot write this film: {told or process.returncode}")
