"""The token that closes a tag is found in the sampled ids themselves, wherever a tokenizer cut the text."""

import unittest

from espalier_rl.trainer.locate import closing_places

PIECES = ["<tool", "_call>x</tool_", "call>", " and ", "</tool_call></tool_call>", "é"]


def decode(ids):
    return "".join(PIECES[i] for i in ids)


class ClosingPlaces(unittest.TestCase):
    def test_each_occurrence_is_closed_by_the_token_that_completes_it(self):
        self.assertEqual(closing_places(decode, [0, 1, 2, 3, 0, 1, 2, 5], "</tool_call>"), [2, 6])

    def test_a_text_without_the_tag_has_no_place(self):
        self.assertEqual(closing_places(decode, [0, 1, 3], "</tool_call>"), [])
        self.assertEqual(closing_places(decode, [], "</tool_call>"), [])

    def test_places_are_those_of_a_look_at_every_beginning(self):
        ids = [0, 1, 2, 5, 0, 1, 2, 3, 1, 2]
        slow = [k for k in range(len(ids)) if decode(ids[: k + 1]).count("</tool_call>") > decode(ids[:k]).count("</tool_call>")]
        self.assertEqual(closing_places(decode, ids, "</tool_call>"), slow)


if __name__ == "__main__":
    unittest.main()
