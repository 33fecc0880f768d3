import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Platform } from '../../src/platform/open-platform.ts';
import { inCI } from '../../src/testing/in-ci.ts';
import { openTestPlatform } from '../../src/testing/open-test-platform.ts';
import { killRunning } from '../../src/testing/worker-process.ts';
import { findChromium } from './browser/victim.ts';
import { openStage, type Stage } from './stage.ts';
import { browserTarget } from './targets/browser-target.ts';
import { tryTarget } from './try-target.ts';

(findChromium() === undefined && !inCI() ? describe.skip : describe)('a browser whose person has been let in', () => {
  let platform: Platform & { readonly home: string };
  let stage: Stage;
  beforeAll(async () => {
    platform = await openTestPlatform();
    stage = await openStage(platform);
  });
  afterAll(async () => {
    await stage?.close();
    await killRunning();
    await platform.close();
  });

  test('no page of another site, another port or a rebound name is answered, and its own page is', async () => {
    const { broken, accepted, refused } = await tryTarget(stage, browserTarget, { cases: 100, seed: 1, always: 'all' });
    expect(broken).toBeUndefined(); // it names the rule, the case and the seed
    expect(accepted).toBeGreaterThan(0);
    expect(Object.keys(refused).join(' ')).toMatch(/403.*421|421.*403/);
  }, 600_000);
});
