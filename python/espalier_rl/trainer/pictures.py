"""Pictures as they come over the wire: PNG bytes under the id of their pixels, and the messages that show them.

Needs pillow, imported where a picture is opened: a model of texts works without it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .rows import Rows

LARGEST = 2**26  # pixels: far above any history image, far below what exhausts a machine
DATA_URL = "data:image/"


class PictureRefused(Exception):
    """The bytes are no picture, or not the one that was named; the message says which."""


@dataclass(frozen=True)
class Picture:
    """The bytes of a picture, the id of its pixels, and its size. Pixels are made when they are needed: a batch of them is gigabytes."""

    id: str
    data: bytes
    height: int
    width: int

    @property
    def image(self) -> Any:
        return _decode(self.data)


def open_picture(data: bytes, where: str) -> Picture:
    """Decodes a picture once. @param where: named by the message when it cannot be. Raises PictureRefused."""
    from PIL import Image

    try:
        image = _decode(data)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise PictureRefused(f"{where}: these {len(data)} bytes are no PNG, JPEG or WebP that can be read: {error}") from error
    return Picture(id_of(image), data, image.height, image.width)


def _decode(data: bytes) -> Any:
    from PIL import Image

    opened = Image.open(io.BytesIO(data), formats=("PNG", "JPEG", "WEBP"))
    if opened.width * opened.height > LARGEST:
        raise ValueError(f"{opened.width} x {opened.height} pixels are more than {LARGEST}")
    return _on_white(opened)


def _on_white(opened: Any) -> Any:
    """A transparent picture is laid on white, as Espalier's own reader does."""
    from PIL import Image

    if opened.mode not in ("RGBA", "LA", "PA") and "transparency" not in opened.info:
        return opened.convert("RGB")
    whole = opened.convert("RGBA")
    white = Image.new("RGBA", whole.size, "white")
    return Image.alpha_composite(white, whole).convert("RGB")


def id_of(image: Any) -> str:
    """The id that Espalier names a picture by: SHA-256 of `img`, NUL, width, height, RGB row by row."""
    return hashlib.sha256(b"img\0" + struct.pack(">II", image.width, image.height) + image.tobytes()).hexdigest()


def read_album(listed: Sequence[Mapping[str, Any]], tensors: Mapping[str, Any]) -> dict[str, Picture]:
    """Reads the pictures of a batch, each sent once: {id: Picture}. @param listed: id and step of each, in the order of the bytes
    between `offsets`. Raises PictureRefused that names the step."""
    data, offsets = tensors["png"].numpy().tobytes(), tensors["offsets"].tolist()
    if len(offsets) != len(listed) + 1 or offsets[0] != 0 or offsets[-1] != len(data):
        raise PictureRefused(f"offsets do not cut {len(data)} bytes into {len(listed)} pictures")
    album = {}
    for i, entry in enumerate(listed):
        where = f"picture {entry['id']} of {entry['step']}"
        picture = open_picture(data[offsets[i] : offsets[i + 1]], where)
        if picture.id != entry["id"]:
            raise PictureRefused(f"{where}: its pixels have the id {picture.id}; draw it again from the record")
        album[picture.id] = picture
    return album


def show_pictures(rows: Rows, shown: Any, album: Mapping[str, Picture], model: Any) -> Rows:
    """Returns the rows with the pictures that their prompts show. @param shown: for each row null, or its step, how many of its
    tokens are the prompt, and the ids of its pictures in order. Raises PictureRefused that names the step."""
    if len(shown) != len(rows):
        raise PictureRefused(f"{len(shown)} lists of pictures came with {len(rows)} rows")
    found = []
    for i, entry in enumerate(shown):
        ids = entry["pictures"] if entry else []
        if not model.reads_pictures:
            if ids:
                step = entry["step"]
                raise PictureRefused(f"{step} was asked with a picture, which this model does not read; train a vision-language model")
            continue
        missing = [each for each in ids if each not in album]
        if missing:
            raise PictureRefused(f"{entry['step']}: the picture {missing[0]} did not come with the batch")
        pictures = [album[each] for each in ids]
        start = rows.offsets[i]
        prompt = rows.ids[start : start + entry["prompt"]].tolist() if entry else []
        places = model.places_of(prompt, pictures, entry["step"]) if entry else []
        found.append([(picture, *place) for picture, place in zip(pictures, places)])
    return replace(rows, pictures=tuple(found))


def read_messages(messages: Any) -> tuple[list[Any], list[Any]]:
    """Reads messages whose content is text or a list of parts. Returns them with pictures as `{"type": "image"}`, and the pictures
    in order. Raises PictureRefused."""
    pictures = []

    def part_of(part: Any, where: str) -> dict[str, Any]:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "text" and isinstance(part.get("text"), str):
            return {"type": "text", "text": part["text"]}
        if kind != "image_url":
            raise PictureRefused(f"{where}: a part is text or image_url, not {kind!r}")
        pictures.append(_from_url(part.get("image_url"), where))
        return {"type": "image"}

    read = []
    for number, message in enumerate(messages):
        content = message["content"]
        if not isinstance(content, str):
            content = [part_of(part, f"message {number}, part {i}") for i, part in enumerate(content)]
        read.append({"role": message["role"], "content": content})
    return read, pictures


def _from_url(image_url: Any, where: str) -> Picture:
    url = image_url.get("url") if isinstance(image_url, dict) else image_url
    if not isinstance(url, str) or not url.startswith(DATA_URL) or ";base64," not in url[:100]:
        raise PictureRefused(f"{where}: a picture comes as data:image/png;base64,...; this server fetches no address")
    try:
        data = base64.b64decode(url.split(",", 1)[1], validate=True)
    except binascii.Error as error:
        raise PictureRefused(f"{where}: its base64 cannot be read: {error}") from error
    return open_picture(data, where)
