import { textReader } from '../blobs/read-text.ts';
import type { Behind } from '../collect/plan.ts';
import type { Prefix } from '../collect/play-prefix.ts';
import { readActedSteps } from '../projections/evaluations/read-failures.ts';
import { type PathStep, readRecordedPath } from '../projections/step-tree/read-recorded-path.ts';
import type { Platform } from './open-platform.ts';

/** Reads the steps that a planned task goes on behind: of a rollout what was said, of a tree what was done and what came of it. */
export async function readPrefix({ database, blobs }: Platform, behind: Behind): Promise<Prefix> {
  if ('rolloutId' in behind)
    return { observation: null, stateHash: null, steps: await readActedSteps(database.db, behind.rolloutId, behind.steps) };
  const text = textReader(blobs);
  const [root, ...path] = await readRecordedPath(database.db, behind.stepId, text);
  return { observation: root?.observation ?? null, stateHash: root?.stateHash ?? null, steps: path.map(again) };
}

function again(step: PathStep): Prefix['steps'][number] {
  const { stepId, response, thought, action, wellFormatted, observation, reward, termination, stateHash, policy } = step;
  if (!policy) throw new RangeError(`step ${stepId} does not say which policy took it`);
  return { response, policy, taken: { thought, action, wellFormatted, observation, reward, termination, stateHash } };
}
