import { writeFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { pack } from '../../../../events/packed.ts';
import { tokensAsJson } from '../../../../projections/step-tree/token-bytes.ts';
import { datasetWorkshop } from '../../../../testing/dataset-workshop.ts';

const shop = datasetWorkshop();

// as verifiers 0.2.1 writes a line of traces.jsonl: an agent that calls a tool, whose result was shown anew on another branch
const node = (parent: number | null, message: object, token_ids: number[], mask: boolean[], logprobs?: number[]) => ({
  ...(parent === null ? {} : { parent }),
  message,
  sampled: logprobs !== undefined,
  timestamp: 1,
  token_ids,
  mask,
  is_content: [],
  logprobs: logprobs ?? [],
});
const calls = [{ id: 'c1', name: 'weather', arguments: '{"city":"Ulm"}' }];
const trace = {
  id: 'trace-1',
  task: {
    type: 'WeatherTask',
    data: { idx: 3, prompt: 'The weather in Ulm?', system_prompt: 'Be short.', timeout: {}, resources: {}, answer: '7' },
  },
  version: 2,
  run: { type: 'train', id: 'run', step: 4 },
  agent: { model: 'qwen/qwen3' },
  nodes: [
    node(null, { role: 'system', content: 'Be short.' }, [1, 2], [false, false]),
    node(0, { role: 'user', content: 'The weather in Ulm?' }, [3, 4], [false, false]),
    node(1, { role: 'assistant', tool_calls: calls }, [5, 6, 7], [false, true, true], [-0.5, -0.25]),
    node(2, { role: 'tool', tool_call_id: 'c1', content: 'rain' }, [8], [false]),
    node(3, { role: 'assistant', content: 'Rain.' }, [9, 10], [false, true], [-1]),
    node(2, { role: 'tool', tool_call_id: 'c1', content: '7 °C' }, [8], [false]),
    node(
      5,
      { role: 'assistant', content: 'Seven.', reasoning_content: 'It is 7.' },
      [9, 11, 12],
      [false, true, true],
      [-0.125, -2],
    ),
  ],
  tools: [{ name: 'weather', description: 'Says the weather.', parameters: { type: 'object' } }],
  calls: [
    { node: 2, finish_reason: 'tool_calls', usage: { prompt_tokens: 3, completion_tokens: 2, cached_input_tokens: 2 } },
    { node: 4, finish_reason: 'stop', usage: { prompt_tokens: 8, completion_tokens: 1 } },
    { node: 6, finish_reason: 'stop', usage: { prompt_tokens: 9, completion_tokens: 2 } },
  ],
  rewards: { correct: 1, short: 0.25 },
  metrics: { turns: 2 },
  info: {},
  extra_usage: [],
  is_completed: true,
  stop_condition: 'done',
  errors: [],
  timing: { start: 1 },
};

test('the last branch of a trace of verifiers has its sampled tokens, calls of tools, usage and rewards, and the rest is counted', async () => {
  await writeFile(shop.path('source'), `${JSON.stringify(trace)}\n`);
  const report = await shop.importing();
  expect(report).toMatchObject({ source: 'verifiers-traces', trees: 1, rollouts: 1, steps: 2 });
  expect(report.notes.map(({ kind, field }) => `${kind} ${field}`).sort()).toEqual([
    'field-not-read metrics',
    'field-not-read task.data.answer',
    'field-not-read timing',
    'part-not-read branch beside the last one',
  ]);
  const steps = await shop.db
    .selectFrom('steps')
    .selectAll()
    .select(tokensAsJson('steps').as('tokens'))
    .where('depth', '>', 0)
    .orderBy('depth')
    .execute();
  expect(steps).toMatchObject([
    {
      observation: '7 °C',
      reply: { toolCalls: calls },
      tokens: { ids: pack('int32', [6, 7]), logProbs: pack('float32', [-0.5, -0.25]) },
    },
    {
      tokens: { ids: pack('int32', [11, 12]) },
      response: 'Seven.',
      thought: 'It is 7.',
      policySpans: [{ from: 0, to: 2, policyId: 'qwen/qwen3', version: 4 }],
    },
  ]);
  expect(steps.map(({ promptTokens, completionTokens }) => [promptTokens, completionTokens])).toEqual([
    [5, 2],
    [9, 2],
  ]);
  const rewards = await shop.db.selectFrom('rewards').select(['component', 'value']).orderBy('component').execute();
  expect(rewards).toEqual([
    { component: 'correct', value: 1 },
    { component: 'short', value: 0.25 },
  ]);
  expect(await shop.importing()).toMatchObject({ alreadyThere: report.events });
});

test('traces of one task are a group, cut and failed ones end so, and one without a reply is counted', async () => {
  const ended = (id: string, more: object) => ({ ...trace, id, ...more });
  const lines = [
    trace,
    ended('b', { stop_condition: 'max_turns' }),
    ended('c', { errors: [{ type: 'ProviderError', message: 'no answer' }] }),
    ended('d', { nodes: trace.nodes.slice(0, 2) }),
  ];
  await writeFile(shop.path('source'), lines.map((line) => JSON.stringify(line)).join('\n'));
  expect(await shop.importing()).toMatchObject({ trees: 1, rollouts: 3, withoutConversation: 1 });
  const rollouts = await shop.db.selectFrom('rollouts').select('outcome').orderBy('ordinal').execute();
  expect(rollouts.map(({ outcome }) => outcome)).toEqual(['terminated', 'truncated', 'failed']);
});
