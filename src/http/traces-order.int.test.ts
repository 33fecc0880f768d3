import { afterEach, beforeEach, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { TOPICS } from '../events/catalogue.ts';
import type { EventLog } from '../log/event-log.ts';
import { formatPosition } from '../log/position.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { type Capture, openCapture } from '../usecases/capture/open-capture.ts';
import { openTraces } from '../usecases/capture/traces/receive-spans.ts';
import { openTestProxy, postTo, type TestProxy } from './proxy/proxy-testing.ts';

let proxy: TestProxy;
let url: string;
beforeEach(async () => {
  proxy = await openTestProxy();
  url = await proxy.restart();
});
afterEach(() => proxy.close());

const attributes = (given: object) =>
  Object.entries(given).map(([key, value]) => ({
    key,
    value: { stringValue: typeof value === 'string' ? value : JSON.stringify(value) },
  }));
const text = (content: string) => [{ type: 'text', content }];

interface Made {
  readonly [field: string]: unknown;
}

/** The spans of an agent that takes steps, calls a tool at each but the last, and asks a sub-agent at the first. */
function traceOf(traceId: string, steps: number, named: object = {}): readonly Made[] {
  const id = (i: number) => (i + 1).toString(16).padStart(16, '0');
  const span = (i: number, parent: number | null, from: number, to: number, given: object, name = 'span'): Made => ({
    traceId,
    spanId: id(i),
    parentSpanId: parent === null ? undefined : id(parent),
    name,
    startTimeUnixNano: `${1_700_000_000_000 + from}000000`,
    endTimeUnixNano: `${1_700_000_000_000 + to}000000`,
    attributes: attributes({ ...named, ...given }),
  });
  const chat = (input: readonly object[], output: object) => ({
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'm',
    'gen_ai.input.messages': input,
    'gen_ai.output.messages': [output],
  });
  const made: Made[] = [];
  const messages: object[] = [{ role: 'user', parts: text('go') }];
  for (let i = 0; i < steps; i++) {
    const call = { type: 'tool_call', id: `call${i}`, name: 'look', arguments: { at: i } };
    const said = { role: 'assistant', parts: i + 1 < steps ? [...text(`step ${i}`), call] : text(`step ${i}`) };
    made.push(span(10 * i, 900, 100 * i, 100 * i + 20, chat([...messages], said)));
    messages.push(said);
    if (i + 1 === steps) break;
    const tool = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'look', 'gen_ai.tool.call.id': `call${i}` };
    made.push(span(10 * i + 1, 900, 100 * i + 30, 100 * i + 37, { ...tool, 'gen_ai.tool.call.result': `saw ${i}` }));
    messages.push({ role: 'tool', parts: [{ type: 'tool_call_response', id: `call${i}`, response: `saw ${i}` }] });
  }
  const asked = chat([{ role: 'user', parts: text('help') }], { role: 'assistant', parts: text('helped') });
  const agent = (name: string) => ({ 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': name });
  made.push(span(800, 801, 25, 28, asked), span(801, 900, 24, 29, agent('helper')));
  made.push(span(900, null, 0, 100 * steps, agent('main')));
  return made;
}

const send = async (spans: readonly Made[], base = url) => {
  const resource = { attributes: attributes({ 'service.name': 'agent' }) };
  const body = JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ spans }] }] });
  const response = await fetch(`${base}/v1/traces`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  return { status: response.status, text: await response.text() };
};

async function pathOf(treeAlias: string) {
  const { trees, steps, rollouts, tools, calls, quarantined } = await proxy.recorded();
  expect(quarantined).toEqual([]);
  const treeId = trees.find(({ alias }) => alias === treeAlias)?.treeId;
  const own = steps.filter((step) => step.treeId === treeId).toSorted((a, b) => a.depth - b.depth);
  const path = own.filter(({ depth, rolloutId }) => depth > 0 && rolloutId !== null);
  return {
    said: path.map(({ response }) => response.split('\n')[0]),
    aside: own.filter(({ depth, rolloutId }) => depth > 0 && rolloutId === null).map(({ response }) => response),
    outcome: rollouts.find((rollout) => rollout.treeId === treeId)?.outcome,
    tools: tools.filter(({ stepId }) => own.some((step) => step.stepId === stepId)),
    calls: calls.filter((call) => call.treeId === treeId),
  };
}

test('one path in the order of their times is recorded of spans that arrive in any order, over several requests and servers', async () => {
  let trace = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }).chain((steps) => {
        const spans = traceOf('0', steps).map((_, i) => i);
        return fc.record({
          steps: fc.constant(steps),
          order: fc.shuffledSubarray(spans, { minLength: spans.length }),
          cuts: fc.array(fc.record({ size: fc.integer({ min: 1, max: 4 }), restarts: fc.boolean() }), { maxLength: 4 }),
        });
      }),
      async ({ steps, order, cuts }) => {
        const traceId = (++trace).toString(16).padStart(32, 'a');
        const spans = traceOf(traceId, steps);
        let rest = order.map((i) => spans[i] as Made); // the numbers are those of its spans
        for (const { size, restarts } of cuts) {
          expect(await send(rest.slice(0, size))).toMatchObject({ status: 200 });
          rest = rest.slice(size);
          if (restarts) url = await proxy.restart(); // which knows nothing but the record
        }
        expect(await send(rest)).toMatchObject({ status: 200 });
        expect(await proxy.place()).toEqual([]);
        const found = await pathOf(traceId);
        expect(found.said).toEqual(Array.from({ length: steps }, (_, i) => `step ${i}`));
        expect([found.aside, found.outcome]).toEqual([['helped'], 'terminated']);
        expect(found.tools.map(({ tool, output }) => [tool, output]).sort()).toEqual(
          Array.from({ length: steps - 1 }, (_, i) => ['look', `saw ${i}`]),
        );
        const helped = found.calls.find(({ place }) => place === 'branch');
        expect(JSON.parse(String(helped?.attributes)).agents).toEqual(['main', 'helper']);
      },
    ),
    { numRuns: 2 },
  );
});

test('a server that ends while spans are placed is followed by one that comes to the same path', async () => {
  for (const at of [2, 4]) {
    const traceId = `${at}`.padStart(32, 'b');
    let left = at;
    const log: EventLog = {
      ...proxy.api.log,
      ends: (topics) => proxy.api.log.ends(topics),
      append: async (records) => {
        if (--left < 0) throw new Error('the power is gone');
        return proxy.api.log.append(records);
      },
    };
    url = await proxy.restart({ log });
    await send(traceOf(traceId, 3).toReversed());
    expect(await proxy.place()).toEqual([expect.stringContaining('the power is gone')]);
    url = await proxy.restart();
    expect(await proxy.place()).toEqual([]);
    expect(await pathOf(traceId)).toMatchObject({
      said: ['step 0', 'step 1', 'step 2'],
      aside: ['helped'],
      outcome: 'terminated',
    });
  }
});

test('servers that receive and place the spans of one rollout record it once', async () => {
  const { db } = proxy.api.database;
  const other = await proxy.restart();
  const traceIds = Array.from({ length: 6 }, (_, i) => `${i}`.padStart(32, 'd'));
  for (const traceId of traceIds) {
    const [root, ...others] = traceOf(traceId, 4).toReversed();
    for (const [i, span] of others.entries()) await send([span as Made], i % 2 === 0 ? url : other);
    await send([root as Made]);
  }
  expect(await proxy.placeBySeveral()).toEqual([]);
  for (const traceId of traceIds)
    expect(await pathOf(traceId)).toMatchObject({
      said: ['step 0', 'step 1', 'step 2', 'step 3'],
      aside: ['helped'],
      outcome: 'terminated',
    });
  expect(await db.selectFrom('anomalies').select(['kind', 'detail']).execute()).toEqual([]);
  for (const base of [url, other]) {
    const late = traceOf(traceIds[0] ?? '', 6).filter(({ startTimeUnixNano }) => startTimeUnixNano === '1700000000500000000');
    expect((await send(late, base)).text).toContain('has ended');
  }
});

test('a span that arrives when later ones are placed is kept and named, and is no step', async () => {
  const named = { 'espalier.run': 'run', 'espalier.task': 'task', 'espalier.rollout': '0' };
  const [first, ...others] = traceOf('c'.repeat(32), 2, named);
  await send(others);
  await proxy.place();
  await send(first ? [first] : []);
  await proxy.place();
  const { said, calls, outcome } = await pathOf('task');
  expect(said).not.toContain('step 0');
  expect(outcome).toBeNull();
  const late = calls.filter(({ message }) => message.includes('arrived when calls that began behind it were placed'));
  expect(late).toMatchObject([{ place: 'branch', stepId: null, outcome: 'failed' }]);
  expect(late[0]?.choices[0]?.message).toContain('step 0');
});

test('spans are placed behind two calls of one ordinal, of which the path goes on with the first', async () => {
  const named = { 'espalier.run': 'run', 'espalier.task': 'task', 'espalier.rollout': '0' };
  const spans = traceOf('f'.repeat(32), 3, named);
  const isLast = ({ startTimeUnixNano }: Made) => startTimeUnixNano === '1700000000200000000';
  await send(spans.filter((span) => !isLast(span)));
  expect(await proxy.place()).toEqual([]);
  const { said, calls } = await pathOf('task');
  expect(said).toEqual(['step 0']);
  const [call] = calls;
  if (!call) throw new Error('no call was placed');
  const { treeId } = call;
  const trees = proxy.api.database.db.selectFrom('trees').select('runId').where('treeId', '=', treeId);
  const { runId } = await trees.executeTakeFirstOrThrow();
  const builder = new EventBuilder('another server');
  builder.record('CallCaptured', { ...call, callId: builder.id('call'), stepId: null, choices: [], call: null }, runId);
  expect(await proxy.api.post(builder.events)).toMatchObject({ status: 200 });
  url = await proxy.restart();
  await send(spans.filter(isLast));
  expect(await proxy.place()).toEqual([]);
  expect((await pathOf('task')).said).toEqual(['step 0', 'step 1']);
  expect(await postTo(url, '/run/task/0/end', { success: true })).toMatchObject({ status: 200 });
  expect(await pathOf('task')).toMatchObject({ said: ['step 0', 'step 1', 'step 2'], outcome: 'terminated' });
});

test('a rollout that cannot be placed is named once and keeps no other waiting, and an outage ends the round', async () => {
  const { api } = proxy;
  for (const [i, task] of ['broken', 'whole'].entries())
    await send(traceOf(`${i}`.padStart(32, 'e'), 2, { 'espalier.run': 'run', 'espalier.task': task, 'espalier.rollout': '0' }));
  await api.projected(formatPosition(await api.log.ends(TOPICS)));
  const capture = openCapture({ database: api.database, log: api.log, blobs: api.blobs, config: {} });
  let error = new Error('its spans are odd');
  const placeSpans: Capture['placeSpans'] = async (named, principal) => {
    if (named.task === 'broken') throw error;
    return capture.placeSpans(named, principal);
  };
  const traces = openTraces({ db: api.database.db, capture: { ...capture, placeSpans } });
  const now = { endedMs: 0, openMs: 0 };
  expect(await traces.place(now)).toEqual([expect.stringMatching(/^the spans of rollout 0 of run run wait .* are odd$/)]);
  expect((await pathOf('whole')).said).toEqual(['step 0']);
  expect(await traces.place(now)).toEqual([]);
  error = Object.assign(new Error('no connection'), { code: 'ECONNREFUSED' });
  await expect(traces.place(now)).rejects.toBe(error);
});

test('what waits of a rollout is placed before its end or its close, and a span behind the end is rejected', async () => {
  const named = { 'espalier.run': 'run', 'espalier.task': 'task', 'espalier.rollout': '0' };
  const [first, ...others] = traceOf('d'.repeat(32), 2, named);
  await send(others.slice(0, 1));
  await send(first ? [first] : []);
  expect(await postTo(url, '/run/task/0/end', { success: true })).toMatchObject({ status: 200 });
  const { text: said } = await send(others.slice(1));
  expect(JSON.parse(said).partialSuccess).toMatchObject({ errorMessage: expect.stringContaining('has ended') });
  const other = { ...named, 'espalier.task': 'other' };
  await send(traceOf('e'.repeat(32), 1, other));
  expect(await postTo(url, '/run/close', {})).toMatchObject({ status: 200 });
  expect(await pathOf('other')).toMatchObject({ said: ['step 0'], outcome: expect.any(String) });
});
