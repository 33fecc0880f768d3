import { writeFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { datasetWorkshop } from '../../../../testing/dataset-workshop.ts';

const shop = datasetWorkshop();

// as GET /api/public/traces/ID of Langfuse 3 answers: an agent that calls a tool, a title that another call makes, and a retriever
const question = [
  { role: 'system', content: 'Be short.' },
  { role: 'user', content: 'The weather in Ulm?' },
];
const called = {
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Ulm"}' } }],
};
const result = { role: 'tool', tool_call_id: 'c1', content: '7 °C' };
const observation = (id: string, second: number, more: object) => ({
  id,
  traceId: 'trace-1',
  type: 'GENERATION',
  name: 'chat',
  startTime: `2026-11-01T10:00:0${second}.000Z`,
  endTime: `2026-11-01T10:00:0${second}.500Z`,
  model: 'gpt-5-mini',
  modelParameters: { temperature: 0.2 },
  level: 'DEFAULT',
  parentObservationId: 'root',
  ...more,
});
const trace = {
  id: 'trace-1',
  timestamp: '2026-11-01T10:00:00.000Z',
  name: 'weather-agent',
  sessionId: 'session-9',
  tags: ['production'],
  htmlPath: '/project/p/traces/trace-1',
  latency: 3.2,
  totalCost: 0.0004,
  observations: [
    observation('g2', 2, {
      input: { messages: [...question, called, result] },
      output: { role: 'assistant', content: 'Seven degrees.' },
      usageDetails: { input: 40, output: 5, total: 45 },
    }),
    observation('g1', 1, { input: question, output: called, usageDetails: { input: 20, output: 9, total: 29 } }),
    observation('g3', 3, { input: 'Name this conversation.', output: 'Weather' }),
    observation('s1', 1, { type: 'RETRIEVER', input: 'Ulm', output: ['a page'], model: null }),
  ],
  scores: [
    { id: 'x', name: 'helpful', value: 1, dataType: 'BOOLEAN', observationId: null, source: 'API' },
    { id: 'y', name: 'tool choice', value: 0.5, dataType: 'NUMERIC', observationId: 'g1', source: 'EVAL' },
    { id: 'z', name: 'tone', value: 0, stringValue: 'dry', dataType: 'CATEGORICAL', observationId: null, source: 'ANNOTATION' },
  ],
};

test('a trace of Langfuse is its longest conversation, with calls of tools, usage and scores, and what is beside it is counted', async () => {
  await writeFile(shop.path('source'), JSON.stringify(trace));
  const report = await shop.importing();
  expect(report).toMatchObject({ source: 'langfuse', trees: 1, rollouts: 1, steps: 2 });
  expect(report.notes.map(({ kind, field }) => `${kind} ${field}`).sort()).toEqual([
    'field-not-read latency',
    'field-not-read score tone',
    'field-not-read sessionId',
    'field-not-read tags',
    'field-not-read timestamp',
    'field-not-read totalCost',
    'part-not-read generation beside the conversation',
    'part-not-read observation RETRIEVER',
  ]);
  const steps = await shop.db.selectFrom('steps').selectAll().where('depth', '>', 0).orderBy('depth').execute();
  expect(steps).toMatchObject([
    { observation: '7 °C', reply: { toolCalls: [{ id: 'c1', name: 'weather', arguments: '{"city":"Ulm"}' }] } },
    { response: 'Seven degrees.', policySpans: [{ policyId: 'gpt-5-mini' }] },
  ]);
  expect(steps.map(({ promptTokens, completionTokens }) => [promptTokens, completionTokens])).toEqual([
    [20, 9],
    [40, 5],
  ]);
  const rewards = await shop.db.selectFrom('rewards').select(['component', 'value', 'stepId']).orderBy('component').execute();
  expect(rewards).toEqual([
    { component: 'helpful', value: 1, stepId: null },
    { component: 'tool choice', value: 0.5, stepId: steps[0]?.stepId },
  ]);
  expect(await shop.importing()).toMatchObject({ alreadyThere: report.events });
});

test('of several scores of one name on one reply or trace the last is kept, and the others are counted', async () => {
  const score = (second: number, value: number, observationId: string | null) => ({
    name: 'helpful',
    value,
    observationId,
    timestamp: `2026-11-01T11:00:0${second}.000Z`,
  });
  const scores = [score(3, 0.75, null), score(1, 0, null), score(2, 0.5, 'g1'), score(1, 1, 'g1')];
  await writeFile(shop.path('source'), JSON.stringify({ ...trace, scores }));
  const report = await shop.importing();
  expect(report.notes.filter(({ field }) => field === 'score helpful')).toMatchObject([{ kind: 'field-not-read', rows: 1 }]);
  const rewards = await shop.db.selectFrom('rewards').select(['component', 'value']).orderBy('value').execute();
  expect(rewards).toEqual([
    { component: 'helpful', value: 0.5 },
    { component: 'helpful', value: 0.75 },
  ]);
});

test('a score on either of two equal generations is a reward of their reply', async () => {
  const said = { input: question, output: called };
  const observations = [
    ...trace.observations.filter(({ id }) => id !== 'g1'),
    observation('g0', 1, said),
    observation('g1', 1, said),
  ];
  const scores = ['g0', 'g1'].map((id) => ({ name: `of ${id}`, value: 0.5, observationId: id }));
  await writeFile(shop.path('source'), JSON.stringify({ ...trace, observations, scores }));
  await shop.importing();
  const rewards = await shop.db.selectFrom('rewards').select(['component', 'stepId']).orderBy('component').execute();
  expect(rewards.map(({ component }) => component)).toEqual(['of g0', 'of g1']);
  expect(rewards[0]?.stepId).toBe(rewards[1]?.stepId);
});

test('a trace without a chat is counted, and one with a picture is refused', async () => {
  const picture = [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://example.org/a.png' } }] }];
  const seen = observation('g1', 1, { traceId: 'trace-3', input: picture, output: 'A dog.' });
  await writeFile(shop.path('source'), JSON.stringify([trace, { ...trace, id: 'trace-2', observations: [] }]));
  expect(await shop.importing()).toMatchObject({ rollouts: 1, withoutConversation: 1 });
  await writeFile(shop.path('source'), JSON.stringify([{ ...trace, id: 'trace-3', observations: [seen], scores: [] }]));
  await expect(shop.importing()).rejects.toThrow('input.0.content: holds a part that is no text');
});
