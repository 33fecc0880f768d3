import type { ChatImage, ChatMessage } from '../domain/history/prompt.ts';
import type { PolicyPrompt, ToolCallPart } from '../domain/prompts/policy-prompt.ts';
import type { PolicyRef } from '../events/schemas/values.ts';
import type { SentPrompt } from './shown-prompt.ts';

/** The model that acts: given the agent's state, it proposes `n` responses. */
export interface Policy {
  readonly ref: PolicyRef;
  /** SHA-256 (hex) of the file that it was read from; absent for a policy that is no file. */
  readonly digest?: string;
  /**
   * What it chooses its acts from: the admissible actions that the environment lists, or the plan of a perfect player (and
   * those). Absent for a policy that writes its actions itself.
   */
  readonly choosesFrom?: 'candidates' | 'plan';
  /** What it draws at whatever a request says; absent where the request decides. */
  readonly temperature?: number | undefined;
  /** The same request with the same seed yields the same acts, whenever and in whichever process it is asked. */
  readonly repeats?: true;
  /**
   * Proposes `request.n` acts. The same request with the same seed yields the same acts where the policy is deterministic.
   * @throws PolicyError.
   */
  act(request: ActRequest, signal: AbortSignal): Promise<readonly Act[]>;
  close(): Promise<void>;
}

export interface ActRequest {
  readonly goal: string;
  readonly instruction: string;
  /** The task's first observation, then each step taken since; the last observation is the agent's current state. */
  readonly firstObservation: string;
  /** Pictures of the first observation. */
  readonly firstImages?: readonly ChatImage[];
  readonly history: readonly PastStep[];
  /**
   * The whole chat, where the collector prescribes it: a policy that asks a model sends this in place of one built from the
   * above.
   */
  readonly messages?: readonly ChatMessage[];
  /**
   * The prompt of this step with its history as text or image, where the collector prescribes that: it replaces all
   * texts above.
   */
  readonly shown?: SentPrompt;
  readonly admissibleActions: readonly string[] | null;
  /** Asks the environment for the action of a perfect player; null where it has none. */
  readonly expertAction: () => Promise<string | null>;
  /** Derived from (run, task, rollout, step): a resumed run draws what the killed one would have drawn. */
  readonly seed: number;
  readonly n: number;
  readonly temperature: number;
  /** The replies are to be trained on: what returns no log-probabilities of what it drew refuses the request. */
  readonly trains?: true;
}

export interface PastStep {
  readonly response: string;
  readonly action: string;
  readonly observation: string;
  /** Pictures of the observation. */
  readonly images?: readonly ChatImage[];
}

export interface Act {
  /** The whole text of the model, as the environment's parser will read it. */
  readonly response: string;
  /**
   * Sampled token ids with per-token log-probabilities, when the engine returns them; never re-tokenised from the text. A policy
   * over candidates (linear) samples one "token": the position of its action in `request.admissibleActions`, with that choice's
   * log-probability.
   */
  readonly tokens: ActTokens | null;
  /**
   * Of this act alone: the length of its prompt (which the other acts of one request share) and of its reply; null where not
   * exactly known.
   */
  readonly usage: { readonly promptTokens: number; readonly completionTokens: number } | null;
  /** What a server with parsers took out of the text, and returned apart; absent where it is nothing. */
  readonly apart?: RepliedApart;
  /** `length` marks a truncated reply. */
  readonly finishReason: string | null;
  /** The version that drew it, where the policy goes from version to version while it acts; else it is the policy's own `ref`. */
  readonly policy?: PolicyRef;
  /** What it was asked with; absent for a policy that reads no prompt. */
  readonly asked?: PolicyPrompt;
  /** The request to a model server that gave this act; absent for a policy that lives in this program. */
  readonly call?: ModelCall;
}

export interface RepliedApart {
  /** Empty where there is none. */
  readonly reasoning: string;
  readonly toolCalls: readonly Omit<ToolCallPart, 'kind'>[];
}

export interface ActTokens {
  readonly ids: readonly number[];
  readonly logProbs: readonly number[] | null;
  /** Where in the response the text of each token ends, in code points; absent where the engine does not say. */
  readonly ends?: readonly number[];
  /** Entropy of the distribution of each token, in nats; absent where the engine does not say. */
  readonly entropies?: readonly number[];
}

/** One answered request to a model server, which may have given several acts. */
export interface ModelCall {
  readonly responseId: string | null;
  /** The model as the server names it, which may be a dated revision of the one asked for. */
  readonly model: string | null;
  /** SHA-256 (hex) of the request body that was answered. */
  readonly requestHash: string;
  /** Times the request was sent until it was answered, from 1. */
  readonly attempts: number;
  /** From the first sending to the whole answer, waits between attempts included. */
  readonly latencyMs: number;
  /** Of the whole request, all its choices together, as the server counted. */
  readonly usage: { readonly promptTokens: number; readonly completionTokens: number } | null;
  /** History steps [from, to) left out of the prompt so that it fits; null when the prompt was whole. */
  readonly trimmed: { readonly from: number; readonly to: number } | null;
  /** What the server says of the weights that answered; absent where it says nothing. */
  readonly fingerprint?: string | undefined;
}

export class PolicyError extends Error {
  override readonly name = 'PolicyError';
  readonly code: 'unreachable' | 'refused' | 'context-overflow' | 'protocol' | 'no-candidates';
  readonly retryable: boolean;
  /** The HTTP status of a refusal; null where there was none. */
  readonly status: number | null;
  constructor(
    code: PolicyError['code'],
    message: string,
    options: { retryable?: boolean; status?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.status = options.status ?? null;
    this.retryable = options.retryable ?? false;
  }
}
