import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { TOPICS } from '../../events/catalogue.ts';
import { newId } from '../../events/new-id.ts';
import type { Subscription } from '../../log/event-log.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { runProjections } from '../../projections/runner.ts';
import { readRun } from '../../projections/runs/read-runs.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { type OpenAiServer, startOpenAiServer } from '../../testing/openai-server.ts';
import { collect } from './collect.ts';
import type { CollectPlan } from './plan.ts';

// The second call of the program finds the server of this tool away; a call for the moon is the caller's own mistake.
const TOOL = `let calls = 0;
export const tool = {
  name: 'weather',
  description: 'Returns the weather of a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  execute: ({ city }) => {
    calls++;
    if (calls === 2) throw Object.assign(new Error('the weather service answered HTTP 429'), { name: 'ToolUnavailable' });
    if (city === 'moon') throw new Error('there is no weather on the moon');
    return 'rain';
  },
};`;
const CALL = '<think>I look.</think>\n<tool_call>{"name": "weather", "arguments": {"city": "moon"}}</tool_call>';
const ANSWER = '<think>It is so.</think>\n<answer>rain</answer>';

let platform: Platform;
let projector: Subscription;
let server: OpenAiServer;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-outage-'));
  await writeFile(join(folder, 'weather.mjs'), TOOL);
  const task = { alias: '1', prompt: 'What is the weather?', ground_truth: 'rain', data_source: 'w' };
  await writeFile(join(folder, 'tasks.jsonl'), `${JSON.stringify(task)}\n`);
  platform = await openTestPlatform();
  projector = await runProjections({ log: platform.log, database: platform.database });
  server = await startOpenAiServer({
    reply: ({ messages }) => (messages.some(({ role }) => role === 'assistant') ? ANSWER : CALL),
  });
});
afterAll(async () => {
  await server.close();
  await projector.close();
  await platform.close();
  await rm(folder, { recursive: true });
});

test('an outage behind a tool leaves its rollout open for a resume and is not an observation; a complaint about the input is one', async () => {
  const runId = newId();
  const plan: CollectPlan = {
    environment: `tool-env:tools=${join(folder, 'weather.mjs')};tasks=${join(folder, 'tasks.jsonl')};reward=exact-match`,
    tasks: [
      { alias: '1', rollouts: 1, branching: 'root' },
      { alias: '1', rollouts: 1, branching: 'root' },
      { alias: '1', rollouts: 1, branching: 'root' },
    ],
    taskSeed: 0,
    policy: JSON.stringify({ kind: 'openai', baseUrl: server.url, model: 'stand-in' }),
    temperature: 1,
    maxSteps: 5,
    search: null,
  };
  const signal = new AbortController().signal;
  const run = { runId, name: 'r', seed: 1, plan, concurrency: 1, signal };
  expect(await collect(platform, { ...run, mode: 'new' })).toMatchObject({
    state: 'interrupted',
    message: '1 of 3 rollouts are left open for a resume: the tool weather is unavailable: the weather service answered HTTP 429',
    rollouts: 2,
    failed: 0,
  });
  const { db } = platform.database;
  await waitUntilProjected(db, await platform.log.ends(TOPICS), { timeoutMs: 30_000 });
  expect((await readRun(db, runId))?.finishedAt).toBeNull();
  expect(await collect(platform, { ...run, mode: 'resume' })).toMatchObject({ state: 'completed', message: '', rollouts: 3 });
  await waitUntilProjected(db, await platform.log.ends(TOPICS), { timeoutMs: 30_000 });
  const ends = await db
    .selectFrom('rollouts')
    .innerJoin('trees', 'trees.treeId', 'rollouts.treeId')
    .select(['outcome', 'success', 'reason', 'steps'])
    .where('trees.runId', '=', runId)
    .orderBy('trees.openedAt')
    .execute();
  const well = { outcome: 'terminated', success: true, reason: 'final_answer', steps: 2 };
  expect(ends).toEqual([well, well, well]);
  const calls = await db
    .selectFrom('toolCalls')
    .innerJoin('trees', 'trees.treeId', 'toolCalls.treeId')
    .select(['outcome', 'output'])
    .where('trees.runId', '=', runId)
    .execute();
  const mistake = { outcome: 'error', output: expect.stringContaining('there is no weather on the moon') };
  expect(calls).toEqual([mistake, mistake, mistake]);
});
