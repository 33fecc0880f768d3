"""Pictures of observations and results, as the protocols have them: PNG or JPEG in base64, behind the text in order."""

import base64
import io
from typing import Any

LIMIT = 16  # of one observation


def picture_texts(pictures: object) -> "list[str]":
    """Returns pictures in base64: bytes of a PNG or JPEG, a text that is base64 or a data URL already, a `PIL.Image`, or an array of
    numpy of bytes (height, width, 3). Raises TypeError."""
    if not isinstance(pictures, (list, tuple)):
        raise TypeError(f"pictures must be a list, not {type(pictures).__name__}")
    if len(pictures) > LIMIT:
        raise TypeError(f"{len(pictures)} pictures are more than {LIMIT}: show fewer at once")
    return [_text(picture, number) for number, picture in enumerate(pictures, 1)]


def is_image(value: object) -> bool:
    """Whether a value is a `PIL.Image`, which need not be installed."""
    return any(base.__module__ == "PIL.Image" and base.__name__ == "Image" for base in type(value).__mro__)


def _text(picture: Any, number: int) -> str:
    if isinstance(picture, str):
        return picture
    if isinstance(picture, (bytes, bytearray)):
        return base64.b64encode(picture).decode()
    if hasattr(picture, "__array_interface__") and not is_image(picture) and str(picture.dtype) == "uint8":
        from PIL import Image

        picture = Image.fromarray(picture)
    if is_image(picture):
        file = io.BytesIO()
        picture.convert("RGB").save(file, "PNG")
        return base64.b64encode(file.getvalue()).decode()
    raise TypeError(f"picture {number} is a {type(picture).__name__}: return bytes, base64, a PIL.Image or an array of uint8")
