import { decode } from '../../events/codec.ts';
import { derivedId } from '../../events/derived-id.ts';
import { identityOf } from '../../events/envelope.ts';
import type { BlobRef } from '../../events/schemas/values.ts';
import type { Db } from '../../postgres/database.ts';
import { readBodiesOf } from '../../projections/journal/read-bodies.ts';
import { decodeLogProbs, type LogProbs } from '../rows/log-prob-file.ts';
import { type BlobReader, readBlob } from '../rows/read-blob.ts';

/** Reads what the update of a batch recorded of its sampled tokens; null where there is no update, or it recorded nothing. */
export async function readNewLogProbs(db: Db, blobs: BlobReader, batchId: string): Promise<LogProbs | null> {
  const made = await db
    .selectFrom('policyVersions')
    .select(['lineageId', 'version'])
    .where('batchId', '=', batchId)
    .executeTakeFirst();
  if (!made) return null;
  const event = { stream: made.lineageId, id: derivedId('PolicyUpdated', made.lineageId, made.version) };
  const body = (await readBodiesOf(db, [event])).get(identityOf(event));
  const reference = body === undefined ? null : referenceIn(body);
  if (reference === null) return null;
  const what = `the log-probs of version ${made.version}`;
  return decodeLogProbs(await readBlob(blobs, reference.blob, what), what);
}

/** Takes those of a step: `length` values of a sample, from a place on. Empty where the sample has fewer. */
export function ofStep({ values, borders }: LogProbs, sample: number, from: number, length: number): Float32Array {
  const [begin = 0, end = 0] = [borders[sample], borders[sample + 1]];
  return begin + from + length > end ? new Float32Array() : values.subarray(begin + from, begin + from + length);
}

function referenceIn(body: string): BlobRef | null {
  const decoded = decode(Buffer.from(body));
  return decoded.kind === 'event' && decoded.event.type === 'PolicyUpdated' ? (decoded.event.data.logProbs ?? null) : null;
}
