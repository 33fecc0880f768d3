import { test } from '@jest/globals';
import { isLongRun } from './long-run.ts';

/** What takes a name and a function, or a table of cases first. */
type Declare = Pick<typeof test, 'each'> & ((...given: Parameters<typeof test>) => void);

const leftOut: Declare = Object.assign(() => {}, { each: (() => () => {}) as unknown as typeof test.each });

/** A test of `npm run test:long` alone. The other tests of its file run there too, in long forms or as processes. */
export const longTest: Declare = isLongRun() ? test : leftOut;

/** A test of `npm run test:long` alone, which runs no others of its file: `npm test` runs these. */
export const slowTest: Declare = isLongRun() ? test.only : leftOut;
