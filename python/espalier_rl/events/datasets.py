"""The data of the events of the topic `datasets`, as their JSON has it. Made from the event schemas by `npm run codegen:python`."""

from __future__ import annotations

from typing import Any, Literal, TypedDict


class DatasetReleasedData(TypedDict):
    """A file of training examples was released under a name and a version. Topic: datasets; stream and key: data.datasetId."""

    datasetId: str
    """UUID of the dataset, derived from its name and version."""
    name: str
    """Name of the dataset."""
    version: int
    """Version of the dataset under its name, from 1."""
    format: str
    """Format of the file, for example `xtuner`, `sharegpt` or `openai`."""
    formatVersion: int
    """Version of the format."""
    query: Any
    """Filter that selected the trajectories, as JSON."""
    parameters: Any
    """Options of the export, such as thresholds, gates and general data mixed in, as JSON."""
    position: dict[str, str]
    """Log position of each projection that was read, by `name@version`."""
    counts: Any
    """Numbers of lines and examples in the file, and of those left out by reason, as JSON."""
    bytes: int
    """Size of the file in bytes."""
    sha256: str
    """SHA-256 of the file."""
    codeVersion: str
    """Version of the program that wrote the event."""
    runs: list[str]
    """UUIDs of the runs that the examples come from."""


class DatasetSourcedDataExamples(TypedDict):
    """An object within DatasetSourcedData."""

    line: int
    """First line of the example in the file, from 1."""
    lines: int
    """Number of lines of the example."""
    kind: Literal["good", "revision", "pair"]
    """What the example is: a good trajectory, a revision, or a good and a bad trajectory for preference training."""
    treeId: str
    """UUID of the tree that the example was made from."""
    goodRolloutId: str
    """UUID of the rollout of the good trajectory."""
    badRolloutId: str | None
    """UUID of the rollout of the bad trajectory; null for a good example."""
    revisionId: str | None
    """UUID of the revision; null for an example of another kind."""


class DatasetSourcedData(TypedDict):
    """The sources of a part of the examples of a released dataset were recorded. Topic: datasets; stream and key: data.datasetId."""

    datasetId: str
    """UUID of the dataset, derived from its name and version."""
    sha256: str
    """SHA-256 of the file that the examples are in."""
    part: int
    """Number of this part, from 0; the parts list the examples in the order of their lines."""
    examples: list[DatasetSourcedDataExamples]
    """Examples with the records that they were made from."""


class DatasetWithdrawnData(TypedDict):
    """A dataset was withdrawn and must no longer be trained on. Topic: datasets; stream and key: data.datasetId."""

    datasetId: str
    """UUID of the dataset, derived from its name and version."""
    reason: str
    """Reason for the withdrawal."""
