"""Exports of an installation as files of this machine, and as data sets."""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from ..connection import Connection
from ..errors import EspalierError, Unreachable
from ..progress import progress
from .filters import _camel, _items
from .missing import package

if TYPE_CHECKING:
    import datasets
    import httpx

Texts = str | Sequence[str]
LONGEST_PAUSE_S = 10.0


class ExportOptions(TypedDict, total=False):
    """Options of `espalier export`, by its names with underscores. `finished` is [from, before)."""

    data: str
    weights: str
    context: str
    scope: str
    layout: str
    metadata: bool
    alpha: float
    beta: float
    state: str
    judge: str
    span: str
    max_per_task: int
    allow_empty: bool
    environment: Texts
    task: Any
    split: Texts
    outcome: Texts
    success: bool
    label: Texts
    without_label: Texts
    return_min: float
    return_max: float
    policy: Texts
    finished: tuple[datetime | str | None, datetime | str | None]
    unclear: str
    as_of: str | datetime


def export(connection: Connection, run: Any, format: str, path: str | Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """Downloads an export to `path`, which appears whole or not at all, and returns its manifest."""
    asked = _parameters({"format": format, "run": run, **options})
    path = Path(path)
    part = path.with_name(f".{path.name}.part")
    try:
        manifest = _download(connection, asked, part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return manifest


def dataset(connection: Connection, run: Any, format: str, options: Mapping[str, Any]) -> datasets.Dataset:
    """Reads an export into memory as a data set."""
    load = package("datasets").load_dataset
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "export")
        export(connection, run, format, path, options)
        with path.open("rb") as file:
            kind = "parquet" if file.read(4) == b"PAR1" else "json"
        return load(kind, data_files=str(path), split="train", cache_dir=str(Path(folder, "cache")), keep_in_memory=True)


def _parameters(given: Mapping[str, Any]) -> dict[str, str]:
    asked: dict[str, str] = {}
    for name, value in given.items():
        if value is None:
            continue
        if name == "finished":
            for end, each in zip(("from", "before"), value, strict=True):
                if each is not None:
                    asked[end] = ",".join(_items(name, each))
        elif name == "as_of":
            asked["asOfTime" if isinstance(value, datetime) else "asOf"] = ",".join(_items(name, value))
        else:
            asked[_camel(name)] = ",".join(_items(name, value))
    return asked


def _download(connection: Connection, asked: Mapping[str, str], part: Path) -> dict[str, Any]:
    """Reads the manifest and then the file that it is of; where that is gone because the record went on, both again."""
    manifest: dict[str, Any] | None = None
    until, pause = time.monotonic() + connection.retry_s, 0.1
    with part.open("w+b") as file:
        while True:
            if manifest is None:
                # the server writes the whole file before it answers: no limit of time
                answer = connection.request("GET", "/v1/exports", params={**asked, "manifest": "true"}, timeout=_patient(connection))
                manifest = json.loads(answer.content)
                file.truncate(0)
                file.seek(0)
                until, pause = time.monotonic() + connection.retry_s, 0.1  # writing it may have taken longer
            before = file.tell()
            try:
                if file.tell() == manifest["bytes"] or _read(connection, asked, manifest, file):
                    break
                manifest = None
            except Unreachable:
                if file.tell() > before:
                    until, pause = time.monotonic() + connection.retry_s, 0.1
            if time.monotonic() + pause > until:
                raise Unreachable("the export broke off again and again", remedy="look at the log of the server, and export again", code="unreachable")
            time.sleep(pause)
            pause = min(LONGEST_PAUSE_S, pause * 2)
        file.seek(0)
        found = hashlib.sha256()
        while block := file.read(1 << 20):
            found.update(block)
        if found.hexdigest() != manifest["sha256"]:
            raise EspalierError("the file that arrived is not that of its manifest", remedy="export again", code="digest")
    return manifest


def _read(connection: Connection, asked: Mapping[str, str], manifest: Mapping[str, Any], file: Any) -> bool:
    """Reads what is missing of the file of a manifest. Returns whether it is whole; not where the server has another one by now."""
    tag = f'"{manifest["sha256"]}"'
    headers = {"range": f"bytes={file.tell()}-", "if-range": tag, "accept-encoding": "identity"}
    with (
        progress("reading the export", "B", manifest["bytes"]) as show,
        connection.stream("GET", "/v1/exports", params=dict(asked), headers=headers, timeout=_patient(connection)) as answer,
    ):
        # a store to which the server sends names the object by its content
        if answer.status_code != 206 or not (answer.headers.get("etag") == tag or answer.url.path.endswith(f".{manifest['sha256']}")):
            return False
        answer.request.extensions["timeout"]["read"] = connection.timeout_s  # the body moves, where the headers were waited for
        for block in answer.iter_bytes():
            file.write(block)
            show(file.tell())
    if file.tell() < manifest["bytes"]:
        raise Unreachable("the export broke off", code="unreachable")
    return True


def _patient(connection: Connection) -> httpx.Timeout:
    import httpx

    return httpx.Timeout(connection.timeout_s, read=None)
