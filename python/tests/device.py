"""Where the tests of the trainer and of its server run: `ESPALIER_TEST_DEVICE=cuda python -m unittest tests.test_trainer`."""

import os

DEVICE = os.environ.get("ESPALIER_TEST_DEVICE", "cpu")
