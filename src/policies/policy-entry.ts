import { z } from 'zod';
import type { SamplingOptions } from './openai/request.ts';
import type { Policy } from './policy.ts';

/** A kind of policy that a plan can name: its configuration, the short form of the command line, and what makes it. */
export interface PolicyEntry<Kind extends string = string, Options extends z.ZodObject = z.ZodObject> {
  readonly kind: Kind;
  /** The short forms, as help and messages show them. */
  readonly forms: readonly string[];
  /** Every field that changes what the policy does. It is recorded with the run, so it holds no secret. */
  readonly options: Options;
  /** Reads what follows the colon of a short form; undefined where there is none. @throws PolicySpecError. */
  read(rest: string | undefined): object;
  /** Who opens it closes it. @throws PolicySpecError. */
  open(spec: z.output<Options>, secrets: PolicySecrets): Policy | Promise<Policy>;
}

/**
 * Makes an entry of the registry: the entry, and the schema of its configuration. The kind comes first: a learned policy is
 * recorded as the text of its configuration, and a run is resumed by the same text.
 */
export function definePolicy<const Kind extends string, Options extends z.ZodObject>(entry: PolicyEntry<Kind, Options>) {
  return { ...entry, spec: z.strictObject({ kind: z.literal(entry.kind), ...entry.options.shape }) };
}

/**
 * The versions of a policy that is being trained, as they are made, whatever its weights are: each is a policy that acts by that
 * version for good. Who opens it closes it.
 */
export interface VersionSource {
  /** Returns the newest version that is known here; waits only for the very first. */
  newest(signal: AbortSignal): Promise<Policy>;
  /** Returns a version at least as new as one that is known to exist. */
  atLeast(version: number, signal: AbortSignal): Promise<Policy>;
  /** Returns one version. @throws NoVersion. */
  exactly(version: number, signal: AbortSignal): Promise<Policy>;
  close(): Promise<void>;
}

/** How the versions of a trained policy act, where that is to be chosen. */
export interface ActingOptions {
  /** In place of the temperature of the run. */
  readonly temperature?: number | undefined;
  /** The model server whose weights are exchanged, for a language model; a server of our own when left out. */
  readonly server?: string | undefined;
  /** The policy that acts for a trainer elsewhere, which alone knows how its weights act. */
  readonly by?: string | undefined;
  /** Longest reply of a language model, in tokens; as declared with the training when left out. */
  readonly maxTokens?: number | undefined;
  readonly stop?: readonly string[] | undefined;
  readonly maxPromptTokens?: number | undefined;
  /** The whole distribution of a language model when left out. */
  readonly sampling?: SamplingOptions | undefined;
}

/** What a configuration does not hold. */
export interface PolicySecrets {
  readonly apiKey?: string | undefined;
  /** Opens the versions of a policy that is being trained. */
  readonly versionsOf?: (policyId: string, acting: ActingOptions) => VersionSource;
  /** Ends the wait for a first version. */
  readonly signal?: AbortSignal;
}

/** A configuration that makes no policy: which field, what is wrong with it, what to write instead. */
export class PolicySpecError extends Error {
  override readonly name = 'PolicySpecError';
  readonly code = 'invalid-policy';
  readonly field: string;
  constructor(field: string, problem: string, options: { cause?: unknown } = {}) {
    super(`policy: ${field} ${problem}`, { cause: options.cause });
    this.field = field;
  }
}

export const nonEmpty = z.string().min(1, 'must not be empty');
export const temperature = z.number().min(0, 'must be a number from 0');
