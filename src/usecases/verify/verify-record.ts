import { BlobCorrupt, BlobMissing, openBlobStore } from '../../blobs/blob-store.ts';
import { textReader } from '../../blobs/read-text.ts';
import { blobReferences } from '../../events/blob-references.ts';
import { isEventType } from '../../events/catalogue.ts';
import { decode } from '../../events/codec.ts';
import type { Envelope } from '../../events/envelope.ts';
import { manifestHashOf } from '../../events/manifest-hash.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { readRecordedPartitions } from '../../postgres/log-identity.ts';
import { destroyedKeys, isForgotten } from '../../postgres/stream-keys.ts';
import { readBodiesOfType } from '../../projections/journal/read-bodies.ts';
import { readDividedStreams, readSharedIds } from '../../projections/journal/read-stream-topics.ts';
import { verifyChain } from '../../projections/journal-chain/verify-chain.ts';
import { checkPrompts, treesWithPrompts } from '../../projections/prompts/check-prompts.ts';
import { findMiscounted } from '../../projections/runs/find-miscounted.ts';
import { type AnchorFiles, compareWithAnchor, writeAnchor } from './anchor.ts';
import type { Fault, Verification } from './verification.ts';
import { verifyCheckpoints } from './verify-checkpoints.ts';
import { checkPlaces, type LogProgress, verifyLog, verifyLogRecords } from './verify-log-records.ts';
import { verifyFiles } from './verify-released-files.ts';
import { findDoubtfulRevisions } from './verify-revisions.ts';

const SHOWN = 50;
const BLOB = '"blob":"';
const SEALED_BLOBS = ',"blobs":["';

/**
 * Checks that the record is what was written: the hash chain of every partition of the journal, every blob against its name
 * (those that events refer to must be there: long texts, tokens, checkpoints), the chained manifests of all batches, checkpoints
 * with the weights in them, files of released datasets, with the manifests next to them, against their releases, and every prompt
 * against the digest of what was sent. The log, record by record, the journal and the read models must agree. With an anchor the
 * chains are compared with the heads that were signed before, and anchored again when nothing is at fault. Besides that it names
 * revisions that were mined from what the record speaks against, and event ids that several streams hold.
 */
export async function verifyRecord(
  platform: Platform,
  {
    files,
    signal,
    anchor,
    log = 'read',
    progress,
    logProgress,
  }: {
    readonly anchor?: AnchorFiles;
    /** Whether the records of the log are read and compared too, about as much work again as the journal. */
    readonly log?: 'read' | 'left out';
    readonly files: readonly string[];
    readonly signal: AbortSignal;
    readonly progress?: (events: number) => void;
    readonly logProgress?: LogProgress;
  },
): Promise<Verification> {
  const faults: Fault[] = [];
  let faulty = 0;
  const fault = (found: Fault) => {
    faulty++;
    if (faults.length < SHOWN) faults.push(found);
  };
  const referenced = new Set<string>();
  const sealed = new Map<string, Set<string>>(); // key → blobs of what it sealed
  const checkPlace = checkPlaces(await readRecordedPartitions(platform.database.db), fault);
  const chain = await verifyChain(platform.database.db, {
    signal,
    ...(progress ? { progress } : {}),
    visit: (row, topic, partition) => {
      checkPlace(row, topic, partition);
      const { body } = row;
      const event = body.includes(BLOB) || body.includes(SEALED_BLOBS) ? eventOf(body) : undefined;
      if (!event) return; // what is no event any more is named by the chain
      for (const { reference, part } of blobReferences(event)) if (part === 'typed') referenced.add(reference.blob);
      if (!event.sealed) return;
      const { key, blobs = [] } = event.sealed;
      sealed.set(key, new Set([...(sealed.get(key) ?? []), ...blobs]));
    },
  });
  const forgotten = await destroyedKeys(platform.database.db, [...sealed.keys()]);
  for (const [key, names] of sealed) if (!forgotten.has(key)) for (const name of names) referenced.add(name);
  faulty += chain.faulty - chain.faults.length;
  for (const { kind, place, eventId, columns } of chain.faults) {
    const where = columns.length > 0 ? `, column ${columns.join(', ')}` : '';
    fault({ what: 'event', kind, place: `${place} event ${eventId}${where}` });
  }
  const blobs = await verifyBlobs(platform, referenced, signal, fault);
  // What a program appended to the log by itself: their positions follow the order in which the topics were folded.
  for (const { stream, topics } of await readDividedStreams(platform.database.db))
    fault({ what: 'event', kind: 'renumbered', place: `stream ${stream} lies in the topics ${topics.join(' and ')}` });
  await verifyLog(platform, { isIntact: chain.faulty === 0 }, fault);
  const isRead = log === 'read' && platform.logFaults.length === 0; // what is lost or moved is named already
  const reading = { signal, ...(logProgress ? { progress: logProgress } : {}) };
  const records = isRead ? await verifyLogRecords(platform, reading, fault) : null;
  const batches = await verifyBatches(platform, fault);
  const checkpoints = await verifyCheckpoints(platform, signal, fault);
  const checked = await verifyFiles(platform, files, fault);
  const prompts = await verifyPrompts(platform, signal, fault);
  for (const { table, runId } of await findMiscounted(platform.database.db))
    fault({ what: 'read model', kind: 'changed', place: `${table} of run ${runId}` });
  const doubtful = await findDoubtfulRevisions(platform, signal);
  const doubts = { doubtful: doubtful.length, doubtfulRevisions: doubtful.slice(0, SHOWN) };
  if (anchor) await compareWithAnchor(platform, anchor, fault);
  const anchored = anchor && faulty === 0 ? await writeAnchor(platform, anchor, new Date().toISOString()) : null;
  const counts = { anchored, events: chain.events, records, blobs, batches, checkpoints, files: checked, prompts };
  const shared = await readSharedIds(platform.database.db);
  const foreign = { foreign: shared.length, foreignIds: shared.slice(0, SHOWN) };
  return { ...counts, faulty, faults, ...foreign, ...doubts };
}

function eventOf(body: string): Envelope | undefined {
  try {
    const event: unknown = JSON.parse(body);
    const isEvent = typeof event === 'object' && event !== null && 'type' in event && isEventType(String(event.type));
    return isEvent ? (event as Envelope) : undefined; // its other fields are compared by the chain
  } catch {
    return undefined;
  }
}

async function verifyBlobs(
  { objects }: Platform,
  referenced: ReadonlySet<string>,
  signal: AbortSignal,
  fault: (found: Fault) => void,
): Promise<number> {
  const blobs = openBlobStore(objects);
  const names = new Set(referenced);
  for await (const { name } of blobs.list()) names.add(name);
  for (const name of [...names].sort()) {
    signal.throwIfAborted();
    try {
      await blobs.get(name);
    } catch (error) {
      if (error instanceof BlobMissing) fault({ what: 'blob', kind: 'missing', place: name });
      else if (error instanceof BlobCorrupt) fault({ what: 'blob', kind: 'changed', place: name });
      else throw error;
    }
  }
  return names.size;
}

/** Computes the manifest of every planned batch again from its event, and follows the chain of each lineage. */
async function verifyBatches({ database }: Platform, fault: (found: Fault) => void): Promise<number> {
  const bodies = await readBodiesOfType(database.db, 'BatchPlanned');
  const heads = new Map<string, string>();
  const seen = new Set<string>();
  for (const body of bodies) {
    const decoded = decode(Buffer.from(body));
    // the chain of the journal names what is no event
    if (decoded.kind !== 'event' || decoded.event.type !== 'BatchPlanned') continue;
    const { manifestHash, ...manifest } = decoded.event.data;
    if (seen.has(manifest.batchId)) continue; // a second plan of the same batch is refused by the pool
    seen.add(manifest.batchId);
    if (manifestHashOf(manifest) !== manifestHash) fault({ what: 'batch', kind: 'changed', place: manifest.batchId });
    else if ((heads.get(manifest.lineageId) ?? null) !== manifest.previousHash)
      fault({ what: 'batch', kind: 'unchained', place: manifest.batchId });
    heads.set(manifest.lineageId, manifestHash);
  }
  return seen.size;
}

/** Puts every recorded prompt together again and compares its digest with the one that was recorded when it was sent. */
async function verifyPrompts({ database, blobs }: Platform, signal: AbortSignal, fault: (found: Fault) => void): Promise<number> {
  const text = textReader(blobs);
  const payloads = {
    text: ({ blob }: { readonly blob: string }) => text(blob),
    bytes: ({ blob }: { readonly blob: string }) => blobs.get(blob),
  };
  let prompts = 0;
  for await (const treeId of treesWithPrompts(database.db)) {
    signal.throwIfAborted();
    if (await isForgotten(database.db, treeId)) continue; // what is left of it cannot be put together, which is no fault
    for (const checked of await checkPrompts(database.db, treeId, payloads)) {
      prompts++;
      if (checked.fault !== null) fault({ what: 'prompt', kind: 'changed', place: `${checked.id}: ${checked.fault}` });
    }
  }
  return prompts;
}
