import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { DataOf } from '../../events/catalogue.ts';
import { derivedId } from '../../events/derived-id.ts';
import type { Envelope } from '../../events/envelope.ts';
import { manifestHashOf } from '../../events/manifest-hash.ts';
import { type Database, openDatabase } from '../../postgres/database.ts';
import { createTestDatabase, type TestDatabase } from '../../testing/database.ts';
import { appendTo, givenEvents, projectSlice, testLog } from '../../testing/given-events.ts';
import { emptyReadModels, readModels } from '../../testing/read-models.ts';
import { Story } from '../../testing/story.ts';
import { type ToldGroup, tellBatch, tellGroup, tellLineage } from '../../testing/tell-training.ts';
import { readLedgers } from './read-ledger.ts';
import { readSamples } from './read-samples.ts';

let server: TestDatabase;
let database: Database;
beforeAll(async () => {
  server = await createTestDatabase();
  database = await openDatabase(server.url);
});
afterAll(async () => {
  await database.close();
  await server.drop();
});
beforeEach(() => emptyReadModels(database.db));

const POLICY = 'linear:test';
const lineageId = derivedId('lineage', POLICY);
const lineage = { lineageId, policyId: POLICY };

/** Two groups of two: the first in a batch, a member of the second rejected. */
function tellPool(): {
  readonly story: Story;
  readonly first: ToldGroup;
  readonly second: ToldGroup;
  readonly batch: DataOf<'BatchPlanned'>;
} {
  const story = new Story('pool');
  const runId = story.run('run', { config: { training: { policyId: POLICY, channel: 'train' } } });
  const first = tellGroup(story, runId, 'first', { policyId: POLICY, rewards: [0, 1] });
  const second = tellGroup(story, runId, 'second', { policyId: POLICY, rewards: [1, 1] });
  tellLineage(story, POLICY);
  const batch = tellBatch(story, POLICY, [first]);
  tellRejection(story, second);
  return { story, first, second, batch };
}

function tellRejection(story: Story, { treeId, rolloutIds }: ToldGroup): void {
  const [rolloutId = ''] = rolloutIds;
  const refused = { reason: 'zero-variance' as const, rule: 'told', measured: 1 };
  story.tell('SampleRejected', { ...lineage, groupId: treeId, rolloutId, ...refused }, lineageId);
}

describe('the training pool', () => {
  test('is the same whichever topic is read first', async () => {
    const orders = [
      ['runs', 'trees', 'training'],
      ['runs', 'training', 'trees'],
      ['trees', 'runs', 'training'],
      ['trees', 'training', 'runs'],
      ['training', 'runs', 'trees'],
      ['training', 'trees', 'runs'],
    ];
    const found: unknown[] = [];
    for (const order of orders) {
      await emptyReadModels(database.db);
      const log = testLog();
      appendTo(log, tellPool().story.events);
      for (const topic of order) await projectSlice(database.db, log, topic, 0, log.topics.get(topic)?.length ?? 0);
      found.push([await readModels(database.db), await readLedgers(database.db, 'all'), await quarantined()]);
    }
    for (const each of found) expect(each).toEqual(found[0]);
  });

  test('a ledger read before its samples says how far ahead it is, and never that one is lost', async () => {
    const { story } = tellPool();
    await givenEvents(
      database.db,
      story.events.filter(({ type }) => !['RunStarted', 'RolloutFinished'].includes(type)),
    );
    const before = { produced: 0, trained: 0, difference: 0, ahead: 3 };
    expect(await readLedgers(database.db, [POLICY])).toMatchObject([before]);
    await givenEvents(
      database.db,
      story.events.filter(({ type }) => ['RunStarted', 'RolloutFinished'].includes(type)),
    );
    const owed = { group: 0, ready: 1, planned: 2, leased: 0 };
    expect(await readLedgers(database.db, [POLICY])).toMatchObject([
      { produced: 4, rejected: { 'zero-variance': 1 }, owed, difference: 0, ahead: 0 },
    ]);
  });

  test('keeps apart what is not for training: other channels, other configurations', async () => {
    const story = new Story('channels');
    for (const training of [{ policyId: POLICY, channel: 'validation' }, { policyId: POLICY }, 'yes', null])
      tellGroup(story, story.run(JSON.stringify(training), { config: { training } }), 'task', { policyId: POLICY, rewards: [1] });
    await givenEvents(database.db, story.events);
    expect(await readLedgers(database.db, 'all')).toEqual([]);
    expect(await quarantined()).toEqual([]);
  });

  test('sums of a sample follow late and revised rewards, on its steps and on itself', async () => {
    const { story, first } = tellPool();
    const tree = { treeId: first.treeId, runId: story.id('run', 'run') };
    const [rolloutId = ''] = first.rolloutIds;
    const rewardId = story.reward(tree, null, 0.25, { rolloutId, component: 'late' });
    const scorer = { name: 'judge', revision: '2' };
    const revised = story.tell('RewardRevised', { rewardId, treeId: first.treeId, value: 2, scorer, reason: '' }, tree.runId);
    const again = story.tell('RewardRevised', { rewardId, treeId: first.treeId, value: 3, scorer, reason: '' }, tree.runId);
    await givenEvents(database.db, [...story.events, revised]);
    expect(again.data.value).toBe(3);
    const [sample] = await readSamples(database.db, [rolloutId]);
    expect(sample).toMatchObject({ scores: { environment: 0, late: 3 }, state: 'planned', oldestVersion: 0, sampledTokens: 3 });
  });
});

describe('what contradicts the stream of a policy goes to quarantine', () => {
  test.each<[string, string, (pool: ReturnType<typeof tellPool>) => void]>([
    ['another batch of the same ordinal', 'data.ordinal', ({ story, second }) => void tellBatch(story, POLICY, [second])],
    ['a sample in a second batch', 'data.groups', ({ story, first, batch }) => void tellBatch(story, POLICY, [first], batch)],
    [
      'a batch with a rejected sample',
      'data.groups',
      ({ story, second, batch }) => void tellBatch(story, POLICY, [second], batch),
    ],
    ['a rejection of a planned sample', 'data.rolloutId', ({ story, first }) => tellRejection(story, first)],
    [
      'a batch that skips one',
      'data.previousHash',
      ({ story, second, batch }) => void tellBatch(story, POLICY, [second], { ...batch, ordinal: 4 }),
    ],
    [
      'a batch behind another than stands there',
      'data.previousHash',
      ({ story, second, batch }) => void tellBatch(story, POLICY, [second], { ...batch, manifestHash: 'e'.repeat(64) }),
    ],
    [
      'a manifest that was changed',
      'data.manifestHash',
      ({ story, batch }) => {
        const next = { ...batch, ordinal: 1, previousHash: batch.manifestHash };
        story.tell('BatchPlanned', { ...next, manifestHash: manifestHashOf(batch) }, lineageId);
      },
    ],
    ['other rules of the same policy', 'data', ({ story }) => void tellLineage(story, POLICY, { groupsPerBatch: 9 })],
    [
      'a lineage under a foreign id',
      'data.lineageId',
      ({ story }) => {
        story.tell(
          'LeaseExpired',
          { ...lineage, lineageId: story.id('other'), batchId: story.id('b'), leaseId: story.id('l'), fence: 1 },
          lineageId,
        );
      },
    ],
  ])('%s', async (_, field, contradict) => {
    const pool = tellPool();
    const before = pool.story.events.length;
    contradict(pool);
    await givenEvents(database.db, pool.story.events.slice(0, before));
    const standing = await trainingRows();
    const added = pool.story.events.slice(before);
    await givenEvents(database.db, added.slice(0, 1));
    expect((await quarantined()).map((row) => row.field)).toEqual([field]);
    expect(await trainingRows()).toEqual(standing);
  });

  test('what is said again changes nothing', async () => {
    const { story } = tellPool();
    await givenEvents(database.db, story.events);
    const told: readonly Envelope[] = story.events.map((event, i) => ({ ...event, id: story.id('again', i) }));
    const before = await trainingRows();
    await givenEvents(
      database.db,
      told.filter(({ stream }) => stream === lineageId),
    );
    expect(await trainingRows()).toEqual(before);
    expect(await quarantined()).toEqual([]);
  });
});

async function quarantined() {
  return database.db.selectFrom('quarantine').select(['projection', 'code', 'field']).orderBy('offset').execute();
}

async function trainingRows() {
  const { batches, batch_samples, sample_rejections, lineages, leases, policy_versions } = await readModels(database.db);
  return { batches, batch_samples, sample_rejections, lineages, leases, policy_versions };
}
