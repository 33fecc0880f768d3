import { appendFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { environmentOf } from '../testing/crashing-run.ts';
import { type KillPoint, killEspalierAt } from '../testing/kill-at.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { killRunning, runInProcess } from '../testing/worker-process.ts';

let platform: Awaited<ReturnType<typeof openTestPlatform>>;
beforeEach(async () => {
  platform = await openTestPlatform();
});
afterEach(async () => {
  await killRunning();
  await platform.close();
});
const db = () => platform.database.db;

const ITEMS = 150; // of some six events: more than one append of 500
const each = <T>(make: (i: number) => T): readonly T[] => Array.from({ length: ITEMS }, (_, i) => make(i));
const chat = (i: number, user: object, agent: object) => [
  { ...user, content: `What is ${i}?` },
  { ...agent, content: `first ${i}` },
  { ...user, content: 'and then?' },
  { ...agent, content: `second ${i}` },
];
const atifSteps = (i: number) => [
  { step_id: 1, source: 'user', message: `What is ${i}?` },
  { step_id: 2, source: 'agent', message: `first ${i}`, observation: { results: [{ content: 'and then?' }] } },
  { step_id: 3, source: 'agent', message: `second ${i}` },
];
const said = (role: 'user' | 'assistant', content: string) => ({ type: role, sessionId: 's-1', message: { role, content } });

/** A file of each form, with how many steps it holds. */
const FORMS: Readonly<Record<string, { readonly rows: readonly object[]; readonly steps: number }>> = {
  openai: { rows: each((i) => ({ messages: chat(i, { role: 'user' }, { role: 'assistant' }) })), steps: 2 * ITEMS },
  sharegpt: {
    rows: each((i) => ({
      id: `s-${i}`,
      conversations: chat(i, { from: 'human' }, { from: 'gpt' }).map(({ content, ...from }) => ({ ...from, value: content })),
    })),
    steps: 2 * ITEMS,
  },
  atif: {
    rows: each((i) => ({
      schema_version: 'ATIF-v1.7',
      session_id: `${i}`,
      agent: { name: 'a', version: '1' },
      steps: atifSteps(i),
    })),
    steps: 2 * ITEMS,
  },
  verl: { rows: each((i) => ({ input: `What is ${i}?`, output: `first ${i}`, score: i % 2, step: 3 })), steps: ITEMS },
  verifiers: {
    rows: each((i) => ({
      example_id: i,
      prompt: [{ role: 'user', content: `What is ${i}?` }],
      reward: 0.5,
      task: 'sums',
      completion: [{ role: 'assistant', content: `first ${i}` }],
    })),
    steps: ITEMS,
  },
  'hf-trace': {
    rows: Array.from({ length: 600 }, (_, i) => [said('user', `go on ${i}`), said('assistant', `first ${i}`)]).flat(),
    steps: 600,
  },
};

const APPEND = /^B .*log_write/;
const POINTS: readonly KillPoint[] = [
  { name: 'nothing is appended', statement: { messages: [APPEND], fate: 'unsent' } },
  { name: 'the first events are appended, and it does not know', statement: { messages: [APPEND], fate: 'unanswered' } },
  { name: 'the next events are not appended', statement: { messages: [APPEND], fate: 'unsent' } },
  { name: 'the next events are appended, and it does not know', statement: { messages: [APPEND], fate: 'unanswered' } },
];

describe('an import that is killed', () => {
  test.each(Object.keys(FORMS))(
    'the same command goes on where SIGKILL ended it, and a file of the form %s is on record once',
    async (form) => {
      const { rows = [], steps = 0 } = FORMS[form] ?? {};
      const file = join(platform.home, 'rows.jsonl');
      await writeFile(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
      const args = ['import', file, '--format', form, '--json'];
      for (const point of POINTS) await killEspalierAt(args, environmentOf(platform), point);
      const done = await runInProcess(args, environmentOf(platform));
      expect([done.code, done.code === 0 ? '' : done.stderr]).toEqual([0, '']);
      const report = JSON.parse(done.stdout);
      expect(report).toMatchObject({ steps });
      expect(report.alreadyThere).toBe(report.events);
      const again = JSON.parse((await runInProcess(args, environmentOf(platform))).stdout);
      expect(again).toEqual({ ...report, alreadyThere: report.events });
      const there = await db().selectFrom('events').select('eventId').execute();
      expect([there.length, new Set(there.map(({ eventId }) => eventId)).size]).toEqual([report.events, report.events]);
      const taken = await db().selectFrom('steps').select('response').where('depth', '>', 0).execute();
      expect(taken).toHaveLength(steps);
      expect(new Set(taken.map(({ response }) => response)).size).toBe(steps);
      expect(await db().selectFrom('quarantine').selectAll().execute()).toEqual([]);
    },
  );

  test('traces that are followed while they grow are on record once, wherever SIGKILL ended it', async () => {
    const file = join(platform.home, 'traces.jsonl');
    const trace = (i: number) => ({
      id: `t-${i}`,
      task: { type: 'sums', data: { idx: Math.floor(i / 2) } },
      nodes: [
        { message: { role: 'user', content: `What is ${Math.floor(i / 2)}?` } },
        { parent: 0, message: { role: 'assistant', content: `first ${i}` }, sampled: true },
      ],
      rewards: { right: i % 2 },
    });
    const args = ['import', file, '--follow', '1', '--json'];
    for (const [i, point] of POINTS.entries()) {
      await appendFile(file, each((at) => `${JSON.stringify(trace(i * ITEMS + at))}\n`).join('')); // it was killed before it ended
      await killEspalierAt(args, environmentOf(platform), point);
    }
    const done = await runInProcess(args, environmentOf(platform));
    expect([done.code, done.code === 0 ? '' : done.stderr]).toEqual([0, '']);
    const rollouts = POINTS.length * ITEMS;
    const report = JSON.parse(done.stdout);
    expect(report).toMatchObject({ trees: rollouts / 2, rollouts, steps: rollouts });
    const again = JSON.parse((await runInProcess(args, environmentOf(platform))).stdout);
    expect(again).toEqual({ ...report, alreadyThere: report.events });
    const there = await db().selectFrom('events').select('eventId').execute();
    expect([there.length, new Set(there.map(({ eventId }) => eventId)).size]).toEqual([report.events, report.events]);
    expect(await db().selectFrom('quarantine').selectAll().execute()).toEqual([]);
  });
});
