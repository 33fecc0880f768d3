"""Counts the actions that AgentGym's class of TextCraft executes, in whatever process: this folder is on PYTHONPATH, and COUNTED_STEPS names
a file of eight bytes that holds the count."""

import importlib.abc
import importlib.machinery
import mmap
import os
import sys
import threading

COUNTED = "agentenv_textcraft.environment"


class _Counting(importlib.abc.MetaPathFinder):
    """Finds the module as Python does, and wraps the step of its class when it has been executed."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname != COUNTED:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None:
            execute = spec.loader.exec_module
            spec.loader.exec_module = lambda module: (execute(module), _count(module.TextCraftEnv))
        return spec


def _count(kind):
    with open(os.environ["COUNTED_STEPS"], "r+b") as file:
        counted = mmap.mmap(file.fileno(), 8)
    step, lock = kind.step, threading.Lock()

    def counting(self, *arguments, **named):
        with lock:
            counted[:8] = (int.from_bytes(counted[:8], "little") + 1).to_bytes(8, "little")
        return step(self, *arguments, **named)

    kind.step = counting


if "COUNTED_STEPS" in os.environ:
    sys.meta_path.insert(0, _Counting())
