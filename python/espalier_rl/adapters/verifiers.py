"""Environments of the package `verifiers` (MultiTurnEnv and SingleTurnEnv, up to 0.2; `verifiers.legacy` since 0.3) as environments of an
installation.

    class Spell(vf.MultiTurnEnv): ...

    spell = from_verifiers(Spell(dataset=…, rubric=…))

    espalier collect --environment python:./spell.py --policy openai:MODEL@URL

The package's own `rollout` runs, asked by a client that waits for the next step, so that its prompts, stop conditions, clean-up and rubric are those
of the package.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import importlib.metadata
import json
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..environment import Environment, Opening, Step

CUT = ("max_turns_reached", "timeout_reached", "prompt_too_long", "max_total_completion_tokens_reached")  # a limit, and no end of the task


def from_verifiers(
    env: Any,
    *,
    components: Sequence[str] = (),
    success: Callable[[Any], Any] | None = None,
    rows: int | None = None,
    reward: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> type[VerifiersEpisode]:
    """Returns an Environment class of an environment of `verifiers`.

    A task is a row of its data set, "0" and so on of the split `train`; rows of its `eval_dataset` are "eval-0" and so on of the split
    `test`. `rows` limits how many of each are taken. A step is one reply of a policy, the whole of it. The reward of the rubric is the reward of
    the last step; what the functions named in `components` add to it is taken out and recorded by itself, under their names. `success(state)` says
    whether an episode was one; left out, whether it earned `pass_threshold`.

    Raises TypeError for an environment with tools, or whose rubric compares rollouts of a group."""
    package = _package_of(env)
    rubric = env.rubric
    if getattr(env, "tool_defs", None):
        raise TypeError(f"{type(env).__name__} calls tools, which a text does not: take its functions as tools of `tool-env`")
    if getattr(rubric, "has_group_rewards", False):
        raise TypeError(f"the rubric of {type(env).__name__} compares the rollouts of a group; one episode has no reward of its own")
    weights = dict(_weights_of(rubric))
    unknown = [each for each in components if each not in weights]
    if unknown:
        raise TypeError(f"the rubric has no function {unknown[0]!r}; there are {', '.join(weights) or 'none'}")
    tasks, data = [], {}
    for split, prefix, dataset in _data_of(env):
        for number in range(len(dataset) if rows is None else min(rows, len(dataset))):
            alias = f"{prefix}{number}"
            tasks.append({"task": alias, "split": split})
            data[alias] = (dataset, number)
    most = sum(max(0.0, weight) for weight in weights.values())
    members = {
        "tasks": tasks,
        "name": name or re.sub(r"[^\w.-]", "-", getattr(env, "env_id", "") or type(env).__name__)[:64],
        "instruction": "",
        "response": "whole",
        "components": list(components),
        "reward": {"kind": "final", "scale": max(1.0, most), **(reward or {})},
        "world": env,
        "package": package,
        "data": data,
        "weights": weights,
        "judged": staticmethod(success) if success else None,
        "loop": _Loop(),
        "__module__": sys._getframe(1).f_globals.get("__name__", __name__),  # the file that is served
    }
    return type(type(env).__name__, (VerifiersEpisode,), members)


class VerifiersEpisode(Environment):
    """An episode of an environment of verifiers. Made by `from_verifiers`."""

    running: Any = None
    # by `from_verifiers`
    world: Any
    package: str
    data: Mapping[str, tuple[Any, int]]
    weights: Mapping[str, float]
    judged: Callable[[Any], Any] | None
    loop: _Loop

    def reset(self, task: str, seed: int) -> Opening:
        self.close()
        dataset, number = self.data[task]
        self.task = task
        self.said: list[str] = []
        self.running = self.loop.call(_begin(self.package, self.world, dict(dataset[number])))
        if self.running.prompt is None:
            raise RuntimeError(f"task {task} ended before the first reply: {self.running.ending()}")
        messages = [(_field(message, "role"), _text_of(message)) for message in self.running.prompt]
        shown = max((i for i, (role, _) in enumerate(messages) if role != "assistant"), default=len(messages) - 1)
        rules = [text if role == "system" else f"{role}: {text}" for role, text in messages[:shown]]
        return Opening(messages[shown][1], instruction="\n\n".join(rules), split="test" if task.startswith("eval-") else "train")

    def step(self, action: str) -> Step:
        before = len(self.running.prompt) + 1  # the reply is a message too
        self.said.append(action)
        self.loop.call(self.running.reply(action))
        if self.running.prompt is not None:
            return Step(_joined(self.running.prompt[before:]))
        return self.ended()

    def ended(self) -> Step:
        state = self.running.state
        if state.get("error") is not None:
            raise RuntimeError(f"task {self.task} failed: {state['error']!r}")
        metrics = state.get("metrics") or {}
        parts = {each: self.weights[each] * float(metrics[each]) for each in self.components if each in metrics}
        total = float(state["reward"])
        threshold = getattr(self.world, "pass_threshold", 1.0)
        why = state.get("stop_condition")
        cut = why in CUT and getattr(self.world, "max_turns", -1) != 1  # one turn is all that a question has
        return Step(
            _joined(state.get("final_env_response") or []),
            total - sum(parts.values()),
            terminated=not cut,
            truncated=cut,
            success=bool(self.judged(state)) if self.judged else total >= threshold,
            rewards=parts,
            reason=why,
        )

    def fork(self) -> VerifiersEpisode:
        """Plays the replies again: a rollout that waits for its next reply cannot be copied."""
        other = type(self)()
        other.reset(self.task, 0)
        seen = _joined(self.running.prompt)
        for each in self.said:
            other.step(each)
        if other.running.prompt is None or _joined(other.running.prompt) != seen:
            other.close()
            raise RuntimeError(f"task {self.task} played again shows other messages: its environment draws without a seed")
        return other

    def close(self) -> None:
        if self.running is not None:
            self.loop.call(self.running.cancel())
            self.running = None

    @classmethod
    def fingerprint(cls) -> str:
        digest = hashlib.sha256(super().fingerprint().encode())
        digest.update(importlib.metadata.version("verifiers").encode())
        for alias, (dataset, number) in cls.data.items():
            digest.update(f"{alias} {json.dumps(dataset[number], sort_keys=True, default=str)}\n".encode())
        return digest.hexdigest()


class _Loop:
    """An event loop in a thread of its own, in which the rollouts of an environment wait."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    def call(self, coroutine: Any) -> Any:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, daemon=True).start()
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def __deepcopy__(self, _: Any) -> _Loop:
        return self


class _Running:
    """A rollout of the package: the prompt that it waits with, or None and its state."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.prompt: Any = None
        self.state: Any = None
        self.task: Any = None

    async def go_on(self) -> _Running:
        asked = asyncio.ensure_future(self.client.prompts.get())
        await asyncio.wait({asked, self.task}, return_when=asyncio.FIRST_COMPLETED)
        if asked.done():
            self.prompt = asked.result()
            return self
        asked.cancel()
        self.prompt, self.state = None, self.task.result()
        return self

    async def reply(self, text: str) -> _Running:
        await self.client.replies.put(text)
        return await self.go_on()

    async def cancel(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    def ending(self) -> Any:
        return (self.state or {}).get("error") or (self.state or {}).get("stop_condition")


async def _begin(package: str, env: Any, row: Any) -> _Running:
    types = importlib.import_module(f"{package}.types")
    clients = importlib.import_module(f"{package}.clients")

    class Waiting(clients.Client):  # type: ignore[name-defined]
        """A client that is answered by the steps of an episode."""

        def __init__(self) -> None:
            self.prompts: asyncio.Queue[Any] = asyncio.Queue()
            self.replies: asyncio.Queue[str] = asyncio.Queue()
            super().__init__(None)

        async def get_response(self, prompt: Any, model: Any, *_: Any, **__: Any) -> Any:
            await self.prompts.put(list(prompt))
            text = await self.replies.get()
            message = types.ResponseMessage(role="assistant", content=text, finish_reason="stop", is_truncated=False)
            return types.Response(id="step", created=int(time.time()), model=model, message=message)

        async def close(self) -> None:
            pass

        def setup_client(self, config: Any) -> Any:
            return None

        async def _unasked(self, *_: Any, **__: Any) -> None:
            raise NotImplementedError("get_response answers by itself")

        to_native_tool = to_native_prompt = get_native_response = raise_from_native_response = from_native_response = _unasked

    async def play() -> Any:
        state = await env.rollout(row, running.client, "policy", {})
        if state.get("error") is None:
            await env.rubric.score_rollout(state)
        await env.rubric.cleanup(state)
        return state

    running = _Running(Waiting())
    running.task = asyncio.ensure_future(play())
    return await running.go_on()


def _package_of(env: Any) -> str:
    for base in type(env).__mro__:
        if re.fullmatch(r"verifiers(\.\w+)?\.envs\.multiturn_env", base.__module__):
            return base.__module__.removesuffix(".envs.multiturn_env")
    raise TypeError(f"{type(env).__name__} is no MultiTurnEnv of the package verifiers (0.2; `verifiers.legacy` since 0.3)")


def _data_of(env: Any) -> list[Any]:
    built = [("train", "", env.build_dataset()), ("test", "eval-", env.build_eval_dataset())]
    return [each for each in built if each[2] is not None]


def _weights_of(rubric: Any) -> Iterator[tuple[str, float]]:
    """Yields the reward functions of a rubric with their weights; a group of rubrics has those of each."""
    for each in getattr(rubric, "rubrics", None) or [rubric]:
        yield from ((function.__name__, weight) for function, weight in zip(each.funcs, each.weights))


def _field(message: Any, field: str) -> Any:
    return message.get(field) if isinstance(message, dict) else getattr(message, field, None)


def _text_of(message: Any) -> str:
    content = _field(message, "content")
    if isinstance(content, str):
        return content
    parts = [part if isinstance(part, str) else _field(part, "text") for part in content or []]
    if all(isinstance(part, str) for part in parts):
        return "\n".join(parts)
    raise TypeError("a message of the environment holds a picture or a sound, and no text alone")


def _joined(messages: Any) -> str:
    return messages if isinstance(messages, str) else "\n\n".join(_text_of(message) for message in messages)
