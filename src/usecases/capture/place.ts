import { isUuid } from '../../domain/ids.ts';
import { derivedId } from '../../events/derived-id.ts';
import { CaptureRefused } from './capture-errors.ts';

/** What a call belongs to, as its program names it: by names of its own, or by ids of the record. */
export interface Named {
  readonly run: string;
  readonly task: string;
  readonly rollout: string;
}

/** The ids of a place. */
export interface CapturePlace extends Named {
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
export function checkNames(named: Partial<Named>): void {
  for (const part of ['run', 'task', 'rollout'] as const) {
    const name = named[part];
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
