import type { Stamp } from '../../events/envelope.ts';
import type { EventLog } from '../../log/event-log.ts';
import type { Principal } from '../../postgres/principal.ts';
import { owners } from '../../projections/owners/owners.ts';
import { openCache } from '../../runtime/cache.ts';
import { caughtUp } from '../caught-up.ts';
import type { Endpoint } from '../endpoint.ts';
import { createJsonBodies } from '../json-body.ts';
import { abandonBatch, abandonLeasedBatch } from './abandon-batch.ts';
import { acknowledgeBatch } from './acknowledge-batch.ts';
import { declarationSchemaEndpoint } from './declaration-schema.ts';
import { type Declare, declarePolicyEndpoint } from './declare-policy.ts';
import { leaseBatch } from './lease-batch.ts';
import { ofProject } from './of-project.ts';
import { createPackedRows, type PackedRows } from './packed-rows.ts';
import { registerPolicy } from './register-policy.ts';
import { renewLease } from './renew-lease.ts';
import { returnBatch } from './return-batch.ts';
import { openRowFormatHints, type RowFormatHints } from './row-format-hints.ts';
import { rowsEndpoint } from './rows-endpoint.ts';
import type { TrainingWorld } from './training-endpoint.ts';

export type TrainingLeases = Pick<TrainingWorld, 'service' | 'notices'> & {
  /** Left out, rows are kept for as long as there is room. */
  readonly packed?: PackedRows;
  /** Given where batches are packed before they are leased. */
  readonly asking?: RowFormatHints;
  /** Left out, trainings are declared by the programs that run here alone. */
  readonly declare?: Declare;
  /** The same for who shows a key: what it decides is stamped with that. Left out, it is stamped as what is decided here. */
  readonly as?: (stamp: Stamp) => Pick<TrainingLeases, 'service' | 'declare'>;
};

const ENDPOINTS = [
  ...[registerPolicy, leaseBatch, rowsEndpoint, renewLease],
  ...[acknowledgeBatch, returnBatch, abandonLeasedBatch, abandonBatch],
];

const BODIES = {
  limit: 1_048_576,
  together: 16 * 1_048_576,
  requests: 256, // most of them wait for a batch and hold nothing
  full: 'too many requests of trainers are in progress',
};

const ACKS = {
  limit: 64 * 1_048_576, // log-probs of 12 million tokens
  together: 128 * 1_048_576,
  requests: 64,
  full: 'too many acknowledgements are in progress',
};

interface TrainingOptions extends Pick<TrainingWorld, 'db' | 'blobs'> {
  readonly log: Pick<EventLog, 'ends'>;
  readonly catchUpMs?: number;
}

/** Returns the endpoints of trainers elsewhere: `/v1/training/…`. */
export function trainingRoutes(
  { declare, packed: given, asking = openRowFormatHints(), ...leases }: TrainingLeases,
  { db, log, blobs, catchUpMs }: TrainingOptions,
): readonly Endpoint[] {
  const packed = given ?? createPackedRows({ db, blobs });
  const world = { ...leases, db, blobs, packed, asking, bodies: createJsonBodies(BODIES), acks: createJsonBodies(ACKS) };
  const cache = openCache<readonly Endpoint[] & object>({ max: 1_000 });
  const endpointsOf = ({ principal, project }: Principal): readonly Endpoint[] => {
    const key = `${principal} ${project}`;
    const found = cache.get(key) ?? endpoints({ ...world, ...leases.as?.({ principal, project }) }, declare);
    cache.set(key, found);
    return found;
  };
  const catchUp = catchUpMs === undefined ? { db, log } : { db, log, catchUpMs };
  const ownersFolded = () => caughtUp(catchUp, owners, ['training']);
  const own = endpoints(world, declare);
  return own.map((each, index) => (each.needs === 'any-key' ? each : ofProject(each, index, { db, ownersFolded, endpointsOf })));
}

function endpoints(
  { declare, ...world }: TrainingWorld & { readonly declare?: Declare },
  otherwise: Declare | undefined,
): readonly Endpoint[] {
  const declaring = declare ?? otherwise;
  return [
    ...(declaring ? [declarePolicyEndpoint(world, declaring), declarationSchemaEndpoint()] : []),
    ...ENDPOINTS.map((make) => make(world)),
  ];
}
