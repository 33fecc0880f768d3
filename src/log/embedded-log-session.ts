import { copyBinary } from '../postgres/copy-binary-reader.ts';
import { connect } from '../postgres/pool.ts';
import { limitOf } from '../runtime/limit.ts';
import type { LogTopic } from './embedded-log-topics.ts';
import type { StoredRecord } from './event-log.ts';

/**
 * One membership of a group: a connection of its own and the advisory locks that it holds. A lock on (group, partition) makes it
 * the one reader of that partition, a shared lock on (group, -topic) one of the members that share the topic. The server ends the
 * connection, and with it the locks, when the member is silent for longer than its lease: a cursor is written on the connection
 * that holds the lock, so that what a replaced member writes late is refused.
 */
export interface Session {
  readonly client: Client;
  readonly groupId: number;
  /** The server process of the connection, by which the members of a group know each other. */
  readonly pid: number;
  /** Sends a query when those before it are answered. */
  readonly query: <Row extends object>(text: string, values?: unknown[]) => Promise<{ readonly rows: readonly Row[] }>;
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
}
type Client = Awaited<ReturnType<typeof connect>>;

/**
 * The channel of the log. Its payload is the ids of the partitions that grew, the empty string for any, or `group N` when a member
 * of a group came, left or gave partitions back.
 */
export const CHANNEL = 'espalier_log';

export const GROUP = 'group ';

export function groupPayload(groupId: number): string {
  return `${GROUP}${groupId}`;
}

/** Connects, finds the group or makes it, and takes part in the sharing of the topics. */
export async function openSession(url: string, group: string, topics: readonly LogTopic[], leaseMs: number): Promise<Session> {
  const client = await connect(url, `espalier log ${group}`.slice(0, 63));
  client.on('error', () => undefined); // the end of the connection is seen by `end`, and by the next query
  try {
    const inTurn = limitOf(1);
    const query: Session['query'] = (text, values) => inTurn(() => client.query(text, values));
    // A cursor that a power cut takes back means a redelivery, which readers must bear anyhow. The second time limit is for a
    // process that is stopped while the server sends to it.
    for (const setting of [`idle_session_timeout = ${leaseMs}`, `tcp_user_timeout = ${leaseMs}`, 'synchronous_commit = off'])
      await query(`set ${setting}`);
    await query(`listen ${CHANNEL}`);
    await query('insert into log_groups (name) values ($1) on conflict (name) do nothing', [group]);
    const { rows } = await query<{ group_id: number; pid: number }>(
      `select group_id, pg_backend_pid() as pid, pg_advisory_lock_shared(group_id, -topic_id)
       from log_groups, unnest($2::int[]) as topic_id where name = $1`,
      [group, topics.map(({ topicId }) => topicId)],
    );
    const [joined] = rows;
    if (!joined) throw new TypeError(`the group ${group} was made and does not exist`);
    const session = { client, groupId: joined.group_id, pid: joined.pid, query, inTurn };
    await notifyMembers(session);
    return session;
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
}

export interface GroupStatus {
  /** Topic id → the members that share it, each by its pid. */
  readonly members: ReadonlyMap<number, readonly number[]>;
  /** Partition ids that some member reads. */
  readonly owned: ReadonlySet<number>;
}

/** Reads who is in the group and what they read. */
export async function readGroupStatus({ query, groupId }: Session): Promise<GroupStatus> {
  const { rows } = await query<{ key: number; pid: number }>(
    `select objid::int8::bit(32)::int4 as key, pid from pg_locks
     where locktype = 'advisory' and classid = $1 and objsubid = 2 and granted
       and database = (select oid from pg_database where datname = current_database())
     order by pid`,
    [groupId],
  );
  const members = new Map<number, number[]>();
  for (const { key, pid } of rows) if (key < 0) members.set(-key, [...(members.get(-key) ?? []), pid]);
  return { members, owned: new Set(rows.flatMap(({ key }) => (key > 0 ? [key] : []))) };
}

/** Tries to become the reader of partitions; returns the cursor of each that it became. */
export async function acquirePartitions(
  { query, groupId }: Session,
  ids: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const { rows: locks } = await query<{ id: number; acquired: boolean }>(
    'select id, pg_try_advisory_lock($1, id) as acquired from unnest($2::int[]) as id',
    [groupId, ids],
  );
  // Another statement, which sees what the reader before wrote.
  const { rows } = await query<{ id: number; next: number }>(
    `select id, coalesce(next_offset, 0) as next from unnest($2::int[]) as id
     left join log_cursors c on c.group_id = $1 and c.partition_id = id`,
    [groupId, locks.flatMap(({ id, acquired }) => (acquired ? [id] : []))],
  );
  return new Map(rows.map(({ id, next }) => [id, next]));
}

/** Gives partitions back and notifies the other members. */
export async function releasePartitions(session: Session, ids: readonly number[]): Promise<void> {
  await session.query('select pg_advisory_unlock($1, id) from unnest($2::int[]) as id', [session.groupId, ids]);
  await notifyMembers(session);
}

/**
 * Leaves the group, notifies the other members, and disconnects. With the connection the membership ends anyway.
 * @param group whether the group outlives its last member.
 */
export async function closeSession(session: Session, group: 'kept' | 'forgotten'): Promise<void> {
  const { client, query, groupId } = session;
  try {
    await query('select pg_advisory_unlock_all()');
    await notifyMembers(session);
    if (group === 'forgotten' && (await readGroupStatus(session)).members.size === 0) {
      await query('delete from log_cursors where group_id = $1', [groupId]);
      await query('delete from log_groups where group_id = $1', [groupId]);
    }
  } catch {
    // the connection is broken: the others see that, and look every now and then
  }
  await client.end().catch(() => undefined);
}

async function notifyMembers({ query, groupId }: Session): Promise<void> {
  await query('select pg_notify($1, $2)', [CHANNEL, groupPayload(groupId)]);
}

/** A run of records to fetch: of a partition, from an offset on. */
export interface Run {
  readonly partitionId: number;
  readonly next: number;
}

// What a partition's part of a fetch holds at most, and what all of them hold: a thousand records at their limit would be 2 GiB.
const PARTITION_BYTES = 4 * 1024 * 1024;
const FETCH_BYTES = 8 * 1024 * 1024;
const LEAST_EACH = 256; // records of a partition

/**
 * Reads the records of partitions, each from an offset on and in order: of one at most `limit`, of several at most their part of
 * it or a few hundred, at least one that exists.
 */
export async function fetchRecords(
  { client, inTurn }: Session,
  runs: readonly Run[],
  limit: number,
): Promise<ReadonlyMap<number, readonly StoredRecord[]>> {
  const most = wholeNumber(Math.min(limit, Math.max(LEAST_EACH, Math.ceil(limit / runs.length))));
  const bytes = wholeNumber(Math.min(PARTITION_BYTES, Math.floor(FETCH_BYTES / runs.length)));
  const values = runs.map(({ partitionId, next }) => `(${wholeNumber(partitionId)}, ${wholeNumber(next)}::bigint)`).join(', ');
  // octet_length reads the size of a large value without fetching it.
  const rows = await inTurn(() =>
    copyBinary(
      client,
      `select p.id, r."offset", r.key, r.value, (extract(epoch from r.received_at) * 1000)::bigint
       from (values ${values}) as p (id, next) cross join lateral (
         select "offset", key, value, received_at,
                sum(octet_length(value)) over (order by "offset") - octet_length(value) as bytes_before
         from (select * from log_records where partition_id = p.id and "offset" >= p.next order by "offset" limit ${most}) as run
       ) as r where r.bytes_before < ${bytes}`,
    ),
  );
  const fetched = new Map<number, StoredRecord[]>();
  for (const [id, offset, key, value, received] of rows) {
    if (!id || !offset || !key || !value || !received) throw new TypeError('a column of a record is null'); // none may be
    const records = fetched.get(id.readInt32BE()) ?? [];
    fetched.set(id.readInt32BE(), records);
    records.push({
      offset: Number(offset.readBigInt64BE()),
      receivedAt: Number(received.readBigInt64BE()),
      key: key.toString('utf8'),
      value,
    });
  }
  // They come in order; to have Postgres sort what is in order took half of its time, as it copies each value.
  for (const records of fetched.values()) records.sort((a, b) => a.offset - b.offset);
  return fetched;
}

/** Takes the headers `traceparent` that records were appended with, of partitions up to an offset: the first reader has them. */
export async function takeTraces({ query }: Session, runs: readonly Run[]): Promise<ReadonlyMap<number, readonly string[]>> {
  if (runs.length === 0) return new Map();
  const { rows } = await query<{ partition_id: number; traceparent: string }>(
    `delete from append_traces a using unnest($1::int[], $2::bigint[]) as r (id, next)
     where a.partition_id = r.id and a."offset" < r.next returning a.partition_id, a.traceparent`,
    [runs.map(({ partitionId }) => partitionId), runs.map(({ next }) => next)],
  );
  const found = new Map<number, string[]>();
  for (const { partition_id, traceparent } of rows) {
    const of = found.get(partition_id) ?? [];
    found.set(partition_id, of);
    if (!of.includes(traceparent)) of.push(traceparent);
  }
  return found;
}

/** Proves that a number of ours can be part of a statement. */
function wholeNumber(value: number): string {
  if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is no offset, id or limit`);
  return String(value);
}

/** Reads the ends of partitions. */
export async function readPartitionEnds({ query }: Session, ids: readonly number[]): Promise<ReadonlyMap<number, number>> {
  const { rows } = await query<{ partition_id: number; next_offset: number }>(
    'select partition_id, next_offset from log_partitions where partition_id = any($1)',
    [ids],
  );
  return new Map(rows.map(({ partition_id, next_offset }) => [partition_id, next_offset]));
}

/** Records the next offsets of partitions that the session reads: forward when done, back when rewound. */
export async function writeCursors({ client, inTurn, groupId }: Session, moves: readonly Run[]): Promise<void> {
  await inTurn(() =>
    client.query({
      name: 'log_cursors', // prepared: planning it takes longer than doing it
      text: `insert into log_cursors (group_id, partition_id, next_offset)
             select $1, partition_id, next from unnest($2::int[], $3::bigint[]) as m (partition_id, next)
             on conflict (group_id, partition_id) do update set next_offset = excluded.next_offset`,
      values: [groupId, moves.map(({ partitionId }) => partitionId), moves.map(({ next }) => next)],
    }),
  );
}
