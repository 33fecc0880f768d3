import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { derivedId } from '../src/events/derived-id.ts';
import { EventBuilder } from '../src/testing/event-builder.ts';
import { givenEvents } from '../src/testing/given-events.ts';
import { recordBatch, recordGroup, recordLineage } from '../src/testing/record-training.ts';
import { openTestGraphql, type TestGraphql } from './testing/open-test-graphql.ts';

const POLICY = 'linear:stopped';
let api: TestGraphql;
beforeAll(async () => {
  api = await openTestGraphql();
});
afterAll(() => api.close());

test('an abandoned batch shows who abandoned it and why, and the account counts its samples separately', async () => {
  const builder = new EventBuilder('abandoned');
  const lineageId = derivedId('lineage', POLICY);
  recordLineage(builder, POLICY);
  const runId = builder.run('collect', { config: { training: { policyId: POLICY, channel: 'train' } } });
  const { batchId } = recordBatch(builder, POLICY, [recordGroup(builder, runId, 'a', { policyId: POLICY, rewards: [0, 1] })]);
  const lease = { lineageId, policyId: POLICY, batchId, leaseId: builder.id('lease'), fence: 1 };
  builder.record('BatchLeased', { ...lease, consumer: 'a', deadline: '2026-01-01T00:05:00.000Z' }, lineageId);
  const reason = 'its rows cannot be read';
  builder.record('BatchAbandoned', { ...lease, ordinal: 0, by: 'trainer', reason }, lineageId);
  await givenEvents(api.database.db, builder.events);
  const { data, errors } = await api.ask(`{ policy(id: "${POLICY}") {
    ledger { produced trained abandoned owed { planned leased } difference }
    discarded(by: TASK) { produced discarded groups reasons { reason samples } }
    batches(state: abandoned) { nodes { id state abandonment { by reason abandonedAt } update { version }
      leases { fence endedBy endReason } samples { state } } }
    planned: batches(state: planned) { totalCount } } }`);
  expect(errors).toBeUndefined();
  expect(data.policy).toEqual({
    ledger: { produced: 2, trained: 0, abandoned: 2, owed: { planned: 0, leased: 0 }, difference: 0 },
    discarded: [{ produced: 2, discarded: 2, groups: 1, reasons: [{ reason: 'abandoned', samples: 2 }] }],
    batches: {
      nodes: [
        {
          id: batchId,
          state: 'abandoned',
          update: null,
          abandonment: { by: 'trainer', reason, abandonedAt: expect.stringMatching(/Z$/) },
          leases: [{ fence: 1, endedBy: 'abandoned', endReason: reason }],
          samples: [{ state: 'abandoned' }, { state: 'abandoned' }],
        },
      ],
    },
    planned: { totalCount: 0 },
  });
});
