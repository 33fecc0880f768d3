import { z } from 'zod';
import type { BlobStore } from '../../blobs/blob-store.ts';
import { type BlobRef, blobRef, id, name, sha256 } from '../../events/schemas/values.ts';
import type { Db } from '../../postgres/database.ts';
import type { Notices } from '../../postgres/notices.ts';
import type { Principal } from '../../postgres/principal.ts';
import { readForeignPayloads } from '../../projections/owners/read-owners.ts';
import { TTL_MS } from '../../training/leases/check-request.ts';
import type { LeaseService } from '../../training/leases/lease-service.ts';
import type { RefusalCode, Refused } from '../../training/leases/protocol.ts';
import type { createJsonBodies } from '../json-body.ts';
import { refusals } from '../openapi.ts';
import { json, type Reply, refuse } from '../reply.ts';
import type { PackedRows } from './packed-rows.ts';
import type { RowFormatHints } from './row-format-hints.ts';

/** What the endpoints of training share. */
export interface TrainingWorld {
  readonly service: LeaseService;
  /** Counts what the projections fold, so that a waiting lease request looks at once. */
  readonly notices?: Notices;
  readonly db: Db;
  readonly blobs: BlobStore;
  readonly packed: PackedRows;
  readonly asking: RowFormatHints;
  readonly bodies: ReturnType<typeof createJsonBodies>;
  /** Of acknowledgements, which may bring the log-probs of a batch. */
  readonly acks: ReturnType<typeof createJsonBodies>;
}

export const NEEDS = ['train'] as const;

export const leaseId = z.object({ id: id.describe('Id of the lease.') });
export const batchId = z.object({ id: id.describe('Id of the batch.') });
/** A name that the lease service keeps in a column. */
const NUL = '\\u0000'; // as JSON Schema writes it
export const serviceName = name.regex(new RegExp(`^[^${NUL}]*$`), 'must be without NUL');
export const fence = z.int().min(1).describe('Fence of the lease, which shows that it is not over.');
export const ttlMs = z
  .int()
  .min(TTL_MS.least)
  .max(TTL_MS.most)
  .describe('How long the lease lasts from now unless renewed, ms; 100 to one day.');
export const reason = z.string().max(10_000).describe('Why, in words.');
export const weights = sha256.describe('SHA-256 of the weights in lower-case hex.');
export const kept = blobRef
  .nullable()
  .describe('Where the weights are in the blob store of the server; null where the trainer has them.');
export const backend = serviceName.describe('What computes updates, by a name that the trainer chooses.');
export const head = z.object({
  version: z.int(),
  checkpointId: id,
  backend,
  weights,
  kept,
});

/** Refusals of an endpoint: those of its own, and those of every body in JSON. */
export const trainingRefusals = (of: Readonly<Record<number, string>>) =>
  refusals({
    400: 'The body is no JSON, or a field does not fit; `problems` names each.',
    413: 'The body is over 1 MiB.',
    415: 'Another Content-Type or Content-Encoding.',
    422: 'A field fits its schema and breaks a rule besides.',
    429: 'Too many requests of trainers: send again after Retry-After seconds.',
    ...of,
  });

const STATUS: Readonly<Record<RefusalCode, number>> = {
  invalid: 422,
  'unknown-policy': 404,
  'unknown-lease': 404,
  'unknown-batch': 404,
  'not-next': 409,
  'stale-fence': 409,
  'stale-base': 409,
  'version-conflict': 409,
  'already-acked': 409,
  'already-registered': 409,
};

/** Returns the reply to what the lease service decided; of a refusal the form of all refusals, with its own code. */
export function decided(answer: Refused | { readonly kind: string }): Reply {
  if (!('code' in answer)) return json(200, answer);
  const { code, message, remedy } = answer;
  return json(STATUS[code], { error: { code, message, remedy } });
}

/** Refuses weights that are said to be in the blob store and are not, or that only other projects brought there. */
export async function refuseMissing(
  { blobs, db }: Pick<TrainingWorld, 'blobs' | 'db'>,
  of: BlobRef | null,
  { keyId, project }: Principal,
): Promise<Reply | undefined> {
  if (of === null) return undefined;
  const foreign = keyId !== null && (await readForeignPayloads(db, [of.blob], [project])).has(of.blob);
  if (!foreign && (await blobs.has(of.blob))) return undefined;
  const remedy = 'keep the weights there first, or send kept: null';
  return refuse(422, `kept.blob: the blob store does not hold ${of.blob}`, remedy);
}
