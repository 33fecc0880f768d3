/**
 * Identifiers. Each kind is a branded string that only its parser makes, so a tree id never lands where a run id belongs.
 *
 * Glossary (one word, one meaning; the long form is in ARCHITECTURE.md):
 * - **run**: one execution of an experiment (config, seeds, code version, environment fingerprints).
 * - **task**: one problem instance: environment + server fingerprint + hash of the first observation.
 * - **tree**: all rollouts of one task in one run; the event stream and the log key. A GRPO group is a tree that branches at its
 *   root.
 * - **step**: one action and the observation that follows; also the tree node reached by it.
 * - **rollout**: one walk of a policy from a step to an end: terminated, truncated, failed or cancelled.
 * - **trajectory**: a root-to-leaf path.
 * - **reward / return / value**: scalar on a step or rollout; its sum along a trajectory; a search statistic (valueSum / visits).
 */
declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

export type EventId = Branded<'EventId'>;
export type ExperimentId = Branded<'ExperimentId'>;
export type RunId = Branded<'RunId'>;
export type TaskId = Branded<'TaskId'>;
export type TreeId = Branded<'TreeId'>;
export type StepId = Branded<'StepId'>;
export type RolloutId = Branded<'RolloutId'>;
export type RewardId = Branded<'RewardId'>;
export type PolicyId = Branded<'PolicyId'>;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Returns whether a text is a UUID in its canonical lower-case form. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** Takes a canonical UUID as an identifier of the kind asked for. @throws RangeError that names the text when it is none. */
export function parseId<Id extends Branded<string>>(text: string): Id {
  if (!isUuid(text)) throw new RangeError(`not a UUID in lower case: ${JSON.stringify(text.slice(0, 80))}`);
  return text as Id; // the pattern above is the proof
}

/** Writes 16 bytes as a UUID, setting the version nibble and the RFC 9562 variant bits. */
export function formatUuid(bytes: Uint8Array, version: 7 | 8): string {
  if (bytes.length < 16) throw new RangeError(`a UUID has 16 bytes, not ${bytes.length}`);
  let hex = '';
  for (const byte of bytes.subarray(0, 16)) hex += byte.toString(16).padStart(2, '0');
  return uuidOfHex(hex, version);
}

/** Writes the first 32 digits of a number in lower-case hex as a UUID, likewise. */
export function uuidOfHex(hex: string, version: 7 | 8): string {
  const variant = '89ab'[Number.parseInt(hex[16] ?? '', 16) & 3] ?? '';
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${version}${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Makes a time-ordered UUIDv7 (RFC 9562 §5.7). @param now milliseconds since 1970. @param random at least 10 random bytes. */
export function uuidV7<Id extends Branded<string>>(now: number, random: Uint8Array): Id {
  const bytes = new Uint8Array(16);
  for (let i = 0; i < 6; i++) bytes[i] = Math.floor(now / 2 ** (8 * (5 - i))) & 0xff;
  bytes.set(random.subarray(0, 10), 6);
  return parseId<Id>(formatUuid(bytes, 7));
}
