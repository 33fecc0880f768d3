import { undoAll } from './after-tests.ts';

/** Stops what the set-up started. */
export default async function tearDown(): Promise<void> {
  await undoAll();
}
