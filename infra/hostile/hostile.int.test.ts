import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Platform } from '../../src/platform/open-platform.ts';
import { inCI } from '../../src/testing/in-ci.ts';
import { openTestPlatform } from '../../src/testing/open-test-platform.ts';
import { killRunning } from '../../src/testing/worker-process.ts';
import { isSchemaPart, parts, runCampaign } from './campaign.ts';
import { installSchemathesis } from './schemathesis.ts';
import { checkStage, openStage, type Stage } from './stage.ts';

let platform: Platform & { readonly home: string };
let stage: Stage;
let only = parts.filter((part) => part !== 'record' && part !== 'search'); // record.int.test.ts, search.long.int.test.ts
beforeAll(async () => {
  await installSchemathesis().catch((error: unknown) => {
    if (inCI()) throw error;
    only = only.filter((part) => !isSchemaPart(part)); // a machine without a package index tries the others
  });
  platform = await openTestPlatform();
  stage = await openStage(platform);
}, 600_000);
afterAll(async () => {
  await stage?.close();
  await killRunning();
  await platform?.close();
});

test('hostile input is answered without a fault of the server, and leaves the record whole', async () => {
  const results = await runCampaign(stage, { seconds: 20, seed: 1, only });
  // a fault names the rule and the case
  expect(results.map(({ part, fault }) => [part, fault])).toEqual(only.map((part) => [part, undefined]));
  expect((await checkStage(platform)).faults).toEqual([]);
}, 900_000);
