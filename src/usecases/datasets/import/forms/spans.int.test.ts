import { writeFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { datasetWorkshop } from '../../../../testing/dataset-workshop.ts';

const shop = datasetWorkshop();

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const ids = (n: number) => `b7ad6b716920333${n}`;

/** The calls of an agent that asks for the weather: a call of a tool, the answer, and a title beside them. */
const SAID = [
  [1, [['user', 'The weather in Ulm?']], { call: ['c1', 'weather', '{"city":"Ulm"}'] }],
  [
    2,
    [
      ['user', 'The weather in Ulm?'],
      ['called', ''],
      ['tool', '7 °C'],
    ],
    { text: 'Seven degrees.' },
  ],
  [3, [['user', 'Name this conversation.']], { text: 'Weather' }],
] as const;

/** Attributes by OpenInference, as Phoenix and SDKs hold them. */
function inferred(n: number): Record<string, unknown> {
  const [, asked, said] = SAID[n - 1] ?? SAID[0];
  const attributes: Record<string, unknown> = {
    'openinference.span.kind': 'LLM',
    'llm.model_name': 'gpt-5-mini',
    'llm.token_count.prompt': 10 * n,
    'llm.token_count.completion': n,
    'llm.invocation_parameters': '{"temperature": 0.2}',
  };
  const call = (at: string, [id, name, given]: readonly string[]) => {
    attributes[`${at}.message.role`] = 'assistant';
    attributes[`${at}.message.tool_calls.0.tool_call.id`] = id;
    attributes[`${at}.message.tool_calls.0.tool_call.function.name`] = name;
    attributes[`${at}.message.tool_calls.0.tool_call.function.arguments`] = given;
  };
  for (const [i, [role, text]] of asked.entries()) {
    const at = `llm.input_messages.${i}`;
    if (role === 'called') {
      call(at, ['c1', 'weather', '{"city":"Ulm"}']);
      continue;
    }
    attributes[`${at}.message.role`] = role;
    attributes[`${at}.message.content`] = text;
    if (role === 'tool') attributes[`${at}.message.tool_call_id`] = 'c1';
  }
  if ('call' in said) call('llm.output_messages.0', said.call);
  else {
    attributes['llm.output_messages.0.message.role'] = 'assistant';
    attributes['llm.output_messages.0.message.content'] = said.text;
  }
  return attributes;
}

const root = { name: 'weather-agent', attributes: { 'openinference.span.kind': 'AGENT' } };
const times = (n: number) => [`2026-11-01T10:00:0${n}.000250+00:00`, `2026-11-01T10:00:0${n}.500000+00:00`] as const;

/** As `GET /v1/projects/NAME/spans` of Phoenix lists them: the latest first. */
const phoenix = {
  data: [3, 2, 1, 0].map((n) => ({
    id: `U3Bhbjo${n}`,
    context: { trace_id: TRACE, span_id: ids(n) },
    parent_id: n === 0 ? null : ids(0),
    span_kind: n === 0 ? 'AGENT' : 'LLM',
    status_code: 'OK',
    status_message: '',
    start_time: times(n)[0],
    end_time: times(n)[1],
    ...(n === 0 ? root : { name: 'ChatCompletion', attributes: inferred(n) }),
    events: [],
  })),
  next_cursor: null,
};

/** As the console exporter of the Python SDK prints each. */
const printed = phoenix.data.map(({ context, parent_id, start_time, end_time, name, attributes }) => ({
  ...{ name, context: { trace_id: `0x${context.trace_id}`, span_id: `0x${context.span_id}`, trace_state: '[]' } },
  ...{ kind: 'SpanKind.INTERNAL', parent_id: parent_id && `0x${parent_id}`, start_time: start_time.replace('+00:00', 'Z') },
  ...{ end_time: end_time.replace('+00:00', 'Z'), status: { status_code: 'OK' }, attributes, events: [], links: [] },
  resource: { attributes: { 'service.name': 'agents' }, schema_url: '' },
}));

/** As the collector's file exporter writes a request a line. */
const requests = phoenix.data.map(({ context, parent_id, start_time, end_time, name, attributes }) => {
  const nanos = (time: string) => `${Date.parse(time)}000000`;
  const value = (given: unknown) => (typeof given === 'number' ? { intValue: String(given) } : { stringValue: given });
  const span = {
    ...{ traceId: context.trace_id, spanId: context.span_id, parentSpanId: parent_id ?? '', name, status: {} },
    ...{ startTimeUnixNano: nanos(start_time), endTimeUnixNano: nanos(end_time) },
    attributes: Object.entries(attributes).map(([key, given]) => ({ key, value: value(given) })),
  };
  return { resourceSpans: [{ resource: { attributes: [] }, scopeSpans: [{ scope: {}, spans: [span] }] }] };
});

test.each([
  ['Phoenix', JSON.stringify(phoenix)],
  ['the SDK', printed.map((each) => JSON.stringify(each, null, 4)).join('\n')],
  ['the collector', requests.map((each) => JSON.stringify(each)).join('\n')],
])(
  'spans of %s are the longest conversation of their trace, in the order of their times, and what is beside it is counted',
  async (_, text) => {
    await writeFile(shop.path('source'), text);
    const report = await shop.importing();
    expect(report).toMatchObject({ source: 'spans', trees: 1, rollouts: 1, steps: 2 });
    expect(report.notes).toMatchObject([{ kind: 'part-not-read', field: 'call beside the conversation', rows: 1 }]);
    const steps = await shop.db.selectFrom('steps').selectAll().where('depth', '>', 0).orderBy('depth').execute();
    expect(steps).toMatchObject([
      {
        observation: '7 °C',
        reply: { toolCalls: [{ id: 'c1', name: 'weather', arguments: '{"city":"Ulm"}' }] },
        policySpans: [{ policyId: 'gpt-5-mini' }],
      },
      { response: 'Seven degrees.' },
    ]);
    expect(steps.map(({ promptTokens, completionTokens }) => [promptTokens, completionTokens])).toEqual([
      [10, 1],
      [20, 2],
    ]);
    expect(await shop.importing()).toMatchObject({ alreadyThere: report.events });
  },
);

test('a trace whose root failed is failed, one without a call is counted, and a row without a readable span is refused', async () => {
  const [third, , first, agent] = phoenix.data;
  const failed = { ...agent, status_code: 'ERROR', status_message: 'no tool' };
  const other = { ...agent, context: { trace_id: TRACE.replace('0af', '1af'), span_id: ids(8) } };
  await writeFile(shop.path('source'), JSON.stringify({ data: [first, failed, other] }));
  expect(await shop.importing()).toMatchObject({ rollouts: 1, withoutConversation: 1 });
  const rollouts = await shop.db.selectFrom('rollouts').select('outcome').execute();
  expect(rollouts).toEqual([{ outcome: 'failed' }]);
  await writeFile(shop.path('source'), JSON.stringify({ data: [{ ...third, end_time: null }] }));
  await expect(shop.importing()).rejects.toThrow('1 of its spans have no ids or times');
});

test('a span of a page without times is noted, and the others are read', async () => {
  const [third, ...others] = phoenix.data;
  await writeFile(shop.path('source'), JSON.stringify({ data: [{ ...third, end_time: null }, ...others] }));
  const report = await shop.importing();
  expect(report).toMatchObject({ rollouts: 1, steps: 2 });
  expect(report.notes).toMatchObject([{ kind: 'part-not-read', field: 'span without ids or times', rows: 1 }]);
});

test('what a call loses of its settings, and its replies beyond the first, are noted, and the call is kept', async () => {
  const [, second, first, agent] = phoenix.data;
  const attributes = {
    ...inferred(1),
    'llm.invocation_parameters': '{"temperature": "hot", "n": 2}',
    'llm.output_messages.1.message.role': 'assistant',
    'llm.output_messages.1.message.content': 'Cold.',
  };
  await writeFile(shop.path('source'), JSON.stringify({ data: [second, { ...first, attributes }, agent] }));
  const report = await shop.importing();
  expect(report).toMatchObject({ rollouts: 1, steps: 2 });
  expect(report.notes.map(({ field }) => field).sort()).toEqual(['reply beside the first', 'temperature is no number']);
  const steps = await shop.db.selectFrom('steps').select('promptTokens').where('depth', '>', 0).orderBy('depth').execute();
  expect(steps.map(({ promptTokens }) => promptTokens)).toEqual([10, 20]);
});

test.each([
  [
    'it goes on after the line',
    (lines: readonly string[]) => [...lines.slice(0, 2), '{broken', ...lines.slice(2)],
    'a trace continues after this line',
  ],
  [
    'it lacks its root',
    (lines: readonly string[]) => [...lines.slice(0, 3), '{broken'],
    'a trace may have its root in this line',
  ],
  ['it is whole', (lines: readonly string[]) => [...lines, '{broken'], null],
])('a trace of a file with a line that cannot be read is refused or noted: %s', async (_, change, reason) => {
  const lines = requests.map((each) => JSON.stringify(each));
  const whole = lines.map((line) => line.replaceAll(TRACE, TRACE.replace('0af', '1af')));
  await writeFile(shop.path('source'), [...whole, ...change(lines)].join('\n'));
  const report = await shop.importing({ badRows: 'skip' });
  expect(report.rollouts).toBe(reason === null ? 2 : 1);
  const reasons = report.skipped.first.map((each) => each.reason);
  if (reason !== null) expect(reasons).toContainEqual(expect.stringContaining(reason));
  else {
    expect(reasons).toHaveLength(1);
    expect(report.notes.map(({ field }) => field)).toContain('line that may be of the trace');
  }
});
