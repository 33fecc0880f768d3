import { TOPICS, type Topic } from '../../events/catalogue.ts';
import { type Envelope, stampOf } from '../../events/envelope.ts';
import type { LogBatch, StoredRecord } from '../../log/event-log.ts';
import { partitionForKey } from '../../log/partition-for-key.ts';
import { readRecords } from '../../log/read-records.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { Db } from '../../postgres/database.ts';
import { readKeysOfPrincipals } from '../../postgres/keys.ts';
import { owns, principalOf } from '../../postgres/principal.ts';
import { compareReadModels } from '../../projections/compare-read-models.ts';
import { chainDigest } from '../../projections/journal-chain/chain.ts';
import type { JournalRow } from '../../projections/journal-chain/mismatched-columns.ts';
import { type ChainedRecords, readChainEnds, readChained, readSetAside } from '../../projections/journal-chain/read-chained.ts';
import { readHoles } from '../../projections/journal-chain/read-holes.ts';
import { nonOwnerScope } from '../../projections/owners/non-owner-scope.ts';
import { type Owner, readOwners } from '../../projections/owners/read-owners.ts';
import type { Fault } from './verification.ts';

const ROWS_SHOWN = 20; // of each table

/**
 * Names how the log, the journal and the read models do not agree: topics that changed or lost records, offsets that were passed
 * without a trace, and rows without events or events without rows. Read models are with an intact journal only: what was changed in it is named already.
 */
export async function verifyLog(
  platform: Platform,
  journal: { readonly isIntact: boolean },
  fault: (found: Fault) => void,
): Promise<void> {
  const { database, log, logFaults } = platform;
  const { db } = database;
  for (const { detail } of logFaults) fault({ what: 'log', kind: 'missing', place: detail });
  const extents = await log.extents(TOPICS);
  for (const { topic, partition, from, to } of await readHoles(db)) {
    const end = extents.get(topic)?.get(partition)?.next ?? 0;
    const place = `${topic}.${partition} from ${from} to ${to}`;
    if (from < end) fault({ what: 'event', kind: 'missing', place: `${place}: the log has records that were never folded` });
  }
  if (!journal.isIntact) return;
  for (const { table, kind, id, projection } of await compareReadModels(db, ROWS_SHOWN))
    fault({ what: 'read model', kind, place: `${projection}: ${table} ${id}` });
}

/** Returns a check of every event: whether it is in the partition that its stream chooses among those recorded. */
export function checkPlaces(recorded: ReadonlyMap<string, number>, fault: (found: Fault) => void) {
  return ({ offset, eventId, stream }: JournalRow, topic: string, partition: number): void => {
    const count = recorded.get(topic);
    if (count === undefined || partitionForKey(stream, count) === partition) return;
    const place = `${topic}.${partition}@${offset} event ${eventId}`;
    fault({
      what: 'event',
      kind: 'moved',
      place: `${place}: stream ${stream} does not belong there by the ${count} partitions recorded`,
    });
  };
}

const BATCH_LIMIT = 2_000; // with the bytes of a fetch that bounds what is in memory

/** How far the reading of the log is: records, and how many there are to read. */
export type LogProgress = (read: number, all: number) => void;

/**
 * Reads every record of the log that was folded and compares it with what the database remembers of its place: the digest of the
 * chain speaks for the bytes, the row for the time at which the log took it, the quarantine for what was set aside. A log that
 * was rewritten in place, with the same ends and times, is seen here. Names events of keys that neither own their stream nor may
 * add to it as well. Returns how many records were read.
 */
export async function verifyLogRecords(
  { log, database: { db } }: Pick<Platform, 'log' | 'database'>,
  { signal, progress }: { readonly signal: AbortSignal; readonly progress?: LogProgress },
  fault: (found: Fault) => void,
): Promise<number> {
  const [ends, extents] = [await readChainEnds(db), await log.extents(TOPICS)];
  const ranges = new Map(
    [...extents].map(([topic, partitions]) => [
      topic,
      new Map(
        [...partitions].map(([partition, { first, next }]) => {
          const end = Math.min(next, ends.get(topic)?.get(partition) ?? 0);
          return [partition, { first: Math.min(first, end), next: end }];
        }),
      ),
    ]),
  );
  const all = [...ranges.values()]
    .flatMap((partitions) => [...partitions.values()])
    .reduce((sum, { first, next }) => sum + next - first, 0);
  let read = 0;

  async function compare(batch: LogBatch): Promise<void> {
    for (const found of await compareRun(batch)) fault(found);
    for (const found of await foreignEvents(db, batch.topic, batch.partition, batch.records)) fault(found);
    read += batch.next - batch.from;
    progress?.(read, all);
  }

  async function compareRun({ topic, partition, from, next, records }: LogBatch): Promise<readonly Fault[]> {
    const { entries, receivedBefore, requeued } = await readChained(db, topic, partition, from, next);
    const unchained = records.flatMap(({ offset }) => (entries.has(offset) ? [] : [offset]));
    const setAside = await readSetAside(db, topic, partition, unchained);
    const found: Fault[] = [];
    const name = (kind: Fault['kind'], offset: number, what: string) =>
      found.push({ what: 'log', kind, place: `${topic}.${partition}@${offset} ${what}` });
    const seen = new Set(records.map(({ offset }) => offset));
    for (const [offset, { eventId }] of entries)
      if (!seen.has(offset)) name('missing', offset, `event ${eventId}: the log no longer holds it`);
    let received = receivedBefore;
    for (const record of records) {
      const { offset } = record;
      const chained = entries.get(offset);
      if (chained) {
        const off = differenceOf(record, chained);
        if (off !== null) name('changed', offset, `event ${chained.eventId}: ${off}`);
        const kept = chained.row ? chained.row.receivedAt : (requeued.get(offset) ?? null);
        if (kept === null) continue; // nobody asked the log for the time when it was folded, or no row is kept of it
        const due = Math.max(record.receivedAt ?? kept, received ?? kept);
        if (kept !== due && off === null)
          name(
            'changed',
            offset,
            `event ${chained.eventId}: the log took it at ${timeOf(due)}, the journal says ${timeOf(kept)}`,
          );
        received = kept;
      } else {
        const bytes = setAside.get(offset);
        if (!bytes) name('foreign', offset, `${said(record)}: the journal neither holds it nor set it aside`);
        else if (!bytes.equals(record.value)) name('changed', offset, 'was set aside with other bytes than the log holds');
      }
    }
    return found;
  }

  await readRecords(log, ranges, { name: 'verify', batchLimit: BATCH_LIMIT, signal, handle: compare });
  return read;
}

/** Describes what a record of the log has that the chain does not; null when its bytes are those that were chained. */
function differenceOf(record: StoredRecord, { before, digest, eventId, row }: ChainedRecords): string | null {
  if (Buffer.compare(chainDigest(before, record.offset, record.value), digest) === 0) return null;
  const { id, stream } = headOf(record);
  if (id !== undefined && id !== eventId) return `the log holds event ${id} in its place`;
  if (stream !== undefined && row && stream !== row.stream)
    return `the log holds it in stream ${stream}, the journal in ${row.stream}`;
  return 'the log holds other content than was folded';
}

function said(record: StoredRecord): string {
  const { id } = headOf(record);
  return id === undefined ? 'a record that is no event' : `event ${id}`;
}

function headOf({ value }: StoredRecord): { readonly id?: string; readonly stream?: string } {
  try {
    const { id, stream } = JSON.parse(Buffer.from(value).toString('utf8')) as Record<string, unknown>;
    return { ...(typeof id === 'string' ? { id } : {}), ...(typeof stream === 'string' ? { stream } : {}) };
  } catch {
    return {};
  }
}

function timeOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

const BY_KEY = '"principal":"key:';
// Segments are named by their content, and who leases batches of a lineage need not be who declared it.
const UNOWNED: ReadonlySet<string> = new Set(['images', 'training']);

/**
 * Returns, as faults, the events of records that a key appended to a stream of another owner, as the endpoints accept none: those
 * that are no judgement, of keys without the scope `admin` that replace no owner, and those of another project.
 */
async function foreignEvents(
  db: Db,
  topic: string,
  partition: number,
  records: readonly StoredRecord[],
): Promise<readonly Fault[]> {
  if (UNOWNED.has(topic)) return [];
  const byKeys = records.flatMap((record) => eventByKey(record) ?? []);
  if (byKeys.length === 0) return [];
  const streams = byKeys.map(({ event }) => event.stream);
  const owners = await readOwners(db, topic as Topic, streams); // the log is subscribed to topics of the catalogue
  const suspects = byKeys.flatMap(({ offset, event }) => {
    const owner = owners.get(event.stream);
    return owner && isOfAnother(event, owner) ? [{ offset, event, owner, by: stampOf(event) }] : [];
  });
  if (suspects.length === 0) return [];
  const keys = await readKeysOfPrincipals(db, [...new Set(suspects.map(({ by }) => by.principal))]);
  return suspects.flatMap(({ offset, event, owner, by }): readonly Fault[] => {
    const key = keys.get(by.principal);
    const may = key && (key.scopes.includes('admin') || owns(principalOf(key), owner.principal));
    if (owner.project === by.project && may) return [];
    const whose = `of ${owner.principal} in project ${owner.project}`;
    const place = `${topic}.${partition}@${offset} event ${event.id}: ${event.type} by ${by.principal} in project ${by.project}`;
    return [{ what: 'event', kind: 'foreign', place: `${place}, in the stream ${event.stream} ${whose}` }];
  });
}

type Head = Pick<Envelope, 'id' | 'type' | 'stream' | 'principal' | 'project'> & {
  readonly data: object;
};

/** Reads the event of a record that a key appended; what is no event is named elsewhere. */
function eventByKey({ offset, value }: StoredRecord): { readonly offset: number; readonly event: Head } | null {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (!bytes.includes(BY_KEY)) return null; // nearly all records of an installation of one user
  try {
    const event = JSON.parse(bytes.toString('utf8')) as Partial<Head> | null;
    const { id, stream, type, data, principal } = event ?? {};
    if (typeof id !== 'string' || typeof stream !== 'string' || typeof type !== 'string' || !data) return null;
    return principal?.startsWith('key:') ? { offset, event: { ...event, id, stream, type, data } as Head } : null;
  } catch {
    return null;
  }
}

function isOfAnother(event: Head, owner: Owner): boolean {
  const by = stampOf(event);
  if (owner.project !== by.project) return true;
  return owner.principal !== by.principal && nonOwnerScope(event) === null;
}
