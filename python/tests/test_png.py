"""PNGs are read by the standard library as Pillow reads them, so that pictures are recorded without it."""

import io
import random
import sys
import unittest
from unittest import mock

from espalier_rl.recording.png import read_png, write_png

try:
    from PIL import Image
except ImportError:
    Image = None


def drawn(mode, seed, size=(23, 17)):
    """A picture of a mode: half of it smooth, half noise, so that every filter of rows is used."""
    draw = random.Random(seed)
    channels = len(Image.new(mode, (1, 1)).getbands())
    values = [(x * 7 + y * 3 + c * 40) % 256 if x < 12 else draw.randrange(256) for y in range(size[1]) for x in range(size[0]) for c in range(channels)]
    return Image.frombytes(mode, size, bytes(values))


class Pngs(unittest.TestCase):
    def test_what_is_written_is_read_again(self):
        rgb = bytes(random.Random(1).randrange(256) for _ in range(5 * 4 * 3))
        self.assertEqual(read_png(write_png(5, 4, rgb)), rgb)

    def test_a_damaged_png_is_refused_and_another_kind_is_left_to_pillow(self):
        whole = write_png(5, 4, bytes(60))
        for damaged in (whole[:-20], whole[:60] + b"?" + whole[61:], whole.replace(b"IDAT", b"IDAX")):
            with self.assertRaises(OSError):
                read_png(damaged)
        self.assertIsNone(read_png(b"\xff\xd8\xff\xe0" + bytes(40)))
        self.assertIsNone(read_png(whole[:24] + b"\x10" + whole[25:]))  # 16 bits a channel

    @unittest.skipIf(Image is None, "Pillow is not installed")
    def test_pixels_of_every_plain_kind_are_those_that_pillow_reads(self):
        for seed in range(4):
            pictures = [drawn(mode, seed) for mode in ("L", "LA", "RGB", "RGBA")]
            pictures += [drawn("RGB", seed).quantize(60), drawn("RGBA", seed).quantize(200)]
            for picture in pictures:
                with self.subTest(mode=picture.mode, seed=seed):
                    file = io.BytesIO()
                    picture.save(file, "PNG", bits=8)
                    again = Image.open(io.BytesIO(file.getvalue()))
                    if again.mode in ("RGBA", "LA", "PA") or "transparency" in again.info:
                        again = Image.alpha_composite(Image.new("RGBA", again.size, "white"), again.convert("RGBA"))
                    self.assertEqual(read_png(file.getvalue()), again.convert("RGB").tobytes())

    def test_pictures_are_recorded_without_pillow_and_others_name_it(self):
        from espalier_rl.errors import EspalierError
        from espalier_rl.recording.pictures import read_pictures

        png = write_png(2, 1, b"\xff\0\0\0\xff\0")
        with mock.patch.dict(sys.modules, {"PIL": None}):
            [read], names = read_pictures([png], "images")
            with self.assertRaisesRegex(EspalierError, r"images\[1\] is no PNG, which Pillow reads; pip install pillow"):
                read_pictures([png, b"\xff\xd8\xff\xe0" + bytes(40)], "images")
        self.assertEqual(names, {read["imageId"]: read["imageId"]})
        self.assertEqual((read["width"], read["height"]), (2, 1))
        if Image is not None:
            self.assertEqual(read_pictures([png], "images")[0][0]["imageId"], read["imageId"])


if __name__ == "__main__":
    unittest.main()
