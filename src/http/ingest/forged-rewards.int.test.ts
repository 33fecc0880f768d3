import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createKey, type NewKey } from '../../postgres/keys.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { openTestApi, type TestApi } from '../http-testing.ts';
import { DrawnBuilder, refused } from './ingest-testing.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi({ api: { catchUpMs: 60_000 } }); // a machine that runs other tests too may fold slowly
});
afterAll(() => api.close());

async function headersOf(project: string, scopes: NewKey['scopes'] = ['ingest']): Promise<Record<string, string>> {
  const { key } = await createKey(api.database.db, { name: 'tester', scopes, projects: [project] });
  return { authorization: `Bearer ${key}` };
}

/** A run with a walked tree and a reward, on record and in the read models. */
async function givenRewarded(headers: Record<string, string>) {
  const builder = new DrawnBuilder();
  const runId = builder.run();
  const tree = builder.tree(runId);
  const { rolloutId, steps } = builder.walk(tree, 0, 2, 0);
  const leaf = steps.at(-1) ?? '';
  const rewardId = builder.reward(tree, leaf, 0.5, { rolloutId });
  const answer = await api.post(builder.events, headers);
  expect(answer.status).toBe(200);
  return { builder, runId, tree, rolloutId, leaf, rewardId, position: answer.body.position ?? '' };
}

test('a reward on what is not known to be of its tree waits for the read models, whoever sends it', async () => {
  const [victims, mine] = [await headersOf('victims'), await headersOf('mine')];
  const projecting = await api.project();
  const victim = await givenRewarded(victims);
  const own = await givenRewarded(mine);
  await api.projected(victim.position);
  await api.projected(own.position);
  await projecting.close();
  const scores = async () =>
    (await rowsWhere(api.database.db, 'samples', { rolloutId: victim.rolloutId }, ['scores'])).map((sample) => sample.scores);
  const before = await scores();
  expect(before).toHaveLength(1);
  own.builder.step(own.tree, null, own.tree.rootStepId, 1); // the read models are behind from here on
  expect((await api.post(own.builder.events.slice(-1), mine)).status).toBe(200);
  const { url } = await api.serve({ api: { catchUpMs: 50 } });

  const { builder, tree, runId } = own;
  const forged = () => builder.events.slice(-1);
  builder.reward(tree, victim.leaf, 50, {});
  await refused(api, () => api.post(forged(), mine, url), 503);
  builder.reward(tree, null, 50, { rolloutId: victim.rolloutId });
  await refused(api, () => api.post(forged(), mine, url), 503);
  builder.record(
    'RewardRevised',
    { rewardId: victim.rewardId, treeId: tree.treeId, value: -1_000, scorer: { name: 'x', revision: '1' }, reason: '' },
    runId,
  );
  await refused(api, () => api.post(forged(), mine, url), 503);

  const again = await api.project();
  const answer = await api.post(forged(), mine);
  expect(answer.status).toBe(422);
  await again.close();
  expect(await scores()).toEqual(before);
});
