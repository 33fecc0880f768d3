import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { encode } from '../../../events/codec.ts';
import { derivedId } from '../../../events/derived-id.ts';
import { type Database, openDatabase } from '../../../postgres/database.ts';
import { readLedgers } from '../../../projections/training-pool/read-ledger.ts';
import { Killed, openBatcherWorld, type ProjectedWorld } from '../../../testing/batcher-world.ts';
import { createTestDatabase, type TestDatabase } from '../../../testing/database.ts';
import { emptyReadModels, readModels } from '../../../testing/read-models.ts';
import { Story } from '../../../testing/story.ts';
import { tellGroup, tellLineage, tellVersion } from '../../../testing/tell-training.ts';
import { planLineage } from './plan-lineage.ts';

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
const never = new AbortController().signal;

/**
 * Three groups to train, one without variance, one with a failed member, a group that stays open: two batches by two groups each.
 */
function tellPool(): Story {
  const story = new Story('pool');
  tellLineage(story, POLICY, { maxStaleness: 1, zeroVariance: 'reject' });
  const runId = story.run('collect', { config: { training: { policyId: POLICY, channel: 'train' } } });
  for (const [i, rewards] of [
    [1, 0, 0],
    [1, 1, 1],
    [0, 1],
    [0.5, 0, 1],
  ].entries())
    tellGroup(story, runId, `task ${i}`, { policyId: POLICY, rewards });
  const open = story.tree(runId, 'slow', { plannedRollouts: 2 });
  const early = story.rollout(open, 0, { policy: { policyId: POLICY, version: 1 } });
  const step = story.step(open, early, open.rootStepId, 1, {
    policySpans: [{ from: 0, to: 2, policyId: POLICY, version: 1 }],
  });
  story.reward(open, step, 1, { rolloutId: early });
  story.finishRollout(open, early, step);
  const failed = story.tree(runId, 'failed', { plannedRollouts: 2 });
  for (const [ordinal, outcome] of (['terminated', 'failed'] as const).entries()) {
    const rolloutId = story.rollout(failed, ordinal, { policy: { policyId: POLICY, version: 0 } });
    story.finishRollout(failed, rolloutId, failed.rootStepId, { outcome });
  }
  story.closeTree(failed, 2);
  tellGroup(story, runId, 'task 9', { policyId: POLICY, rewards: [0, 0.25] });
  const measured = story.run('validate', { config: { training: { policyId: POLICY, channel: 'validation' } } });
  tellGroup(story, measured, 'task 0', { policyId: POLICY, rewards: [0, 1] });
  return story;
}

const openWorld = (story: Story, dieAfter: number, copies = 1) => openBatcherWorld(database.db, story.events, dieAfter, copies);

/** Plans until nothing follows, starting again after each death. Gives how often it died. */
async function planToTheEnd(world: ProjectedWorld): Promise<number> {
  for (let deaths = 0; ; ) {
    await world.project();
    try {
      if ((await planLineage(world, POLICY, never)).kind === 'idle') return deaths;
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
      deaths += 1;
    }
  }
}

async function settled() {
  const models = await readModels(database.db, ['position', 'planned_at', 'rejected_at']);
  const quarantined = await database.db.selectFrom('quarantine').select(['projection', 'reason']).execute();
  return { batches: models.batches, samples: models.batch_samples, rejections: models.sample_rejections, quarantined };
}

describe('the batcher', () => {
  test('the batcher plans whole groups in ready order, rejects with reasons, and owes the rest', async () => {
    const world = openWorld(tellPool(), -1);
    await world.project();
    expect(await planLineage(world, POLICY, never)).toEqual({ kind: 'planned', batches: 2, samples: 10, rejected: 5 });
    await world.project();
    expect(await planLineage(world, POLICY, never)).toEqual({ kind: 'idle' });
    expect(await readLedgers(database.db, 'all')).toEqual([
      {
        policyId: POLICY,
        produced: 16,
        trained: 0,
        rejected: { 'zero-variance': 3, failed: 1, empty: 1 },
        abandoned: 0,
        owed: { group: 1, ready: 0, planned: 10, leased: 0 },
        difference: 0,
        ahead: 0,
        running: 0,
      },
    ]);
    const batches = await database.db
      .selectFrom('batches')
      .select(['ordinal', 'policy_version', 'samples', 'previous_hash', 'manifest_hash', 'shards'])
      .orderBy('ordinal')
      .execute();
    expect(batches.map(({ ordinal, policy_version, samples }) => [ordinal, policy_version, samples])).toEqual([
      [0, 0, 5],
      [1, 1, 5],
    ]);
    expect(batches[1]?.previous_hash).toBe(batches[0]?.manifest_hash);
    expect(batches[0]?.shards).toEqual([[0, 1, 2, 3, 4]]);
  });

  test('a batcher that dies around any of its appends leaves the next one to reach the same batches and rejections', async () => {
    const undisturbed = openWorld(tellPool(), -1);
    expect(await planToTheEnd(undisturbed)).toBe(0);
    const expected = await settled();
    expect(expected.batches).toHaveLength(2);
    const events = 7; // two batches, five rejections
    for (let point = 0; point <= events; point++) {
      await emptyReadModels(database.db);
      const world = openWorld(tellPool(), point);
      expect(await planToTheEnd(world)).toBe(1);
      expect(await settled()).toEqual(expected);
      const [ledger] = await readLedgers(database.db, [POLICY]);
      expect(ledger).toMatchObject({ difference: 0, ahead: 0, produced: 16 });
    }
  });

  test('the appends of two planners over the same pool are one plan', async () => {
    await planToTheEnd(openWorld(tellPool(), -1));
    const expected = await settled();
    await emptyReadModels(database.db);
    await planToTheEnd(openWorld(tellPool(), -1, 2));
    expect(await settled()).toEqual(expected);
  });

  test('a lineage has one planner at a time', async () => {
    const world = openWorld(tellPool(), -1);
    await world.project();
    const kinds = await Promise.all(
      [planLineage(world, POLICY, never), planLineage(world, POLICY, never)].map(async (p) => (await p).kind),
    );
    expect(kinds.filter((kind) => kind === 'planned')).toHaveLength(1);
    expect(kinds).toContain('busy');
  });

  test('the end of a run closes its open groups', async () => {
    const story = tellPool();
    story.finishRun(story.id('run', 'collect'));
    const world = openWorld(story, -1);
    await planToTheEnd(world);
    const [ledger] = await readLedgers(database.db, [POLICY]);
    expect(ledger).toMatchObject({ owed: { group: 0, ready: 0 }, rejected: { 'incomplete-group': 1 }, difference: 0 });
  });

  test('a new version moves the samples of its batch to trained, and makes older open ones stale', async () => {
    const story = tellPool();
    const world = openWorld(story, -1);
    await planToTheEnd(world);
    const batches = await database.db.selectFrom('batches').select(['batch_id', 'ordinal']).orderBy('ordinal').execute();
    const later = new Story('later');
    tellAcks(later, batches);
    tellVersion(later, POLICY, 3); // set from outside: the sample of the slow group is two versions old
    await world.log.append(later.events.map((event) => ({ topic: 'training', key: event.stream, value: encode(event) })));
    await planToTheEnd(world);
    const [ledger] = await readLedgers(database.db, [POLICY]);
    expect(ledger).toMatchObject({
      trained: 10,
      owed: { group: 0, planned: 0, leased: 0 },
      rejected: { stale: 1 },
      difference: 0,
    });
  });
});

describe('the moment of planning', () => {
  test('a truncated member is rejected before the batch is full, and its group is left to the batch', async () => {
    const expected = { produced: 8, rejected: { filtered: 1 }, owed: { group: 0, ready: 0, planned: 7, leased: 0 } };
    for (const looks of ['once', 'twice']) {
      await emptyReadModels(database.db);
      const story = new Story(`cut ${looks}`);
      tellLineage(story, POLICY, { maxStaleness: 1, group: { kind: 'at-least', members: 2 }, truncated: 'reject' });
      const runId = story.run('collect', { config: { training: { policyId: POLICY, channel: 'train' } } });
      const tree = story.tree(runId, 'A', { plannedRollouts: 4 });
      for (let i = 0; i < 4; i++) {
        const policy = { policyId: POLICY, version: 0 };
        const rolloutId = story.rollout(tree, i, { policy });
        const step = story.step(tree, rolloutId, tree.rootStepId, 1, { policySpans: [{ from: 0, to: 3, ...policy }] });
        story.reward(tree, step, i % 2, { rolloutId });
        story.finishRollout(tree, rolloutId, step, { outcome: i === 3 ? 'truncated' : 'terminated' });
      }
      story.closeTree(tree, 4);
      const world = openWorld(story, -1);
      if (looks === 'twice') await planToTheEnd(world);
      const seen = story.events.length;
      tellGroup(story, runId, 'B', { policyId: POLICY, rewards: [1, 0, 1, 0] });
      world.tell(story.events.slice(seen));
      await planToTheEnd(world);
      expect({ looks, ledger: (await readLedgers(database.db, [POLICY]))[0] }).toMatchObject({ looks, ledger: expected });
    }
  });

  test('between an acknowledgement and its version, the batcher knows the version that the next batch is trained on', async () => {
    const versions: unknown[] = [];
    for (const folded of ['BatchAcked', 'PolicyUpdated']) {
      await emptyReadModels(database.db);
      const story = new Story(`half ${folded}`);
      const lineageId = tellLineage(story, POLICY, { maxStaleness: 0, groupsPerBatch: 1 });
      const runId = story.run('collect', { config: { training: { policyId: POLICY, channel: 'train' } } });
      tellGroup(story, runId, 'A', { policyId: POLICY, rewards: [1, 0] });
      const world = openWorld(story, -1);
      await planToTheEnd(world);
      const seen = story.events.length;
      tellGroup(story, runId, 'sampled by version 0', { policyId: POLICY, rewards: [1, 0] });
      const batchId = derivedId('batch', lineageId, 0);
      const lease = { lineageId, policyId: POLICY, batchId, leaseId: story.id('lease'), fence: 1 };
      story.tell('BatchAcked', { ...lease, version: 1, checkpointId: story.id('checkpoint', POLICY, 1) }, lineageId);
      if (folded === 'PolicyUpdated') tellVersion(story, POLICY, 1, batchId);
      world.tell(story.events.slice(seen));
      await planToTheEnd(world);
      const planned = await database.db.selectFrom('batches').select(['ordinal', 'policy_version']).execute();
      versions.push([planned, (await readLedgers(database.db, [POLICY]))[0]?.rejected]);
    }
    expect(versions).toEqual(Array(2).fill([[{ ordinal: 0, policy_version: 0 }], { stale: 2 }]));
  });
});

function tellAcks(story: Story, batches: readonly { readonly batch_id: string; readonly ordinal: number }[]): void {
  const lineageId = derivedId('lineage', POLICY);
  for (const { batch_id: batchId, ordinal } of batches) {
    const lease = { lineageId, policyId: POLICY, batchId, leaseId: story.id('lease', ordinal), fence: 1 };
    const acked = { ...lease, version: ordinal + 1, checkpointId: story.id('checkpoint', POLICY, ordinal + 1) };
    story.tell('BatchLeased', { ...lease, consumer: 'trainer', deadline: '2026-01-01T00:05:00.000Z' }, lineageId);
    story.tell('BatchAcked', acked, lineageId);
    tellVersion(story, POLICY, ordinal + 1, batchId);
  }
}
