import { expect, test } from '@jest/globals';
import { TOPICS } from '../events/catalogue.ts';
import { openEmbeddedLog } from '../log/embedded-log.ts';
import { LogError } from '../log/event-log.ts';
import { openAppender } from '../platform/open-appender.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { SILENT } from '../runtime/logger.ts';
import { startCuttableProxy } from '../testing/cuttable-proxy.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { LOCAL } from '../testing/local-token.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { ROLE_NAMES, startRoles } from './roles.ts';

const FAULTS = 20; // each behind the time limit of an append or a question, which `up` has outlived then

test('every role of up goes on, however often the log stays away beyond its time limit, and works when it is back', async () => {
  const platform = await openTestPlatform();
  const proxy = await startCuttableProxy(platform.databaseUrl);
  const log = await openEmbeddedLog({ url: proxy.url, patienceMs: 20 });
  let faults = 0;
  const counted =
    <Given extends readonly unknown[], Result>(work: (...given: Given) => Promise<Result>) =>
    (...given: Given) =>
      work(...given).catch((error: unknown) => {
        if (error instanceof LogError && error.code === 'unreachable') faults++;
        throw error;
      });
  const away = { ...log, append: counted(log.append), ends: counted(log.ends), extents: counted(log.extents) };
  const world = { ...platform, log: away, config: { ...platform.config, cores: 1 } };
  const running = await startRoles(world, SILENT, ROLE_NAMES);
  const state = { ended: 'no' };
  running.finished.then(
    () => (state.ended = 'yes'),
    (error: unknown) => (state.ended = String(error)),
  );
  try {
    const ask = async () => {
      const query = JSON.stringify({ query: '{ position }' });
      const headers = { 'content-type': 'application/json', ...LOCAL };
      return (await fetch(`${running.roles.api.url}/graphql`, { method: 'POST', headers, body: query })).status;
    };
    const builder = new EventBuilder('away');
    builder.run('away');
    const [begun] = builder.events;
    if (begun?.type !== 'RunStarted') throw new Error('a run begins');
    const append = () =>
      openAppender(world, 'test').append([{ type: begun.type, correlationId: begun.correlationId, data: begun.data }]);
    proxy.cut();
    while (faults < FAULTS) await expect(append()).rejects.toMatchObject({ code: 'unreachable', retryable: true });
    expect(state).toEqual({ ended: 'no' });
    proxy.restore();
    await append();
    await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 30_000 });
    expect(await ask()).toBe(200);
    expect(state).toEqual({ ended: 'no' });
  } finally {
    await running.close();
    await log.close();
    await proxy.close();
    await platform.close();
  }
});
