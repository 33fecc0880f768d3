import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Platform } from '../platform/open-platform.ts';
import { readReplays } from '../projections/replays/read-replays.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { killRunning, runInProcess } from '../testing/worker-process.ts';

let platform: Platform & { readonly home: string };
let env: Readonly<Record<string, string>>;
let run: string;
beforeAll(async () => {
  platform = await openTestPlatform();
  env = environmentOf(platform);
  const args = ['--json', 'collect', '--environment', 'search-qa', '--policy', 'planner:0.4', '--tasks', '4', '--rollouts', '3'];
  const collected = await runInProcess([...args, '--branching', 'anywhere', '--prompt', 'image'], env);
  run = (JSON.parse(collected.stdout) as { run: string }).run; // as the command prints it
});
afterAll(async () => {
  await killRunning();
  await platform.close();
});

async function replay(mode: string, ...more: readonly string[]) {
  const { code, stdout, stderr } = await runInProcess(['replay', mode, '--run', run, ...more], env);
  return { code, said: stdout.split('\n')[0], stdout, stderr };
}

describe('espalier replay environment', () => {
  test('the replay finds every observation, reward, end and state of a branching run again', async () => {
    const { code, said } = await replay('environment');
    expect([code, said]).toEqual([0, expect.stringMatching(/^equal: environment, [1-9][0-9]+ compared$/)]);
  });

  test('the replay names the step and field of a recorded observation that was changed', async () => {
    const { db } = platform.database;
    const step = await db.selectFrom('steps').select(['stepId', 'observation']).where('depth', '=', 2).executeTakeFirstOrThrow();
    const change = (observation: string) =>
      db.updateTable('steps').set({ observation }).where('stepId', '=', step.stepId).execute();
    await change(`${step.observation}!`);
    try {
      const { code, stdout } = await replay('environment');
      expect(code).toBe(1);
      expect(stdout).toMatch(new RegExp(`^differs at event [0-9a-f-]{36}, step ${step.stepId}, observation: recorded "`, 'm'));
    } finally {
      await change(step.observation);
    }
  });

  test('a replay in another world reports that the fingerprints differ', async () => {
    const { code, stdout } = await replay('environment', '--environment', 'search-qa:seed=2');
    expect(code).toBe(1);
    expect(stdout).toContain('serverFingerprint');
    expect(stdout).toContain('the environment is not the one that was recorded');
  });
});

describe('espalier replay images', () => {
  test('the replay draws every image again and is recorded with its result', async () => {
    const { code, said } = await replay('images');
    expect([code, said]).toEqual([0, expect.stringMatching(/^equal: images, [1-9][0-9]* compared$/)]);
    const replays = await readReplays(platform.database.db, [run]);
    expect(replays.filter(({ mode }) => mode === 'images')).toMatchObject([{ outcome: 'equal', differing: 0 }]);
  });

  test('the replay names the step whose segment text was changed', async () => {
    const { db } = platform.database;
    const { segmentId: id, text } = await db.selectFrom('segments').select(['segmentId', 'text']).executeTakeFirstOrThrow();
    const change = (to: string) => db.updateTable('segments').set({ text: to }).where('segmentId', '=', id).execute();
    await change(text.replace(/.$/, '?'));
    try {
      const { code, stdout } = await replay('images');
      expect(code).toBe(1);
      expect(stdout).toContain(`segment ${id}`);
    } finally {
      await change(text);
    }
  });
});

describe('espalier replay training', () => {
  test('the replay of every version is equal and recorded, and a version that differs is named with exit code 1', async () => {
    const train = [
      'train',
      '--policy',
      'learner',
      '--environment',
      'search-qa',
      '--updates',
      '2',
      '--groups',
      '2',
      '--group',
      '2',
    ];
    const trained = await runInProcess([...train, '--keep-zero-variance', '--test-tasks', '0', '--max-steps', '4'], env);
    expect(trained).toMatchObject({ code: 0 });
    const again = () => runInProcess(['replay', 'training', '--policy', 'learner'], env);
    expect(await again()).toMatchObject({ code: 0, stdout: 'equal: training, 3 versions compared\n' });

    const { db } = platform.database;
    const update = await db.selectFrom('events').select(['eventId', 'body']).where('type', '=', 'PolicyUpdated').execute();
    const second = update.find(({ body }) => body.includes('"version":2'));
    if (!second) throw new Error('the training made no version 2');
    const write = (body: string) =>
      sql`update journal_v1.events set body = ${body} where event_id = ${second.eventId}`.execute(db);
    await write(second.body.replace('"return":', '"return":1'));
    const { code, stdout } = await again();
    await write(second.body);
    expect(code).toBe(1);
    expect(stdout).toMatch(new RegExp(`^differs at event ${second.eventId}, version 2, metrics: recorded`, 'm'));
    const { rows } = await sql<{
      outcome: string;
    }>`select outcome from replays where mode = 'training' order by finished_at`.execute(db);
    expect(rows).toEqual([{ outcome: 'equal' }, { outcome: 'differs' }]);
  });
});

test('an unknown run and a run without an environment are refused by name', async () => {
  const { code, stderr } = await runInProcess(['replay', 'environment', '--run', '00000000-0000-4000-8000-000000000000'], env);
  expect([code, stderr]).toEqual([1, expect.stringContaining('there is no run 00000000-0000-4000-8000-000000000000')]);
});
