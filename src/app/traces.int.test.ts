import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Platform } from '../platform/open-platform.ts';
import { SILENT } from '../runtime/logger.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { LOCAL } from '../testing/local-token.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { startTraceCollector } from '../testing/trace-collector.ts';
import { aTrainPlan } from '../testing/train-plan.ts';
import { until } from '../testing/until.ts';
import { train } from '../usecases/train/train.ts';
import { type RunningAll, runAll } from './run-all.ts';

const TRACE = 'ab'.repeat(16);
const traced = { 'content-type': 'application/json', traceparent: `00-${TRACE}-${'cd'.repeat(8)}-01`, ...LOCAL };

let collector: Awaited<ReturnType<typeof startTraceCollector>>;
let platform: Platform;
let all: RunningAll;
beforeEach(async () => {
  process.env.OTEL_BSP_SCHEDULE_DELAY = '50'; // the SDK's own variables are read by the SDK
  collector = await startTraceCollector();
  platform = await openTestPlatform(undefined, {
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  });
  all = await runAll(platform, SILENT);
});
afterEach(async () => {
  await all.close();
  await platform.close();
  await collector.close();
});

async function post(name: string): Promise<string> {
  const builder = new EventBuilder(name);
  builder.run(name);
  const response = await fetch(`${all.url}/v1/events`, { method: 'POST', headers: traced, body: JSON.stringify(builder.events) });
  expect(response.status).toBe(200);
  return ((await response.json()) as { position: string }).position;
}
async function named(name: string, traceId?: string) {
  const isIt = (span: (typeof collector.spans)[number]) => span.name === name && (traceId ?? span.traceId) === span.traceId;
  await until(() => collector.spans.some(isIt));
  return collector.spans.filter(isIt);
}

test('a trace leads from a request over its append to the fold that links to it, and to the query that waits for it', async () => {
  const position = await post('asked');
  const query = `query Waits($position: String!) { waitFor(position: $position, timeoutMs: 30000) { position } }`;
  const body = JSON.stringify({ query, variables: { position } });
  const answer = await fetch(`${all.url}/graphql`, { method: 'POST', headers: traced, body });
  expect(await answer.json()).toEqual({ data: { waitFor: { position } } });
  const [request] = await named('POST /v1/events', TRACE);
  const [append] = await named('append runs', TRACE);
  expect(request).toMatchObject({ parentSpanId: 'cd'.repeat(8), attributes: { 'http.response.status_code': 200 } });
  expect(append).toMatchObject({ parentSpanId: request?.spanId, attributes: { 'espalier.position': position } });
  await until(() => collector.spans.some(({ links }) => links.some(({ spanId }) => spanId === append?.spanId)));
  const fold = collector.spans.find(({ links }) => links.some(({ spanId }) => spanId === append?.spanId));
  expect(fold).toMatchObject({ name: 'fold', links: [{ traceId: TRACE, spanId: append?.spanId }] });
  const [asked] = await named('POST /graphql', TRACE);
  const [answered] = await named('answer /graphql', TRACE);
  const [operation] = await named('query Waits', TRACE);
  const [wait] = await named('wait for projections', TRACE);
  expect([answered?.parentSpanId, operation?.parentSpanId, wait?.parentSpanId]).toEqual([
    asked?.spanId,
    answered?.spanId,
    operation?.spanId,
  ]);
  expect(new Set(collector.spans.map(({ scope }) => scope))).toEqual(new Set(['@espalier/server']));
  expect([request?.service, operation?.service]).toEqual(['espalier test', 'espalier queries']);
});

test('what collects and what trains is traced down to each reply, step, append, lease, update and acknowledgement', async () => {
  const plan = aTrainPlan({ policyId: 'traced', updates: 1 });
  await train(platform, { plan, concurrency: 2, signal: new AbortController().signal, logger: SILENT });
  const [batch] = await named('train batch');
  for (const name of ['lease', 'read checkpoint', 'read rows', 'update', 'keep checkpoint', 'acknowledge'])
    expect((await named(name, batch?.traceId)).map(({ parentSpanId }) => parentSpanId)).toContain(batch?.spanId);
  expect(batch?.attributes).toMatchObject({ 'espalier.outcome': 'trained' });
  const [rollout] = await named('rollout');
  for (const name of ['ask policy', 'environment step', 'append trees'])
    expect((await named(name, rollout?.traceId)).map(({ parentSpanId }) => parentSpanId)).toContain(rollout?.spanId);
  const folded = () => collector.spans.some(({ links }) => links.some(({ traceId }) => traceId === rollout?.traceId));
  await until(folded);
});

test('spans that a collector does not take are dropped and counted, and hold up no work', async () => {
  collector.answer(400);
  await post('first');
  const dropped = async () =>
    /espalier_trace_spans_dropped_total\{[^}]*reason="export"[^}]*\} [1-9]/.test((await platform.metrics.expose()).body);
  await until(dropped);
  await post('second');
  expect(collector.spans).toEqual([]);
});
