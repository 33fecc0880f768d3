import type { Json } from '../domain/tools/read-python-json.ts';
import type { GivenPicture } from '../images/observation-pictures.ts';

/**
 * An environment as the collector sees it. A kind is opened once per process; an environment is one running episode of it.
 * Rewards are normalised here, at the adapter: `value` lies in 0..1 (or below 0 for harm), `raw` keeps what the environment said.
 */
export interface EnvironmentKind {
  readonly name: string;
  /**
   * Identifies what determines tasks and dynamics (world hash, server revision): tasks of different fingerprints are different
   * tasks.
   */
  readonly fingerprint: string;
  /** The aliases of its task instances, in order. */
  readonly taskAliases: readonly string[];
  /**
   * Depth, split and kind of each task, in the order of `taskAliases`, where they are known without opening it. Left out, each
   * one is opened to learn them.
   */
  readonly tasks?: readonly TaskTraits[];
  /**
   * Equal actions after equal openings are answered alike, so that an answer may be taken from what was seen where the same was
   * done before.
   */
  readonly deterministic?: boolean;
  /**
   * That its copies share nothing and that it is deterministic is the word of somebody else's code: a search compares the first
   * answer at each depth with an episode from the opening, and this share of the others; where it claims to be deterministic, the
   * first rollout and this share of the others are played again.
   */
  readonly unproven?: { readonly rate: number };
  /** What makes it another world when its server is started again, where that is known: refusals to go on name it. */
  readonly restartCause?: string;
  /** The components that its steps may assign besides `environment`; none when left out. */
  readonly components?: readonly string[];
  /** The text of a module that exports `render`, by which the studio shows its steps (docs/guides/environment-views.md). */
  readonly renderer?: string;
  /** Its episodes wait for what a person says (`StepResult.awaitsPerson`): it is opened by `espalier chat` alone. */
  readonly needsPerson?: true;
  create(): Promise<Environment>;
  /**
   * The same world, whose openings and steps list what is possible, which costs a request each or more: for policies that choose
   * from a list. Left out where they are listed anyway, and where they cannot be.
   */
  withHints?(): EnvironmentKind;
  /** What would be right in a task, for scorers: where the environment knows it. Null for a task that there is not. */
  groundTruth?(alias: string): { readonly groundTruth: Json; readonly dataSource: string } | null;
  close(): Promise<void>;
}

export interface Environment {
  /**
   * Starts the task from its beginning. Equal alias and seed give an equal opening. @throws EnvironmentError with code
   * `unknown-task`.
   */
  reset(task: TaskStart): Promise<Opening>;
  /**
   * Executes one action text (already parsed out of the model's response). An action that makes no sense is an observation, not
   * an error; what a server behind the environment fails to answer is an error (`backend`), not an observation. An aborted signal
   * ends a wait with its reason, where the environment waits for others.
   */
  step(action: string, signal?: AbortSignal): Promise<StepResult>;
  /** Splits a model's response into thought and action as this environment's clients do. */
  parse(response: string): ParsedResponse;
  /**
   * Starts a task and takes actions in it until it ends, in one request where the server behind it has one: returns what `reset`
   * and every `step` would have.
   */
  replay?(task: TaskStart, actions: readonly string[]): Promise<ReplayResult>;
  /** Copies the episode as it is, where that is cheaper than reset and replay. */
  clone?(): Promise<Environment>;
  /** The next action of a perfect player, where the environment has one; null when it sees no way to the goal. */
  expertAction?(): Promise<string | null>;
  /**
   * How many actions a perfect player would need from here to the goal, where the environment has one; null when it sees no way.
   */
  planLength?(): Promise<number | null>;
  close(): Promise<void>;
}

/** The share of answers that are compared where an environment does not say otherwise. */
export const COMPARED = 0.02;

/** What is known of a task before it starts. */
export type TaskTraits = Pick<Opening, 'depth' | 'split' | 'kind'>;

/** Which task an environment starts. */
export interface TaskStart {
  readonly alias: string;
  readonly seed: number;
  /**
   * `alone`: while this process starts no other task on the same server. Environments that share nothing between tasks need not
   * look at it.
   */
  readonly mode?: 'alone';
}

export interface Opening {
  readonly instruction: string;
  readonly observation: string;
  /** Pictures behind the text of the observation, in order: PNG or JPEG. */
  readonly pictures?: readonly GivenPicture[];
  readonly goal: string;
  /** How many crafts, hops, … the task needs at least, where that is known. */
  readonly depth: number | null;
  readonly split: string | null;
  /** The kind of the task, where the environment has several: success is summed up by it. */
  readonly kind?: string | null;
  readonly admissibleActions: readonly string[] | null;
  /** SHA-256 of the whole hidden state, where it can be seen: equal hashes are equal situations. */
  readonly stateHash: string | null;
}

export interface ReplayResult {
  readonly opening: Opening;
  /** Fewer than the actions where the episode ended before. */
  readonly steps: readonly StepResult[];
}

export interface StepResult {
  readonly observation: string;
  /** Pictures behind the text of the observation, in order: PNG or JPEG. */
  readonly pictures?: readonly GivenPicture[];
  /**
   * The action that was executed, where the environment put another one in the place of the one given (the nearest valid one).
   */
  readonly executed?: string;
  readonly reward: {
    readonly value: number;
    readonly raw: number;
    readonly scale: number;
    readonly kind: 'final' | 'cumulative' | 'delta';
    /**
     * What this step adds to the return, where that is not `value`: of a cumulative reward, `value` is all that was earned so
     * far.
     */
    readonly gain?: number;
    /** The environment punished a fatal act, which ends the episode with nothing. */
    readonly fatal?: boolean;
    /** Who gave it, where that is a scorer of its own: else it is the environment. */
    readonly scorer?: ScorerName;
  };
  /** The tools that this step called, in order. */
  readonly toolCalls?: readonly ToolCallRecord[];
  /** Rewards besides `reward` (of process, say): each adds to the return and is recorded by itself. */
  readonly components?: readonly RewardComponent[];
  /** Nothing follows until a person says something; only where the kind says that it needs one. */
  readonly awaitsPerson?: true;
  /** Why the episode ends here, in a word or two for the record. */
  readonly reason?: string;
  readonly terminated: boolean;
  /** The environment cut the episode at a limit of its own. */
  readonly truncated: boolean;
  /** The environment's word at the end of an episode; null before it and where it has none. */
  readonly success: boolean | null;
  /** Whether the environment understood and executed the action. */
  readonly executable: boolean;
  readonly admissibleActions: readonly string[] | null;
  readonly stateHash: string | null;
}

/** A scorer and its revision. */
export interface ScorerName {
  readonly name: string;
  readonly revision: string;
}

/** A call of a tool as it is recorded: texts cut to what is worth keeping. */
export interface ToolCallRecord {
  readonly tool: string;
  readonly arguments: string;
  readonly output: string;
  readonly outcome: 'ok' | 'error';
  readonly durationMs: number;
  /** The process reward of this call, in its step's component already. */
  readonly reward?: number;
}

export interface RewardComponent {
  /** Not 'environment', which is `reward`. */
  readonly component: string;
  readonly value: number;
  readonly scorer: ScorerName;
}

export interface ParsedResponse {
  readonly thought: string;
  readonly action: string;
  readonly wellFormatted: boolean;
}

export class EnvironmentError extends Error {
  override readonly name = 'EnvironmentError';
  /** By name and code: an environment from a module of the user's does not have our class, or has another copy of it. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && value.name === 'EnvironmentError' && 'code' in value;
  }
  /**
   * `backend`: a server that the environment itself asks (a retriever, a sandbox) did not answer, after everything that may be
   * tried again was: the episode cannot go on now, and its policy has no part in that. `failed`: the environment raised an error,
   * or its process ended over this request: it would do so again. `protocol`: what it answers cannot be read. `lost`: its process
   * ended, perhaps over another request. `claim`: what it says of itself is not true, so that nothing it answers can be relied on.
   */
  readonly code: 'unknown-task' | 'unreachable' | 'protocol' | 'gone' | 'backend' | 'failed' | 'lost' | 'claim';
  readonly retryable: boolean;
  constructor(code: EnvironmentError['code'], message: string, options: { retryable?: boolean; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable ?? false;
  }
}
