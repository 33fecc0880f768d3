import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing, writeSynced, writeWhole } from '../../blobs/whole-file.ts';
import { sha256Hex } from '../../digest/sha256.ts';
import type { EventLog, Extent, LogBatch, Offsets, StoredRecord } from '../../log/event-log.ts';
import { readRecords } from '../../log/read-records.ts';
import {
  type Backup,
  BackupUnusable,
  entryPath,
  noneIfMissing,
  partitionPath,
  type SegmentEntry,
  segmentsByPlace,
} from './backup-folder.ts';
import { decodeSegment, encodeSegment, sizeInSegment } from './segment.ts';

const SEGMENT_BYTES = 32 * 1024 * 1024; // before compression, and about the most of one
const WAITING_BYTES = 128 * 1024 * 1024; // of all partitions
const BATCH_LIMIT = 2_000;

/** How far the copy of the log is: records, and how many there are to copy. */
export type LogProgress = (copied: number, all: number) => void;

/** What is known of a partition: its segments, and the records behind them that are not written yet. */
interface Partition {
  readonly topic: string;
  readonly partition: number;
  readonly segments: SegmentEntry[];
  from: number;
  next: number;
  waiting: StoredRecord[];
  bytes: number;
}

/**
 * Copies the records between an earlier backup and the given ends into segments, and returns all segments. Segments that a killed
 * backup left continue the earlier one. @throws BackupUnusable when the log does not continue what the folder holds.
 */
export async function copyLog(
  log: EventLog,
  folder: string,
  {
    previous,
    ends,
    signal,
    progress,
  }: {
    readonly previous: Backup | null;
    readonly ends: Offsets;
    readonly signal: AbortSignal;
    readonly progress?: LogProgress;
  },
): Promise<readonly SegmentEntry[]> {
  const before = segmentsByPlace(previous?.entries ?? []);
  const partitions = new Map<string, Partition>();
  const ranges = new Map<string, Map<number, Extent>>();
  for (const [topic, topicEnds] of ends) {
    const extents = new Map<number, Extent>();
    ranges.set(topic, extents);
    for (const [partition, end] of topicEnds) {
      const place = `${topic}.${partition}`;
      const named = before.get(place) ?? [];
      const held = named.at(-1)?.to ?? 0;
      if (held > end) throw notContinued(folder, `${place} ends at ${end}, and the backup holds it up to ${held}`);
      const segments = [...named, ...(await leftSegments(folder, topic, partition, held, end))];
      const next = segments.at(-1)?.to ?? 0;
      partitions.set(place, { topic, partition, segments, from: next, next, waiting: [], bytes: 0 });
      extents.set(partition, { first: lastOf(segments)?.offset ?? next, next: end });
    }
  }
  const all = [...partitions.values()].reduce((sum, { topic, partition, next }) => sum + endOf(ends, topic, partition) - next, 0);
  let copied = 0;

  async function write(of: Partition): Promise<void> {
    const { topic, partition, waiting: records, from, next } = of;
    of.waiting = [];
    of.bytes = 0;
    of.from = next;
    if (from === next) return;
    const bytes = await encodeSegment(records);
    const entry = segmentOf({ topic, partition, from, to: next }, records, bytes);
    of.segments.push(entry);
    await writeWhole(join(folder, entryPath(entry)), (draft) => writeSynced(draft, bytes));
  }

  async function keep(batch: LogBatch): Promise<void> {
    const of = partitions.get(`${batch.topic}.${batch.partition}`);
    if (!of) return;
    const last = lastOf(of.segments);
    if (batch.from === last?.offset && of.waiting.length === 0) refuseOther(folder, batch, last);
    const records = batch.records.filter(({ offset }) => offset >= of.next);
    copied += Math.max(0, batch.next - of.next);
    of.next = Math.max(of.next, batch.next);
    for (const record of records) {
      of.waiting.push(record);
      of.bytes += sizeInSegment(record);
    }
    progress?.(copied, all);
    if (of.bytes >= SEGMENT_BYTES) return write(of);
    const waiting = [...partitions.values()].reduce((sum, { bytes }) => sum + bytes, 0);
    if (waiting < WAITING_BYTES) return;
    await write([...partitions.values()].reduce((a, b) => (b.bytes > a.bytes ? b : a)));
  }

  await readRecords(log, ranges, { name: 'backup', batchLimit: BATCH_LIMIT, signal, handle: keep });
  for (const partition of partitions.values()) await write(partition);
  return [...partitions.values()].flatMap(({ segments }) => segments.sort((a, b) => a.from - b.from));
}

function endOf(ends: Offsets, topic: string, partition: number): number {
  return ends.get(topic)?.get(partition) ?? 0;
}

function lastOf(segments: readonly SegmentEntry[]): SegmentEntry['last'] {
  return segments.findLast(({ last }) => last !== null)?.last ?? null;
}

function segmentOf(
  place: Pick<SegmentEntry, 'topic' | 'partition' | 'from' | 'to'>,
  records: readonly StoredRecord[],
  bytes: Uint8Array,
): SegmentEntry {
  const last = records.at(-1);
  return {
    kind: 'segment',
    ...place,
    records: records.length,
    last: last ? { offset: last.offset, sha256: sha256Hex(last.value) } : null,
    sha256: sha256Hex(bytes),
    bytes: bytes.byteLength,
  };
}

/** The record at the end of the backup is read again: a log that was replaced since has another one there. */
function refuseOther(folder: string, { topic, partition, records }: LogBatch, last: NonNullable<SegmentEntry['last']>): void {
  const [record] = records;
  if (record?.offset === last.offset && sha256Hex(record.value) === last.sha256) return;
  throw notContinued(folder, `${topic}.${partition}@${last.offset} is another record than the backup holds there`);
}

function notContinued(folder: string, how: string): BackupUnusable {
  return new BackupUnusable(`the log is not the one that ${folder} is a backup of: ${how}; back up into another folder`);
}

const NAME = /^(\d{1,16})-(\d{1,16})-([0-9a-f]{64})\.gz$/;

/** Finds the segments that continue a partition from an offset and that no manifest names: those of a backup that was killed. */
async function leftSegments(
  folder: string,
  topic: string,
  partition: number,
  held: number,
  end: number,
): Promise<readonly SegmentEntry[]> {
  const root = join(folder, partitionPath(topic, partition));
  const names = (await readdir(root).catch(noneIfMissing)).flatMap((name) => {
    const [, from, to, sha256] = NAME.exec(name) ?? [];
    return sha256 === undefined ? [] : [{ name, from: Number(from), to: Number(to), sha256 }];
  });
  const found: SegmentEntry[] = [];
  for (let next = held; next < end; ) {
    const left = names.find(({ from, to }) => from === next && to <= end);
    if (!left) break;
    const bytes = await readFile(join(root, left.name)).catch((error: unknown) => {
      if (isMissing(error)) return Buffer.alloc(0);
      throw error;
    });
    if (sha256Hex(bytes) !== left.sha256) break;
    found.push(segmentOf({ topic, partition, from: left.from, to: left.to }, await decodeSegment(bytes), bytes));
    next = left.to;
  }
  return found;
}
