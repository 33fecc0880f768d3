/** The environment variable by which workers know that this is `npm run test:long`. */
export const LONG_RUN = 'ESPALIER_TEST_LONG';

/** Whether tests take their long forms. */
export function isLongRun(): boolean {
  return process.env[LONG_RUN] === '1';
}

/** Returns how often a property is tried against real servers: so many times in the long run, an eighth of it in `npm test`. */
export function runs(long: number): number {
  return isLongRun() ? long : Math.max(2, Math.ceil(long / 8));
}
