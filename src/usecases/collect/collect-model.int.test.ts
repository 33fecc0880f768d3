import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { textsByEnds } from '../../domain/text/texts-by-ends.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { newId } from '../../events/new-id.ts';
import { unpack } from '../../events/packed.ts';
import type { Packed } from '../../events/schemas/values.ts';
import { tokensAsJson } from '../../projections/step-tree/token-bytes.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { type OpenAiServer, startOpenAiServer, tokenEntropy, tokensOf } from '../../testing/openai-server.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { type Collection, collect } from './collect.ts';

const platform = useTestPlatform({ opened: 'once', projector: 'running' });
let server: OpenAiServer;
beforeAll(async () => {
  // A "model" that reads the commands from the conversation and does what the first one needs.
  server = await startOpenAiServer({
    tokenIds: 'token_ids',
    entropies: 'stated',
    reply: (request) => {
      const turn = request.messages.filter((message) => message.role === 'assistant').length;
      const craft = /craft (\d+) (.+) using (\d+) ([a-z ]+)/.exec(request.messages[1]?.content ?? '');
      return turn === 0
        ? `Thought: I fetch it.\nAction: get ${craft?.[3]} ${craft?.[4]}`
        : `Thought: I craft.\nAction: ${craft?.[0]}`;
    },
  });
});
afterAll(async () => {
  await server.close();
});

function collection(policy: object, signal = new AbortController().signal): Collection {
  const plan = {
    environment: 'textcraft',
    tasks: [{ alias: '0', rollouts: 2, branching: 'root' as const }],
    taskSeed: 0,
    policy: JSON.stringify(policy),
    temperature: 1,
    maxSteps: 4,
    search: null,
  };
  return { runId: newId(), name: 'model', seed: 1, plan, concurrency: 1, signal, mode: 'new' };
}
const settled = async () => waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 20_000 });

test('rollouts of a model server are recorded with its token ids, log-probabilities, usage and call', async () => {
  const asked = collection({ kind: 'openai', baseUrl: server.url, model: 'stand-in', policyVersion: 7 });
  await collect(platform, asked);
  await settled();
  const steps = await platform.database.db
    .selectFrom('steps')
    .innerJoin('trees', 'trees.treeId', 'steps.treeId')
    .select([
      'response',
      'action',
      tokensAsJson('steps').as('tokens'),
      'call',
      'completionTokens',
      'finishReason',
      'policySpans',
      'steps.blobs',
    ])
    .where('trees.runId', '=', asked.runId)
    .where('depth', '=', 1)
    .execute();
  expect(steps).toHaveLength(2);
  for (const step of steps) {
    const tokens = step.tokens as Readonly<Record<'ids' | 'logProbs' | 'ends' | 'entropies', Packed>> | null;
    expect(step.action).toMatch(/^get \d+ /);
    expect(step.response).toBe(`Thought: I fetch it.\nAction: ${step.action}`);
    expect(textsByEnds(step.response, unpack(tokens!.ends))).toEqual(tokensOf(step.response));
    expect(unpack(tokens!.entropies)).toEqual(tokensOf(step.response).map((_, i) => tokenEntropy(i)));
    expect(unpack(tokens!.ids)).toHaveLength(step.completionTokens ?? -1);
    expect(unpack(tokens!.logProbs)).toHaveLength(step.completionTokens ?? -1);
    expect(step.policySpans).toEqual([{ from: 0, to: step.completionTokens, policyId: 'stand-in', version: 7 }]);
    expect(step.call).toMatchObject({ attempts: 1, requestHash: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(step.finishReason).toBe('stop');
  }
});

test('what parsers of the server took out of a reply is recorded apart from its text', async () => {
  const call = { id: 'c1', type: 'function', function: { name: 'search', arguments: '{"q":1.0}' } };
  const message = { role: 'assistant', content: 'Action: inventory', reasoning_content: 'Hm.', tool_calls: [call] };
  server.fail({ kind: 'body', body: JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] }) });
  const asked = collection({ kind: 'openai', baseUrl: server.url, model: 'stand-in' });
  await collect(platform, asked);
  await settled();
  const steps = await platform.database.db
    .selectFrom('steps')
    .innerJoin('trees', 'trees.treeId', 'steps.treeId')
    .select(['response', 'thought', 'action', 'reply'])
    .where('trees.runId', '=', asked.runId)
    .where('reply', 'is not', null)
    .execute();
  const reply = { reasoning: true, toolCalls: [{ id: 'c1', name: 'search', arguments: '{"q":1.0}' }] };
  expect(steps).toEqual([{ response: 'Action: inventory', thought: 'Hm.', action: 'inventory', reply }]);
});

test('a model that answers nonsense ends its rollouts, and the run completes', async () => {
  server.fail({ kind: 'body', body: '{"choices": "none"}' });
  const asked = collection({ kind: 'openai', baseUrl: server.url, model: 'stand-in', attempts: 1 });
  const progress = await collect(platform, asked);
  expect(progress).toMatchObject({ rollouts: 2, plannedRollouts: 2 });
  await settled();
  const failed = await platform.database.db
    .selectFrom('rollouts')
    .select(['outcome', 'success', 'reason'])
    .where('runId', '=', asked.runId)
    .where('outcome', '=', 'failed')
    .execute();
  expect(failed).toEqual([{ outcome: 'failed', success: null, reason: expect.stringContaining('choices') }]);
});

test('an unreachable model server ends the run with its address, and the run can be resumed', async () => {
  const asked = collection({ kind: 'openai', baseUrl: 'http://127.0.0.1:9/v1', model: 'stand-in', attempts: 1 });
  await expect(collect(platform, asked)).rejects.toThrow(/127\.0\.0\.1:9/);
  await settled();
  const run = await platform.database.db
    .selectFrom('runs')
    .select('finishedAt')
    .where('runId', '=', asked.runId)
    .executeTakeFirst();
  expect(run).toEqual({ finishedAt: null });
});
