import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Platform } from '../../src/platform/open-platform.ts';
import { killRunning } from '../../src/testing/worker-process.ts';
import { checkStage } from './check-stage.ts';
import { openStage, type Stage } from './stage.ts';
import { targets } from './targets.ts';
import { tryTarget } from './try-target.ts';

const TARGET_MS = 300_000; // the worst queries that are allowed take 20 s of two quiet cores

export interface HostileInput {
  /** Opens the platform whose servers are tried; `close` removes it. */
  readonly open: () => Promise<Platform & { readonly home: string }>;
  /** Returns how many cases a target is tried with, half of which may be those that are always tried; 0 leaves it out. */
  readonly casesOf: (target: string) => number;
  readonly seed: number;
  /** See `openStage`. */
  readonly inside?: 'started' | 'left';
}

/** Describes what becomes of hostile input. */
export function describeHostileInput({ open, casesOf, seed, inside = 'started' }: HostileInput): void {
  let platform: Platform & { readonly home: string };
  let stage: Stage;
  beforeAll(async () => {
    platform = await open();
    stage = await openStage(platform, { inside });
  });
  afterAll(async () => {
    await stage?.close();
    await killRunning();
    await platform.close();
  });

  // Slow clients take the minutes that the server allows: they are in the long run, `npm run hostile`, and on short limits in
  // the tests of the server. The browser has a test of its own, which a machine without Chromium skips.
  const short = targets.filter(({ name }) => name !== 'slow clients' && name !== 'browser' && casesOf(name) > 0);

  test.each(short.map((target) => [target.name, target] as const))(
    'the target %s accepts any input or refuses it with a reason, and no process crashes, hangs or grows',
    async (name, target) => {
      const cases = casesOf(name);
      const tally = await tryTarget(stage, target, { cases, seed, always: cases / 2 });
      expect(tally.broken).toBeUndefined(); // it names the rule, the case and the seed
      expect(tally.cases).toBeGreaterThanOrEqual(cases);
      expect(Object.keys(tally.refused)).not.toEqual([]);
    },
    TARGET_MS,
  );

  test('after the campaign every record is journalled or explained, and the read models equal their fold', async () => {
    const { broken, records } = await checkStage(stage);
    expect(broken).toEqual([]);
    expect(records).toBeGreaterThan(Math.max(...short.map(({ name }) => casesOf(name))));
  });
}
