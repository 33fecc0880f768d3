import { expect, test } from '@jest/globals';
import { TOPICS } from '../events/catalogue.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { SILENT } from '../runtime/logger.ts';
import { LOCAL } from '../testing/local-token.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { runAll } from './run-all.ts';
import { serveProxy } from './serve-proxy.ts';

const attributes = (given: object) =>
  Object.entries(given).map(([key, value]) => ({ key, value: { stringValue: String(value) } }));
const messages = (role: string, content: string) => JSON.stringify([{ role, parts: [{ type: 'text', content }] }]);

/** The span of the call i of a rollout, which each prompts from the start. */
function span(task: string, i: number): object {
  return {
    traceId: 'a'.repeat(32),
    spanId: `${task}${i}`.padStart(16, 'b'),
    name: 'chat',
    startTimeUnixNano: `${1_700_000_000_000 + 100 * i}000000`,
    endTimeUnixNano: `${1_700_000_000_020 + 100 * i}000000`,
    attributes: attributes({
      ...{ 'espalier.run': 'run', 'espalier.task': task, 'espalier.rollout': '0' },
      ...{ 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm' },
      'gen_ai.input.messages': messages('user', `prompt ${i}`),
      'gen_ai.output.messages': messages('assistant', `reply ${i}`),
    }),
  };
}

test('spans that are sent to up and to a proxy beside it are placed once, by one of them', async () => {
  const platform = await openTestPlatform();
  const up = await runAll(platform, SILENT);
  const proxy = await serveProxy(platform, SILENT);
  const post = async (base: string, path: string, body: object) => {
    const headers = { 'content-type': 'application/json', ...LOCAL };
    const response = await fetch(`${base}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return { status: response.status, text: await response.text() };
  };
  try {
    const tasks = ['1', '2', '3', '4'];
    const both = [up.url, proxy.url];
    for (const task of tasks)
      for (let i = 0; i < 6; i++) {
        const request = { resourceSpans: [{ scopeSpans: [{ spans: [span(task, i)] }] }] };
        expect(await post(both[i % 2] ?? '', '/v1/traces', request)).toMatchObject({ status: 200 });
      }
    // an end places what waits; both are asked for it at once, for every rollout
    const ends = await Promise.all(
      tasks.flatMap((task) => both.map((base) => post(base, `/v1/proxy/run/${task}/0/end`, { outcome: 'terminated' }))),
    );
    expect(ends.filter(({ status }) => status !== 200)).toEqual([]);
    const { db } = platform.database;
    await waitUntilProjected(db, await platform.log.ends(TOPICS), { timeoutMs: 30_000 });
    expect(await db.selectFrom('anomalies').select(['kind', 'detail']).execute()).toEqual([]);
    expect(await db.selectFrom('quarantine').select(['reason']).execute()).toEqual([]);
    const rollouts = await db.selectFrom('rollouts').select(['steps', 'outcome']).execute();
    expect(rollouts).toEqual(tasks.map(() => ({ steps: 6, outcome: 'terminated' })));
    const { length } = await db.selectFrom('steps').select('stepId').where('depth', '>', 0).execute();
    expect(length).toBe(24);
  } finally {
    await proxy.close();
    await up.close();
    await platform.close();
  }
});
