"""Records odd values with the server of ESPALIER_URL: what the client takes the server must take, or what was
acknowledged is stuck in the spool. Prints as JSON how many the client took, and the faults: `refused` by the server, or another exception.

    python -m tests.odd_values
"""

import json
from collections.abc import Iterator
from typing import Any

import espalier_rl as er

LONG = "x" * 100_000
EMOJI = "\U0001f600"  # two units of UTF-16, by which the server counts
VALUES: "list[Any]" = [
    *(None, True, False, 0, 1, -1, 0.5, -0.5, 1e99, -1e99, 1e101, 2**31, 2**53, 2**63, 10**99, float("nan"), float("inf")),
    *("", "x", "x" * 200, "x" * 201, "x" * 501, EMOJI * 100, EMOJI * 101, EMOJI * 251, LONG, "a\ud800b\0c", b"x"),
    *([], [0], [1, 2], [[1, 2]], [-0.5], [None], ["x"], [EMOJI * 600], ["x"] * 101, [0] * 1001, ["x"] * 10_001),
    *({}, {"x": 1}, {"x": None}, {1, 2}, (), (0, 1), object(), range(2), iter([1, 2])),
    *([{"name": "t", "ms": -1}], [{"name": EMOJI * 200}], [{"name": "t", "arguments": {"a": None}}], [{"name": "t", "output": LONG}]),
    *({"temperature": -1}, {"temperature": None}, {"stop": ["s"] * 101}, {"seed": 1.5}, {"seed": 2**53}, {"max_tokens": 2**31}),
    *([{"role": "user"}], [{"role": "user", "content": [{"text": "a\ud800"}]}], [{"role": "tool", "content": LONG}] * 3, [(0, 2, "p@1")] * 1001),
]
STEP = (
    *("reward", "done", "prompt", "prompt_ids", "ids", "logprobs", "mask", "images", "tools", "tool_schemas", "action", "thought", "actions"),
    *("well_formatted", "executable", "finish_reason", "policy", "spans", "sampling", "model", "server", "policy_ms", "environment_ms"),
)
WITH = {"tool_schemas": {"prompt": "p"}, "sampling": {"prompt": "p"}, "model": {"prompt": "p"}, "server": {"prompt": "p"}}
WITH |= {"logprobs": {"ids": [1, 2]}, "mask": {"ids": [1, 2]}, "spans": {"ids": [1, 2]}}
RUN = ("policy", "environment", "fingerprint", "seed", "config", "code_version", "scorer", "experiment", "training")
TASK = ("observation", "alias", "instruction", "goal", "split", "depth", "actions", "pictures")
FAULTS: "list[str]" = []


def deep(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


def record(db: er.Database, run: er.Run, place: str, field: str, value: Any, number: int) -> None:
    if place == "run":
        with db.run(**{"name": "odd", "policy": "p@0", field: value}) as other:
            other.metric("m", 1.0)
        return
    if place == "metric":
        return run.metric(**{"name": "m", "value": 1.0, field: value})
    if place == "search":
        run.tree(f"t{number}").expand([{"response": "r", field: value}])
        return
    given = {"any": value, "row": {"text": "t", field: value}}.get(place, "t")
    if place == "task":
        given = er.Task(**{"observation": "t", field: value})
    with run.episode(given, **({"id": value} if place == "episode" else {})) as episode:
        if place == "text":
            return episode.step(**{"response": "r", "observation": "o", field: value}) and None
        episode.step("r", "o", **({**WITH.get(field, {}), field: value} if place == "step" else {}))
        if place == "end":
            getattr(episode, field)(value)
        elif place == "finish":
            episode.finish(**{field: value})
        elif place == "reward":
            episode.reward(**{"value": 1.0, field: value})


def cases() -> Iterator[tuple[str, str]]:
    fields = {"step": STEP, "run": ("name", *RUN), "task": TASK, "text": ("response", "observation"), "row": ("id", "text", "depth", "split")}
    fields |= {"any": ("",), "episode": ("id",), "metric": ("at", "value", "name"), "end": ("fail", "cancel"), "reward": ("value", "component")}
    fields |= {"finish": ("success", "reward", "reason")}
    fields |= {"search": ("response", "reward", "score", "success", "ids", "tools", "thought", "action", "observation")}
    for place, names in fields.items():
        for name in names:
            yield place, name


def main() -> None:
    db = er.connect()
    taken = 0
    deepest = [deep(levels) for levels in (55, 58, 60, 64, 65)]
    for place, field in cases():
        run = db.run("odd", policy="p@0")
        for number, value in enumerate([*VALUES, *deepest]):
            case = f"{place}.{field} {repr(value)[:60]}"
            try:
                given = {"a": value} if place == "run" and field == "config" else iter([1, 2]) if hasattr(value, "__next__") else value
                record(db, run, place, field, given, number)
                taken += 1
            except er.EspalierError as error:
                if error.status or not error.field or not error.remedy:
                    FAULTS.append(f"{case}: {error.status} {str(error)[:300]}")
            except Exception as error:  # noqa: BLE001 - any other exception is a fault too
                FAULTS.append(f"{case}: {type(error).__name__}: {error}")
        try:
            run.close()
        except er.EspalierError as error:
            FAULTS.append(f"{place}.{field}: the server refused what was taken: {str(error)[:300]}")
    print(json.dumps({"taken": taken, "faults": FAULTS}))


if __name__ == "__main__":
    main()
