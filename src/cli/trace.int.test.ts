import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Platform } from '../platform/open-platform.ts';
import { readReplays } from '../projections/replays/read-replays.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { appendRecorded } from '../testing/record-batches.ts';
import { recordWeb } from '../testing/record-web.ts';
import { killRunning, runEspalier } from '../testing/worker-process.ts';

let platform: Platform & { readonly home: string };
let builder: EventBuilder;
let run: string;
beforeAll(async () => {
  platform = await openTestPlatform();
  builder = new EventBuilder('commands');
  run = recordWeb(builder, 12).runs[0] ?? '';
  await appendRecorded(platform.log, builder.events);
});
afterAll(async () => {
  await killRunning();
  await platform.close();
});

const espalier = (...args: readonly string[]) => runEspalier([...args], environmentOf(platform));

test('trace shows what an id is, where its event lies in the log, and what resulted from it', async () => {
  const { code, stdout } = await espalier('trace', 'web-a@1');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^policy version web-a@1: trained on /);
  expect(stdout).toMatch(/^ {2}PolicyUpdated [0-9a-f-]{36} at training\.\d@\d+, 2026-/m);
  expect(stdout).toMatch(/^web-a@3 +descends$/m);
});

test('trace of an unknown id exits with 1 and names the id', async () => {
  const { code, stderr } = await espalier('trace', '00000000-0000-4000-8000-000000000000');
  expect([code, stderr]).toEqual([1, expect.stringContaining('looked for run, tree, step, rollout')]);
});

test('recall prints every list whole as JSON, and refuses two subjects at once', async () => {
  const { code, stdout } = await espalier('--json', 'recall', '--run', run);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ asked: { kind: 'run', runId: run }, runs: [run], trees: 3, rollouts: 9 });
  const two = await espalier('recall', '--run', run, '--scorer', 'judge@1');
  expect([two.code, two.stderr]).toEqual([1, expect.stringContaining('name one thing to recall')]);
});

test('trace and recall show what the record held at a position, and nothing later', async () => {
  const { rows } = await sql<{ position: string }>`
    select string_agg(topic || '.' || partition || ':' || next, ',') as position
    from (select topic, partition, max("offset") + 1 as next from events where topic in ('runs', 'trees') group by 1, 2) e`.execute(
    platform.database.db,
  );
  const untrained = rows[0]?.position ?? '';
  const { code, stdout } = await espalier('--json', 'recall', '--run', run, '--as-of', untrained);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ runs: [run], trees: 3, rollouts: 9, datasets: [], batches: [], versions: [] });
  const now = JSON.parse((await espalier('--json', 'recall', '--run', run)).stdout);
  expect(now.versions.length).toBeGreaterThan(0);
  const traced = await espalier('--json', 'trace', run, '--as-of', untrained);
  expect([traced.code, JSON.parse(traced.stdout).touched.versions.total]).toEqual([0, 0]);
  const unknown = await espalier('trace', 'web-a@1', '--as-of', untrained);
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('nothing on record has the id "web-a@1"')]);
});

test('diff-rewards counts by component what other judgements change', async () => {
  const { code, stdout } = await espalier('diff-rewards', '--run', run);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^\d of 9 rollouts have another return, \d another advantage by grpo@1, in \d of 3 groups/);
  expect(stdout).toMatch(/^environment +\d+ +\d+ +/m);
});

test('diff-rewards refuses a position outside the log and shows the end of the log', async () => {
  const misspelt = await espalier('diff-rewards', '--run', run, '--at', 'treez.0:1', '--and', 'trees.0:1');
  expect([misspelt.code, misspelt.stderr]).toEqual([
    1,
    expect.stringMatching(/--at names the topic "treez", which the log does not have; it has .*trees/),
  ]);
  const beyond = await espalier('diff-rewards', '--run', run, '--at', 'runs.1:1', '--and', 'trees.1:99999');
  expect([beyond.code, beyond.stderr]).toEqual([1, expect.stringMatching(/--and lies past the end of the log, .*trees\.1:\d/)]);
});

test('replay scores finds the returns of a run again and records the result', async () => {
  const { code, stdout } = await espalier('replay', 'scores', '--run', run);
  expect([code, stdout.split('\n')[0]]).toEqual([0, 'equal: scores, 9 compared']);
  expect(await readReplays(platform.database.db, [run])).toMatchObject([{ mode: 'scores', outcome: 'equal', compared: 9 }]);
});
