import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { TOPICS } from '../events/catalogue.ts';
import type { Platform } from '../platform/open-platform.ts';
import { runProjections } from '../projections/runner.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { appendRecorded } from '../testing/record-batches.ts';
import { killRunning, runEspalier } from '../testing/worker-process.ts';

const NAME = 'mine\n00000000  yours  \x1b[2J\u202eneddih\x9b31m';
const REPLY = 'look\x1b]0;owned\x07 around\n└ forged line';

let platform: Platform & { readonly home: string };
let tree = '';
beforeAll(async () => {
  platform = await openTestPlatform();
  const builder = new EventBuilder('hostile text');
  const opened = builder.tree(builder.run(NAME));
  const rollout = builder.rollout(opened);
  const parent = builder.step(opened, rollout, opened.rootStepId, 1, { action: REPLY, response: REPLY });
  builder.step(opened, rollout, parent, 2, { observation: REPLY, termination: 'terminated' });
  tree = opened.treeId;
  await appendRecorded(platform.log, builder.events);
  const projector = await runProjections(platform);
  await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 30_000 });
  await projector.close();
});
afterAll(async () => {
  await killRunning();
  await platform.close();
});

/** What a terminal would act on; the line feed ends lines. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const ACTED_ON = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/;

test.each([['status'], ['tree'], ['trace']])('%s writes names and replies as escapes, on one line each', async (command) => {
  const args = { tree: [tree, '--ids'], trace: [tree] }[command] ?? [];
  const { code, stdout, stderr } = await runEspalier([command, ...args], environmentOf(platform));
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).not.toMatch(ACTED_ON);
  expect(stdout).toMatch(/\\u(001b|202e)/);
  expect(stdout.split('\n').filter((line) => /^(00000000 {2}yours|└ forged)/.test(line))).toEqual([]);
});

test('a message that quotes what was typed holds no control character', async () => {
  const { code, stderr } = await runEspalier(['tree', 'a\x1b[2Jb'], environmentOf(platform));
  expect(code).toBe(1);
  expect(stderr).not.toMatch(ACTED_ON);
});
