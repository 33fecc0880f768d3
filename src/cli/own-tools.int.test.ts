import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Platform } from '../platform/open-platform.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { type OpenAiServer, startOpenAiServer } from '../testing/openai-server.ts';
import { killRunning, runEspalier } from '../testing/worker-process.ts';

// As the guide writes it.
const GUIDE =
  'tool-env:profile=v0.1;tools=calculator,./examples/count-letters.ts;reward=./examples/count-letters.ts#honest;tasks=./examples/letters.jsonl;max-turns=4';

// A tool that fails as its argument says; a reward that is not a number.
const FAULTY = `
export const tool = {
  name: 'faulty',
  description: 'Does what tools should not.',
  parameters: { type: 'object', properties: { how: { type: 'string' } }, required: ['how'] },
  execute: ({ how }) => {
    if (how === 'throws') throw new Error('no such city');
    if (how === 'hangs') return new Promise(() => undefined);
    return how === 'floods' ? 'x'.repeat(10_000_000) : 'done';
  },
  reward: ({ how }) => (how === 'pays NaN' ? Number.NaN : 0),
};
export const nothing = () => Number.NaN;
`;
const call = (given: string) => `<tool_call>{"name": "faulty", "arguments": ${given}}</tool_call>`;
const TURNS = ['throws', 'hangs', 'floods', 'pays NaN'].map((how) => call(JSON.stringify({ how })));
// In the profile v0.1 what is no JSON is no call, and so the last word.
const MALFORMED = [
  call('{"how": 7}'),
  '<tool_call>{"name": "nope", "arguments": {}}</tool_call>',
  '<tool_call>{"name": </tool_call>',
];

let platform: Platform & { readonly home: string };
let env: Readonly<Record<string, string>>;
let folder: string;
const servers: OpenAiServer[] = [];
beforeAll(async () => {
  platform = await openTestPlatform();
  env = environmentOf(platform);
  folder = await mkdtemp(join(tmpdir(), 'espalier-tools-'));
  await writeFile(join(folder, 'faulty.mjs'), FAULTY);
});
afterAll(async () => {
  await killRunning();
  for (const server of servers) await server.close();
  await platform.close();
  await rm(folder, { recursive: true, force: true });
});

/** Serves a model that says these texts, turn by turn, and then answers 3. */
async function saying(turns: readonly string[]): Promise<string> {
  const server = await startOpenAiServer({
    reply: ({ messages }) =>
      `<think>I go on.</think>\n${turns[messages.filter(({ role }) => role === 'assistant').length] ?? '<answer>3</answer>'}`,
  });
  servers.push(server);
  return `openai:stand-in@${server.url}`;
}

async function collect(policy: string, environment: string, tasks: string, rollouts: string) {
  const ended = await runEspalier(
    ['collect', '--tasks', tasks, '--rollouts', rollouts, '--policy', policy, '--environment', environment],
    env,
  );
  const runId = /^run ([0-9a-f-]{36}) completed: (.*)$/m.exec(ended.stdout);
  return { ...ended, runId: runId?.[1] ?? '', summary: runId?.[2] ?? '' };
}

function callsOf(runId: string) {
  return platform.database.db
    .selectFrom('toolCalls')
    .innerJoin('trees', 'trees.treeId', 'toolCalls.treeId')
    .innerJoin('steps', 'steps.stepId', 'toolCalls.stepId')
    .select(['depth', 'tool', 'toolCalls.outcome', 'output', 'toolCalls.blobs'])
    .where('runId', '=', runId)
    .orderBy('depth')
    .execute();
}

const rewardsOf = (runId: string) =>
  platform.database.db
    .selectFrom('rewards')
    .innerJoin('trees', 'trees.treeId', 'rewards.treeId')
    .select(['component', 'value', 'scorer'])
    .where('runId', '=', runId)
    .orderBy('component')
    .execute();

test('a tool and a reward of one’s own work as the guide describes: collected, rewarded and scored again', async () => {
  const count = '<tool_call>{"name": "count_letter", "arguments": {"word": "strawberry", "letter": "r"}}</tool_call>';
  const { code, stdout, stderr, runId } = await collect(await saying([count]), GUIDE, '3', '2');
  expect([code, stderr.includes('rror')]).toEqual([0, false]);
  expect(stdout).toMatch(/completed: 6 rollouts, 12 steps, \d succeeded/);
  expect(await callsOf(runId)).toEqual(
    Array.from({ length: 6 }, () => ({ depth: 1, tool: 'count_letter', outcome: 'ok', output: '3', blobs: null })),
  );
  const paid = await rewardsOf(runId);
  expect(paid.filter(({ component }) => component === 'tool').map(({ value }) => value)).toEqual(Array(6).fill(0.1));
  expect(paid.filter(({ component }) => component === 'environment')).toHaveLength(6);
  const scored = await runEspalier(['score', '--run', runId, '--scorer', 'answer-f1'], env);
  expect(scored.stdout).toContain(`answer-f1@1 on 3 trees of run ${runId}`);
  expect(scored.stdout).toContain('6 rewards assigned, 0 revised, 0 already in force');
});

describe('faulty tools', () => {
  const environment = () =>
    `tool-env:profile=v0.1;tools=${join(folder, 'faulty.mjs')};reward=${join(folder, 'faulty.mjs')}#nothing;tasks=./examples/letters.jsonl;max-turns=8;tool-timeout=1`;

  test('tools that throw, hang, answer ten megabytes or pay NaN, and a reward of NaN, are recorded, and the episode continues', async () => {
    const { code, runId, summary } = await collect(await saying(TURNS), environment(), '1', '1');
    expect([code, summary]).toEqual([0, '1 rollouts, 5 steps, 0 succeeded']);
    const [threw, hung, flooded, paid] = await callsOf(runId);
    expect(threw).toMatchObject({ outcome: 'error', output: "Error executing tool 'faulty': no such city" });
    expect(hung).toMatchObject({ outcome: 'error', output: "Error executing tool 'faulty': it took longer than 1000 ms" });
    expect(flooded).toMatchObject({ outcome: 'ok', output: `${'x'.repeat(16_384)}...` });
    expect(paid).toMatchObject({ outcome: 'error', output: 'done\n[reward refused: its reward NaN is no finite number]' });
    for (const { value } of await rewardsOf(runId)) expect(Number.isFinite(value)).toBe(true);
    const { db } = platform.database;
    const shown = await db
      .selectFrom('steps')
      .innerJoin('trees', 'trees.treeId', 'steps.treeId')
      .select('observation')
      .where('runId', '=', runId)
      .execute();
    // what the model is shown of ten megabytes
    for (const { observation } of shown) expect(observation.length).toBeLessThan(10_000);
    const [end] = await db.selectFrom('rollouts').select(['outcome', 'reason']).where('runId', '=', runId).execute();
    expect(end?.outcome).toBe('terminated');
    expect(end?.reason).toContain('it gave NaN, which is no finite number');
    expect(await db.selectFrom('quarantine').select('reason').execute()).toEqual([]);
  });

  test('calls with broken JSON, wrong arguments or an unknown tool are recorded, and the episode continues', async () => {
    const { code, runId, summary } = await collect(await saying(MALFORMED), environment(), '1', '1');
    expect([code, summary]).toEqual([0, '1 rollouts, 3 steps, 0 succeeded']);
    const [wrong, unknown, ...more] = await callsOf(runId);
    expect(wrong).toMatchObject({ depth: 1, outcome: 'error', output: expect.stringMatching(/^Error: invalid arguments/) });
    expect(unknown).toMatchObject({ depth: 2, tool: 'nope', outcome: 'error', output: expect.stringMatching(/^Error/) });
    expect(more).toEqual([]);
    const [end] = await platform.database.db
      .selectFrom('rollouts')
      .select(['outcome', 'reason', 'steps'])
      .where('runId', '=', runId)
      .execute();
    expect(end).toMatchObject({ outcome: 'terminated', steps: 3, reason: expect.stringContaining('final_answer') });
  });
});
