"""Reads PNGs by the standard library, so that a program that records pictures needs no more: 8 bits a channel, not interlaced. Other files
are read by Pillow; it is also a hundred times as fast. What both read has the same pixels."""

from __future__ import annotations

import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # by colour type: grey, RGB, palette, grey and alpha, RGBA


def png_size(data: bytes) -> tuple[int, int] | None:
    """Returns the size that the header of a PNG says; None of what is no PNG."""
    if data[:8] != SIGNATURE or data[12:16] != b"IHDR" or len(data) < 33:
        return None
    return struct.unpack(">II", data[16:24])


def read_png(data: bytes) -> bytes | None:
    """Returns the pixels of a PNG as RGB, what is transparent on white; None where Pillow is needed. Raises OSError for a damaged one."""
    size = png_size(data)
    if size is None:
        return None
    depth, colour, _, _, interlaced = data[24:29]
    if depth != 8 or interlaced or colour not in CHANNELS:
        return None
    chunks = _chunks(data)
    if colour != 3 and b"tRNS" in chunks:  # one colour that is transparent
        return None
    width, height = size
    channels = CHANNELS[colour]
    try:
        packed = zlib.decompressobj().decompress(chunks.get(b"IDAT", b""), (width * channels + 1) * height + 1)
    except zlib.error as error:
        raise OSError(f"its data is damaged: {error}") from None
    if len(packed) != (width * channels + 1) * height:
        raise OSError("its data is cut off")
    raw = _unfiltered(packed, width * channels, channels, height)
    if colour == 2:
        return raw
    if colour == 0:
        return _interleaved(raw, raw, raw)
    if colour == 4:
        grey = _on_white(raw[::2], raw[1::2])
        return _interleaved(grey, grey, grey)
    if colour == 6:
        return _interleaved(*(_on_white(raw[channel::4], raw[3::4]) for channel in range(3)))
    palette, alphas = chunks.get(b"PLTE", b""), chunks.get(b"tRNS", b"")
    if raw and max(raw) * 3 >= len(palette):
        raise OSError("it names a colour that its palette does not have")
    planes = []
    for channel in range(3):
        values = palette[channel::3]
        shown = _on_white(values, alphas.ljust(len(values), b"\xff")) if alphas else values
        planes.append(raw.translate(shown.ljust(256, b"\0")))
    return _interleaved(*planes)


def write_png(width: int, height: int, rgb: bytes) -> bytes:
    """Returns RGB pixels as a PNG."""
    rows = b"".join(b"\0" + rgb[at : at + width * 3] for at in range(0, len(rgb), width * 3))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _chunks(data: bytes) -> dict[bytes, bytes]:
    """Returns the data of the chunks by their kinds, those of one kind joined."""
    found: dict[bytes, bytes] = {}
    at = len(SIGNATURE)
    while at + 12 <= len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        check = data[at + 8 + length : at + 12 + length]
        if len(check) != 4 or struct.unpack(">I", check)[0] != zlib.crc32(kind + body):
            raise OSError(f"its part {kind.decode('latin-1')} is damaged or cut off")
        found[kind] = found.get(kind, b"") + body
        if kind == b"IEND":
            return found
        at += 12 + length
    raise OSError("it is cut off")


def _unfiltered(packed: bytes, length: int, pixel: int, height: int) -> bytes:
    """Undoes the filters of the rows: each byte was written as its difference from a guess by its neighbours."""
    rows: list[bytes] = []
    above = bytes(length)
    for start in range(0, (length + 1) * height, length + 1):
        kind, row = packed[start], bytearray(packed[start + 1 : start + 1 + length])
        if kind == 1:
            for i in range(pixel, length):
                row[i] = (row[i] + row[i - pixel]) & 255
        elif kind == 2:
            row = bytearray((a + b) & 255 for a, b in zip(row, above))
        elif kind == 3:
            for i in range(length):
                row[i] = (row[i] + ((row[i - pixel] if i >= pixel else 0) + above[i]) // 2) & 255
        elif kind == 4:
            for i in range(length):
                left, corner = (row[i - pixel], above[i - pixel]) if i >= pixel else (0, 0)
                row[i] = (row[i] + _nearest(left, above[i], corner)) & 255
        elif kind != 0:
            raise OSError(f"a row has the filter {kind}, which does not exist")
        above = bytes(row)
        rows.append(above)
    return b"".join(rows)


def _nearest(left: int, up: int, corner: int) -> int:
    """Paeth's guess: the neighbour nearest to left + up - corner."""
    guess = left + up - corner
    to_left, to_up, to_corner = abs(guess - left), abs(guess - up), abs(guess - corner)
    if to_left <= to_up and to_left <= to_corner:
        return left
    return up if to_up <= to_corner else corner


def _on_white(values: bytes, alphas: bytes) -> bytes:
    """Lays values on white, rounded as Pillow's alpha_composite rounds."""
    laid = (value * alpha * 128 + 255 * (255 - alpha) * 128 + (128 << 7) for value, alpha in zip(values, alphas))
    return bytes((((each >> 8) + each) >> 8) >> 7 for each in laid)


def _interleaved(red: bytes, green: bytes, blue: bytes) -> bytes:
    pixels = bytearray(3 * len(red))
    pixels[::3], pixels[1::3], pixels[2::3] = red, green, blue
    return bytes(pixels)
