import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { derivedId } from '../../events/derived-id.ts';
import type { Envelope } from '../../events/envelope.ts';
import { readLedgers } from '../../projections/training-pool/read-ledger.ts';
import { rest } from '../../runtime/retry.ts';
import { settle } from '../../testing/crashing-run.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { appendRecorded, recordBatches } from '../../testing/record-batches.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import type { Backend } from '../../training/backends/backend.ts';
import { linearBackend } from '../../training/backends/linear/linear-backend.ts';
import type { StepRow } from '../../training/backends/step-row.ts';
import { BackendFailed } from '../../training/backends/torch/python-process.ts';
import { LINEAR_SETTINGS } from '../../training/backends/training-settings.ts';
import { keepCheckpoint } from '../../training/checkpoints/checkpoint-store.ts';
import { readBatchRows } from '../../training/rows/read-batch-rows.ts';
import { openLeaseService } from './open-lease-service.ts';
import { type BatchFailure, trainLoop } from './train-loop.ts';

const { signal } = new AbortController();
const platform = useTestPlatform({ opened: 'once', projector: 'running' });

/** Records batches of one sample for a policy of the linear backend, and registers its version 0. Returns the lineage. */
async function given(policyId: string, batches = 1, restore: (event: Envelope) => Envelope = (event) => event): Promise<string> {
  const builder = new EventBuilder(policyId);
  const { lineageId } = recordBatches(builder, { policyId, batches, steps: 1, members: 1 });
  await appendRecorded(platform.log, builder.events.map(restore));
  await settle(platform);
  const backend = linearBackend();
  const first = await backend.initial(1);
  const weights = createHash('sha256').update(backend.weightsOf(first)).digest('hex');
  const kept = await keepCheckpoint(platform.blobs, first);
  await openLeaseService(platform).registerPolicy({ policyId, backend: backend.name, weights, kept });
  return lineageId;
}

const rowOf = (reward: number): StepRow => ({
  groupId: 'group',
  rolloutId: 'rollout',
  step: 0,
  candidates: ['wait', 'inventory'],
  temperature: 1,
  stateHash: null,
  situation: { goal: 'craft', firstObservation: 'You see a table.', history: [] },
  tokens: { ids: [1], logProbs: null },
  reward,
  action: 'inventory',
  observation: 'seen',
  end: 'terminated',
  version: 0,
});

function train(policyId: string, backend: Backend, rows: readonly StepRow[]) {
  const troubles: BatchFailure[] = [];
  const done = trainLoop(
    {
      policyId,
      consumer: 'trainer',
      service: openLeaseService(platform),
      blobs: platform.blobs,
      backend,
      updates: 1,
      settings: LINEAR_SETTINGS.ppo,
      readRows: async () => ({ rows, rewardsAt: '' }),
      idle: (until) => rest(50, until),
      onTrouble: (trouble) => troubles.push(trouble),
    },
    signal,
  );
  return { troubles, done };
}

/** What the lease service put on record of a lineage, leases left out. */
async function recorded(lineageId: string) {
  await settle(platform);
  const rows = await platform.database.db
    .selectFrom('events')
    .select(['type', 'body'])
    .where('stream', '=', lineageId)
    .where('type', 'in', ['BatchReturned', 'BatchAcked', 'BatchAbandoned', 'PolicyUpdated'])
    .orderBy('position')
    .execute();
  return rows.map(({ type, body }) => ({ type, reason: JSON.parse(body).data.reason, version: JSON.parse(body).data.version }));
}

const ledgerOf = async (policyId: string) => (await readLedgers(platform.database.db, [policyId]))[0];

describe('untrainable batches', () => {
  test('a batch that is refused is returned once with the reason; then the trainer ends with it, and the sample stays owed', async () => {
    const lineageId = await given('nan');
    const { troubles, done } = train('nan', linearBackend(), [rowOf(Number.NaN)]);
    const reason = 'step 0 of rollout rollout has a reward that is not finite';
    await expect(done).rejects.toThrow(`batch 0 of nan was given back: ${reason}; repair that and begin again`);
    await expect(done).rejects.toThrow(`espalier abandon ${derivedId('batch', lineageId, 0)}`);
    expect(troubles).toEqual([{ ordinal: 0, reason }]);
    const returned = { type: 'BatchReturned', reason };
    expect(await recorded(lineageId)).toMatchObject([{ type: 'PolicyUpdated', version: 0 }, returned]);
    expect(await ledgerOf('nan')).toMatchObject({ trained: 0, difference: 0 });

    expect(await train('nan', linearBackend(), [rowOf(1)]).done).toBe(1);
    expect(await recorded(lineageId)).toHaveLength(4);
    expect(await ledgerOf('nan')).toMatchObject({ produced: 1, trained: 1, difference: 0 });
  });
});

describe('batches with contradictory rows', () => {
  /** Lets the first rollout say that it took a step more than it did. */
  const oneTooMany = () => {
    let seen = 0;
    return (event: Envelope): Envelope =>
      event.type === 'RolloutFinished' && seen++ === 0 ? { ...event, data: { ...event.data, steps: 2 } } : event;
  };

  test('a contradictory batch is abandoned by its trainer, which continues with the next one on the same base', async () => {
    const lineageId = await given('broken', 2, oneTooMany());
    const { db } = platform.database;
    const troubles: BatchFailure[] = [];
    const done = await trainLoop(
      {
        policyId: 'broken',
        consumer: 'trainer',
        service: openLeaseService(platform),
        blobs: platform.blobs,
        updates: 1,
        backend: linearBackend(),
        settings: LINEAR_SETTINGS.grpo,
        onTrouble: (trouble) => troubles.push(trouble),
        idle: (until) => rest(50, until),
        readRows: async ({ batchId }) => {
          await readBatchRows(db, platform.blobs, batchId);
          return { rows: [rowOf(1)] }; // the recorded tokens are no places among candidates
        },
      },
      signal,
    );
    expect(done).toBe(1);
    const reason = expect.stringMatching(/rollout [0-9a-f-]+ is not finished in the read models: its end waits in quarantine/);
    expect(troubles).toEqual([{ ordinal: 0, reason }]);
    expect(await recorded(lineageId)).toMatchObject([
      { type: 'PolicyUpdated', version: 0 },
      { type: 'BatchAbandoned', reason },
      { type: 'BatchAcked', version: 1 },
      { type: 'PolicyUpdated', version: 1 },
    ]);
    expect(await ledgerOf('broken')).toMatchObject({ produced: 2, trained: 1, abandoned: 1, difference: 0 });
  });
});

describe('backends that die during an update', () => {
  test('a backend that dies each time is tried three times', async () => {
    await given('dead');
    const backend = { ...linearBackend(), update: () => Promise.reject(new BackendFailed('ended', 'it ended with SIGKILL')) };
    const { troubles, done } = train('dead', backend, [rowOf(1)]);
    await expect(done).rejects.toThrow('batch 0 of dead was given back 3 times: it ended with SIGKILL; repair that');
    expect(troubles).toHaveLength(3);
  });

  test('a dying backend costs one attempt with its stderr tail recorded, and the batch is trained once', async () => {
    const lineageId = await given('dying');
    const linear = linearBackend();
    let died = false;
    const backend: Backend = {
      ...linear,
      update(input, held) {
        if (died) return linear.update(input, held);
        died = true;
        return Promise.reject(new BackendFailed('ended', 'the training process ended with SIGKILL: out of memory'));
      },
    };
    const { troubles, done } = train('dying', backend, [rowOf(1)]);
    expect(await done).toBe(1);
    expect(troubles).toEqual([{ ordinal: 0, reason: 'the training process ended with SIGKILL: out of memory' }]);
    expect(await recorded(lineageId)).toMatchObject([
      { type: 'PolicyUpdated', version: 0 },
      { type: 'BatchReturned', reason: 'the training process ended with SIGKILL: out of memory' },
      { type: 'BatchAcked', version: 1 },
      { type: 'PolicyUpdated', version: 1 },
    ]);
    expect(await ledgerOf('dying')).toMatchObject({ produced: 1, trained: 1, difference: 0 });
  });
});
