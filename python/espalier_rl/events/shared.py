"""Objects that many events share. Made from the event schemas by `npm run codegen:python`."""

from __future__ import annotations

from typing import Any, Literal, TypedDict


class BlobRef(TypedDict):
    """A payload in the blob store."""

    blob: str
    """SHA-256 of the payload in lower-case hex, which is its key in the blob store."""
    size: int
    """Size of the payload in bytes."""
    mediaType: str
    """Media type of the payload, for example `text/plain; charset=utf-8`."""


class Packed(TypedDict):
    """An array of tokens or bytes, packed."""

    dtype: Literal["int32", "float32", "uint8"]
    """Type of the elements, which are stored in little-endian order."""
    length: int
    """Number of elements."""
    bytes: str | BlobRef
    """Bytes of the elements in base64, or a reference to them in the blob store."""


class TokenUsage(TypedDict):
    """Tokens of a call as the server counted them."""

    promptTokens: int
    """Number of tokens in the prompt."""
    completionTokens: int
    """Number of tokens in the response."""


ModelCallTrimmed = TypedDict(
    "ModelCallTrimmed",
    {
        # Index of the first step left out, from 0.
        "from": "int",
        # Index after the last step left out.
        "to": "int",
    },
)
"""An object within ModelCall."""


class _ModelCallOptional(TypedDict, total=False):
    """Fields that may be absent."""

    fingerprint: str
    """Name of the weights that drew it: `system_fingerprint`, SGLang: `weight_version`; absent when the server sends none."""


class ModelCall(_ModelCallOptional):
    """A call of a model server."""

    responseId: str | None
    """Id that the server gave the response; null when it gave none."""
    model: str | None
    """Model as the server names it; null when it names none."""
    requestHash: str
    """SHA-256 of the body of the request."""
    attempts: int
    """Number of times the request was sent until it was answered."""
    latencyMs: float
    """Time from the first attempt to the whole response in milliseconds."""
    usage: TokenUsage | None
    """Tokens of all choices of the request, as the server counts; null when it does not report them."""
    trimmed: ModelCallTrimmed | None
    """Range of history steps left out so that the prompt fits; null when the prompt is whole."""


class NamedMethod(TypedDict):
    """An estimator or a loss with its options."""

    name: str
    """Name of the computation, for example `grpo`."""
    revision: str
    """Revision of the computation, which changes when its results change."""
    mode: Any
    """Options of the computation, as free-form JSON."""


class NamedScorer(TypedDict):
    """What scored or judged."""

    name: str
    """Name of the scorer: the environment, a reward function or a judge."""
    revision: str
    """Revision of the scorer, which changes when its scores can change."""


class PixelSize(TypedDict):
    """The size of an image in pixels."""

    width: int
    """Width in pixels."""
    height: int
    """Height in pixels."""


class ShownPicture(TypedDict):
    """A picture that an environment showed."""

    imageId: str
    """SHA-256 of the size and the pixels of the picture."""
    width: int
    """Width in pixels."""
    height: int
    """Height in pixels."""
    png: Packed
    """The picture as a PNG, as uint8."""


class PolicyVersion(TypedDict):
    """A version of a policy."""

    policyId: str
    """Name of the policy."""
    version: int
    """Version of the policy, counted in training updates; 0 before the first update and for a policy that is not trained."""


class PlanRulesGroupAll(TypedDict):
    """An object within PlanRulesGroup."""

    kind: Literal["all"]
    """`all`: every planned member must be fit for training."""


class PlanRulesGroupAtleast(TypedDict):
    """An object within PlanRulesGroup."""

    kind: Literal["at-least"]
    """`at-least`: a given number of fit members is enough."""
    members: int
    """Least number of fit members, for `at-least`."""


class PlanRulesGroupReplacefailed(TypedDict):
    """An object within PlanRulesGroup."""

    kind: Literal["replace-failed"]
    """`replace-failed`: as many fit members as were planned, with further rollouts in place of failed ones."""


class PlanRulesBand(TypedDict):
    """An object within PlanRules."""

    low: float
    """Least mean of the metric."""
    high: float
    """Greatest mean of the metric."""


class _PlanRulesOptional(TypedDict, total=False):
    """Fields that may be absent."""

    rewards: dict[str, float]
    """Weights by reward component that is trained on; absent: the sum of all components."""
    unclear: Literal["keep", "reject"]
    """Whether rollouts whose captured calls are unclear or could not be read whole are kept or rejected; absent for rejected."""
    unknownSampling: Literal["keep", "reject"]
    """Whether rollouts whose record leaves open how they were sampled are kept or rejected; absent for rejected."""


class PlanRules(_PlanRulesOptional):
    """The rules by which batches are planned."""

    groupsPerBatch: int
    """Number of groups in each batch."""
    group: PlanRulesGroupAll | PlanRulesGroupAtleast | PlanRulesGroupReplacefailed
    """Condition under which a closed group is trained on."""
    maxStaleness: int | None
    """Most versions between the oldest token of a sample and the version that is trained; null for no limit."""
    offPolicy: Literal["any", "log-probs"]
    """What a sample of an older version must have: the log-probability of every token, or nothing."""
    metric: str
    """Reward component by which groups are filtered."""
    unscored: Literal["wait", "reject"]
    """Whether a member without a trained reward is rejected, or its group waits for that."""
    zeroVariance: Literal["reject", "keep"]
    """Whether a group whose members are all trained on the same reward is rejected or kept."""
    band: PlanRulesBand | None
    """Range of the mean metric outside of which a group is rejected; null for no limit."""
    truncated: Literal["keep", "reject"]
    """Whether rollouts that a limit ended are kept or rejected."""
    maxTokens: int | None
    """Most tokens in a row that is trained on; null for no limit besides `tokenBudget`."""
    layout: Literal["verl", "step"]
    """What a row is: a whole trajectory (`verl`) or one step with its prompt (`step`)."""
    tokenBudget: int
    """Most tokens in a micro-batch."""
