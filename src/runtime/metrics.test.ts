import { describe, expect, test } from '@jest/globals';
import { boundedLabel, createMetrics } from './metrics.ts';

describe('metrics', () => {
  test('a counter requested twice is one counter', async () => {
    const metrics = createMetrics();
    metrics.counter('events_total', 'Events', ['type']).add(2, { type: 'StepTaken' });
    metrics.counter('events_total', 'Events', ['type']).add(3, { type: 'StepTaken' });
    expect((await metrics.expose()).body).toContain('espalier_events_total{type="StepTaken"} 5');
  });

  test('a counter without labels is shown as 0 before its first event', async () => {
    const metrics = createMetrics();
    metrics.counter('refusals_total', 'Refusals');
    expect((await metrics.expose()).body).toContain('espalier_refusals_total 0');
  });

  test('a histogram counts by bucket', async () => {
    const metrics = createMetrics();
    metrics.histogram('seconds', 'Time', [0.1, 1], ['route']).observe(0.5, { route: '/' });
    const { body } = await metrics.expose();
    expect(body).toContain('espalier_seconds_bucket{le="0.1",route="/"} 0');
    expect(body).toContain('espalier_seconds_bucket{le="1",route="/"} 1');
  });

  test('a gauge is read at each scrape and forgets labels that have gone', async () => {
    const metrics = createMetrics();
    let samples = [{ labels: { projection: 'runs' }, value: 7 }];
    metrics.gauge('lag', 'Lag', ['projection'], async () => samples);
    expect((await metrics.expose()).body).toContain('espalier_lag{projection="runs"} 7');
    samples = [{ labels: { projection: 'journal' }, value: 1 }];
    const { body } = await metrics.expose();
    expect(body).toContain('espalier_lag{projection="journal"} 1');
    expect(body).not.toContain('runs');
  });

  test('the metrics of threads are shown with those of their process, each sample with its role, until the thread has ended', async () => {
    const [metrics, thread] = [createMetrics({ role: 'up' }), createMetrics({ role: 'project' })];
    metrics.counter('folded_total', 'Folded').add(1, {});
    thread.counter('folded_total', 'Folded').add(4, {});
    thread.histogram('seconds', 'Time', [1]).observe(0.5, {});
    const exclude = metrics.include(() => thread.measured());
    const { body } = await metrics.expose();
    expect(body).toContain('espalier_folded_total{role="up"} 1\nespalier_folded_total{role="project"} 4');
    expect(body).toContain('espalier_seconds_bucket{le="1",role="project"} 1');
    expect(body.match(/# TYPE espalier_folded_total counter/g)).toHaveLength(1);
    exclude();
    expect((await metrics.expose()).body).not.toContain('role="project"');
  });

  test('what needs no key names no project, policy or key, and reads only open gauges', async () => {
    const metrics = createMetrics({ process: true, role: 'project' });
    metrics.counter('records_total', 'Records', ['topic', 'project']).add(2, { topic: 'runs', project: 'secret' });
    metrics.counter('records_total', 'Records', ['topic', 'project']).add(3, { topic: 'runs', project: 'other' });
    metrics.counter('failures_total', 'Failures', ['code']).add(1, { code: 'E' });
    metrics.histogram('seconds', 'Time', [1], ['policy']).observe(0.5, { policy: 'secret' });
    let reads = 0;
    metrics.gauge('owed', 'Owed', ['policy'], async () => [{ labels: { policy: 'secret' }, value: ++reads }]);
    metrics.openGauge('lag', 'Lag', ['projection'], async () => [{ labels: { projection: 'runs' }, value: 7 }]);
    const { body } = await metrics.exposeOpen();
    expect(body).not.toContain('secret');
    expect(reads).toBe(0);
    expect(body).toContain('espalier_records_total{topic="runs",role="project"} 5');
    expect(body).toContain('espalier_failures_total{code="E",role="project"} 1');
    expect(body).toContain('espalier_lag{projection="runs",role="project"} 7');
    expect(body).toContain('process_cpu_seconds_total');
    const all = (await metrics.expose()).body;
    for (const sample of ['project="secret"', 'espalier_owed{policy="secret"', 'espalier_lag{', 'process_cpu_seconds_total'])
      expect(all).toContain(sample);
  });

  test('a label that users choose has a hundred values and `other`', () => {
    const label = boundedLabel();
    const labels = Array.from({ length: 300 }, (_, i) => label(`p${i}`));
    expect(new Set(labels).size).toBe(101);
    expect([label('p99'), label('p100'), label('p0')]).toEqual(['p99', 'other', 'p0']);
  });

  test('a gauge that cannot be read is omitted and counted, and the others are shown', async () => {
    const metrics = createMetrics();
    metrics.gauge('broken', 'Broken', [], async () => {
      throw new Error('no database');
    });
    metrics.gauge('whole', 'Whole', [], async () => [{ labels: {}, value: 4 }]);
    await metrics.expose();
    const { body } = await metrics.expose();
    expect(body).toContain('espalier_whole 4');
    expect(body).toMatch(/espalier_scrape_failures_total\{gauge="broken"\} [12]/);
  });
});
