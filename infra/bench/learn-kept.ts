import { appendFile, readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import type { TrainPlan } from '../../src/usecases/train/train-plan.ts';
import type { Learnt } from './learn-lesson.ts';

/** Keeps what came of a training as a line of JSON at the end of a file. */
export function keepLearnt(file: string, learnt: Learnt): Promise<void> {
  return appendFile(file, `${JSON.stringify(learnt)}\n`);
}

/**
 * Reads what a file keeps of the given plans; a training of other sizes or settings does not count, nor does a last line that a
 * killed process left half written. A file that is not there keeps nothing.
 */
export async function readKept(file: string, plans: readonly TrainPlan[]): Promise<readonly Learnt[]> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  const byPolicy = new Map<string, Learnt>();
  for (const line of text.split('\n').slice(0, -1)) {
    const learnt = parse(line);
    if (learnt && plans.some((plan) => isDeepStrictEqual(plan, learnt.plan))) byPolicy.set(learnt.plan.policyId, learnt);
  }
  return [...byPolicy.values()];
}

function parse(line: string): Learnt | null {
  try {
    // counted only where its plan equals one of ours, which `keepLearnt` wrote with all the rest
    return JSON.parse(line) as Learnt;
  } catch {
    return null;
  }
}
