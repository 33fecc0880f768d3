import { test } from '@jest/globals';
import { isLongRun } from './long-run.ts';

/** A test of `npm run test:long` alone, where another test tries its rule in a shorter form. */
export function longTest(...given: Parameters<typeof test>): void {
  if (isLongRun()) test(...given);
}
