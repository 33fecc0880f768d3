import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createRandom } from '../src/domain/random/random.ts';
import type { Envelope } from '../src/events/envelope.ts';
import type { Platform } from '../src/platform/open-platform.ts';
import { freePort } from '../src/runtime/free-port.ts';
import { countEvents, environmentOf, liveAndRebuilt, settle } from '../src/testing/crashing-run.ts';
import { EventBuilder } from '../src/testing/event-builder.ts';
import { followEvents } from '../src/testing/live-client.ts';
import { LOCAL } from '../src/testing/local-token.ts';
import { openTestPlatform } from '../src/testing/open-test-platform.ts';
import { until } from '../src/testing/until.ts';
import { type ChildProcess, killRunning, startRole } from '../src/testing/worker-process.ts';

let platform: Platform & { readonly home: string };
beforeEach(async () => {
  platform = await openTestPlatform();
});
afterEach(async () => {
  await killRunning();
  await platform.close();
});

/** A run of three trees, cut into requests of three events. */
function requests(): readonly (readonly Envelope[])[] {
  const builder = new EventBuilder('api crash');
  const runId = builder.run();
  for (const name of ['a', 'b', 'c']) {
    const tree = builder.tree(runId, name);
    for (let ordinal = 0; ordinal < 2; ordinal++) builder.walk(tree, ordinal, 3, 1);
    builder.closeTree(tree, 2);
  }
  builder.finishRun(runId);
  const cut: Envelope[][] = [];
  for (let i = 0; i < builder.events.length; i += 3) cut.push(builder.events.slice(i, i + 3));
  return cut;
}

test('a producer that retries until it is answered, and a reader that resumes after its position, see every event once, however often the API is killed', async () => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = { ...environmentOf(platform), ESPALIER_PORT: String(port) };
  const startApi = () => startRole('api', env);
  let api: ChildProcess = startApi();
  const projector = startRole('project', env);
  await Promise.all([api.saying(/"serving"/), projector.saying(/"projecting"/)]);
  const reader = followEvents(url);

  const random = createRandom(31);
  const sent = requests();
  const deaths = new Set(Array.from({ length: 4 }, () => random.int(sent.length)));
  const unanswered: number[] = [];
  let killed = 0;
  for (const [i, events] of sent.entries()) {
    // A server that is killed before it serves breaks no stream.
    if (deaths.has(i)) await until(() => reader.opened() > killed);
    const before = await countEvents(platform);
    const posted = post(url, events);
    if (deaths.has(i)) {
      // Every second death falls behind the append, before or while the answer goes out.
      if (i % 2 === 0) await until(async () => (await countEvents(platform)) > before);
      api.kill('SIGKILL');
      killed++;
      await api.ended;
      api = startApi();
    }
    let answer = await posted;
    for (let tries = 0; answer !== 200; tries++) {
      if (tries === 0) unanswered.push(i);
      if (tries > 400) throw new Error(`request ${i} is answered ${answer}`);
      await delay(50);
      answer = await post(url, events);
    }
  }

  await settle(platform);
  const recorded = sent.flat().map(({ id }) => id);
  await until(() => reader.received.length >= recorded.length);
  await reader.close();
  expect(reader.received.map(({ id }) => id).sort()).toEqual([...recorded].sort());
  for (const stream of new Set(sent.flat().map((event) => event.stream))) {
    const order = (events: readonly { id: string; stream: string }[]) =>
      events.filter((e) => e.stream === stream).map((e) => e.id);
    expect(order(reader.received)).toEqual(order(sent.flat()));
  }
  expect(reader.opened()).toBe(deaths.size + 1);

  const { db } = platform.database;
  const kept = await db.selectFrom('events').select('eventId').execute();
  expect(kept.map(({ eventId }) => eventId).sort()).toEqual([...recorded].sort());
  expect(await db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
  const anomalies = await db.selectFrom('anomalies').select(['kind', 'eventId']).execute();
  expect(anomalies.filter(({ kind }) => kind !== 'duplicate')).toEqual([]);
  // Only what was sent again may be in the log twice.
  const again = new Set(unanswered.flatMap((i) => sent[i]?.map(({ id }) => id) ?? []));
  expect(anomalies.filter(({ eventId }) => !again.has(eventId))).toEqual([]);
  const { live, rebuilt } = await liveAndRebuilt(platform);
  expect(live).toEqual(rebuilt);
});

/** Posts events; returns the status, or the fault when there was no answer. */
async function post(url: string, events: readonly Envelope[]): Promise<number | string> {
  try {
    const response = await fetch(`${url}/v1/events`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...LOCAL },
      body: JSON.stringify(events),
    });
    await response.text();
    return response.status;
  } catch (error) {
    return String(error);
  }
}
