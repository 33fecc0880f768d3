"""Ids of what is recorded. Those that follow from others are derived as docs/concepts/identity.md says, so that a repetition is recognised."""

from __future__ import annotations

import hashlib
import os
import time
import uuid

from .values import storable

_KEYS = uuid.uuid5(uuid.NAMESPACE_URL, "espalier-rl/run")


def derived_id(*parts: str | int) -> str:
    """Returns the UUID (version 8) over the SHA-256 of its parts, each as `LENGTH:TEXT;`: kind first, then what it follows from."""
    texts = [str(part).encode("utf-8", "surrogatepass") for part in parts]
    digest = hashlib.sha256(b"".join(b"%d:%s;" % (len(text), text) for text in texts)).digest()
    return _uuid(digest[:16], 8)


def new_id() -> str:
    """Returns a UUID of version 7: random, and later ones sort behind earlier ones."""
    return _uuid((time.time_ns() // 1_000_000).to_bytes(6, "big") + os.urandom(10), 7)


def run_id_of(key: str) -> str:
    """Returns the id of the run of a key: the same on every machine."""
    return str(uuid.uuid5(_KEYS, storable(key)))


def recorder_id_of(run_id: str, name: str, turn: int) -> str:
    """Returns the id of the recorder that joins a run under a name after `turn` others: of two at once, one is refused."""
    return str(uuid.uuid5(uuid.UUID(run_id), f"recorder/{turn}/{storable(name)}"))


def tree_id_of(run_id: str, recorder: str, occurrence: int, alias: str) -> str:
    """Returns the id of the tree of a task that was begun `occurrence` times before by a recorder; one without a name has the id that
    collectors derive."""
    if recorder == "":
        return derived_id("tree", run_id, occurrence, alias)
    return str(uuid.uuid5(uuid.UUID(run_id), f"tree/{len(recorder)}/{storable(recorder)}/{occurrence}/{storable(alias)}"))


def group_tree_id_of(run_id: str, group: str) -> str:
    """Returns the id of the tree of a group that several processes record."""
    return str(uuid.uuid5(uuid.UUID(run_id), f"group/{storable(group)}"))


def episode_id_of(run_id: str, episode: str) -> str:
    """Returns the id of the rollout that a program gave an id of its own."""
    return str(uuid.uuid5(uuid.UUID(run_id), f"episode/{storable(episode)}"))


def _uuid(raw: bytes, version: int) -> str:
    hexed = raw.hex()
    variant = "89ab"[int(hexed[16], 16) & 3]
    return f"{hexed[:8]}-{hexed[8:12]}-{version}{hexed[13:16]}-{variant}{hexed[17:20]}-{hexed[20:]}"
