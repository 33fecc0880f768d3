import { copyOut } from '../postgres/copy-out.ts';
import { connect } from '../postgres/pool.ts';
import type { LogTopic } from './embedded-log-topics.ts';
import type { StoredRecord } from './event-log.ts';

/**
 * The connection of one member of a group, and what is asked on it. Owning a partition is an advisory lock of this session: the
 * death of the process frees it at once, and since cursors are written on this connection only, a member that lost its partitions
 * has also lost the means to move their cursors. (Not for a pooler in transaction mode, which would lend the session to others.)
 */
export interface Session {
  readonly pid: number;
  readonly groupId: number;
  readonly client: Client;
}
type Client = Awaited<ReturnType<typeof connect>>;

/** The channel on which appends name the partitions that grew; see log_append. */
export const RECORDS_CHANNEL = 'espalier_log';
/** The channel on which a member says that it came, left or gave partitions back; the payload is the group's id. */
export const MEMBERS_CHANNEL = 'espalier_log_members';

// Locks are (class, object) pairs. The class is the group; 'E' in the high byte keeps us apart from small numbers of other
// programs. The object is a partition's id for its owner, and minus a topic's id, shared, for everyone who reads that topic.
const CLASS = 0x45_00_00_00;

/** Connects, finds the group or makes it, and takes part in the sharing of the topics. */
export async function openSession(url: string, group: string, topics: readonly LogTopic[]): Promise<Session> {
  const client = await connect(url, `espalier log ${group}`.slice(0, 63));
  client.on('error', () => undefined); // the end of the connection is seen by `end`, and by whoever asks next
  try {
    // A cursor that a power cut takes back only means a redelivery, which readers must bear anyhow; a sync per batch would double
    // its cost.
    await client.query('set synchronous_commit = off');
    await client.query(`listen ${RECORDS_CHANNEL}`);
    await client.query(`listen ${MEMBERS_CHANNEL}`);
    const groupId = await groupIdOf(client, group);
    const { rows } = await client.query<{ pid: number }>(
      'select pg_backend_pid() as pid, count(pg_advisory_lock_shared($1, -id)) from unnest($2::int[]) as id',
      [CLASS + groupId, topics.map(({ topicId }) => topicId)],
    );
    const session = { pid: rows[0]?.pid ?? 0, groupId, client };
    await notifyMembers(session);
    return session;
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
}

async function groupIdOf(client: Client, group: string): Promise<number> {
  const found = () => client.query<{ group_id: number }>('select group_id from log_groups where name = $1', [group]);
  let { rows } = await found();
  if (rows.length === 0) {
    await client.query('insert into log_groups (name) values ($1) on conflict (name) do nothing', [group]);
    ({ rows } = await found());
  }
  const groupId = rows[0]?.group_id;
  if (groupId === undefined) throw new TypeError(`the group ${group} was made and is not there`);
  return groupId;
}

export interface GroupStatus {
  /** topic id → sessions that read it in this group. */
  readonly members: ReadonlyMap<number, readonly number[]>;
  /** Partition ids that some session of the group owns. */
  readonly owned: ReadonlySet<number>;
}

/** Reads who is in the group and what is owned, from the locks themselves: nothing to expire, nothing to clean up. */
export async function readGroupStatus({ client, groupId }: Session): Promise<GroupStatus> {
  const { rows } = await client.query<{ object: number; pid: number }>({
    name: 'log-group-status',
    text: `select objid::bigint::bit(32)::int as object, pid from pg_locks
           where locktype = 'advisory' and objsubid = 2 and granted and classid = $1::int::oid
             and database = (select oid from pg_database where datname = current_database())`,
    values: [CLASS + groupId],
  });
  const members = new Map<number, number[]>();
  const owned = new Set<number>();
  for (const { object, pid } of rows) {
    if (object > 0) owned.add(object);
    else members.set(-object, [...(members.get(-object) ?? []), pid]);
  }
  return { members, owned };
}

/**
 * Tries to own partitions; returns the cursor of each one it got, read after its lock was taken: what the last owner wrote is in
 * it.
 */
export async function acquirePartitions(session: Session, ids: readonly number[]): Promise<ReadonlyMap<number, number>> {
  const { client, groupId } = session;
  const { rows: got } = await client.query<{ id: number; locked: boolean }>(
    'select id, pg_try_advisory_lock($1, id) as locked from unnest($2::int[]) as id',
    [CLASS + groupId, ids],
  );
  const locked = got.flatMap(({ id, locked }) => (locked ? [id] : []));
  const { rows } = await client.query<{ partition_id: number; next_offset: number }>(
    'select partition_id, next_offset from log_cursors where group_id = $1 and partition_id = any($2)',
    [groupId, locked],
  );
  const cursors = new Map(rows.map(({ partition_id, next_offset }) => [partition_id, next_offset]));
  return new Map(locked.map((id) => [id, cursors.get(id) ?? 0]));
}

/** Returns partitions and notifies the other members. */
export async function releasePartitions(session: Session, ids: readonly number[]): Promise<void> {
  await session.client.query('select pg_advisory_unlock($1, id) from unnest($2::int[]) as id', [CLASS + session.groupId, ids]);
  await notifyMembers(session);
}

/** Returns everything, notifies the other members, and disconnects. A broken connection has done so already. */
export async function closeSession(session: Session): Promise<void> {
  try {
    await session.client.query('select pg_advisory_unlock_all()');
    await notifyMembers(session);
  } catch {
    // the connection is broken: Postgres freed the locks, and the others look every now and then
  }
  await session.client.end().catch(() => undefined);
}

async function notifyMembers({ client, groupId }: Session): Promise<void> {
  await client.query('select pg_notify($1, $2)', [MEMBERS_CHANNEL, String(groupId)]);
}

// One batch holds at most this much, and at least one record: a thousand records at their limit would be 2 GiB.
const FETCH_BYTES = 4 * 1024 * 1024;

/** Reads the records of a partition from an offset on, in order: at most `limit` of them. */
export async function fetchRecords(
  { client }: Session,
  partitionId: number,
  from: number,
  limit: number,
): Promise<StoredRecord[]> {
  const [id, first, most] = [partitionId, from, limit].map(wholeNumber);
  // octet_length reads the size of a large value without fetching it.
  const rows = await copyOut(
    client,
    `select "offset", key, value from (
       select "offset", key, value, sum(octet_length(value)) over (order by "offset") - octet_length(value) as before
       from (select "offset", key, value from log_records where partition_id = ${id} and "offset" >= ${first} order by "offset" limit ${most}) as run
     ) as summed where before < ${FETCH_BYTES} order by "offset"`,
  );
  return rows.map(([offset, key, value]) => {
    if (!offset || !key || !value) throw new TypeError('a column of log_records is null'); // the table forbids it
    return { offset: Number(offset.readBigInt64BE()), key: key.toString('utf8'), value };
  });
}

/** Proves that a number of ours can stand in a statement. */
function wholeNumber(value: number): string {
  if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is no offset, id or limit`);
  return String(value);
}

/** Reads the ends of partitions. */
export async function readPartitionEnds({ client }: Session, ids: readonly number[]): Promise<ReadonlyMap<number, number>> {
  const { rows } = await client.query<{ partition_id: number; next_offset: number }>({
    name: 'log-ends',
    text: 'select partition_id, next_offset from log_partitions where partition_id = any($1)',
    values: [ids],
  });
  return new Map(rows.map(({ partition_id, next_offset }) => [partition_id, next_offset]));
}

/** Records the next offset of an owned partition: forward when done, back when rewound. */
export async function writeCursor({ client, groupId }: Session, partitionId: number, next: number): Promise<void> {
  await client.query({
    name: 'log-cursor',
    text: `insert into log_cursors (group_id, partition_id, next_offset) values ($1, $2, $3)
           on conflict (group_id, partition_id) do update set next_offset = excluded.next_offset, updated_at = now()`,
    values: [groupId, partitionId, next],
  });
}
