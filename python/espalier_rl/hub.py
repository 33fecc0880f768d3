"""Puts a folder of a data set on the Hugging Face hub. The package huggingface_hub comes with the extra `hf`."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

from .errors import EspalierError

MANIFEST = "_manifests/dataset.manifest"


def push_to_hub(folder: str | Path, repository: str, *, token: str | None = None, private: bool = True, endpoint: str | None = None, revision: str | None = None) -> Any:
    """Uploads what `espalier export --layout hf` wrote, as one commit of the data set `repository` ("owner/name"), which is made where there is
    none. What is there already and equal is not sent again, so a push that was cut off goes on.

    `endpoint` is the address of the hub (else HF_ENDPOINT, else huggingface.co), `token` one of a user who may write (else the one that is logged in).
    Returns the commit (huggingface_hub's CommitInfo). Raises EspalierError that names the folder, or what the hub answered.
    """
    try:
        hub: Any = importlib.import_module("huggingface_hub")
        refused: Any = importlib.import_module("huggingface_hub.errors").HfHubHTTPError
    except ImportError as error:
        raise EspalierError("push_to_hub needs the package huggingface_hub", remedy="pip install 'espalier-rl[hf]'") from error
    path = Path(folder)
    files = _files_of(path)
    api = hub.HfApi(endpoint=endpoint, token=token)
    try:
        if not api.repo_exists(repository, repo_type="dataset"):  # what create_repo(exist_ok=True) answers of a hub of one's own is refused by itself
            api.create_repo(repository, repo_type="dataset", private=private)
        return api.upload_folder(
            repo_id=repository,
            repo_type="dataset",
            folder_path=str(path),
            allow_patterns=[*files, "README.md", MANIFEST],
            commit_message="Upload an export of Espalier",
            revision=revision,
        )
    except refused as error:
        raise EspalierError(f"the hub refused {repository}: {error}", remedy="give a token that may write there, or another repository") from error


def _files_of(path: Path) -> list[str]:
    """The files that the manifest of a folder names, all of which are there."""
    try:
        manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise EspalierError(f"{path} has no {MANIFEST}", remedy="write the folder by espalier export --layout hf --out FOLDER") from error
    names = [str(file["path"]) for file in manifest["files"]]
    for name in names:
        if not (path / name).is_file():
            raise EspalierError(f"{path / name} is named in {MANIFEST} and is not there", remedy="export the folder again")
    return names
