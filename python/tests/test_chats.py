"""Chats of rows: what a model's template is given of calls of tools, and what a model without one refuses."""

import types
import unittest

from espalier_rl.trainer.chats import ChatRefused, encode_offered

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": 12345678901234567890}'}}
CHAT = {
    "where": "step 1 of rollout r",
    "tools": '[{"type": "function", "function": {"name": "look"}}]',
    "messages": [{"role": "assistant", "content": "", "tool_calls": [CALL]}, {"role": "tool", "content": "seen", "tool_call_id": "c1"}],
}


class Chats(unittest.TestCase):
    def test_a_template_is_given_the_tools_and_the_arguments_of_calls_as_objects_with_every_digit(self):
        given = []
        model = types.SimpleNamespace(has_template=True, encode_chat=lambda messages, tools: given.append((messages, tools)) or [1])
        self.assertEqual(encode_offered(model, CHAT), [1])
        [(messages, tools)] = given
        self.assertEqual(messages[0]["tool_calls"][0]["function"], {"name": "look", "arguments": {"at": 12345678901234567890}})
        self.assertEqual(messages[1], CHAT["messages"][1])
        self.assertEqual(tools, [{"type": "function", "function": {"name": "look"}}])

    def test_a_model_without_template_and_a_template_that_fails_refuse_a_chat_with_calls_by_its_step(self):
        plain = types.SimpleNamespace(has_template=False, encode_chat=lambda messages, tools: [len(messages)])
        self.assertEqual(encode_offered(plain, {"messages": [{"role": "user", "content": "a"}], "tools": None}), [1])
        with self.assertRaisesRegex(ChatRefused, "step 1 of rollout r was asked with tools"):
            encode_offered(plain, CHAT)

        def fail(messages, tools):
            raise ValueError("no role tool")

        with self.assertRaisesRegex(ChatRefused, "step 1 of rollout r: the chat template .* no role tool"):
            encode_offered(types.SimpleNamespace(has_template=True, encode_chat=fail), CHAT)


if __name__ == "__main__":
    unittest.main()
