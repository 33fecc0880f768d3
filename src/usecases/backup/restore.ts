import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { openBlobStore } from '../../blobs/blob-store.ts';
import type { ObjectStore } from '../../blobs/object-store.ts';
import { copyWhole } from '../../blobs/whole-file.ts';
import type { EventLog, StoredRecord } from '../../log/event-log.ts';
import { formatPosition } from '../../log/position.ts';
import { readRecords } from '../../log/read-records.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { Db } from '../../postgres/database.ts';
import { keyWrapping } from '../../postgres/key-wrapping.ts';
import { beginRestoration, finishRestoration, RestoreUnfinished, readRestorations } from '../../postgres/restorations.ts';
import { restoreRows } from '../../postgres/tables-beside-log.ts';
import { readReferencedBlobs } from '../../projections/forgetting/read-blob-references.ts';
import { forEachOf } from '../../runtime/limit.ts';
import { makeFolder } from '../../runtime/make-folder.ts';
import { torchFolder } from '../../training/backends/torch/torch-plan.ts';
import { type Backup, type BackupEntry, entryPath, type SegmentEntry, segmentsByPlace, sizeOfFile } from './backup-folder.ts';
import type { LogProgress } from './copy-log.ts';
import { decodeSegment } from './segment.ts';

/** The installation cannot be restored into. */
export class CannotRestore extends Error {
  override readonly name = 'CannotRestore';
}

const EMPTY =
  'restore into an empty installation: another ESPALIER_HOME, or another DATABASE_URL, another ESPALIER_BLOBS or ESPALIER_OBJECTS and, with Kafka, another ESPALIER_KAFKA_PREFIX';

/**
 * Prepares an installation that is being opened for a restore of a backup: refuses one that holds other records, makes the topics
 * with the partitions that they had, and notes that the restore began, so that nothing else opens it until its end. An
 * installation into which this backup was restored before, in part or whole, passes. @throws CannotRestore, RestoreUnfinished.
 */
export async function prepareRestore(
  backup: Backup,
  {
    db,
    log,
    objects,
    gaps,
  }: { readonly db: Db; readonly log: EventLog; readonly objects: ObjectStore; readonly gaps: 'kept' | 'refused' },
): Promise<void> {
  const { folder, sha256, manifest, position, entries } = backup;
  const restorations = await readRestorations(db);
  const state = restorations.get(sha256);
  if (state === 'finished') return;
  if (state === undefined && [...restorations.values()].includes('begun')) throw new RestoreUnfinished();
  await refuseMissingMasterKey(backup);
  const extents = await log.extents([...position.keys()]);
  const records = [...extents.values()]
    .flatMap((partitions) => [...partitions.values()])
    .reduce((sum, { next }) => sum + next, 0);
  if (state === undefined && records > 0) throw new CannotRestore(`this installation holds ${records} records; ${EMPTY}`);
  if (state === undefined) await refuseOthersBlobs(objects);
  for (const [topic, partitions] of extents) {
    const due = position.get(topic)?.size;
    if (partitions.size !== due)
      throw new CannotRestore(`the topic ${topic} has ${partitions.size} partitions, and ${due} in the backup; ${EMPTY}`);
  }
  const gap =
    gaps === 'kept' ? undefined : entries.find((entry) => entry.kind === 'segment' && entry.to - entry.from !== entry.records);
  if (gap)
    throw new CannotRestore(
      `${join(folder, entryPath(gap))} leaves offsets empty (a program wrote to Kafka by transactions), which Kafka cannot restore; unset KAFKA_BROKERS and restore into the log of Postgres`,
    );
  await beginRestoration(db, sha256, manifest.installation);
  for (const [topic, partitions] of position) if (!extents.has(topic)) await log.ensureTopics([topic], partitions.size);
}

/** Two installations that share blobs delete those of each other: what only one refers to. @throws CannotRestore. */
async function refuseOthersBlobs(objects: ObjectStore): Promise<void> {
  for await (const _ of openBlobStore(objects).list())
    throw new CannotRestore(`${objects.place} holds blobs, which another installation may refer to; ${EMPTY}`);
}

/** Refuses where a master key encrypts the keys in the backup, and this process has not that one. @throws CannotRestore. */
async function refuseMissingMasterKey(backup: Backup): Promise<void> {
  for (const entry of backup.entries) {
    if (entry.kind !== 'table' || entry.table !== 'stream_keys') continue;
    for (const row of await readRows(backup, entry)) {
      const { secret, wrapped_by: by } = JSON.parse(row) as { readonly secret: unknown; readonly wrapped_by: string | null };
      if (secret === null || by === null || by === keyWrapping()?.name) continue;
      throw new CannotRestore(
        `a master key (${by}) encrypts the keys in this backup; name its file in ESPALIER_MASTER_KEY_FILE, which no backup contains`,
      );
    }
  }
}

/** Whether the backup was restored, or had been before: then only blobs that the record needs and the store lost are put back. */
export type Restored = { readonly kind: 'restored' } | { readonly kind: 'restored-before'; readonly blobsPutBack: number };

/**
 * Writes a backup, whose files were compared with their digests, into an installation that `prepareRestore` let pass: payloads,
 * checkpoints, tables, and the log at its offsets and times. What a restore that was killed has written stays. The read models
 * are not written: projections fold them. @throws CannotRestore, LogError when other records are in the way.
 */
export async function restoreBackup(
  platform: Platform,
  backup: Backup,
  { signal, progress }: { readonly signal: AbortSignal; readonly progress?: LogProgress },
): Promise<Restored> {
  const { database, log } = platform;
  if ((await readRestorations(database.db)).get(backup.sha256) === 'finished') {
    const referenced = await readReferencedBlobs(database.db); // what was forgotten since stays away
    const isNeeded = (entry: BackupEntry) => entry.kind === 'blob' && referenced.has(entry.sha256);
    return { kind: 'restored-before', blobsPutBack: await restoreFiles(platform, backup, isNeeded, signal) };
  }
  await restoreFiles(platform, backup, () => true, signal);
  await restoreLog(log, backup, signal, progress);
  for (const entry of backup.entries)
    if (entry.kind === 'table')
      for (const rows of chunksOf(await readRows(backup, entry), ROWS)) await restoreRows(database.db, entry.table, rows);
  await finishRestoration(database.db, backup.sha256);
  return { kind: 'restored' };
}

const ROWS = 5_000;
const FILES = 8; // at once
const PARTITIONS = 3; // at once: as many as the log in Postgres has connections

/** Writes the payloads and checkpoints that are missing; returns how many blobs were. */
async function restoreFiles(
  { blobs, config }: Platform,
  { folder, entries }: Backup,
  isWanted: (entry: BackupEntry) => boolean,
  signal: AbortSignal,
): Promise<number> {
  const checkpoints = torchFolder(config);
  if (entries.some(({ kind }) => kind === 'checkpoint')) await makeFolder(checkpoints);
  let missing = 0;
  await forEachOf(entries.filter(isWanted), FILES, async (entry) => {
    signal.throwIfAborted();
    const path = join(folder, entryPath(entry));
    if (entry.kind === 'blob' && !(await blobs.has(entry.sha256))) {
      await blobs.put(await readFile(path), '');
      missing++;
    }
    if (entry.kind !== 'checkpoint') return;
    const target = join(checkpoints, entry.name);
    if ((await sizeOfFile(target)) !== entry.bytes) await copyWhole(path, target);
  });
  return missing;
}

async function restoreLog(log: EventLog, backup: Backup, signal: AbortSignal, progress?: LogProgress): Promise<void> {
  const { position, manifest, entries } = backup;
  const extents = await log.extents([...position.keys()]);
  let restored = 0;
  const restore = async (segments: readonly SegmentEntry[]): Promise<void> => {
    const [{ topic, partition } = { topic: '', partition: 0 }] = segments;
    const end = extents.get(topic)?.get(partition)?.next ?? 0;
    const held = segments.find(({ from, to }) => from < end && end <= to);
    if (held) await compareEnd(log, backup, held, end, signal);
    for (const segment of segments) {
      signal.throwIfAborted();
      const { from, to } = segment;
      const records = to <= end ? [] : (await readSegment(backup, segment)).filter(({ offset }) => offset >= end);
      if (to > end) await log.restore({ topic, partition, from: Math.max(from, end), next: to, records });
      restored += segment.records;
      progress?.(restored, manifest.records);
    }
  };
  await forEachOf(segmentsByPlace(entries).values(), PARTITIONS, restore);
  const ends = formatPosition(await log.ends([...position.keys()]));
  if (ends !== manifest.position)
    throw new CannotRestore(
      `the log ends at ${ends}, the backup at ${manifest.position}: something else wrote to it meanwhile; ${EMPTY}`,
    );
}

/** Where a killed restore left a partition, the last record must be that of the backup. @throws CannotRestore. */
async function compareEnd(log: EventLog, backup: Backup, segment: SegmentEntry, end: number, signal: AbortSignal): Promise<void> {
  const { topic, partition } = segment;
  const last = (await readSegment(backup, segment)).findLast(({ offset }) => offset < end);
  if (!last) return;
  const record = await readOne(log, topic, partition, { first: last.offset, next: end }, signal);
  if (record && Buffer.compare(record.value, last.value) === 0) return;
  throw new CannotRestore(`${topic}.${partition}@${last.offset} is another record than in the backup; ${EMPTY}`);
}

async function readSegment({ folder }: Backup, segment: SegmentEntry): Promise<readonly StoredRecord[]> {
  return decodeSegment(await readFile(join(folder, entryPath(segment))));
}

async function readOne(
  log: EventLog,
  topic: string,
  partition: number,
  range: { readonly first: number; readonly next: number },
  signal: AbortSignal,
): Promise<StoredRecord | undefined> {
  const extents = (await log.extents([topic])).get(topic) ?? new Map();
  const ranges = new Map([...extents].map(([p, { next }]) => [p, p === partition ? range : { first: next, next }]));
  let found: StoredRecord | undefined;
  await readRecords(log, new Map([[topic, ranges]]), {
    name: 'restore',
    batchLimit: 1,
    signal,
    async handle({ records }) {
      found ??= records[0];
    },
  });
  return found;
}

async function readRows(
  { folder }: Backup,
  entry: Extract<Backup['entries'][number], { kind: 'table' }>,
): Promise<readonly string[]> {
  const text = await promisify(gunzip)(await readFile(join(folder, entryPath(entry))));
  return text.toString('utf8').split('\n').slice(0, -1);
}

function* chunksOf<T>(all: readonly T[], size: number): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += size) yield all.slice(at, at + size);
}
