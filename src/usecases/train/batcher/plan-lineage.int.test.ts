import { describe, expect, test } from '@jest/globals';
import { encode } from '../../../events/codec.ts';
import { derivedId } from '../../../events/derived-id.ts';
import { ownWork } from '../../../postgres/own-work.ts';
import { readLedgers } from '../../../projections/training-pool/read-ledger.ts';
import { readLineages } from '../../../projections/training-pool/read-lineages.ts';
import { Killed, openBatcherWorld, type ProjectedWorld } from '../../../testing/batcher-world.ts';
import { EventBuilder } from '../../../testing/event-builder.ts';
import { emptyReadModels, readModels } from '../../../testing/read-models.ts';
import { recordGroup, recordLineage, recordVersion } from '../../../testing/record-training.ts';
import { useTestDatabase } from '../../../testing/use-test-database.ts';
import { isPlannable, planLineage, planningOf } from './plan-lineage.ts';

const database = useTestDatabase({ emptied: 'before-each' });

const POLICY = 'linear:test';
const never = new AbortController().signal;

/**
 * Three groups to train, one without variance, one with a failed member, a group that stays open: two batches by two groups each.
 */
function recordPool(): EventBuilder {
  const builder = new EventBuilder('pool');
  recordLineage(builder, POLICY, { maxStaleness: 1, zeroVariance: 'reject' });
  const runId = builder.run('collect', { config: { training: { policyId: POLICY, channel: 'train' } } });
  for (const [i, rewards] of [
    [1, 0, 0],
    [1, 1, 1],
    [0, 1],
    [0.5, 0, 1],
  ].entries())
    recordGroup(builder, runId, `task ${i}`, { policyId: POLICY, rewards });
  const open = builder.tree(runId, 'slow', { plannedRollouts: 2 });
  const early = builder.rollout(open, 0, { policy: { policyId: POLICY, version: 1 } });
  const step = builder.step(open, early, open.rootStepId, 1, {
    policySpans: [{ from: 0, to: 2, policyId: POLICY, version: 1 }],
  });
  builder.reward(open, step, 1, { rolloutId: early });
  builder.finishRollout(open, early, step);
  const failed = builder.tree(runId, 'failed', { plannedRollouts: 2 });
  for (const [ordinal, outcome] of (['terminated', 'failed'] as const).entries()) {
    const rolloutId = builder.rollout(failed, ordinal, { policy: { policyId: POLICY, version: 0 } });
    builder.finishRollout(failed, rolloutId, failed.rootStepId, { outcome });
  }
  builder.closeTree(failed, 2);
  recordGroup(builder, runId, 'task 9', { policyId: POLICY, rewards: [0, 0.25] });
  const measured = builder.run('validate', { config: { training: { policyId: POLICY, channel: 'validation' } } });
  recordGroup(builder, measured, 'task 0', { policyId: POLICY, rewards: [0, 1] });
  return builder;
}

const openWorld = (builder: EventBuilder, dieAfter: number, copies = 1) =>
  openBatcherWorld(database.db, builder.events, dieAfter, copies);

/** Plans until nothing follows, starting again after each death. Returns how often it died. */
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
    const world = openWorld(recordPool(), -1);
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
      .select(['ordinal', 'policyVersion', 'samples', 'previousHash', 'manifestHash', 'shards'])
      .orderBy('ordinal')
      .execute();
    expect(batches.map(({ ordinal, policyVersion, samples }) => [ordinal, policyVersion, samples])).toEqual([
      [0, 0, 5],
      [1, 1, 5],
    ]);
    expect(batches[1]?.previousHash).toBe(batches[0]?.manifestHash);
    expect(batches[0]?.shards).toEqual([[0, 1, 2, 3, 4]]);
  });

  test('a group is planned where the trained components of its members differ and the metric does not, and rejected where neither does', async () => {
    const builder = new EventBuilder('components');
    const rewards = { environment: 1, 'answer-f1': 0.5 };
    recordLineage(builder, POLICY, { groupsPerBatch: 1, maxStaleness: 1, zeroVariance: 'reject', rewards });
    const runId = builder.run('collect', { config: { training: { policyId: POLICY, channel: 'train' } } });
    const [varied, even] = [0, 1].map((i) => recordGroup(builder, runId, `task ${i}`, { policyId: POLICY, rewards: [0, 0] }));
    for (const [group, values] of [
      [varied, [0.25, 0.75]],
      [even, [0.5, 0.5]],
    ] as const)
      for (const [i, value] of values.entries())
        builder.reward({ treeId: group?.treeId ?? '', runId }, null, value, {
          rolloutId: group?.rolloutIds[i] ?? '',
          component: 'answer-f1',
        });
    const world = openWorld(builder, -1);
    await world.project();
    expect(await planLineage(world, POLICY, never)).toMatchObject({ batches: 1, samples: 2, rejected: 2 });
    await world.project();
    const planned = await database.db.selectFrom('batchSamples').select('treeId').distinct().execute();
    expect(planned).toEqual([{ treeId: varied?.treeId }]);
    const rejected = await database.db.selectFrom('sampleRejections').select(['treeId', 'reason', 'measured']).execute();
    expect(rejected).toEqual([0, 1].map(() => ({ treeId: even?.treeId, reason: 'zero-variance', measured: 0.25 })));
  });

  test('a group of equal metrics waits for what a scorer gives its members, and is planned where that differs', async () => {
    const builder = new EventBuilder('awaited');
    const rewards = { environment: 1, 'answer-f1': 0.5, 'invalid-action': 1 };
    recordLineage(builder, POLICY, { groupsPerBatch: 1, zeroVariance: 'reject', unscored: 'wait', rewards });
    const runId = builder.run('collect', { config: { training: { policyId: POLICY, channel: 'train' } } });
    const group = recordGroup(builder, runId, 'task', { policyId: POLICY, rewards: [0, 0] });
    const score = (i: number, value: number) =>
      builder.reward({ treeId: group.treeId, runId }, null, value, {
        rolloutId: group.rolloutIds[i] ?? '',
        component: 'answer-f1',
      });
    score(0, 0.25);
    const early = openWorld(builder, -1);
    await early.project();
    expect(await planLineage(early, POLICY, never)).toEqual({ kind: 'idle' });
    score(1, 0.75);
    await emptyReadModels(database.db);
    const world = openWorld(builder, -1);
    await world.project();
    expect(await planLineage(world, POLICY, never)).toMatchObject({ batches: 1, samples: 2, rejected: 0 });
  });

  test('a batcher that dies around any of its appends leaves the next one to reach the same batches and rejections', async () => {
    const undisturbed = openWorld(recordPool(), -1);
    expect(await planToTheEnd(undisturbed)).toBe(0);
    const expected = await settled();
    expect(expected.batches).toHaveLength(2);
    const events = 7; // two batches, five rejections
    for (let point = 0; point <= events; point++) {
      await emptyReadModels(database.db);
      const world = openWorld(recordPool(), point);
      expect(await planToTheEnd(world)).toBe(1);
      expect(await settled()).toEqual(expected);
      const [ledger] = await readLedgers(database.db, [POLICY]);
      expect(ledger).toMatchObject({ difference: 0, ahead: 0, produced: 16 });
    }
  });

  test('the appends of two planners over the same pool are one plan', async () => {
    await planToTheEnd(openWorld(recordPool(), -1));
    const expected = await settled();
    await emptyReadModels(database.db);
    await planToTheEnd(openWorld(recordPool(), -1, 2));
    expect(await settled()).toEqual(expected);
  });

  test('a lineage has one planner at a time', async () => {
    const world = openWorld(recordPool(), -1);
    await world.project();
    const kinds = await Promise.all(
      [planLineage(world, POLICY, never), planLineage(world, POLICY, never)].map(async (p) => (await p).kind),
    );
    expect(kinds.filter((kind) => kind === 'planned')).toHaveLength(1);
    expect(kinds).toContain('busy');
  });

  test('whether anything follows is known without the lock: of an open group nothing, of a closed one its plan', async () => {
    const builder = recordPool();
    const world = openWorld(builder, -1);
    const follows = async () => {
      const [lineage] = await readLineages(database.db, [POLICY]);
      return lineage && isPlannable(database.db, lineage);
    };
    await world.project();
    await ownWork(database.db, planningOf(POLICY), async () => {
      expect(await follows()).toBe(true);
      expect(await planLineage(world, POLICY, never)).toEqual({ kind: 'busy' });
    });
    expect(await planLineage(world, POLICY, never)).toMatchObject({ kind: 'planned' });
    await world.project();
    expect(await follows()).toBe(false);
    expect(await planLineage(world, POLICY, never)).toEqual({ kind: 'idle' });
  });

  test('the end of a run closes its open groups', async () => {
    const builder = recordPool();
    builder.finishRun(builder.id('run', 'collect'));
    const world = openWorld(builder, -1);
    await planToTheEnd(world);
    const [ledger] = await readLedgers(database.db, [POLICY]);
    expect(ledger).toMatchObject({ owed: { group: 0, ready: 0 }, rejected: { 'incomplete-group': 1 }, difference: 0 });
  });

  test('a new version moves the samples of its batch to trained, and makes older open ones stale', async () => {
    const builder = recordPool();
    const world = openWorld(builder, -1);
    await planToTheEnd(world);
    const batches = await database.db.selectFrom('batches').select(['batchId', 'ordinal']).orderBy('ordinal').execute();
    const later = new EventBuilder('later');
    recordAcks(later, batches);
    recordVersion(later, POLICY, 3); // set from outside: the sample of the slow group is two versions old
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
      const builder = new EventBuilder(`cut ${looks}`);
      recordLineage(builder, POLICY, { maxStaleness: 1, group: { kind: 'at-least', members: 2 }, truncated: 'reject' });
      const runId = builder.run('collect', { config: { training: { policyId: POLICY, channel: 'train' } } });
      const tree = builder.tree(runId, 'A', { plannedRollouts: 4 });
      for (let i = 0; i < 4; i++) {
        const policy = { policyId: POLICY, version: 0 };
        const rolloutId = builder.rollout(tree, i, { policy });
        const step = builder.step(tree, rolloutId, tree.rootStepId, 1, { policySpans: [{ from: 0, to: 3, ...policy }] });
        builder.reward(tree, step, i % 2, { rolloutId });
        builder.finishRollout(tree, rolloutId, step, { outcome: i === 3 ? 'truncated' : 'terminated' });
      }
      builder.closeTree(tree, 4);
      const world = openWorld(builder, -1);
      if (looks === 'twice') await planToTheEnd(world);
      const seen = builder.events.length;
      recordGroup(builder, runId, 'B', { policyId: POLICY, rewards: [1, 0, 1, 0] });
      world.record(builder.events.slice(seen));
      await planToTheEnd(world);
      expect({ looks, ledger: (await readLedgers(database.db, [POLICY]))[0] }).toMatchObject({ looks, ledger: expected });
    }
  });

  test('between an acknowledgement and its version, the batcher knows the version that the next batch is trained on', async () => {
    const versions: unknown[] = [];
    for (const folded of ['BatchAcked', 'PolicyUpdated']) {
      await emptyReadModels(database.db);
      const builder = new EventBuilder(`half ${folded}`);
      const lineageId = recordLineage(builder, POLICY, { maxStaleness: 0, groupsPerBatch: 1 });
      const runId = builder.run('collect', { config: { training: { policyId: POLICY, channel: 'train' } } });
      recordGroup(builder, runId, 'A', { policyId: POLICY, rewards: [1, 0] });
      const world = openWorld(builder, -1);
      await planToTheEnd(world);
      const seen = builder.events.length;
      recordGroup(builder, runId, 'sampled by version 0', { policyId: POLICY, rewards: [1, 0] });
      const batchId = derivedId('batch', lineageId, 0);
      const lease = { lineageId, policyId: POLICY, batchId, leaseId: builder.id('lease'), fence: 1 };
      builder.record('BatchAcked', { ...lease, version: 1, checkpointId: builder.id('checkpoint', POLICY, 1) }, lineageId);
      if (folded === 'PolicyUpdated') recordVersion(builder, POLICY, 1, batchId);
      world.record(builder.events.slice(seen));
      await planToTheEnd(world);
      const planned = await database.db.selectFrom('batches').select(['ordinal', 'policyVersion']).execute();
      versions.push([planned, (await readLedgers(database.db, [POLICY]))[0]?.rejected]);
    }
    expect(versions).toEqual(Array(2).fill([[{ ordinal: 0, policyVersion: 0 }], { stale: 2 }]));
  });
});

function recordAcks(builder: EventBuilder, batches: readonly { readonly batchId: string; readonly ordinal: number }[]): void {
  const lineageId = derivedId('lineage', POLICY);
  for (const { batchId, ordinal } of batches) {
    const lease = { lineageId, policyId: POLICY, batchId, leaseId: builder.id('lease', ordinal), fence: 1 };
    const acked = { ...lease, version: ordinal + 1, checkpointId: builder.id('checkpoint', POLICY, ordinal + 1) };
    builder.record('BatchLeased', { ...lease, consumer: 'trainer', deadline: '2026-01-01T00:05:00.000Z' }, lineageId);
    builder.record('BatchAcked', acked, lineageId);
    recordVersion(builder, POLICY, ordinal + 1, batchId);
  }
}
