import type { Draft } from '../../append/appender.ts';
import { isUuid } from '../../domain/ids.ts';
import type { DataOf } from '../../events/catalogue.ts';
import { derivedId } from '../../events/derived-id.ts';
import type { Db } from '../../postgres/database.ts';
import { readKeysOfPrincipals } from '../../postgres/keys.ts';
import { localPrincipal, may, owns, type Principal, principalOf } from '../../postgres/principal.ts';
import { CaptureRefused } from './capture-errors.ts';

/** What a call belongs to, as its program names it: by names of its own, or by ids of the record. */
export interface NamedPlace {
  readonly run: string;
  readonly task: string;
  readonly rollout: string;
}

/** The ids of a place. */
export interface CapturePlace extends NamedPlace {
  readonly runId: string;
  readonly treeId: string;
  readonly rolloutId: string;
}

/** Characters of a name. */
export const LONGEST_NAME = 200;

/** Returns whether a string of that length may be a name. */
export function isPlaceName(name: string): boolean {
  return name.isWellFormed() && !/\p{Cc}/u.test(name);
}

/** @throws CaptureRefused for a name that no address should hold. */
export function checkNames(overrides: Partial<NamedPlace>): void {
  for (const part of ['run', 'task', 'rollout'] as const) {
    const name = overrides[part];
    if (name === undefined) continue;
    if (name.length > 0 && name.length <= LONGEST_NAME && isPlaceName(name)) continue;
    throw new CaptureRefused(
      'invalid',
      `the name of the ${part} has ${name.length} characters, or holds control characters`,
      `name it by 1 to ${LONGEST_NAME} characters, in the address or in the header x-espalier-${part}`,
    );
  }
}

/** Returns the id of a run: its own, or that of its name in the project. */
export function runIdOf(run: string, project: string): string {
  return isUuid(run) ? run : derivedId('captured-run', project, run);
}

/** Returns the id of the tree of a task that is not on record. */
export function treeIdOf(runId: string, task: string): string {
  return derivedId('tree', runId, task);
}

/** Returns the id of a rollout that is not on record. */
export function rolloutIdOf(treeId: string, rollout: string): string {
  return derivedId('rollout', treeId, rollout);
}

/** Who sent something, and the project that it was sent for, as its event is stamped. */
export interface Sender {
  readonly principal: string;
  readonly project: string;
}

/**
 * Returns who senders are, in the project that each sent for: a key may do what its record says, also one that has expired since.
 * One that this database does not know may continue with what is its own.
 */
export async function readSenders(db: Db, senders: readonly Sender[]): Promise<(sender: Sender) => Principal> {
  const keys = await readKeysOfPrincipals(db, [...new Set(senders.map(({ principal }) => principal))]);
  return ({ principal, project }) => {
    if (principal === 'local') return localPrincipal(project);
    const key = keys.get(principal);
    if (key) return { ...principalOf(key), project };
    const unknown = principal as `key:${string}`; // a principal that is not local is a key
    return { principal: unknown, projects: [project], project, scopes: ['ingest'], keyId: principal, name: principal };
  };
}

/** Whether what a sender says of a run counts, whose holder opened it or is about to. */
export function isHeard(sender: Principal, holder: Sender & Pick<Principal, 'replaces'>): boolean {
  if (sender.keyId === null) return true;
  if (sender.project !== holder.project) return false;
  return owns(sender, holder.principal) || (holder.replaces ?? []).includes(sender.principal) || may(sender, 'admin');
}

export interface Scorer {
  readonly name: string;
  readonly revision: string;
}
interface Said {
  readonly value: number;
  readonly component: string;
  readonly scorer: Scorer;
}

export function rewardDraft(
  { runId, treeId, rolloutId }: CapturePlace,
  rewardId: string,
  stepId: string | null,
  { value, component, scorer }: Said,
): Draft {
  return {
    type: 'RewardAssigned',
    id: derivedId('RewardAssigned', rewardId),
    correlationId: runId,
    data: { rewardId, treeId, stepId, rolloutId, component, value, scorer: { ...scorer }, raw: null },
  };
}

/** Whether a reward that is on record says the same. */
export function sameReward(held: DataOf<'RewardAssigned'>, { value, scorer }: Said): boolean {
  return held.value === value && held.scorer.name === scorer.name && held.scorer.revision === scorer.revision;
}
