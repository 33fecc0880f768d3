"""Calls that espalier_rl records; ESPALIER_URL, ESPALIER_TOKEN and ESPALIER_SPOOL are in the environment."""

import sys

from program import measure

COUNT = "{ runs(first: 50) { nodes { totals { steps } } } }"


def turn_on():
    import espalier_rl as er

    er.autolog()


def flush():
    sys.modules["espalier_rl"].flush(120)


def count():
    import espalier_rl as er

    with er.connect() as db:
        db.wait_for_spools()
        db.catch_up(60)
        return sum(run["totals"]["steps"] for run in db.query(COUNT)["runs"]["nodes"])


measure(turn_on, flush, count)
