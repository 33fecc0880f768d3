"""Rows are dealt to processes whole, evenly and within the budget."""

import unittest

from espalier_rl.trainer.processes import share_out


class Shares(unittest.TestCase):
    def test_micro_batches_that_come_out_even_are_dealt_as_they_are(self):
        self.assertEqual(share_out([[0], [1], [2], [3]], lambda i: 1, 2), [[[0], [2]], [[1], [3]]])

    def test_every_process_gets_equally_many_and_no_row_is_lost_or_beyond_the_budget(self):
        lengths = [9, 1, 1, 1, 8, 2, 5]
        for size in (1, 2, 3, 4):
            shares = share_out([[0, 1], [2, 4], [3, 5, 6]], lengths.__getitem__, size)
            self.assertEqual(len({len(share) for share in shares}), 1)
            parts = [part for share in shares for part in share]
            self.assertEqual(sorted(i for part in parts for i in part), list(range(7)))
            self.assertLessEqual(max(sum(lengths[i] for i in part) for part in parts), 10)


if __name__ == "__main__":
    unittest.main()
