import { z } from 'zod';
import type { LinearWeights } from './linear/weights.ts';
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

/** Where the versions of a policy come from as they are made. */
export interface VersionSource {
  /** Returns the newest weights that are known here; waits only for the very first. */
  newest(signal: AbortSignal): Promise<LinearWeights>;
  close(): Promise<void>;
}

/** What a configuration does not hold. */
export interface PolicySecrets {
  readonly apiKey?: string | undefined;
  /** Opens the versions of a policy that is being trained. */
  readonly versionsOf?: (policyId: string) => VersionSource;
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

export const filled = z.string().min(1, 'must not be empty');
export const temperature = z.number().min(0, 'must be a number from 0');
