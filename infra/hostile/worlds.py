"""An environment whose tasks say by their names what goes wrong in them, and behind how many steps."""

import os
import random
import time

from espalier_rl import Environment, Opening, Step

KINDS = ("well", "dies", "hangs", "raises", "shares", "wanders", "odd", "unopened", "refuses")


class Worlds(Environment):
    tasks = [f"{kind} {depth}" for kind in KINDS for depth in (1, 2, 3)]
    compare = 0.2

    def reset(self, task, seed):
        self.kind, depth = task.split()
        self.depth, self.log = int(depth), []
        if self.kind == "unopened" and random.random() < 0.3 * self.depth:
            os._exit(4)
        if self.kind == "refuses" and random.random() < 0.3 * self.depth:
            raise KeyError("the house is closed")
        return Opening("go " + task, actions=["x", "y", "z"])

    def fork(self):
        copy = Worlds()
        copy.kind, copy.depth = self.kind, self.depth
        copy.log = self.log if self.kind == "shares" and len(self.log) >= self.depth else list(self.log)
        return copy

    def step(self, action):
        self.log.append(action)
        taken, said = len(self.log), " ".join(self.log)
        if taken > self.depth and action != "z":
            if self.kind == "dies":
                os._exit(3)
            if self.kind == "hangs":
                time.sleep(100000)
            if self.kind == "raises":
                raise KeyError("no such room")
            if self.kind == "wanders":
                said += f" {random.random()}"
            if self.kind == "odd":
                return self.odd(taken, said)
        end = taken >= 6 or (action == "z" and taken >= 3)
        return Step(said, float(end and action == "z"), end, success=end and action == "z", actions=["x", "y", "z"])

    def odd(self, taken, said):
        return random.choice(
            [
                lambda: Step(said, float("nan"), False, actions=["x"]),
                lambda: Step(said, float("inf"), True),
                lambda: Step("\ud800\0" + said, 0.0, False, actions=["x", "x", ""]),
                lambda: Step("é" * 200000, 0.0, False, actions=["x"]),
                lambda: Step(said, 0.0, True, True, actions=[]),
                lambda: Step(said, 0.0, False, actions=[]),
                lambda: Step(said, 0.0, False, actions=None),
                lambda: None,
                lambda: ("only", "two"),
                lambda: Step(7, "much", "no"),
                lambda: Step("", 1.0, False, actions=["x", "y"]),
            ]
        )()
