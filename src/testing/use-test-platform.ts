import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import type { Subscription } from '../log/event-log.ts';
import type { Platform } from '../platform/open-platform.ts';
import { runProjections } from '../projections/runner.ts';
import { openTestPlatform } from './open-test-platform.ts';

type TestPlatform = Platform & { readonly home: string };

/**
 * Opens a platform before the tests of a file, or before each of them, and removes it afterwards. What is returned can be named
 * at once and used in tests and hooks. @param projector whether the projections follow its log.
 */
export function useTestPlatform({
  opened,
  projector,
}: {
  readonly opened: 'once' | 'before-each';
  readonly projector: 'running' | 'none';
}): TestPlatform {
  let platform: TestPlatform;
  let runner: Subscription | undefined;
  const [open, close] = opened === 'once' ? [beforeAll, afterAll] : [beforeEach, afterEach];
  open(async () => {
    platform = await openTestPlatform();
    if (projector === 'running') runner = await runProjections({ log: platform.log, database: platform.database });
  });
  close(async () => {
    await runner?.close();
    await platform.close();
  });
  return lazily(
    [
      'config',
      'databaseUrl',
      'directUrl',
      'database',
      'log',
      'notes',
      'logFaults',
      'objects',
      'blobs',
      'metrics',
      'stamp',
      'mode',
      'home',
      'close',
    ],
    () => platform,
  );
}

/** Returns an object whose fields are read from another one when they are asked for. */
function lazily<T extends object>(fields: readonly (keyof T)[], of: () => T): T {
  const getters = fields.map((field) => [field, { get: () => of()[field], enumerable: true }] as const);
  return Object.defineProperties({}, Object.fromEntries(getters)) as T; // every field of T is named by the caller
}
