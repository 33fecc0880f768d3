import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { type RunningAll, runAll } from '../../src/app/run-all.ts';
import type { Platform } from '../../src/platform/open-platform.ts';
import { SILENT } from '../../src/runtime/logger.ts';
import { openTestPlatform } from '../../src/testing/open-test-platform.ts';
import { until } from '../../src/testing/until.ts';
import { DASHBOARDS, dashboardFile, grafanaJson } from './dashboards.ts';
import { metricNames } from './metric-names.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}
const { groups } = parse(readFileSync(new URL('alerts.yaml', import.meta.url), 'utf8')) as {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
};
const rules = groups.flatMap((group) => group.rules);
const guide = readFileSync(new URL('../../docs/guides/observe.md', import.meta.url), 'utf8');

let platform: Platform;
let all: RunningAll;
beforeAll(async () => {
  platform = await openTestPlatform(undefined, {
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
  });
  all = await runAll(platform, SILENT);
});
afterAll(async () => {
  await all.close();
  await platform.close();
});

test('every metric that a dashboard, an alert or the guide names is in a scrape', async () => {
  const queries = DASHBOARDS.flatMap(({ panels }) => panels.flatMap(({ queries: some }) => some.map(([expr]) => expr)));
  const names = metricNames([...rules.map(({ expr }) => expr), ...queries, guide].join('\n'));
  expect(names.length).toBeGreaterThan(30);
  const ofProcess = /^(process|nodejs)_/; // of a process that serves, not of a test's
  const missing = async () => {
    const { body } = await platform.metrics.expose();
    const shown = new Set([...body.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name));
    return names.filter((name) => !ofProcess.test(name) && !shown.has(name));
  };
  await until(async () => (await missing()).every((name) => !name.startsWith('espalier_projection_fold'))); // of a thread that starts
  expect(await missing()).toEqual([]);
});

test('each alert has its section in the guide, which its runbook names', () => {
  const sections = [...guide.matchAll(/^#### (\w+)$/gm)].map(([, name]) => name);
  expect(sections).toEqual(rules.map(({ alert }) => alert));
  for (const { alert, annotations } of rules)
    expect(annotations.runbook_url).toBe(`docs/guides/observe.md#${alert.toLowerCase()}`);
});

test('the dashboards in the repository are those that the list makes', () => {
  for (const dashboard of DASHBOARDS)
    expect(JSON.parse(readFileSync(dashboardFile(dashboard), 'utf8'))).toEqual(JSON.parse(grafanaJson(dashboard)));
});
