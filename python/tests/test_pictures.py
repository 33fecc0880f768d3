"""Pictures of environments and tools over HTTP."""

import base64
import unittest

from espalier_rl import Environment, Opening, Step, make_server, make_tool_server, tool
from espalier_rl.pictures import picture_texts
from .served import Served as ServedJson

# a PNG of one pixel
PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC")
TEXT = base64.b64encode(PIXEL).decode()


class Painted(Environment):
    tasks = ["1"]

    def reset(self, task, seed):
        return Opening("a dot", pictures=[PIXEL])

    def step(self, action):
        return Step("another", pictures=[TEXT] if action == "look" else [])


@tool
def draw(what: str):
    """Draws."""
    return {"content": what, "pictures": [PIXEL]}


class Environments(ServedJson, unittest.TestCase):
    def make(self):
        return make_server(Painted)

    def test_pictures_go_with_the_observation_in_base64_and_are_left_out_where_there_are_none(self):
        episode = self.ask("/create", {})[1]["episode"]
        opened = self.ask("/reset", {"episode": episode, "task": "1", "seed": 0})[1]
        self.assertEqual((opened["observation"], opened["pictures"]), ("a dot", [TEXT]))
        self.assertEqual(self.ask("/step", {"episode": episode, "n": 0, "action": "look"})[1]["pictures"], [TEXT])
        self.assertNotIn("pictures", self.ask("/step", {"episode": episode, "n": 1, "action": "wait"})[1])


class Tools(ServedJson, unittest.TestCase):
    def make(self):
        return make_tool_server([draw])

    def test_a_tool_returns_pictures_next_to_its_text(self):
        said = self.ask("/call", {"tool": "draw", "arguments": {"what": "a dot"}})
        self.assertEqual(said, (200, {"content": "a dot", "pictures": [TEXT]}))


class Texts(unittest.TestCase):
    def test_an_image_of_pillow_becomes_a_png(self):
        try:
            from PIL import Image
        except ImportError:
            self.skipTest("pillow is not installed")
        [text] = picture_texts([Image.new("RGBA", (3, 2), (10, 20, 30, 255))])
        self.assertEqual(base64.b64decode(text)[:4], b"\x89PNG")

    def test_what_is_no_picture_is_refused_by_its_place(self):
        with self.assertRaisesRegex(TypeError, "picture 2 is a int"):
            picture_texts([PIXEL, 7])
        with self.assertRaisesRegex(TypeError, "more than 16"):
            picture_texts([PIXEL] * 17)


if __name__ == "__main__":
    unittest.main()
