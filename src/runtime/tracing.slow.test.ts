import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { readConfig } from './config.ts';
import { createMetrics } from './metrics.ts';
import { inSpan, startSpan, startTracing, traceHeaders } from './tracing.ts';

const run = promisify(execFile);
const ON = { OTEL_TRACES_EXPORTER: 'otlp' };
const NAMES = { name: 'test', version: '1' };

test('the SDK of OpenTelemetry is not loaded where tracing is off', async () => {
  const program = `
    import { createRequire } from 'node:module';
    import { startTracing, inSpan } from './tracing.ts';
    import { readConfig } from './config.ts';
    import { createMetrics } from './metrics.ts';
    const { cache } = createRequire(import.meta.url);
    const loaded = () => Object.keys(cache).filter((file) => /@opentelemetry.(sdk|exporter|otlp)/.test(file)).length;
    const names = { name: 'test', version: '1', metrics: createMetrics() };
    await startTracing(readConfig({}).tracing, names);
    await inSpan('work', {}, async () => undefined);
    const off = loaded();
    await startTracing(readConfig(${JSON.stringify(ON)}).tracing, names);
    console.log(JSON.stringify({ off, isLoadedWhereOn: loaded() > 0 }));
    process.exit();`;
  const cwd = fileURLToPath(new URL('.', import.meta.url));
  const { stdout } = await run(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], { cwd });
  expect(JSON.parse(stdout)).toEqual({ off: 0, isLoadedWhereOn: true });
});

test('a collector that never answers costs spans beyond a bound, which are counted, and no end of a process', async () => {
  const silent = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const metrics = createMetrics();
  const endpoint = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const { tracing } = readConfig({ ...ON, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint });
  const { close } = await startTracing(tracing, { ...NAMES, metrics });
  for (let i = 0; i < 5_000; i++) startSpan('work', {}).end();
  expect((await metrics.expose()).body).toContain(`espalier_trace_spans_dropped_total{reason="queue"} ${5_000 - 2_048}`);
  await close(); // of a process that ends while it is away
  silent.closeAllConnections();
  silent.close();
});

test('a span belongs to the one around it, or to that of a header, and nothing is sampled that its parent is not', async () => {
  const { close } = await startTracing(readConfig(ON).tracing, { ...NAMES, metrics: createMetrics() });
  try {
    const trace = 'ab'.repeat(16);
    await inSpan('asked', { parent: `00-${trace}-${'cd'.repeat(8)}-01` }, async (span) => {
      expect(span.traceparent).toMatch(new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`));
      expect(traceHeaders().traceparent).toBe(span.traceparent);
      await inSpan('inner', {}, async (inner) => expect(inner.traceparent).toContain(trace));
    });
    expect(traceHeaders()).toEqual({});
    await inSpan('unsampled', { parent: `00-${trace}-${'cd'.repeat(8)}-00` }, async (span) => {
      expect(span.traceparent).toBeNull();
      expect(traceHeaders().traceparent).toMatch(/-00$/);
    });
    for (const unreadable of ['', 'x', `00-${'0'.repeat(32)}-${'cd'.repeat(8)}-01`])
      await inSpan('begun', { parent: unreadable }, async (span) => expect(span.traceparent).not.toContain(trace));
  } finally {
    await close();
  }
});
