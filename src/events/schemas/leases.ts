import { z } from 'zod';
import { batchId, batchOrdinal, lineage } from './training.ts';
import { count, counter, eventData, id, name } from './values.ts';

const lease = {
  ...lineage,
  batchId,
  leaseId: id.describe('UUID of the lease, derived from the batch and the fence.'),
  fence: counter.describe(
    'Fence of the lease, which grows with every lease of the batch; requests with an older fence are refused.',
  ),
} as const;

export const batchLeased = eventData('A consumer leased a batch: it may train on it until the deadline.', {
  ...lease,
  consumer: name.describe('Name of the consumer.'),
  deadline: z.iso.datetime({ precision: 3 }).describe('Time at which the lease expires, as ISO 8601 in UTC with milliseconds.'),
});

export const leaseExpired = eventData('A lease expired without an update; the batch can be leased again.', lease);

export const batchReturned = eventData('A consumer returned a batch without an update; the batch can be leased again.', {
  ...lease,
  reason: z.string().max(10_000).describe('Reason that the consumer gave.'),
});

/** Once per batch. */
export const batchAcked = eventData('A consumer acknowledged a batch: it was trained and made a new version.', {
  ...lease,
  version: count.describe('Version that the update made.'),
  checkpointId: id.describe('UUID of the checkpoint that holds the version.'),
});

/** Once per batch, and never one that was trained: it produces no version, and the next batch is trained on the same base. */
export const batchAbandoned = eventData('A batch was abandoned: it will never be trained.', {
  ...lineage,
  batchId,
  ordinal: batchOrdinal,
  by: z.enum(['trainer', 'operator']).describe('Who abandoned it: the trainer, because its rows cannot be read, or an operator.'),
  reason: z.string().max(10_000).describe('Reason for the abandonment.'),
  leaseId: id.nullable().describe('UUID of the lease that ended with the batch; null when it was not leased.'),
  fence: counter.nullable().describe('Fence of that lease; null when the batch was not leased.'),
});
