"""A program of a user, which is never run: mypy and pyright read it by their strict rules, with the packages as they are installed."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pandas as pd
import pyarrow as pa
from typing_extensions import assert_type

import espalier_rl as er
from espalier_rl.leases import Client, Lease
from espalier_rl.training import Batch


@er.tool
def look(at: str, *, times: int = 1) -> str:
    """Looks at a thing."""
    return at * times


assert_type(look("lamp", times=2), str)

with er.connect("http://127.0.0.1:4000", token="key") as db, db.run("typed", policy="qwen@3", key="one", seed=1, training=True) as run:
    assert_type(run, er.Run)

    @run.rollout(group=8)
    def solve(episode: er.Episode, task: str, limit: int = 3) -> bool:
        episode.step("go", "a hall", reward={"environment": 1.0}, ids=[1, 2], logprobs=[-0.1, -0.2])
        return limit > 0

    @run.rollout
    async def asolve(episode: er.Episode, task: dict[str, Any]) -> float:
        await episode.astep("go")
        return 1.0

    assert_type(solve("task", limit=4), list[bool | Exception])
    coroutine: Callable[[dict[str, Any]], Coroutine[Any, Any, list[float | Exception]]] = asolve
    assert_type(asyncio.run(asolve({"question": "q"})), list[float | Exception])

    for episode in run.group(er.Task("t", goal="g"), n=2):
        with episode:
            other = episode.branch(episode.step("a", done=False))
            assert_type(other, er.Episode)
    with run.tree("search") as tree:
        [node] = tree.expand(["a", er.Candidate("b")])
        tree.backup(node, 0.5)
        assert_type(node.value, float)
    run.metric("loss", 0.5, at=3)

    assert_type(db.steps(run=run, columns=["id"], limit=3).pandas(types="arrow"), pd.DataFrame)
    assert_type(db.trajectories(run=run, success=True).arrow(), pa.Table)  # pyright: ignore[reportUnknownMemberType] - pyarrow has no types
    assert_type(db.feedback([run.id], 1.0, by="judge:j@1", comment="c"), list[str])
    assert_type(db.annotate(rollout="r", label="good", score=0.5), list[str])
    answer: dict[str, int] = db.query("{ position }")

    trained = db.training("qwen", groups=4)
    for batch in trained.batches():
        assert_type(batch, Batch)
        batch.ack(weights=trained.publish("weights"), metrics={"loss": 0.5})

client = Client("http://127.0.0.1:4000", consumer="typed")
while lease := client.lease("qwen", wait_s=3):
    assert_type(lease, Lease)
    lease.ack(weights=lease.base["weights"], metrics={"loss": 0.5})

er.autolog(run="named", policy="qwen@3", on_error="raise")
with er.rollout("task", id=7) as rollout:
    assert_type(rollout, er.Captured)
    rollout.reward(1.0, component="answer")
    rollout.end(success=True)
er.reward(0.5, step=True)
er.end(reward=1.0, outcome="terminated")
er.flush(5)
er.end_run("named", outcome="completed")


class World(er.Environment):
    def reset(self, task: str, seed: int) -> er.Opening:
        return er.Opening(observation="a hall")

    def step(self, action: str) -> er.Step:
        return er.Step(observation="", reward=1.0, terminated=True)
