import { sql } from 'kysely';
import type { Trx } from '../../postgres/database.ts';
import { endWhenSilent } from '../../postgres/hold-transaction.ts';
import type { LeaseServiceOptions } from './protocol.ts';
import { DATABASE_NAME, isSynced, LeaseStateStale } from './service-row.ts';

/**
 * Does work of the lease service in a database that was compared with the log. The lease service is the one place of facts that
 * are decided here and not folded: restored from an older copy it would lease batches that were trained since, under fences and
 * numbers that were used. So the first call in a database that is not the one of the last comparison first brings the lease
 * service up to the end of the log.
 * @param work asks with each of its statements whether the database was compared, and throws `LeaseStateStale`.
 * @throws ProjectionsBehind while the read models have not folded the log again.
 */
export async function ensureSyncedWithLog<T>(options: LeaseServiceOptions, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof LeaseStateStale)) throw error;
  }
  await compare(options);
  return work();
}

async function compare(options: LeaseServiceOptions): Promise<void> {
  const { db, relay, caughtUp } = options;
  const { rows } = await sql`select 1 from lease_desk limit 1`.execute(db);
  if (rows.length > 0) {
    await relay?.flush(); // what it decided and the log does not have yet counts as well
    await caughtUp?.();
  }
  await db.transaction().execute(async (trx) => {
    // two that find it at once bring it forward once
    await endWhenSilent(trx);
    await sql`lock table desk_database in share row exclusive mode`.execute(trx);
    if (await isSynced(trx)) return;
    await bringServiceForward(trx);
    await sql`insert into desk_database (name) values (${DATABASE_NAME}) on conflict (one) do update set name = excluded.name`.execute(
      trx,
    );
  });
}

/**
 * How many batches of the lineage `v.lineage_id` are over, which is the ordinal of the next: those that made a version, and those
 * that were abandoned.
 */
const BATCHES_ENDED = sql`(
  (select count(*) from policy_versions e where e.lineage_id = v.lineage_id and e.batch_id is not null)
  + (select count(*) from batch_abandonments e where e.lineage_id = v.lineage_id))::integer`;

/**
 * Brings every policy's row to where the read models stand, which must have folded the whole log: batches that were acknowledged,
 * fences that were given, numbers that were used. A lease that the lease service does not know, or that ended since, is over: its
 * holder is refused, and the batch is leased again. Where the lease service is ahead of the log or level with it, nothing
 * changes.
 */
export async function bringServiceForward(trx: Trx): Promise<void> {
  await sql`select 1 from lease_desk order by lineage_id for update`.execute(trx);
  await sayNextNumber(trx);
  await sql`
    update lease_desk d set version = v.version, checkpoint_id = v.checkpoint_id, backend = c.backend, weights = v.weights, kept = c.kept,
      next_ordinal = n.ordinal, fence = 0, lease_id = null, batch_id = null, consumer = null, deadline = null
    from policy_versions v
    join checkpoints c on c.checkpoint_id = v.checkpoint_id and c.lineage_id = v.lineage_id
    cross join lateral (select ${BATCHES_ENDED} as ordinal) n
    where v.lineage_id = d.lineage_id and n.ordinal > d.next_ordinal
      and v.version = (select max(w.version) from policy_versions w where w.lineage_id = d.lineage_id)`.execute(trx);
  await sql`
    update lease_desk d set fence = l.fence, lease_id = null, batch_id = null, consumer = null, deadline = null
    from (
      select b.lineage_id, b.ordinal, max(l.fence) as fence,
        bool_or(l.ended_at is null and l.fence = (select max(m.fence) from leases m where m.batch_id = l.batch_id)) as current
      from leases l join batches b on b.batch_id = l.batch_id group by 1, 2) l
    where l.lineage_id = d.lineage_id and l.ordinal = d.next_ordinal
      and (l.fence > d.fence or (l.fence = d.fence and d.lease_id is not null and not l.current))`.execute(trx);
  await bringLeases(trx, sql`true`);
  await sql`
    update outbox_streams o set next_sequence = p.sequence + 1 from stream_producers p
    where p.stream = o.stream and p.producer = o.producer and p.sequence >= o.next_sequence`.execute(trx);
}

/**
 * Has the next number of the outbox written ahead. `create database … template` copies the page of a sequence and not that 32
 * numbers ahead of it were logged: numbers given in the copy were not in its log, and after a crash it gave them again (Postgres
 * 18, the default strategy `wal_log`).
 */
async function sayNextNumber(trx: Trx): Promise<void> {
  await sql`
    select setval(pg_get_serial_sequence('outbox', 'outbox_id'), nextval(pg_get_serial_sequence('outbox', 'outbox_id')))`.execute(
    trx,
  );
}

/**
 * Notes the leases, acknowledgements and abandonments of the log that the lease service does not know, of the policies that a
 * condition on `l.lineage_id` chooses and that have a row.
 */
async function bringLeases(trx: Trx, which: ReturnType<typeof sql>): Promise<void> {
  await sql`
    insert into lease_grants (lease_id, lineage_id, batch_id, ordinal, fence, consumer)
    select l.lease_id, l.lineage_id, l.batch_id, b.ordinal, l.fence, coalesce(l.consumer, '')
    from leases l
    join batches b on b.batch_id = l.batch_id
    join lease_desk d on d.lineage_id = l.lineage_id
    where ${which} on conflict do nothing`.execute(trx);
  await sql`
    insert into lease_acks (batch_id, lineage_id, ordinal, lease_id, version, checkpoint_id, weights)
    select l.batch_id, l.lineage_id, b.ordinal, l.lease_id, l.version, l.checkpoint_id, v.weights
    from batch_acks l
    join batches b on b.batch_id = l.batch_id
    join policy_versions v on v.lineage_id = l.lineage_id and v.version = l.version
    join lease_grants g on g.lease_id = l.lease_id
    where ${which} on conflict do nothing`.execute(trx);
  await sql`
    insert into lease_abandonments (batch_id, lineage_id, ordinal)
    select l.batch_id, l.lineage_id, l.ordinal from batch_abandonments l
    join lease_desk d on d.lineage_id = l.lineage_id
    where ${which} on conflict (batch_id) do nothing`.execute(trx);
}

/**
 * Makes the row of a policy that the log knows and the lease service does not: its database was made again over an older log.
 * Everything is taken from the read models, once they have folded what the log holds; a lease under way is not: it ends here, and
 * its holder is refused. Returns false when the log knows no version of the policy either.
 */
export async function openServiceRow(options: LeaseServiceOptions, lineageId: string, policyId: string): Promise<boolean> {
  const { db } = options;
  const { rows: known } = await sql`select 1 from lease_desk where lineage_id = ${lineageId}::uuid`.execute(db);
  if (known.length > 0) return true;
  await options.caughtUp?.();
  return db.transaction().execute(async (trx) => {
    await endWhenSilent(trx);
    // The fence goes on where the record of the batch's leases ends, or a lease of the lost lease service would come back to
    // life.
    const { rows } = await sql`
      insert into lease_desk (lineage_id, policy_id, version, first_checkpoint_id, checkpoint_id, backend, weights, kept, next_ordinal, fence)
      select v.lineage_id, ${policyId}, v.version, f.checkpoint_id, v.checkpoint_id, c.backend, v.weights, c.kept, n.ordinal,
        coalesce((
          select max(l.fence) from leases l join batches b on b.batch_id = l.batch_id
          where b.lineage_id = v.lineage_id and b.ordinal = n.ordinal), 0)
      from policy_versions v
      join policy_versions f on f.lineage_id = v.lineage_id and f.version = 0
      join checkpoints c on c.checkpoint_id = v.checkpoint_id and c.lineage_id = v.lineage_id
      cross join lateral (select ${BATCHES_ENDED} as ordinal) n
      where v.lineage_id = ${lineageId}::uuid
      order by v.version desc limit 1
      on conflict do nothing returning 1`.execute(trx);
    if (rows.length === 0) return false;
    await bringLeases(trx, sql`l.lineage_id = ${lineageId}::uuid`);
    return true;
  });
}
