"""Pictures of observations, by their content: PNGs named by the SHA-256 of size and pixels."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import struct
from collections.abc import Sequence
from typing import Any

from ..errors import EspalierError
from .arrays import packed_bytes
from .png import png_size, read_png, write_png
from .values import Json

LIMIT = 16  # of one observation
LARGEST_BYTES = 5 * 2**20
LARGEST_SIDE = 4_096

Pictures = tuple[list[Json], dict[str, str]]  # pictures of an observation, and their ids by what a message may name them by


def read_pictures(given: Sequence[Any], field: str) -> Pictures:
    """Reads pictures: bytes of a PNG or JPEG, those in base64 or a data URL, a path, a PIL image, or an array of numpy of bytes (height,
    width) or (height, width, 3 or 4). Each is recorded as the PNG of its
    pixels, a transparent one on white. Returns them, and their ids by what a message may name them by. What is no plain PNG needs
    Pillow."""
    if given is None:
        return [], {}
    if isinstance(given, (str, bytes)) or not (isinstance(given, Sequence) or getattr(given, "ndim", 0) in (3, 4)):
        raise EspalierError(f"{field} is a {type(given).__name__}", remedy="give a list of pictures", field=field)
    if len(given) > LIMIT:
        raise EspalierError(f"{field} has {len(given)} pictures, over {LIMIT} of one observation", remedy="show fewer at once", field=field)
    pictures: list[Json] = []
    names: dict[str, str] = {}
    for i, each in enumerate(given):
        picture = _read(each, f"{field}[{i}]")
        names[picture["imageId"]] = picture["imageId"]
        if isinstance(each, str):
            names[each] = picture["imageId"]
        pictures.append(picture)
    return pictures, names


def _read(given: Any, where: str) -> Json:
    try:
        width, height, rgb, png = _with_pillow(given, where) or _by_itself(_bytes(given, where), where)
    except OSError as error:
        raise EspalierError(f"{where} cannot be read: {error}", remedy="give a PNG or a JPEG", field=where) from None
    if len(png) > LARGEST_BYTES:
        raise EspalierError(f"{where} takes {len(png)} bytes as a PNG, over {LARGEST_BYTES}", remedy="make it smaller", field=where)
    digest = hashlib.sha256(b"img\0" + struct.pack(">II", width, height) + rgb).hexdigest()
    return {"imageId": digest, "width": width, "height": height, "png": packed_bytes(png)}


def _with_pillow(given: Any, where: str) -> tuple[int, int, bytes, bytes] | None:
    """Reads a picture by Pillow; None where that is not installed."""
    try:
        from PIL import Image
    except ImportError:
        return None
    if hasattr(given, "__array_interface__") and not isinstance(given, Image.Image):
        image: Any = _of_array(Image, given, where)
    else:
        image = given if isinstance(given, Image.Image) else Image.open(io.BytesIO(_bytes(given, where)))
    width, height = image.size
    _check_size(width, height, where)
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image.convert("RGBA"))
    image = image.convert("RGB")
    written = io.BytesIO()
    image.save(written, "PNG")
    return (*image.size, image.tobytes(), written.getvalue())


def _of_array(kind: Any, given: Any, where: str) -> Any:
    try:
        if str(given.dtype) == "uint8":
            return kind.fromarray(given)
    except (TypeError, ValueError):
        pass
    said = f"{where} is an array of {given.dtype} of shape {tuple(given.shape)}"
    raise EspalierError(said, remedy="give bytes (uint8) of shape (height, width) or (height, width, 3 or 4)", field=where)


def _by_itself(data: bytes, where: str) -> tuple[int, int, bytes, bytes]:
    size = png_size(data)
    if size is not None:
        _check_size(*size, where)
    rgb = None if size is None else read_png(data)
    if size is None or rgb is None:
        kind = "no PNG" if size is None else "an interlaced PNG, or one without 8 bits a channel"
        raise EspalierError(f"{where} is {kind}, which Pillow reads", remedy="pip install pillow", field=where)
    return (*size, rgb, write_png(*size, rgb))


def _check_size(width: int, height: int, where: str) -> None:
    if max(width, height) > LARGEST_SIDE:
        said = f"{where} has {width} × {height} pixels, over {LARGEST_SIDE} on a side"
        raise EspalierError(said, remedy="make it smaller", field=where)


def _bytes(given: Any, where: str) -> bytes:
    if isinstance(given, (bytes, bytearray)):
        return bytes(given)
    if isinstance(given, os.PathLike) or (isinstance(given, str) and len(given) < 4_096 and os.path.isfile(given)):
        with open(given, "rb") as file:
            return file.read()
    if isinstance(given, str):
        try:
            return base64.b64decode(given.split(",", 1)[1] if given.startswith("data:") else given, validate=True)
        except (ValueError, IndexError):
            raise EspalierError(f"{where} is no path and no base64: {given[:40]!r}", remedy="give bytes, a path, a PIL image or an array (with Pillow)", field=where) from None
    raise EspalierError(f"{where} is a {type(given).__name__}", remedy="give bytes, a path, a PIL image or an array (with Pillow)", field=where)
