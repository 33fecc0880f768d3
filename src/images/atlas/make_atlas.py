"""Writes the glyph atlases next to this file: coverage masks of DejaVu Sans Mono as Pillow with RAQM draws them.

    python3 make_atlas.py DejaVuSansMono.ttf      (needs Pillow with libraqm, fonttools and brotli)

An atlas is Brotli over records of: code point u24, x i8, y i8, width u8, height u8, then width * height bytes of coverage; all
big-endian, by rising code point. Code point 0xFFFFFF is the box of the font for a character that it lacks. Left out are characters that
no single mask can stand for: combining marks, private use, and scripts whose letters join or run from right to left.
"""

import sys
import unicodedata
from pathlib import Path

import brotli
from fontTools.ttLib import TTFont
from PIL import ImageFont

BOX = 0xFFFFFF
SIZES = (10, 12)


def stands_alone(code: int) -> bool:
    char = chr(code)
    if code == 0xAD:
        return False
    if unicodedata.category(char)[0] == "M" or unicodedata.category(char) in ("Cc", "Cf", "Co"):
        return False
    return unicodedata.bidirectional(char) not in ("R", "AL", "AN")


def record(font: ImageFont.FreeTypeFont, code: int, text: str) -> bytes:
    mask, (x, y) = font.getmask2(text, mode="L", anchor="la")
    width, height = mask.size
    head = code.to_bytes(3, "big") + x.to_bytes(1, "big", signed=True) + y.to_bytes(1, "big", signed=True)
    return head + bytes((width, height)) + bytes(mask)


def main(path: str) -> None:
    codes = [code for code in sorted(TTFont(path).getBestCmap()) if stands_alone(code)]
    for size in SIZES:
        font = ImageFont.truetype(path, size, layout_engine=ImageFont.Layout.RAQM)
        advance = font.getlength("A")
        codes_here = [code for code in codes if font.getlength(chr(code)) == advance]
        records = [record(font, code, chr(code)) for code in codes_here]
        records.append(record(font, BOX, "\u0001"))
        out = Path(__file__).with_name(f"dejavu-sans-mono-{size}.atlas.br")
        out.write_bytes(brotli.compress(b"".join(records), quality=11))
        print(f"{out.name}: {len(codes_here)} characters, advance {round(advance * 64)}/64 px")


if __name__ == "__main__":
    main(sys.argv[1])
