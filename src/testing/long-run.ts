/** The environment variable by which workers know that this is `npm run test:long`. */
export const LONG_RUN = 'ESPALIER_TEST_LONG';

/** Whether tests take their long forms. */
export function isLongRun(): boolean {
  return process.env[LONG_RUN] === '1';
}
