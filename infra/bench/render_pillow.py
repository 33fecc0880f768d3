"""Renders histories with Pillow's text drawing, for comparison: python3 render_pillow.py none|cache < histories.json

Does the same work as our renderer (same font, wrapping, colours, stacking, border) in the plain way: numpy arrays of RGB, one thread. Prints one
JSON object: CPU milliseconds of each step, bytes kept in the cache, the digest of the last step's images.

    python3 render_pillow.py digests < requests.json      [{"style": "alfworld", "segments": ["…"], "factor": 1.2}, …]

prints the SHA-256 of the pixels of each.
"""

import functools
import hashlib
import json
import math
import re
import sys
import time
from collections import namedtuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf"
BORDER = 5
BLUE, RED = (0, 0, 255), (255, 0, 0)
Style = namedtuple("Style", "size line width limit colours")
STYLES = {
    "alfworld": Style(10, 12, 392, 65, [("[Observation]", BLUE), ("[Action]", RED)]),
    "search": Style(
        12, 15, 560, 77, [("<search>", BLUE), ("</search>", BLUE), ("<information>", RED), ("</information>", RED)]
    ),
}


def wrap(text, limit):
    if len(text) <= limit:
        return [text]
    lines, current = [], ""
    for word in text.split():
        if current and len(current) + 1 + len(word) <= limit:
            current += " " + word
            continue
        if current:
            lines.append(current)
        current = ""
        if len(word) <= limit:
            current = word
        else:
            lines += [word[at : at + limit] for at in range(0, len(word), limit)]
    return lines + [current] if current else lines


def runs(line, colours):
    found = sorted((match.start(), word, ink) for word, ink in colours for match in re.finditer(re.escape(word), line))
    at, out = 0, []
    for start, word, ink in found:
        out += [(at, line[at:start], (0, 0, 0)), (start, word, ink)]
        at = start + len(word)
    return [run for run in out + [(at, line[at:], (0, 0, 0))] if run[1]]


def draw(font, text, style):
    lines = wrap(text, style.limit)
    image = Image.new("RGB", (style.width, len(lines) * style.line), (255, 255, 255))
    pen = ImageDraw.Draw(image)
    for i, line in enumerate(lines):
        for start, part, ink in runs(line, style.colours):
            pen.text((int(font.getlength(line[:start])), i * style.line), part, font=font, fill=ink)
    return np.array(image)


def compose(parts, factor):
    rows = np.vstack(parts)
    if factor != 1:
        height, width = rows.shape[:2]
        root = math.sqrt(factor)
        size = max(28, int(width / root)), max(28, int(height / root))
        rows = np.array(Image.fromarray(rows).resize(size, Image.Resampling.LANCZOS))
    height, width = rows.shape[:2]
    framed = np.full((height + 2 * BORDER, width + 2 * BORDER, 3), 255, dtype=np.uint8)
    framed[BORDER : BORDER + height, BORDER : BORDER + width] = rows
    return framed


def digests(requests):
    fonts = {name: ImageFont.truetype(FONT, style.size) for name, style in STYLES.items()}
    drawn = functools.cache(lambda name, text: draw(fonts[name], text, STYLES[name]))
    for request in requests:
        image = compose([drawn(request["style"], text) for text in request["segments"]], request["factor"])
        yield hashlib.sha256(image.tobytes()).hexdigest()


def main(way):
    histories = json.load(sys.stdin)
    style = STYLES["alfworld"]
    font = ImageFont.truetype(FONT, style.size)
    caches = [{} for _ in histories]
    draw(font, "warm up", style)
    step_ms, images = [], []

    def segment(environment, text):
        if way == "none":
            return draw(font, text, style)
        cache = caches[environment]
        if text not in cache:
            cache[text] = draw(font, text, style)
        return cache[text]

    for step in range(1, len(histories[0]) + 1):
        start = time.process_time()
        images = [compose([segment(e, text) for text in history[:step]], 1) for e, history in enumerate(histories)]
        step_ms.append((time.process_time() - start) * 1000)
    digest = hashlib.sha256()
    for image in images:
        digest.update(image.tobytes())
    kept = sum(part.nbytes for cache in caches for part in cache.values())
    print(json.dumps({"stepMs": step_ms, "keptBytes": kept, "digest": digest.hexdigest()}))


if __name__ == "__main__":
    if sys.argv[1] == "digests":
        print(json.dumps(list(digests(json.load(sys.stdin)))))
    else:
        main(sys.argv[1])
