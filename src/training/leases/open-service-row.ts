import { sql } from 'kysely';
import { endWhenSilent } from '../../postgres/hold-transaction.ts';
import { BATCHES_ENDED, bringLeases } from './bring-service-forward.ts';
import type { LeaseServiceOptions } from './protocol.ts';

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
      join checkpoints c on c.checkpoint_id = v.checkpoint_id
      cross join lateral (select ${BATCHES_ENDED} as ordinal) n
      where v.lineage_id = ${lineageId}::uuid
      order by v.version desc limit 1
      on conflict do nothing returning 1`.execute(trx);
    if (rows.length === 0) return false;
    await bringLeases(trx, sql`l.lineage_id = ${lineageId}::uuid`);
    return true;
  });
}
