import { copyOut } from '../postgres/copy-out.ts';
import { connect } from '../postgres/pool.ts';
import type { LogTopic } from './embedded-log-topics.ts';
import { LogError, type StoredRecord } from './event-log.ts';

/**
 * One membership of a group: its row in `log_members`, which lives as long as it is renewed in time and its connection is open,
 * and the connection on which it listens and asks. What it owns are rows of `log_cursors` that name it, each with a fence.
 */
export interface Session {
  readonly memberId: number;
  readonly groupId: number;
  readonly client: Client;
  /** Asks something on the connection, behind what is asked already: deliveries, sharing and renewals go on side by side. */
  readonly ask: <T>(question: (client: Client) => Promise<T>) => Promise<T>;
  /** How long the member may be silent before it is replaced, ms. */
  readonly leaseMs: number;
}
type Client = Awaited<ReturnType<typeof connect>>;

/** The channel on which appends name the partitions that grew; see embedded-log-growth.ts. */
export const RECORDS_CHANNEL = 'espalier_log';
/** The channel on which a member says that it came, left or gave partitions back; the payload is the group's id. */
export const MEMBERS_CHANNEL = 'espalier_log_members';

/** The member was silent for too long: its partitions belong to others by now, or may at any moment. Joining again heals it. */
export class LeaseLost extends LogError {
  constructor(what: string) {
    super('unreachable', `${what}: this member of the group was silent for longer than its lease and is replaced`, {
      retryable: true,
    });
  }
}

/** Connects, finds the group or makes it, and takes part in the sharing of the topics. */
export async function openSession(url: string, group: string, topics: readonly LogTopic[], leaseMs: number): Promise<Session> {
  const client = await connect(url, `espalier log ${group}`.slice(0, 63));
  client.on('error', () => undefined); // the end of the connection is seen by `end`, and by whoever asks next
  try {
    await client.query(`listen ${RECORDS_CHANNEL}`);
    await client.query(`listen ${MEMBERS_CHANNEL}`);
    const groupId = await groupIdOf(client, group);
    await forgetDead(client, groupId);
    const { rows } = await client.query<{ member_id: number }>(
      `insert into log_members (group_id, topic_ids, backend_pid, backend_start, expires_at)
       select $1, $2, pid, backend_start, clock_timestamp() + $3 * interval '1 ms' from pg_stat_get_activity(pg_backend_pid())
       returning member_id`,
      [groupId, topics.map(({ topicId }) => topicId), leaseMs],
    );
    const memberId = rows[0]?.member_id;
    if (memberId === undefined) throw new TypeError('a connection is not among the connections of its server');
    const session = { memberId, groupId, client, ask: inTurn(client), leaseMs };
    await notifyMembers(session);
    return session;
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
}

function inTurn(client: Client): Session['ask'] {
  let last: Promise<unknown> = Promise.resolve();
  return (question) => {
    const answer = last.then(() => question(client));
    last = answer.catch(() => undefined);
    return answer;
  };
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

/** Removes the rows of members that were killed or replaced; one that another member removes at this moment is left to it. */
async function forgetDead(client: Client, groupId: number): Promise<void> {
  await client.query(
    `delete from log_members where member_id in (
       select member_id from log_members where group_id = $1 and not log_member_lives(member_id) for update skip locked)`,
    [groupId],
  );
}

/** Renews the lease of the member. @throws LeaseLost when it ran out before. */
export async function renewLease({ ask, memberId, leaseMs }: Session): Promise<void> {
  // Not synced to the disk: a crash of the server ends the connections, hence every membership.
  const { rowCount } = await ask((client) =>
    client.query(
      `with quick as materialized (select set_config('synchronous_commit', 'off', true))
       update log_members set expires_at = clock_timestamp() + $2 * interval '1 ms' from quick
       where member_id = $1 and expires_at > clock_timestamp()`,
      [memberId, leaseMs],
    ),
  );
  if (rowCount !== 1) throw new LeaseLost('renewing the lease');
}

export interface GroupStatus {
  /** topic id → members that read it in this group. */
  readonly members: ReadonlyMap<number, readonly number[]>;
  /** Partition ids that some living member of the group owns. */
  readonly owned: ReadonlySet<number>;
}

/** Reads who lives in the group and what they own. */
export async function readGroupStatus({ ask, groupId }: Session): Promise<GroupStatus> {
  const { rows } = await ask((client) =>
    client.query<{ member_id: number; topic_ids: number[]; owned: number[] | null }>(
      `select m.member_id, m.topic_ids, o.owned
     from log_members m left join (
       select member_id, array_agg(partition_id) as owned from log_cursors
       where group_id = $1 and member_id is not null group by member_id
     ) o using (member_id)
     where m.group_id = $1 and log_member_lives(m.member_id)`,
      [groupId],
    ),
  );
  const members = new Map<number, number[]>();
  for (const { member_id, topic_ids } of rows)
    for (const topicId of topic_ids) members.set(topicId, [...(members.get(topicId) ?? []), member_id]);
  return { members, owned: new Set(rows.flatMap(({ owned }) => owned ?? [])) };
}

/** A partition that was acquired: its cursor, and the fence under which it is moved from now on. */
export interface Lease {
  readonly next: number;
  readonly fence: number;
}

/**
 * Tries to own partitions; returns a lease of each one it got. Of several members that try one wins, and an owner that is dead is
 * replaced under a higher fence. @throws LeaseLost when the member is dead itself.
 */
export async function acquirePartitions(session: Session, ids: readonly number[]): Promise<ReadonlyMap<number, Lease>> {
  const { ask, groupId, memberId } = session;
  const { rows } = await ask((client) =>
    client.query<{ partition_id: number; next_offset: number; fence: number }>(
      `insert into log_cursors as c (group_id, partition_id, next_offset, member_id, fence)
     select $1, id, 0, $2, 1 from unnest($3::int[]) as id where log_member_lives($2) order by id
     on conflict (group_id, partition_id) do update set member_id = excluded.member_id, fence = c.fence + 1
     where c.member_id is null or c.member_id = excluded.member_id or not log_member_lives(c.member_id)
     returning partition_id, next_offset, fence`,
      [groupId, memberId, ids],
    ),
  );
  return new Map(rows.map(({ partition_id, next_offset, fence }) => [partition_id, { next: next_offset, fence }]));
}

/** Returns partitions and notifies the other members. */
export async function releasePartitions(session: Session, ids: readonly number[]): Promise<void> {
  const { ask, groupId, memberId } = session;
  await ask((client) =>
    client.query('update log_cursors set member_id = null where group_id = $1 and partition_id = any($2) and member_id = $3', [
      groupId,
      ids,
      memberId,
    ]),
  );
  await notifyMembers(session);
}

/**
 * Leaves the group, notifies the other members, and disconnects. With the connection the membership ends anyway.
 * @param group whether the group outlives its member.
 */
export async function closeSession(session: Session, group: 'kept' | 'forgotten'): Promise<void> {
  const { client, ask, memberId, groupId } = session;
  try {
    await ask(() => client.query('delete from log_members where member_id = $1', [memberId]));
    await notifyMembers(session);
    if (group === 'forgotten') {
      await ask(() => client.query('delete from log_cursors where group_id = $1', [groupId]));
      await ask(() => client.query('delete from log_groups where group_id = $1', [groupId]));
    }
  } catch {
    // the connection is broken: the others see that, and look every now and then
  }
  await client.end().catch(() => undefined);
}

async function notifyMembers({ ask, groupId }: Session): Promise<void> {
  await ask((client) => client.query('select pg_notify($1, $2)', [MEMBERS_CHANNEL, String(groupId)]));
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
 * it or a few hundred, at least one that is there.
 */
export async function fetchRecords(
  { ask }: Session,
  runs: readonly Run[],
  limit: number,
): Promise<ReadonlyMap<number, StoredRecord[]>> {
  const most = wholeNumber(Math.min(limit, Math.max(LEAST_EACH, Math.ceil(limit / runs.length))));
  const bytes = wholeNumber(Math.min(PARTITION_BYTES, Math.floor(FETCH_BYTES / runs.length)));
  const asked = runs.map(({ partitionId, next }) => `(${wholeNumber(partitionId)}, ${wholeNumber(next)}::bigint)`).join(', ');
  // octet_length reads the size of a large value without fetching it. A block comes with the first of its records that is
  // asked for.
  const rows = await ask((client) =>
    copyOut(
      client,
      `select p.id, r."offset", r.key, r.value, (extract(epoch from r.received_at) * 1000)::bigint, r.start, r.length, r.opened, (
         select b.value from log_blocks b where b.partition_id = p.id and b.first_offset = r.opened)
     from (values ${asked}) as p (id, next) cross join lateral (
       select "offset", key, value, received_at, start, length,
              case when block is distinct from lag(block) over run_order then block end as opened,
              sum(bytes) over run_order - bytes as before
       from (
         select "offset", key, value, received_at, block, start, length, coalesce(length, octet_length(value)) as bytes
         from log_rows where partition_id = p.id and "offset" >= p.next order by "offset" limit ${most}) as run
       window run_order as (order by "offset")
     ) as r where r.before < ${bytes}`,
    ),
  );
  const fetched = new Map<number, StoredRecord[]>();
  let block: Buffer | null = null;
  for (const [id, offset, key, alone, received, start, length, opened, opens] of rows) {
    if (opened) block = opens ?? null; // rows of a partition come in order
    const value = alone ?? (block && start && length && sliceOf(block, start.readInt32BE(), length.readInt32BE()));
    if (!id || !offset || !key || !value) throw new TypeError('a record of the log is not whole'); // it is written so
    const receivedAt = received ? Number(received.readBigInt64BE()) : null;
    const record = { offset: Number(offset.readBigInt64BE()), receivedAt, key: key.toString('utf8'), value };
    const partitionId = id.readInt32BE();
    const records = fetched.get(partitionId);
    if (records) records.push(record);
    else fetched.set(partitionId, [record]);
  }
  // They come in order; to have Postgres sort what is in order took half of its time, as it copies each value.
  for (const records of fetched.values()) records.sort((a, b) => a.offset - b.offset);
  return fetched;
}

function sliceOf(block: Buffer, start: number, length: number): Buffer | null {
  return start + length <= block.length ? block.subarray(start, start + length) : null;
}

/** Proves that a number of ours can stand in a statement. */
function wholeNumber(value: number): string {
  if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is no offset, id or limit`);
  return String(value);
}

/** Reads the ends of partitions. */
export async function readPartitionEnds({ ask }: Session, ids: readonly number[]): Promise<ReadonlyMap<number, number>> {
  const { rows } = await ask((client) =>
    client.query<{ partition_id: number; next_offset: number }>(
      'select partition_id, next_offset from log_partitions where partition_id = any($1)',
      [ids],
    ),
  );
  return new Map(rows.map(({ partition_id, next_offset }) => [partition_id, next_offset]));
}

/** The next offset of an owned partition, under the fence of its lease. */
export interface Move extends Run {
  readonly fence: number;
}

/**
 * Records the next offsets of owned partitions: forward when done, back when rewound. @throws LeaseLost when another member owns
 * one by now, or did meanwhile.
 */
export async function writeCursors({ ask, groupId }: Session, moves: readonly Move[]): Promise<void> {
  // A cursor that a power cut takes back only means a redelivery, which readers must bear anyhow; a sync per batch would double
  // its cost.
  const { rowCount } = await ask((client) =>
    client.query({
      name: 'log_cursors', // prepared: planning it takes longer than doing it
      text: `with quick as materialized (select set_config('synchronous_commit', 'off', true))
     update log_cursors c set next_offset = m.next, updated_at = now()
     from quick, unnest($2::int[], $3::bigint[], $4::bigint[]) as m (partition_id, next, fence)
     where c.group_id = $1 and c.partition_id = m.partition_id and c.fence = m.fence`,
      values: [
        groupId,
        moves.map(({ partitionId }) => partitionId),
        moves.map(({ next }) => next),
        moves.map(({ fence }) => fence),
      ],
    }),
  );
  if (rowCount !== moves.length) throw new LeaseLost('recording what is done');
}
