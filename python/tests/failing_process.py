"""A trainer of which the second process runs out of memory while the first waits for it."""

import sys

import torch

from espalier_rl.trainer import __main__ as trainer
from espalier_rl.trainer.session import HANDLERS


def read(session, _message, _body):
    if session.processes.rank == 1:
        raise MemoryError("the second device is full")
    session.processes.sum([torch.zeros(1)])  # what never comes


HANDLERS["read"] = read

if __name__ == "__main__":
    sys.exit(trainer.main())
