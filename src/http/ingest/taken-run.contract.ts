import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Envelope } from '../../events/envelope.ts';
import { newId } from '../../events/new-id.ts';
import { createKey } from '../../postgres/keys.ts';
import type { TestApi } from '../http-testing.ts';
import { appended, DrawnBuilder, givenRun, refused } from './ingest-testing.ts';

/**
 * Describes what holds of producers over HTTP that take a run one after the other, over one event log.
 * @param late what becomes of records that a replaced one appends when another has taken the run.
 */
export function describeTakenRuns(open: () => Promise<TestApi>, late: 'refused' | 'superseded'): void {
  let api: TestApi;
  beforeAll(async () => {
    api = await open();
    await api.project();
  });
  afterAll(() => api.close());

  async function take(runId: string, headers: Record<string, string> = {}) {
    const response = await fetch(`${api.server.url}/v1/runs/${runId}/epoch`, { method: 'POST', headers });
    // as the schema of the endpoint says
    return {
      status: response.status,
      body: (await response.json()) as { epoch: number; position: string; error?: { message: string } },
    };
  }
  const by = (epoch: number, events: readonly Envelope[]) => events.map((event) => ({ ...event, epoch }) as Envelope);

  test('a producer that was replaced gets one clear error, and what it sent before stays', async () => {
    const { builder, runId, tree } = givenRun();
    const opening = builder.events.length;
    await appended(api, builder.events);
    const first = await take(runId);
    expect(first).toMatchObject({ status: 200, body: { runId, epoch: 1, position: '' } });
    builder.walk(tree, 0, 2, 1);
    const walk = builder.events.slice(opening);
    await appended(api, by(1, walk.slice(0, 3)));

    const second = await take(runId);
    expect(second).toMatchObject({ status: 200, body: { runId, epoch: 2, position: expect.stringMatching(/^runs\.\d+:\d+$/) } });
    const answer = await refused(api, () => api.post(by(1, walk.slice(3))), 409, {
      index: 0,
      path: 'epoch',
      message: `epoch 1 of run ${runId} is over: another producer took the run at epoch 2`,
    });
    expect(answer.body.error?.message).toBe(
      `epoch 1 of run ${runId} is over: another producer took the run at epoch 2; nothing was appended`,
    );
    expect(await api.post(by(2, walk))).toMatchObject({ status: 200, body: { accepted: walk.length, duplicates: 3 } });
  });

  test('what a replaced producer appended behind the one that took the run has no effect, and the same event is taken from the new one', async () => {
    const { builder, runId, tree } = givenRun();
    const opening = builder.events.length;
    await appended(api, builder.events);
    await take(runId);
    builder.walk(tree, 0, 1, 1);
    const walk = builder.events.slice(opening);
    const held = holdAppend(api);
    const server = await api.serve({ api: { log: held.log } });
    const sent = api.post(by(1, walk), {}, server.url);
    await held.reached;
    expect(await take(runId)).toMatchObject({ status: 200, body: { epoch: 2 } });
    held.wake();
    const answer = await sent;
    expect(answer.status).toBe(late === 'refused' ? 409 : 200);
    await api.projected(answer.body.position ?? '');
    const steps = () =>
      api.database.db.selectFrom('steps').select('stepId').where('treeId', '=', tree.treeId).where('depth', '>', 0).execute();
    expect(await steps()).toEqual([]);
    const again = await api.post(by(2, walk), {}, server.url);
    expect(again).toMatchObject({ status: 200, body: { appended: walk.length, duplicates: 0 } });
    await api.projected(again.body.position ?? '');
    expect(await steps()).toHaveLength(1);
    expect(await api.database.db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
  });

  test('an epoch that nobody was given is refused with the remedy', async () => {
    const { builder, runId } = givenRun();
    await refused(api, () => api.post(by(3, builder.events)), 409, {
      path: 'epoch',
      message: `nobody was given epoch 3 of run ${runId}`,
      remedy: `take the run by POST /v1/runs/${runId}/epoch and send the epoch of the answer`,
    });
  });

  test('a run is taken by its owner alone, and one that is not on record by nobody', async () => {
    const builder = new DrawnBuilder('taken');
    const runId = builder.run();
    const mine = await createKey(api.database.db, { name: 'mine', scopes: ['ingest'] });
    const other = await createKey(api.database.db, { name: 'other', scopes: ['ingest'] });
    const bearer = ({ key }: typeof mine) => ({ authorization: `Bearer ${key}` });
    expect((await api.post(builder.events, bearer(mine))).status).toBe(200);
    expect(await take(runId, bearer(other))).toMatchObject({
      status: 403,
      body: { error: { message: `the run ${runId} belongs to another key` } },
    });
    expect((await take(runId, bearer(mine))).status).toBe(200);
    const unknown = newId();
    expect(await take(unknown)).toMatchObject({ status: 404, body: { error: { message: `there is no run ${unknown}` } } });
  });
}

/** A log whose first append waits until it is woken. */
function holdAppend({ log }: TestApi) {
  let [reach, wake] = [() => {}, () => {}];
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  const woken = new Promise<void>((resolve) => {
    wake = resolve;
  });
  const append: typeof log.append = async (records) => {
    reach();
    await woken;
    return log.append(records);
  };
  return { log: { ...log, append }, reached, wake: () => wake() };
}
