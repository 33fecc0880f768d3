import { appendFile, readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import type { TrainPlan } from '../../src/usecases/train/train-plan.ts';
import type { Trained } from './learn-lesson.ts';

/** Keeps the result of a training as a line of JSON at the end of a file. */
export function keepTrained(file: string, learned: Trained): Promise<void> {
  return appendFile(file, `${JSON.stringify(learned)}\n`);
}

/**
 * Reads what a file keeps of the given plans; a training of other sizes or settings does not count, nor does a last line that a
 * killed process left half written. A file that is not there keeps nothing.
 */
export async function readKept(file: string, plans: readonly TrainPlan[]): Promise<readonly Trained[]> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  const byPolicy = new Map<string, Trained>();
  for (const line of text.split('\n').slice(0, -1)) {
    const learned = parse(line);
    if (learned && plans.some((plan) => isDeepStrictEqual(plan, learned.plan))) byPolicy.set(learned.plan.policyId, learned);
  }
  return [...byPolicy.values()];
}

function parse(line: string): Trained | null {
  try {
    // counted only where its plan equals one of ours, which `keepTrained` wrote with all the rest
    return JSON.parse(line) as Trained;
  } catch {
    return null;
  }
}
