"""The data of the events of the topic `runs`, as their JSON has it. Made from the event schemas by `npm run codegen:python`."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from .shared import BlobRef, PolicyVersion


class _ExperimentDeclaredDataOptional(TypedDict, total=False):
    """Fields that may be absent."""

    declaration: Any
    """Stages, arms and seeds of the experiment, as its file declares them; absent where a program declared a question alone."""
    rerunOf: str | None
    """UUID of the experiment that it repeats with other options; null or absent for none."""


class ExperimentDeclaredData(_ExperimentDeclaredDataOptional):
    """An experiment was declared: a question that runs are to answer. Topic: runs; stream and key: data.experimentId."""

    experimentId: str
    """UUID of the experiment."""
    name: str
    """Name of the experiment."""
    question: str
    """Question that the experiment asks."""


class _StageFinishedDataOutputTrainedOptional(TypedDict, total=False):
    """Fields that may be absent."""

    datasetIds: list[str]
    """UUIDs of the datasets trained on, in order, of which the last made this version; absent when not recorded."""
    revisionLength: float | None
    """Mean number of steps judged per revision of the last iteration; null when none was; absent when unknown."""


class StageFinishedDataOutputTrained(_StageFinishedDataOutputTrainedOptional):
    """An object within StageFinishedDataOutput."""

    method: str
    """Method that produced the training data, for example `good-only`, `direct` or `agent-r`."""
    iteration: int
    """Iteration of self-training that the policy comes from."""
    weights: str
    """SHA-256 of the weights; for a policy without weights, of its description and its training data."""
    runIds: list[str]
    """UUIDs of the runs whose trajectories were trained on, over all iterations."""
    good: int
    """Number of good trajectories in the training data of the last iteration."""
    revisions: int
    """Number of revisions in the training data of the last iteration."""
    actions: int
    """Number of actions with loss in the training data of the last iteration."""


class _StageFinishedDataOutputOptional(TypedDict, total=False):
    """Fields that may be absent."""

    trained: StageFinishedDataOutputTrained | None
    """Data that its policy was trained on; null or absent when it trained none on a release."""


class StageFinishedDataOutput(_StageFinishedDataOutputOptional):
    """An object within StageFinishedData."""

    digest: str
    """SHA-256 of what came out, without ids and times."""
    runIds: list[str]
    """UUIDs of the runs of the stage."""
    datasetId: str | None
    """UUID of the dataset that it released; null for none."""
    policy: str | None
    """Policy that it trained, as `--policy` takes it; null for none."""
    judge: str | None
    """Judge of its revisions, as name@revision; null for none."""
    kept: BlobRef | None
    """Weights, or the list of revisions, that a later stage reads; null for none."""
    values: dict[str, float]
    """Numbers that came out, by name."""


class StageFinishedData(TypedDict):
    """A stage of an experiment ended, in one of its arms and one of its repetitions. Topic: runs; stream and key: data.experimentId."""

    experimentId: str
    """UUID of the experiment."""
    arm: str
    """Name of the arm."""
    stage: str
    """Name of the stage in the declaration."""
    kind: str
    """What the stage does: `collect`, `search`, `revise`, `release`, `train`, `evaluate`, `score`, `fork` or `import`."""
    seed: int
    """Seed of the repetition."""
    key: str
    """SHA-256 of what determines the outcome: options, seed, code version, fingerprints, and the digests of what it used."""
    outcome: Literal["completed", "failed"]
    """How the stage ended; a failed one may end again when the experiment is resumed."""
    message: str
    """Reason of a failure; empty when it completed."""
    reusedFrom: str | None
    """UUID of the experiment whose stage of the same key was taken; null when the stage was run."""
    output: StageFinishedDataOutput | None
    """What came out; null when the stage failed."""


class _RunStartedDataEnvironmentsOptional(TypedDict, total=False):
    """Fields that may be absent."""

    renderer: str
    """JavaScript module whose `render` shows steps in the studio; absent when there is none."""


class RunStartedDataEnvironments(_RunStartedDataEnvironmentsOptional):
    """An object within RunStartedData."""

    environment: str
    """Name of the environment."""
    fingerprint: str
    """Fingerprint of the environment server and its data; equal fingerprints mean equal behaviour."""


class _RunStartedDataOptional(TypedDict, total=False):
    """Fields that may be absent."""

    policyDigest: str
    """SHA-256 of the file that the policy was read from; absent for other policies."""


class RunStartedData(_RunStartedDataOptional):
    """A run started: one execution of a configuration with a seed. Topic: runs; stream and key: data.runId."""

    runId: str
    """UUID of the run."""
    experimentId: str | None
    """UUID of the experiment that the run belongs to; null when it belongs to none."""
    name: str
    """Name of the run."""
    kind: Literal["collect", "search", "import", "evaluate", "fork", "external"]
    """What the run does; `external` is a run of another program, `fork` continues recorded steps of another run."""
    seed: int
    """Seed from which all other seeds of the run are derived."""
    codeVersion: str
    """Version of the program that wrote the event."""
    config: Any
    """Configuration of the run: everything but the seed that determines it, as free-form JSON."""
    environments: list[RunStartedDataEnvironments]
    """Environments that the run acts in."""
    policy: PolicyVersion | None
    """Policy that the run starts with; null when it has none."""


class RunResumedData(TypedDict):
    """A collector took over a run: what an earlier one appends to the stream of the run behind this event has no effect. Topic: runs; stream and key: data.runId."""

    runId: str
    """UUID of the run."""
    epoch: int
    """Epoch of the collector that goes on with the run, above those of all before it."""
    codeVersion: str
    """Version of the program that wrote the event."""


class RunFinishedData(TypedDict):
    """A run finished: its outcome and its totals. Topic: runs; stream and key: data.runId."""

    runId: str
    """UUID of the run."""
    outcome: Literal["completed", "failed", "cancelled"]
    """How the run ended."""
    message: str
    """Reason for the outcome, or a summary of what failed; empty when nothing did."""
    trees: int
    """Number of trees in the run."""
    rollouts: int
    """Number of rollouts in the run."""
    steps: int
    """Number of actions taken in the run."""


class _RecorderJoinedDataOptional(TypedDict, total=False):
    """Fields that may be absent."""

    endedByOpener: Literal[True]
    """Given where the run ends when who opened it says so, not when all who joined have left."""


class RecorderJoinedData(_RecorderJoinedDataOptional):
    """A program joined a run: it records trees of the run, as others may at the same time. Topic: runs; stream and key: data.runId."""

    runId: str
    """UUID of the run."""
    recorderId: str
    """UUID of the recorder in the run."""
    name: str
    """Name from which ids of its trees follow: the next recorder of the name continues them."""
    session: str
    """UUID of the process: of two that join under one name at once, the other one is refused."""


class RecorderLeftData(TypedDict):
    """A program left a run that it had joined: when all have left, one as `completed`, the run ends, or by its opener. Topic: runs; stream and key: data.runId."""

    runId: str
    """UUID of the run."""
    recorderId: str
    """UUID of the recorder in the run."""
    outcome: Literal["completed", "failed", "cancelled"]
    """How it left; `failed` and `cancelled` end no run."""
    message: str
    """Reason for the outcome; empty when it completed."""


class _MetricRecordedDataOptional(TypedDict, total=False):
    """Fields that may be absent."""

    weights: str
    """SHA-256 of the weights at that step; absent when unknown."""


class MetricRecordedData(_MetricRecordedDataOptional):
    """A metric of a run was measured. Topic: runs; stream and key: data.runId."""

    runId: str
    """UUID of the run."""
    metric: str
    """Name of the metric."""
    value: float
    """Value of the metric."""
    at: int | None
    """Step, update, iteration or simulation of the value; null when it belongs to the whole run."""


class PayloadForgottenData(TypedDict):
    """Payload of a run was forgotten: its keys are destroyed, and no read model holds it. Topic: runs; stream and key: data.runId."""

    runId: str
    """UUID of the run."""
    trees: list[str]
    """UUIDs of the trees of the run whose payload was forgotten."""
    keys: list[str]
    """UUIDs of the keys that were destroyed, those of shared history segments included."""
    blobs: int
    """Number of blobs that were deleted with the payload."""
    by: str
    """Who asked for it: the name of a person or a program."""
    reason: str
    """Reason that was given."""


class EvaluationFinishedDataReturnInterval(TypedDict):
    """An object within EvaluationFinishedDataReturn."""

    low: float
    """Lower end of the interval."""
    high: float
    """Upper end of the interval."""


class EvaluationFinishedDataSuccessInterval(TypedDict):
    """Bootstrap interval of the success rate."""

    low: float
    """Lower end of the interval."""
    high: float
    """Upper end of the interval."""


class EvaluationFinishedDataBootstrap(TypedDict):
    """Parameters of the percentile bootstrap, which resamples whole tasks with replacement."""

    confidence: float
    """Confidence level of the intervals, for example 0.95."""
    resamples: int
    """Number of resamples."""
    seed: int
    """Seed of the resampling."""


class EvaluationFinishedDataRepeatedActions(TypedDict):
    """An object within EvaluationFinishedDataRepeated."""

    length: int
    """Number of actions in the repeated sequence."""
    perEpisode: float
    """Mean number of repetitions per episode."""


class EvaluationFinishedDataByDepth(TypedDict):
    """An object within EvaluationFinishedDataBy."""

    taskDepth: int | None
    """Depth of the tasks; null for tasks without a depth."""
    episodes: int
    """Number of episodes on tasks of this depth."""
    successes: int
    """Number of these episodes that succeeded."""


class EvaluationFinishedDataRecovery(TypedDict):
    """An object within EvaluationFinishedData."""

    fromRunId: str
    """UUID of the run whose failed trajectories the episodes continue."""


class _EvaluationFinishedDataTrainedOptional(TypedDict, total=False):
    """Fields that may be absent."""

    datasetIds: list[str]
    """UUIDs of the datasets trained on, in order, of which the last made this version; absent when not recorded."""
    revisionLength: float | None
    """Mean number of steps judged per revision of the last iteration; null when none was; absent when unknown."""


class EvaluationFinishedDataTrained(_EvaluationFinishedDataTrainedOptional):
    """An object within EvaluationFinishedData."""

    method: str
    """Method that produced the training data, for example `good-only`, `direct` or `agent-r`."""
    iteration: int
    """Iteration of self-training that the policy comes from."""
    weights: str
    """SHA-256 of the weights; for a policy without weights, of its description and its training data."""
    runIds: list[str]
    """UUIDs of the runs whose trajectories were trained on, over all iterations."""
    good: int
    """Number of good trajectories in the training data of the last iteration."""
    revisions: int
    """Number of revisions in the training data of the last iteration."""
    actions: int
    """Number of actions with loss in the training data of the last iteration."""


class _EvaluationFinishedDataOptional(TypedDict, total=False):
    """Fields that may be absent."""

    rewarded: int
    """Number of episodes with a reward, as the others have no return; absent when not recorded."""


class EvaluationFinishedData(_EvaluationFinishedDataOptional):
    """The policy of a run was evaluated on a set of tasks. Topic: runs; stream and key: data.runId."""

    runId: str
    """UUID of the run."""
    policy: PolicyVersion
    """Policy that was evaluated."""
    environment: str
    """Name of the environment."""
    split: str | None
    """Split that the tasks were taken from; null when they were not chosen by a split."""
    tasks: int
    """Number of tasks."""
    episodes: int
    """Number of episodes over all tasks."""
    meanReturn: float | None
    """Mean return per episode with a reward; null without one."""
    returnInterval: EvaluationFinishedDataReturnInterval | None
    """Bootstrap interval of the mean return; null without one."""
    successRate: float
    """Share of episodes that succeeded, from 0 to 1; failed and truncated episodes count as failures."""
    successInterval: EvaluationFinishedDataSuccessInterval
    """Bootstrap interval of the success rate."""
    bootstrap: EvaluationFinishedDataBootstrap
    """Parameters of the percentile bootstrap, which resamples whole tasks with replacement."""
    meanSteps: float
    """Mean number of actions per episode."""
    repeatedActions: list[EvaluationFinishedDataRepeatedActions]
    """Immediate repetitions of action sequences by their length (the loop metric of Agent-R)."""
    byDepth: list[EvaluationFinishedDataByDepth]
    """Success by depth of the task, lowest depth first."""
    recovery: EvaluationFinishedDataRecovery | None
    """Failed trajectories that the episodes continue; null when they begin at the first observation."""
    trained: EvaluationFinishedDataTrained | None
    """Data that the policy was trained on; null when the platform did not train it."""


class RenderSpecRegisteredData(TypedDict):
    """A run registered a render spec, by which it draws history images. Topic: runs; stream and key: data.runId."""

    runId: str
    """UUID of the run."""
    renderSpecId: str
    """SHA-256 of the canonical JSON of the render spec."""
    profile: str
    """Name of the profile that the spec was made from."""
    spec: Any
    """Render spec: everything that determines the pixels, as JSON."""


class ReplayFinishedDataDifferences(TypedDict):
    """An object within ReplayFinishedData."""

    eventId: str | None
    """UUID of the event that recorded the value; null when no single event did."""
    stepId: str | None
    """UUID of the step that the value belongs to; null when it belongs to none."""
    field: str
    """Name of the field that differs."""
    recorded: str
    """Recorded value as text, cut to 2,000 characters."""
    replayed: str
    """Value in the replay as text, cut to 2,000 characters."""


class ReplayFinishedData(TypedDict):
    """A part of a run was repeated from the record and compared with what is recorded. Topic: runs; stream and key: data.runId."""

    runId: str
    """UUID of the run."""
    replayId: str
    """UUID of the replay."""
    mode: Literal["projections", "environment", "images", "scores", "training", "fork"]
    """What was repeated."""
    outcome: Literal["equal", "differs"]
    """Whether everything that was compared is equal."""
    compared: int
    """Number of things compared."""
    differing: int
    """Number of compared things that differ."""
    differences: list[ReplayFinishedDataDifferences]
    """First differences, at most 20."""
    notes: list[str]
    """Conditions of the replay that bear on the result, such as a server other than the recorded one."""
    parameters: Any
    """Parameters that the replay was called with, as JSON."""
    codeVersion: str
    """Version of the program that wrote the event."""
    seconds: int
    """Duration of the replay in seconds."""
