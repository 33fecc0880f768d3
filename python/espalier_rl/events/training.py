"""The data of the events of the topic `training`, as their JSON has it. Made from the event schemas by `npm run codegen:python`."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from .shared import BlobRef, NamedMethod, PlanRules


class TrainingDeclaredData(TypedDict):
    """The training of a policy was declared: its estimator, its rules and its seed. Topic: training; stream and key: data.lineageId."""

    lineageId: str
    """UUID of the lineage, the stream of all versions of the policy, derived from `policyId`."""
    policyId: str
    """Name of the policy that is trained."""
    estimator: NamedMethod
    """Estimator that computes the advantages."""
    rules: PlanRules
    """Rules by which batches are planned."""
    seed: int
    """Seed of the order of groups in batches."""
    trainer: Any
    """Settings of the trainer, such as backend, loss and learning rates, as free-form JSON."""


class BatchPlannedDataGroups(TypedDict):
    """An object within BatchPlannedData."""

    treeId: str
    """UUID of the tree, which is the group."""
    rolloutIds: list[str]
    """UUIDs of the members that are trained on."""


class BatchPlannedData(TypedDict):
    """A batch was planned: the samples of one training update, in order. Topic: training; stream and key: data.lineageId."""

    lineageId: str
    """UUID of the lineage, the stream of all versions of the policy, derived from `policyId`."""
    policyId: str
    """Name of the policy that is trained."""
    batchId: str
    """UUID of the batch, derived from the lineage and the ordinal."""
    ordinal: int
    """Number of the batch in its lineage, from 0."""
    policyVersion: int
    """Version that the batch is trained on: the newest one once the batches before it are trained."""
    estimator: NamedMethod
    """Estimator that computes the advantages."""
    rules: PlanRules
    """Rules by which the batch was planned."""
    seed: int
    """Seed of the order of the groups."""
    position: str
    """Log position up to which the planner had read."""
    groups: list[BatchPlannedDataGroups]
    """Groups of the batch in an order drawn by the seed."""
    samples: int
    """Number of samples over all groups."""
    tokens: int
    """Number of tokens over all samples."""
    shards: list[list[int]]
    """Indexes of the samples of each micro-batch, counted over all groups from 0."""
    previousHash: str | None
    """`manifestHash` of the previous batch of the lineage; null for the first one."""
    manifestHash: str
    """SHA-256 of the canonical JSON of this data without `manifestHash` and `position`."""


class SampleRejectedData(TypedDict):
    """A finished rollout was rejected: no batch will contain it. Topic: training; stream and key: data.lineageId."""

    lineageId: str
    """UUID of the lineage, the stream of all versions of the policy, derived from `policyId`."""
    policyId: str
    """Name of the policy that is trained."""
    groupId: str
    """UUID of the group, which is the tree of the rollout."""
    rolloutId: str
    """UUID of the rollout."""
    reason: Literal["zero-variance", "stale", "too-long", "failed", "cancelled", "empty", "singleton", "unscored", "incomplete-record", "other-distribution", "unclear-calls", "foreign-policy", "incomplete-group", "filtered", "not-needed"]
    """Kind of the rejection."""
    rule: str
    """Rule that rejected the rollout."""
    measured: float | None
    """Value that the rule measured; null when it measures none."""


class BatchLeasedData(TypedDict):
    """A consumer leased a batch: it may train on it until the deadline. Topic: training; stream and key: data.lineageId."""

    lineageId: str
    """UUID of the lineage, the stream of all versions of the policy, derived from `policyId`."""
    policyId: str
    """Name of the policy that is trained."""
    batchId: str
    """UUID of the batch, derived from the lineage and the ordinal."""
    leaseId: str
    """UUID of the lease, derived from the batch and the fence."""
    fence: int
    """Fence of the lease, which grows with every lease of the batch; requests with an older fence are refused."""
    consumer: str
    """Name of the consumer."""
    deadline: str
    """Time at which the lease expires, as ISO 8601 in UTC with milliseconds."""


class LeaseExpiredData(TypedDict):
    """A lease expired without an update; the batch can be leased again. Topic: training; stream and key: data.lineageId."""

    lineageId: str
    """UUID of the lineage, the stream of all versions of the policy, derived from `policyId`."""
    policyId: str
    """Name of the policy that is trained."""
    batchId: str
    """UUID of the batch, derived from the lineage and the ordinal."""
    leaseId: str
    """UUID of the lease, derived from the batch and the fence."""
    fence: int
    """Fence of the lease, which grows with every lease of the batch; requests with an older fence are refused."""


class BatchReturnedData(TypedDict):
    """A consumer returned a batch without an update; the batch can be leased again. Topic: training; stream and key: data.lineageId."""

    lineageId: str
    """UUID of the lineage, the stream of all versions of the policy, derived from `policyId`."""
    policyId: str
    """Name of the policy that is trained."""
    batchId: str
    """UUID of the batch, derived from the lineage and the ordinal."""
    leaseId: str
    """UUID of the lease, derived from the batch and the fence."""
    fence: int
    """Fence of the lease, which grows with every lease of the batch; requests with an older fence are refused."""
    reason: str
    """Reason that the consumer gave."""


class BatchAckedData(TypedDict):
    """A consumer acknowledged a batch: it was trained and made a new version. Topic: training; stream and key: data.lineageId."""

    lineageId: str
    """UUID of the lineage, the stream of all versions of the policy, derived from `policyId`."""
    policyId: str
    """Name of the policy that is trained."""
    batchId: str
    """UUID of the batch, derived from the lineage and the ordinal."""
    leaseId: str
    """UUID of the lease, derived from the batch and the fence."""
    fence: int
    """Fence of the lease, which grows with every lease of the batch; requests with an older fence are refused."""
    version: int
    """Version that the update made."""
    checkpointId: str
    """UUID of the checkpoint that holds the version."""


class BatchAbandonedData(TypedDict):
    """A batch was abandoned: it will never be trained. Topic: training; stream and key: data.lineageId."""

    lineageId: str
    """UUID of the lineage, the stream of all versions of the policy, derived from `policyId`."""
    policyId: str
    """Name of the policy that is trained."""
    batchId: str
    """UUID of the batch, derived from the lineage and the ordinal."""
    ordinal: int
    """Number of the batch in its lineage, from 0."""
    by: Literal["trainer", "operator"]
    """Who abandoned it: the trainer, because its rows cannot be read, or an operator."""
    reason: str
    """Reason for the abandonment."""
    leaseId: str | None
    """UUID of the lease that ended with the batch; null when it was not leased."""
    fence: int | None
    """Fence of that lease; null when the batch was not leased."""


class CheckpointSavedData(TypedDict):
    """The weights of a policy version were saved. Topic: training; stream and key: data.lineageId."""

    lineageId: str
    """UUID of the lineage, the stream of all versions of the policy, derived from `policyId`."""
    policyId: str
    """Name of the policy that is trained."""
    checkpointId: str
    """UUID of the checkpoint."""
    version: int
    """Version whose weights the checkpoint holds."""
    backend: str
    """Name of the training backend that wrote the checkpoint."""
    weights: str
    """SHA-256 of the weights."""
    kept: BlobRef | None
    """Checkpoint in the blob store; null when the trainer keeps it elsewhere."""
    covers: int | None
    """Ordinal of the last batch that the weights contain; null for the first version."""


class _PolicyUpdatedDataOptional(TypedDict, total=False):
    """Fields that may be absent."""

    rewardsAt: str
    """Log position of the rewards that were used; absent when the trainer does not report it."""
    logProbs: BlobRef
    """Log-probability of each sampled token of the batch by this version, as safetensors; absent where not reported."""


class PolicyUpdatedData(_PolicyUpdatedDataOptional):
    """A new version of a policy exists: the first one, or the result of a training update. Topic: training; stream and key: data.lineageId."""

    lineageId: str
    """UUID of the lineage, the stream of all versions of the policy, derived from `policyId`."""
    policyId: str
    """Name of the policy that is trained."""
    version: int
    """Number of the version."""
    parentVersion: int | None
    """Version that was trained; null for the first version."""
    batchId: str | None
    """UUID of the batch that was trained on; null for the first version."""
    checkpointId: str
    """UUID of the checkpoint that holds the version."""
    weights: str
    """SHA-256 of the weights."""
    estimator: NamedMethod | None
    """Estimator that computed the advantages; null for the first version and for behaviour cloning."""
    loss: NamedMethod | None
    """Loss that was minimised; null for the first version."""
    samples: int
    """Number of samples that the update was trained on."""
    metrics: dict[str, float]
    """Metrics of the update by name."""
