"""The data of the events of the topic `trees`, as their JSON has it. Made from the event schemas by `npm run codegen:python`."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from .shared import BlobRef, Packed, TokenUsage, ModelCall, NamedScorer, PixelSize, ShownPicture, PolicyVersion


class _TreeOpenedDataTaskOptional(TypedDict, total=False):
    """Fields that may be absent."""

    kind: str
    """Kind of the task, such as the type of a household task; absent when the environment names none."""
    toolsKwargs: str
    """JSON of the arguments by which tools of the task are made, by their names (`tools_kwargs` of verl)."""


class TreeOpenedDataTask(_TreeOpenedDataTaskOptional):
    """Task of the tree."""

    taskId: str
    """UUID of the task; collectors derive it from environment, fingerprint and `observationHash`, Python from all that it asks."""
    environment: str
    """Name of the environment."""
    serverFingerprint: str
    """Fingerprint of the environment server and its data; equal fingerprints mean equal behaviour."""
    observationHash: str
    """SHA-256 of the first observation in UTF-8."""
    alias: str
    """Identifier of the task in its environment; other servers may number tasks differently."""
    goal: str
    """Goal of the task; empty when the environment states none."""
    depth: int | None
    """Depth of the task, for example of the recipe in TextCraft; null when the environment has no such measure."""
    split: str | None
    """Split that the task belongs to, for example `train` or `test`; null when it is not known."""


class _TreeOpenedDataOptional(TypedDict, total=False):
    """Fields that may be absent."""

    pictures: list[ShownPicture]
    """Pictures behind the text of the observation, in order; absent when it has none."""
    shared: Literal[True]
    """Several programs record its rollouts: it is closed when as many as are planned have ended."""


class TreeOpenedData(_TreeOpenedDataOptional):
    """A tree was opened: a task was started and the environment returned its first observation. Topic: trees; stream and key: data.treeId."""

    treeId: str
    """UUID of the tree; also the stream and the log key of its events."""
    runId: str
    """UUID of the run."""
    task: TreeOpenedDataTask
    """Task of the tree."""
    rootStepId: str
    """UUID of the root step, which has no action."""
    instruction: str | BlobRef
    """Instruction with which every prompt of the tree begins."""
    observation: str | BlobRef
    """First observation of the task."""
    admissibleActions: list[str] | None
    """Actions that the environment accepts next; null when it does not list them."""
    stateHash: str | None
    """SHA-256 of the resulting state of the environment; null when it reports none."""
    plannedRollouts: int
    """Number of rollouts planned in the tree."""
    seed: int
    """Seed of the tree."""


class TreeResumedData(TypedDict):
    """A collector took over a tree: what an earlier one appends to its stream behind this event has no effect. Topic: trees; stream and key: data.treeId."""

    treeId: str
    """UUID of the tree; also the stream and the log key of its events."""
    runId: str
    """UUID of the run."""
    epoch: int
    """Epoch of the collector that goes on with the tree, above those of all before it."""


class RolloutStartedData(TypedDict):
    """A rollout started at a step of a tree. Topic: trees; stream and key: data.treeId."""

    rolloutId: str
    """UUID of the rollout."""
    treeId: str
    """UUID of the tree; also the stream and the log key of its events."""
    fromStepId: str
    """UUID of the step at which the rollout starts."""
    ordinal: int
    """Number of the rollout in its tree, from 0."""
    seed: int
    """Seed of the rollout."""
    policy: PolicyVersion
    """Policy that acts."""


class StepTakenDataReplyToolCalls(TypedDict):
    """An object within StepTakenDataReplyTool."""

    id: str | None
    """Id of the call by which its result names it; null when its server gives none."""
    name: str
    """Name of the tool."""
    arguments: str | BlobRef
    """Arguments as text, mostly JSON."""


class StepTakenDataReply(TypedDict):
    """What the reply is besides `response`; absent when it is that text alone."""

    reasoning: bool
    """Whether `thought` is reasoning that came apart from `response`."""
    toolCalls: list[StepTakenDataReplyToolCalls]
    """Calls of tools in the reply, in order."""


StepTakenDataPolicySpans = TypedDict(
    "StepTakenDataPolicySpans",
    {
        # Index of the first token, from 0.
        "from": "int",
        # Index after the last token.
        "to": "int",
        # Name of the policy.
        "policyId": "str",
        # Version of the policy, counted in training updates; 0 before the first update and for a policy that is not trained.
        "version": "int",
    },
)
"""An object within StepTakenDataPolicy."""


class _StepTakenDataTokensOptional(TypedDict, total=False):
    """Fields that may be absent."""

    ends: Packed
    """Index in `response`, in code points, after the text of each token, as int32; absent when unknown."""
    entropies: Packed
    """Entropy of the distribution of each token, in nats, as float32; absent when the engine returns none."""


class StepTakenDataTokens(_StepTakenDataTokensOptional):
    """An object within StepTakenData."""

    ids: Packed
    """Token ids, as int32."""
    logProbs: Packed | None
    """Log-probability of each token, as float32; null when the engine returns none."""
    mask: Packed | None
    """1 for each token that the policy sampled, else 0, as uint8; null when it sampled all."""


class StepTakenDataTimings(TypedDict):
    """Durations of the step."""

    policyMs: float
    """Time spent waiting for the policy in milliseconds."""
    environmentMs: float
    """Time spent waiting for the environment in milliseconds."""


class _StepTakenDataOptional(TypedDict, total=False):
    """Fields that may be absent."""

    reply: StepTakenDataReply
    """What the reply is besides `response`; absent when it is that text alone."""
    pictures: list[ShownPicture]
    """Pictures behind the text of the observation, in order; absent when it has none."""


class StepTakenData(_StepTakenDataOptional):
    """A step was taken: an action was executed and the environment returned an observation. Topic: trees; stream and key: data.treeId."""

    stepId: str
    """UUID of the step."""
    treeId: str
    """UUID of the tree; also the stream and the log key of its events."""
    parentStepId: str
    """UUID of the step at which the action was chosen."""
    rolloutId: str | None
    """UUID of the rollout that took the step; null for a search step at which no rollout ends."""
    depth: int
    """Number of actions from the root to this step."""
    response: str | BlobRef
    """Response of the policy, unchanged."""
    thought: str | BlobRef
    """Thought in the response; empty when it has none."""
    action: str | BlobRef
    """Action that was executed."""
    observation: str | BlobRef
    """Observation that the environment returned."""
    wellFormatted: bool
    """Whether the response has the requested form."""
    executable: bool
    """Whether the environment understood and executed the action."""
    termination: Literal["none", "terminated", "truncated"]
    """Whether the episode ended with this step: not, by the environment, or by a limit."""
    policySpans: list[StepTakenDataPolicySpans]
    """Policy version that sampled each range of the tokens of the response."""
    tokens: StepTakenDataTokens | None
    """Sampled tokens as the engine returned them; null when it returned none."""
    usage: TokenUsage | None
    """Number of tokens of this response and its prompt; null when it is not exactly known."""
    finishReason: str | None
    """Why sampling stopped, for example `stop` or `length`; null when it is not reported."""
    call: ModelCall | None
    """Request to a model server that returned the response; null for a policy that uses no server."""
    timings: StepTakenDataTimings
    """Durations of the step."""
    stateHash: str | None
    """SHA-256 of the resulting state of the environment; null when it reports none."""
    admissibleActions: list[str] | None
    """Actions that the environment accepts next; null when it does not list them."""


class PromptShownDataBase(TypedDict):
    """An object within PromptShownData."""

    stepId: str
    """UUID of the earlier step of the tree, or of the earlier judgement, that was asked with it."""
    messages: int
    """Number of messages of its prompt with which this prompt begins."""


class PromptShownDataMessagesPartsText(TypedDict):
    """An object within PromptShownDataMessagesParts."""

    kind: Literal["text"]
    """A text that is made of blocks."""
    blocks: list[str]
    """SHA-256 of each block in UTF-8; the text is the blocks joined in order."""


class PromptShownDataMessagesPartsStep(TypedDict):
    """An object within PromptShownDataMessagesParts."""

    kind: Literal["step"]
    """A text that the record of a step holds."""
    stepId: str
    """UUID of the step."""
    field: Literal["instruction", "observation", "response"]
    """Field of the step that is the text; `instruction` is that of its tree."""


class PromptShownDataMessagesPartsReasoning(TypedDict):
    """An object within PromptShownDataMessagesParts."""

    kind: Literal["reasoning"]
    """What the model thought, apart from what it said."""
    blocks: list[str]
    """SHA-256 of each block in UTF-8; the text is the blocks joined in order."""


class PromptShownDataMessagesPartsToolcall(TypedDict):
    """An object within PromptShownDataMessagesParts."""

    kind: Literal["tool-call"]
    """A call of a tool in a reply."""
    id: str | None
    """Id of the call by which its result names it; null when its server gave none."""
    name: str
    """Name of the tool."""
    blocks: list[str]
    """SHA-256 of each block of its arguments in UTF-8, which are the blocks joined in order."""


class PromptShownDataMessagesPartsImage(TypedDict):
    """An object within PromptShownDataMessagesParts."""

    kind: Literal["image"]
    """An image: the history drawn again, or a picture of an observation."""
    imageId: str
    """SHA-256 of the size and the pixels of the image."""


class _PromptShownDataMessagesOptional(TypedDict, total=False):
    """Fields that may be absent."""

    toolCallId: str
    """Id of the call that the message of a tool answers; absent when unknown."""
    name: str
    """Tool or person that speaks; absent when unknown."""


class PromptShownDataMessages(_PromptShownDataMessagesOptional):
    """An object within PromptShownData."""

    role: Literal["system", "user", "assistant", "tool"]
    """Role of the message."""
    parts: list[PromptShownDataMessagesPartsText | PromptShownDataMessagesPartsStep | PromptShownDataMessagesPartsReasoning | PromptShownDataMessagesPartsToolcall | PromptShownDataMessagesPartsImage]
    """Parts of the message in order."""


class PromptShownDataTemplate(TypedDict):
    """An object within PromptShownData."""

    name: str
    """Name of the prompt template."""
    version: int
    """Version of the prompt template."""


class PromptShownDataSamplingOthers(TypedDict):
    """An object within PromptShownDataSampling."""

    name: str
    """Name of the parameter as it was sent."""
    value: str
    """Its value as JSON, cut where it is longer."""


class PromptShownDataSampling(TypedDict):
    """Sampling parameters of the request."""

    temperature: float | None
    """Sampling temperature; null when the request leaves it to the server."""
    topP: float | None
    """Nucleus sampling threshold; null when the request leaves it to the server."""
    topK: int | None
    """Number of likeliest tokens that are drawn from, -1 for all; null when the request leaves it to the server."""
    minP: float | None
    """Least probability of a token, as a share of the likeliest one; null when the request leaves it to the server."""
    repetitionPenalty: float | None
    """Divisor of the logits of tokens that occurred, 1 for none; null when the request leaves it to the server."""
    maxTokens: int | None
    """Longest reply in tokens; null when the request leaves it to the server."""
    stop: list[str]
    """Texts at which sampling stops."""
    seed: int | None
    """Seed that was sent; null when none was."""
    others: list[PromptShownDataSamplingOthers]
    """Other parameters of the request that change the distribution, such as penalties and biases."""


class PromptShownDataTokens(TypedDict):
    """An object within PromptShownData."""

    before: int
    """Number of token ids of the prompt of the base and of the reply to it."""
    keep: int
    """Number of those ids with which this prompt begins; less than `before` means re-tokenisation drift."""
    ids: Packed
    """Token ids that follow the kept ones, as int32."""


class PromptShownDataAnswerTokens(TypedDict):
    """An object within PromptShownDataAnswer."""

    ids: Packed
    """Token ids, as int32."""
    logProbs: Packed | None
    """Log-probability of each token, as float32; null when the engine returns none."""


class PromptShownDataAnswer(TypedDict):
    """What came with the reply; absent when the reply became a step, which holds it."""

    finishReason: str | None
    """Why the reply ended; null when the server does not say."""
    usage: TokenUsage | None
    """Tokens of the prompt and of the reply; null when they are not known."""
    tokens: PromptShownDataAnswerTokens | None
    """Sampled tokens of the reply; null when the server returned none."""
    call: ModelCall | None
    """Request that was answered; null for a policy that uses no server."""


class _PromptShownDataOptional(TypedDict, total=False):
    """Fields that may be absent."""

    judgementId: str
    """UUID of the judgement that the reply became; absent when it became the step."""
    model: str | None
    """Model as it was asked for; null for a policy that names none; absent when unknown."""
    answer: PromptShownDataAnswer
    """What came with the reply; absent when the reply became a step, which holds it."""


class PromptShownData(_PromptShownDataOptional):
    """A policy was asked with a prompt, and its reply became a step or a judgement. Topic: trees; stream and key: data.treeId."""

    treeId: str
    """UUID of the tree; also the stream and the log key of its events."""
    stepId: str
    """UUID of the step that the reply became, or that it judges."""
    base: PromptShownDataBase | None
    """Prompt that this one continues; null when it is stored whole."""
    messages: list[PromptShownDataMessages]
    """Messages that follow those of the base."""
    blocks: list[str | BlobRef]
    """Texts of the blocks that the prompt of the base does not contain."""
    sha256: str
    """SHA-256 of the canonical JSON of all messages, texts written out."""
    template: PromptShownDataTemplate | None
    """Template that composed the prompt; null for the chat of the environment."""
    tools: str | BlobRef | None
    """Schema of the tools that the model may call, as JSON; null when it was given none."""
    sampling: PromptShownDataSampling
    """Sampling parameters of the request."""
    server: str | None
    """Address of the model server without credentials; null for a policy that uses no server."""
    tokens: PromptShownDataTokens | None
    """Token ids of the prompt as the server returned them; null when it returned none."""


class SpanReceivedData(TypedDict):
    """A span of a trace was received that describes a captured rollout. Topic: trees; stream and key: data.treeId."""

    spanId: str
    """UUID of the span, which follows from the ids of trace and span; also that of the call that it becomes."""
    treeId: str
    """UUID of the tree; also the stream and the log key of its events."""
    rolloutId: str
    """UUID of the rollout."""
    run: str
    """Run as the program names it."""
    task: str
    """Task as the program names it."""
    rollout: str
    """Rollout as the program names it."""
    kind: Literal["model", "tool", "agent", "chain", "root", "log"]
    """What it is of: a model call, a tool call, an agent, what encloses them, the trace, or a log record of a call."""
    endsRollout: bool
    """Whether the rollout ends with this span, as one does that its trace names."""
    startMs: float
    """When it began, in milliseconds since 1970."""
    span: str | BlobRef
    """The span with all its attributes, as JSON."""


class CallCapturedDataChoicesTokens(TypedDict):
    """An object within CallCapturedDataChoices."""

    ids: Packed
    """Token ids, as int32."""
    logProbs: Packed | None
    """Log-probability of each token, as float32; null when the engine returns none."""


class _CallCapturedDataChoicesOptional(TypedDict, total=False):
    """Fields that may be absent."""

    namedTokens: str | BlobRef
    """Log-probabilities that came without token ids, by the texts of tokens, as JSON; absent when there are none."""


class CallCapturedDataChoices(_CallCapturedDataChoicesOptional):
    """An object within CallCapturedData."""

    message: str | BlobRef
    """Message of the model as JSON, as its server returned it."""
    conversation: str
    """Digest of the conversation up to this message, by which a later request is seen to continue it."""
    tokens: CallCapturedDataChoicesTokens | None
    """Sampled tokens; null when the server returned none."""
    usage: TokenUsage | None
    """Tokens of the prompt and of this choice; null when they are not exactly known."""
    finishReason: str | None
    """Why sampling stopped; null when it is not reported."""


class CallCapturedDataTimings(TypedDict):
    """Durations of the call."""

    firstMs: float | None
    """Time until the first part of the reply in milliseconds; null when none came."""
    totalMs: float
    """Time until the end of the call in milliseconds."""


class _CallCapturedDataOptional(TypedDict, total=False):
    """Fields that may be absent."""

    unclear: Literal["altered-history", "tools-waiting", "overlapping", "unrecorded-reply"]
    """Why its place is not certain: altered history, waiting tools, a call in flight, a missing reply before it; absent if it is."""
    pictures: list[ShownPicture]
    """Pictures of the prompt that no observation of the tree holds, in order; absent when there are none."""
    attributes: str | BlobRef
    """What of the call has no place elsewhere, as JSON: attributes of its span, what was embedded; absent when there is none."""


class CallCapturedData(_CallCapturedDataOptional):
    """A program of the user called a model: what it returned, or why it returned nothing. Topic: trees; stream and key: data.treeId."""

    callId: str
    """UUID of the call."""
    treeId: str
    """UUID of the tree; also the stream and the log key of its events."""
    rolloutId: str
    """UUID of the rollout."""
    ordinal: int
    """Number of the call in its rollout, from 0, in the order in which calls began."""
    parentStepId: str
    """UUID of the step at which the call was made."""
    stepId: str | None
    """UUID of the step that the reply becomes, of a cancelled call if a later one shows it; null when it becomes none."""
    place: Literal["path", "branch"]
    """Whether the call goes on with the conversation that the rollout follows, or with one next to it, as a sub-agent does."""
    source: Literal["proxy", "trace", "client"]
    """How it was captured: on its way to the model, from spans of a trace, or in the process of the program."""
    api: str
    """Protocol of the call: `chat.completions`, `responses`, `messages` or `embeddings`."""
    outcome: Literal["answered", "failed", "cancelled"]
    """Whether the model answered; cancelled when the program went away first."""
    status: int | None
    """HTTP status of the model server; null when there is none."""
    message: str
    """What went wrong; empty when nothing did."""
    prompt: str | None
    """Digest of the conversation that was sent; null when the request could not be read."""
    choices: list[CallCapturedDataChoices]
    """Choices that the model returned; of a cancelled call what had arrived of them."""
    call: ModelCall | None
    """Request that was answered; null when it was not."""
    timings: CallCapturedDataTimings
    """Durations of the call."""


class ToolCalledData(TypedDict):
    """A tool was called within a step. Topic: trees; stream and key: data.treeId."""

    toolCallId: str
    """UUID of the call."""
    treeId: str
    """UUID of the tree; also the stream and the log key of its events."""
    stepId: str
    """UUID of the step that made the call."""
    ordinal: int
    """Number of the call in its step, from 0."""
    tool: str
    """Name of the tool."""
    arguments: str | BlobRef
    """Arguments of the call as text."""
    output: str | BlobRef
    """Output of the tool, or its error."""
    outcome: Literal["ok", "error"]
    """Whether the call succeeded."""
    durationMs: float
    """Duration of the call in milliseconds."""


class RewardAssignedDataRaw(TypedDict):
    """An object within RewardAssignedData."""

    value: float
    """Reward before normalisation."""
    scale: float
    """Number by which the reward is divided to normalise it."""
    kind: Literal["final", "cumulative", "delta"]
    """Whether the reward is the result of the episode, the sum so far, or the change at this step."""


class RewardAssignedData(TypedDict):
    """A reward was assigned to a step or to a whole rollout. Topic: trees; stream and key: data.treeId."""

    rewardId: str
    """UUID of the reward."""
    treeId: str
    """UUID of the tree; also the stream and the log key of its events."""
    stepId: str | None
    """UUID of the step; null for a reward of a whole rollout."""
    rolloutId: str | None
    """UUID of the rollout; null for a search step at which no rollout ends."""
    component: str
    """Component of the reward, for example `environment`."""
    value: float
    """Value that the reward adds to the return."""
    scorer: NamedScorer
    """Scorer that assigned the reward."""
    raw: RewardAssignedDataRaw | None
    """Reward as the environment returned it; null when it does not come from the environment."""


class RewardRevisedData(TypedDict):
    """A reward was revised: a new value replaces the one in force. Topic: trees; stream and key: data.treeId."""

    rewardId: str
    """UUID of the reward."""
    treeId: str
    """UUID of the tree; also the stream and the log key of its events."""
    value: float
    """New value of the reward."""
    scorer: NamedScorer
    """Scorer that revised the reward."""
    reason: str
    """Reason for the revision."""


class NodeAddedData(TypedDict):
    """A step became a node of a search. Topic: trees; stream and key: data.treeId."""

    treeId: str
    """UUID of the tree; also the stream and the log key of its events."""
    stepId: str
    """UUID of the step, which is the node."""
    parentStepId: str
    """UUID of the parent node."""
    simulation: int
    """Number of the simulation of the search, from 0; always 0 in an imported tree."""
    ordinal: int
    """Index of the candidate among the replies sampled at the parent, from 0."""
    score: float
    """Normalised score of the episode up to this node."""
    end: Literal["none", "terminated", "truncated", "disaster", "depth"]
    """What ends the search at the node: the environment, its limit, a score below 0 or the depth limit; else `none`."""
    equivalentTo: str | None
    """UUID of the first sibling with the same action after another response; null when there is none."""


class RepliesSampledData(TypedDict):
    """A policy replied at a node of a search or a step of a chat; none of the replies is executed yet. Topic: trees; stream and key: data.treeId."""

    treeId: str
    """UUID of the tree; also the stream and the log key of its events."""
    stepId: str
    """UUID of the node at which the replies were sampled."""
    simulation: int
    """Number of the simulation of the search, from 0; always 0 in an imported tree."""
    asked: int
    """Number of replies that were requested from the policy."""
    count: int
    """Number of replies received."""
    policyMs: float
    """Time to sample the replies in milliseconds."""
    replies: Packed
    """Replies as gzip of a JSON array of response, tokens, usage, finishReason, policy, call and asked."""


class NodeExpandedDataDropped(TypedDict):
    """An object within NodeExpandedData."""

    ordinal: int
    """Index of the dropped candidate."""
    sameAs: int
    """Index of the earlier candidate with the same response."""


class NodeExpandedData(TypedDict):
    """A node of a search was expanded: all its candidates are known. Topic: trees; stream and key: data.treeId."""

    treeId: str
    """UUID of the tree; also the stream and the log key of its events."""
    stepId: str
    """UUID of the node that was expanded."""
    simulation: int
    """Number of the simulation of the search, from 0; always 0 in an imported tree."""
    asked: int
    """Number of replies that were requested from the policy."""
    dropped: list[NodeExpandedDataDropped]
    """Candidates that were dropped because an earlier one has the same response."""
    reason: str
    """Why candidates are missing; empty when none are."""


class ValueBackedUpData(TypedDict):
    """A search backed up the value of a leaf along its path. Topic: trees; stream and key: data.treeId."""

    treeId: str
    """UUID of the tree; also the stream and the log key of its events."""
    simulation: int
    """Number of the simulation of the search, from 0; always 0 in an imported tree."""
    leafStepId: str
    """UUID of the leaf."""
    value: float
    """Value that is added to every step of the path."""
    path: list[str]
    """UUIDs of the steps from the root to the leaf, each of which gets one visit."""


class ReplayDivergedDataStateHashes(TypedDict):
    """States at the step; absent when neither is known."""

    recorded: str | None
    """Recorded SHA-256 of the state; null when none is recorded."""
    replayed: str | None
    """SHA-256 of the state in the repeated execution; null when the environment reports none."""


class _ReplayDivergedDataOptional(TypedDict, total=False):
    """Fields that may be absent."""

    stateHashes: ReplayDivergedDataStateHashes
    """States at the step; absent when neither is known."""


class ReplayDivergedData(_ReplayDivergedDataOptional):
    """Recorded actions were executed again and the result differs from the record. Topic: trees; stream and key: data.treeId."""

    treeId: str
    """UUID of the tree; also the stream and the log key of its events."""
    stepId: str
    """UUID of the step that differs."""
    field: Literal["observation", "reward", "termination", "stateHash"]
    """What differs; `stateHash` where nothing else does and the state is another."""
    recorded: str | BlobRef
    """Recorded value."""
    replayed: str | BlobRef
    """Value in the repeated execution."""


class _RolloutFinishedDataOptional(TypedDict, total=False):
    """Fields that may be absent."""

    unclearCalls: int
    """Number of captured calls that may belong to the path and lie next to it; absent for a rollout that is not captured."""
    lostParts: int
    """Number of parts of its captured calls that could not be read; absent for a rollout that is not captured."""


class RolloutFinishedData(_RolloutFinishedDataOptional):
    """A rollout finished: it reached an end, or nothing more of it follows. Topic: trees; stream and key: data.treeId."""

    rolloutId: str
    """UUID of the rollout."""
    treeId: str
    """UUID of the tree; also the stream and the log key of its events."""
    leafStepId: str
    """UUID of the last step that the rollout took, or of the one that it began at; another one is refused by its tree."""
    outcome: Literal["terminated", "truncated", "failed", "cancelled"]
    """How the rollout ended: by the environment, by a limit, by a fault, or by cancellation."""
    success: bool | None
    """Whether the environment reports success; null when it does not report it."""
    steps: int
    """Number of steps from where the rollout began to its last one; another number is refused by its tree."""
    reason: str
    """Details of the end; empty when there are none."""


class _TreeClosedDataOptional(TypedDict, total=False):
    """Fields that may be absent."""

    fault: str
    """Failure of the environment that closed it; absent where none did."""


class TreeClosedData(_TreeClosedDataOptional):
    """A tree was closed: no further steps follow. Topic: trees; stream and key: data.treeId."""

    treeId: str
    """UUID of the tree; also the stream and the log key of its events."""
    reason: Literal["completed", "exhausted", "failed", "cancelled"]
    """Why it was closed; `exhausted` when a search has no node left to expand."""
    rollouts: int
    """Number of rollouts in the tree."""


HistoryRenderedDataPrefix = TypedDict(
    "HistoryRenderedDataPrefix",
    {
        # UUID of the earlier step.
        "stepId": "str",
        # Index of the first segment in the history of that step, from 0.
        "from": "int",
        # Index after the last segment.
        "to": "int",
    },
)
"""An object within HistoryRenderedData."""


class HistoryRenderedDataSizes(TypedDict):
    """Sizes of the image at each stage."""

    raw: PixelSize
    """Size of the stacked segments."""
    resized: PixelSize
    """Size after the resize by the factor."""
    bordered: PixelSize
    """Size with the border, which is what the model is sent."""
    model: PixelSize
    """Size after the image processor of the model."""


class HistoryRenderedDataVisionTokens(TypedDict):
    """Cost of the history as an image."""

    count: int
    """Number of vision tokens."""
    preset: str
    """Name of the image processor preset that determines the count."""


class HistoryRenderedDataTextTokens(TypedDict):
    """Cost of the same history as text."""

    count: int
    """Number of text tokens."""
    tokenizer: str
    """Name of the tokenizer that counted them."""


class HistoryRenderedDataCut(TypedDict):
    """What size limits removed from the image."""

    segments: int
    """Number of whole segments removed."""
    lines: int
    """Number of lines removed."""


class HistoryRenderedDataCache(TypedDict):
    """What the segment cache did not hold."""

    missed: list[int]
    """Indexes, in the whole history from 0, of the segments that had to be drawn."""


class HistoryRenderedDataTimings(TypedDict):
    """Durations of the rendering."""

    renderMs: float
    """Time to draw the image in milliseconds."""


class HistoryRenderedData(TypedDict):
    """The prompt of a step showed its history as an image. Topic: trees; stream and key: data.treeId."""

    treeId: str
    """UUID of the tree; also the stream and the log key of its events."""
    stepId: str
    """UUID of the step whose prompt showed the image."""
    renderSpecId: str
    """SHA-256 of the canonical JSON of the render spec."""
    prefix: HistoryRenderedDataPrefix | None
    """Range of the history of an earlier step with which this history begins; null when it repeats none."""
    segments: list[str]
    """Ids of the segments that follow the prefix, oldest first."""
    history: Literal["segments", "blank", "absent"]
    """What the image shows: segments, a history without a character, or none because nothing has happened yet."""
    factor: float
    """Compression factor: the image has 1 / factor of the pixels of the stacked segments."""
    factorChosenBy: str | None
    """UUID of the step whose response chose the factor; null for the default factor."""
    sizes: HistoryRenderedDataSizes
    """Sizes of the image at each stage."""
    visionTokens: HistoryRenderedDataVisionTokens
    """Cost of the history as an image."""
    textTokens: HistoryRenderedDataTextTokens
    """Cost of the same history as text."""
    imageId: str
    """SHA-256 of the size and the pixels of the image."""
    cut: HistoryRenderedDataCut
    """What size limits removed from the image."""
    outside: int
    """Number of characters that the font does not have."""
    unshaped: int
    """Number of characters that the published renderer shapes and may draw otherwise."""
    cache: HistoryRenderedDataCache
    """What the segment cache did not hold."""
    timings: HistoryRenderedDataTimings
    """Durations of the rendering."""


class StepJudgedData(TypedDict):
    """A judge gave a verdict on a step of a trajectory. Topic: trees; stream and key: data.treeId."""

    treeId: str
    """UUID of the tree; also the stream and the log key of its events."""
    leafStepId: str
    """UUID of the last step of the trajectory."""
    stepId: str
    """UUID of the step that was judged."""
    index: int
    """Index of the step on the trajectory, from 0 for the first action."""
    judge: NamedScorer
    """Judge that gave the verdict."""
    promptHash: str
    """SHA-256 of everything that the judge was asked with."""
    verdict: Literal["good", "bad", "uncertain", "unparsed"]
    """Verdict on the step; `unparsed` when no verdict could be read from the reply."""
    reply: str | BlobRef
    """Whole reply of the judge."""


class RevisionComposedData(TypedDict):
    """A revision was composed: a bad trajectory, a reflection, and the end of a good one. Topic: trees; stream and key: data.treeId."""

    revisionId: str
    """UUID of the revision, derived from its tree, leaves, content, judge and thresholds."""
    treeId: str
    """UUID of the tree; also the stream and the log key of its events."""
    goodLeafStepId: str
    """UUID of the last step of the good trajectory."""
    badLeafStepId: str
    """UUID of the last step of the bad trajectory."""
    branchStepId: str
    """UUID of the last step of the bad trajectory that the good one shares in its texts, at least the root."""
    transitionStepId: str
    """UUID of the last step of the bad trajectory that the revision keeps."""
    transitionCause: Literal["bad", "none-bad", "unparsed", "direct"]
    """Why the bad prefix ends there: the step is bad, no step is, a reply was unparsed, or no judge was asked."""
    judged: int
    """Revision length: number of steps that were judged to find the transition."""
    reflection: str
    """Text of the reflection."""
    signal: Literal["thought", "turn", "in-form"]
    """Place of the reflection: a turn of its own, or the first good reply, behind `Thought:` or in the form of the reply."""
    alpha: float
    """Threshold alpha: the least score of the good trajectory."""
    beta: float
    """Threshold beta: the least difference between the scores of the good and the bad trajectory."""
    judge: NamedScorer
    """Judge of the steps of the bad trajectory."""
    contentHash: str
    """SHA-256 of the turns of the revision."""


class RevisionVerifiedData(TypedDict):
    """The actions of a revision were executed, with the recorded observations and enough reward. Topic: trees; stream and key: data.treeId."""

    revisionId: str
    """UUID of the revision, derived from its tree, leaves, content, judge and thresholds."""
    treeId: str
    """UUID of the tree; also the stream and the log key of its events."""
    reached: float
    """Score that the execution reached."""
    threshold: float
    """Least score that the execution had to reach."""


class RevisionRejectedData(TypedDict):
    """A revision was rejected: its execution did not confirm it, or its form is wrong. Topic: trees; stream and key: data.treeId."""

    revisionId: str
    """UUID of the revision, derived from its tree, leaves, content, judge and thresholds."""
    treeId: str
    """UUID of the tree; also the stream and the log key of its events."""
    reason: Literal["diverged", "impossible", "below", "malformed"]
    """Reason: the bad prefix differs, the good steps do, the score is too low, or the reflected reply is malformed."""
    reached: float | None
    """Score that the execution reached; null when it stopped before its end."""
    stepId: str | None
    """UUID of the step at which the revision failed; null when it failed at none."""
    detail: str
    """What was observed."""


class AnnotationAddedDataSubjectStep(TypedDict):
    """An object within AnnotationAddedDataSubject."""

    kind: Literal["step"]
    """A step."""
    stepId: str
    """UUID of the step."""


class AnnotationAddedDataSubjectRollout(TypedDict):
    """An object within AnnotationAddedDataSubject."""

    kind: Literal["rollout"]
    """A rollout, and the trajectory that it ended."""
    rolloutId: str
    """UUID of the rollout."""


class AnnotationAddedDataSubjectRevision(TypedDict):
    """An object within AnnotationAddedDataSubject."""

    kind: Literal["revision"]
    """A revision."""
    revisionId: str
    """UUID of the revision."""


class AnnotationAddedDataSubjectRow(TypedDict):
    """An object within AnnotationAddedDataSubject."""

    kind: Literal["row"]
    """An example of a released dataset."""
    datasetId: str
    """UUID of the dataset."""
    line: int
    """First line of the example in the file, from 1."""


class AnnotationAddedDataSubjectTree(TypedDict):
    """An object within AnnotationAddedDataSubject."""

    kind: Literal["tree"]
    """The tree as a whole."""


class AnnotationAddedData(TypedDict):
    """Somebody annotated something of a tree: with a label, a score or a note. Topic: trees; stream and key: data.treeId."""

    annotationId: str
    """UUID of the annotation; also the id of the event that added it."""
    treeId: str
    """UUID of the tree; also the stream and the log key of its events."""
    subject: AnnotationAddedDataSubjectStep | AnnotationAddedDataSubjectRollout | AnnotationAddedDataSubjectRevision | AnnotationAddedDataSubjectRow | AnnotationAddedDataSubjectTree
    """What is annotated."""
    label: str | None
    """Label to filter by; null without one."""
    score: float | None
    """Score; null without one."""
    note: str
    """Text for people; empty without one."""


class AnnotationRetractedData(TypedDict):
    """An annotation was retracted: it no longer counts. Topic: trees; stream and key: data.treeId."""

    annotationId: str
    """UUID of the annotation; also the id of the event that added it."""
    treeId: str
    """UUID of the tree; also the stream and the log key of its events."""
    reason: str
    """Reason for the retraction; empty without one."""
