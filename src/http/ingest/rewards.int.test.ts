import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Envelope } from '../../events/envelope.ts';
import { createKey } from '../../postgres/keys.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { openTestApi, type TestApi } from '../http-testing.ts';
import { DrawnBuilder, refused } from './ingest-testing.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi({ api: { catchUpMs: 60_000 } }); // a machine that runs other tests too may fold slowly
});
afterAll(() => api.close());

/** A tree with a walked rollout, and a reward of its last step with the value 0.5 as the last event. */
function givenReward() {
  const builder = new DrawnBuilder();
  const tree = builder.tree(builder.run());
  const { rolloutId, steps } = builder.walk(tree, 0, 1, 0);
  const leaf = steps.at(-1) ?? '';
  const rewardId = builder.reward(tree, leaf, 0.5, { rolloutId });
  /** Assigns the same reward by one more event. */
  const again = (value = 1) => {
    builder.reward(tree, leaf, value, { rolloutId, rewardId });
    return builder.events.at(-1) as Envelope; // just recorded
  };
  return { builder, tree, rolloutId, leaf, rewardId, again, first: [...builder.events] };
}

async function headersOf(who: string): Promise<Record<string, string>> {
  if (who === 'no key') return {};
  const { key } = await createKey(api.database.db, { name: 'tester', scopes: ['ingest'], projects: ['atlas'] });
  return { authorization: `Bearer ${key}` };
}

async function accepted(events: readonly Envelope[], appended: number, headers: Record<string, string> = {}, url?: string) {
  const answer = await api.post(events, headers, url);
  expect(answer).toMatchObject({
    status: 200,
    body: { accepted: events.length, appended, duplicates: events.length - appended },
  });
  return answer.body.position ?? '';
}

const REVISE = { path: 'data.rewardId', remedy: expect.stringContaining('RewardRevised') };

describe.each(['a key', 'no key'])('a reward that is assigned by a second event of %s', (who) => {
  test('it is refused in one request, and in the next one as soon as the journal has the first', async () => {
    const headers = await headersOf(who);
    const { first, rewardId, again } = givenReward();
    const second = again();
    const index = first.length - 1;
    const message = `the RewardAssigned of ${rewardId} has other content in event ${index} of this request`;
    await refused(api, () => api.post([...first, second], headers), 409, { ...REVISE, index: index + 1, id: second.id, message });
    await accepted(first, first.length, headers);
    const onRecord = {
      ...REVISE,
      index: 0,
      id: second.id,
      message: `the RewardAssigned of ${rewardId} has other content in event ${first.at(-1)?.id} on record`,
    };
    const asked = refused(api, () => api.post([second], headers), 409, onRecord); // waits
    const projecting = await api.project();
    await asked;
    await projecting.close();
    await refused(api, () => api.post([...first, second], headers), 409, { ...REVISE, id: second.id });
    await refused(api, () => api.post([second, ...first], headers), 409, { ...REVISE, index: first.length });
  });

  test('it is not decided while another server may have been told the other one first', async () => {
    const headers = await headersOf(who);
    const { url } = await api.serve({ api: { catchUpMs: 100 } });
    const { first, again } = givenReward();
    await accepted(first, first.length, headers, url);
    await refused(api, () => api.post([again()], headers, url), 503);
  });

  test('it is refused by a server that has the first in its read models alone, and the first value stays', async () => {
    const headers = await headersOf(who);
    const projecting = await api.project();
    const { first, rewardId, again } = givenReward();
    const second = again();
    await api.projected(await accepted(first, first.length, headers));
    const { url } = await api.serve({ api: { catchUpMs: 60_000 } });
    const onRecord = {
      ...REVISE,
      index: 0,
      id: second.id,
      message: `the RewardAssigned of ${rewardId} has other content in event ${first.at(-1)?.id} on record`,
    };
    await refused(api, () => api.post([second], headers, url), 409, onRecord);
    expect(await rowsWhere(api.database.db, 'rewards', { rewardId }, ['value'])).toEqual([{ value: 0.5 }]);
    await projecting.close();
  });

  test('the same event again is a repetition, alone and among new ones, here and at another server', async () => {
    const headers = await headersOf(who);
    const projecting = await api.project();
    const { builder, tree, rolloutId, leaf, first } = givenReward();
    await accepted(first, first.length, headers);
    await accepted(first.slice(-1), 0, headers);
    builder.reward(tree, leaf, 0.25, { rolloutId, component: 'judged' });
    await api.projected(await accepted(builder.events, 1, headers));
    const { url } = await api.serve({ api: { catchUpMs: 60_000 } });
    await accepted(builder.events.slice(-1), 0, headers, url);
    builder.reward(tree, leaf, 0.125, { rolloutId, component: 'format' });
    await accepted(builder.events, 1, headers, url);
    await projecting.close();
  });

  test('one of two concurrent requests succeeds', async () => {
    const headers = await headersOf(who);
    const projecting = await api.project();
    const { first, again } = givenReward();
    await accepted(first.slice(0, -1), first.length - 1, headers);
    const answers = await Promise.all([first.slice(-1), [again()]].map((events) => api.post(events, headers)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    await projecting.close();
  });
});

test('a reward of neither a step nor a rollout is refused (400)', async () => {
  const { builder, tree, first } = givenReward();
  await accepted(first, first.length);
  builder.reward(tree, null, 1);
  const problem = { index: 0, path: 'data.stepId', remedy: 'name the step or the rollout that the reward is for' };
  await refused(api, () => api.post(builder.events.slice(-1)), 400, problem);
});
