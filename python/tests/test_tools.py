"""Functions as tools: the schema derived from type hints, and calls over HTTP."""

import unittest
from typing import Annotated, Literal, Optional

from espalier_rl import ToolUnavailable, make_tool_server, tool
from .served import Served as ServedJson


@tool
def add(a: int, b: Annotated[int, "The second number"] = 1) -> str:
    """Adds two numbers.

    More words are not shown.
    """
    return str(a + b)


@tool
def ask(kind: Literal["soft", "hard"], words: list[str], note: Optional[str] = None):
    if kind == "hard":
        raise ToolUnavailable("the oracle is away")
    return {"content": " ".join(words), "success": note is None, "reward": 0.5}


class Tools(ServedJson, unittest.TestCase):
    def make(self):
        return make_tool_server([add, ask])

    def test_the_schema_follows_from_hints_defaults_and_the_docstring(self):
        status, said = self.ask("/tools")
        self.assertEqual((status, said["protocol"]), (200, "espalier-tools/1"))
        properties = {"a": {"type": "integer"}, "b": {"type": "integer", "description": "The second number", "default": 1}}
        parameters = {"type": "object", "properties": properties, "required": ["a"]}
        self.assertEqual(said["tools"][0], {"name": "add", "description": "Adds two numbers.", "parameters": parameters})
        self.assertEqual(said["tools"][1]["parameters"]["properties"]["kind"], {"enum": ["soft", "hard"]})
        self.assertEqual(said["tools"][1]["parameters"]["properties"]["note"], {"type": "string"})

    def test_a_call_answers_a_text_or_what_the_function_says_of_it(self):
        self.assertEqual(self.ask("/call", {"tool": "add", "arguments": {"a": 2}}), (200, {"content": "3"}))
        said = self.ask("/call", {"tool": "ask", "arguments": {"kind": "soft", "words": ["x", "y"]}})[1]
        self.assertEqual(said, {"content": "x y", "success": True, "reward": 0.5})

    def test_a_call_that_fails_is_for_the_model_and_an_unavailable_tool_is_an_error(self):
        said = self.ask("/call", {"tool": "add", "arguments": {"a": "x"}})[1]
        self.assertEqual(said["success"], False)
        self.assertIn("TypeError", said["content"])
        self.assertEqual(self.ask("/call", {"tool": "ask", "arguments": {"kind": "hard", "words": []}})[0], 503)
        self.assertEqual(self.ask("/call", {"tool": "no", "arguments": {}})[0], 404)

    def test_a_hint_without_a_schema_is_refused_by_its_place(self):
        def odd(thing: complex):
            """Odd."""

        with self.assertRaisesRegex(TypeError, "odd.thing has the type"):
            tool(odd)


if __name__ == "__main__":
    unittest.main()
