"""A class of environments describes the renderer that it brings by the text of its file."""

import importlib.util
import tempfile
import unittest
from pathlib import Path

from espalier_rl.environment import describe

CLASS = """from espalier_rl import Environment
class Gauge(Environment):
    tasks = ["1"]
    renderer = "{name}"
class Steeper(Gauge):
    pass
"""


def described(folder, name, kind):
    file = Path(folder) / "gauge.py"
    file.write_text(CLASS.format(name=name))
    spec = importlib.util.spec_from_file_location("gauge_with_renderer", file)
    module = importlib.util.module_from_spec(spec)
    __import__("sys").modules[spec.name] = module
    spec.loader.exec_module(module)
    return describe(getattr(module, kind))


class RendererTest(unittest.TestCase):
    def test_a_renderer_lies_next_to_the_file_of_its_class_for_subclasses_too(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "view.js").write_text("export const render = () => 'x';")
            self.assertEqual(described(folder, "view.js", "Gauge")["renderer"], "export const render = () => 'x';")
            self.assertEqual(described(folder, "view.js", "Steeper")["renderer"], "export const render = () => 'x';")

    def test_a_file_that_is_not_there_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(ValueError, r"Gauge\.renderer: cannot read .*away\.js \(No such file"):
                described(folder, "away.js", "Gauge")


if __name__ == "__main__":
    unittest.main()
