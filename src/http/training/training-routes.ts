import type { Endpoint } from '../endpoint.ts';
import { createJsonBodies } from '../json-body.ts';
import { abandonBatch, abandonLeasedBatch } from './abandon-batch.ts';
import { acknowledgeBatch } from './acknowledge-batch.ts';
import { declarationSchemaEndpoint } from './declaration-schema.ts';
import { type Declare, declarePolicyEndpoint } from './declare-policy.ts';
import { leaseBatch } from './lease-batch.ts';
import { createPackedRows } from './packed-rows.ts';
import { registerPolicy } from './register-policy.ts';
import { renewLease } from './renew-lease.ts';
import { returnBatch } from './return-batch.ts';
import { rowsEndpoint } from './rows-endpoint.ts';
import type { TrainingWorld } from './training-endpoint.ts';

export type TrainingLeases = Pick<TrainingWorld, 'service' | 'notices'> & {
  /** Left out, trainings are declared by the programs that run here alone. */
  readonly declare?: Declare;
};

const ENDPOINTS = [
  ...[registerPolicy, leaseBatch, rowsEndpoint, renewLease],
  ...[acknowledgeBatch, returnBatch, abandonLeasedBatch, abandonBatch],
];

const BODIES = {
  limit: 1_048_576, // an acknowledgement with a thousand metrics is 50 KB
  together: 16 * 1_048_576,
  requests: 256, // most of them wait for a batch and hold nothing
  full: 'too many requests of trainers are in progress',
};

/** Returns the endpoints of trainers elsewhere: `/v1/training/…`. */
export function trainingRoutes(
  { declare, ...leases }: TrainingLeases,
  { db, blobs }: Pick<TrainingWorld, 'db' | 'blobs'>,
): readonly Endpoint[] {
  const world = { ...leases, db, blobs, packed: createPackedRows({ db, blobs }), bodies: createJsonBodies(BODIES) };
  return [
    ...(declare ? [declarePolicyEndpoint(world, declare), declarationSchemaEndpoint()] : []),
    ...ENDPOINTS.map((make) => make(world)),
  ];
}
