import { textReader } from '../../blobs/read-text.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { readStepOf } from '../../projections/evaluations/read-evaluations.ts';
import { type PathStep, readRecordedPath } from '../../projections/step-tree/read-recorded-path.ts';
import type { Behind } from './plan.ts';
import type { Prefix } from './prefix.ts';

/** Reads the steps that a planned task goes on behind: what was said, what was executed, and the result. */
export async function readPrefix({ database, blobs }: Platform, behind: Behind): Promise<Prefix> {
  const text = textReader(blobs);
  const { treeId } = behind;
  const id = 'stepId' in behind ? behind.stepId : await readStepOf(database.db, { treeId, id: behind.rolloutId }, behind.steps);
  const [root, ...path] = id === null ? [] : await readRecordedPath(database.db, { treeId, id }, text);
  const opening = { observation: root?.observation ?? null, pictures: root?.pictures ?? [], stateHash: root?.stateHash ?? null };
  return { ...opening, steps: path.map(again) };
}

function again(step: PathStep): Prefix['steps'][number] {
  const { stepId, response, thought, action, wellFormatted, observation, pictures, reward, termination, stateHash, policy } =
    step;
  if (!policy) throw new RangeError(`step ${stepId} does not say which policy took it`);
  return { response, policy, taken: { thought, action, wellFormatted, observation, pictures, reward, termination, stateHash } };
}
