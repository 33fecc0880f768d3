import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** A batch that is planned and not trained yet, of a policy whose trainer reads rows over HTTP. */
export interface UnrecordedBatch {
  readonly batchId: string;
  readonly policyId: string;
  readonly tokens: number;
  readonly samples: number;
}

/** Backends that run in the platform and read batches from the database themselves. */
const OWN = ['linear', 'torch'];
const MOST = 1_000;

/**
 * Reads the batches that trainers elsewhere will lease, the next of every policy first, `depth` of each at most: of policies with
 * a batch that was planned since then, and of those that are named.
 */
export async function readUnrecorded(
  db: Db,
  { since, policies, depth }: { readonly since: Date; readonly policies: readonly string[]; readonly depth: number },
): Promise<readonly UnrecordedBatch[]> {
  return db
    .selectFrom('leaseDesk as d')
    .innerJoin('batches as b', (join) =>
      join
        .onRef('b.lineageId', '=', 'd.lineageId')
        .onRef('b.ordinal', '>=', 'd.nextOrdinal')
        .on(sql<boolean>`b.ordinal < d.next_ordinal + ${depth}`),
    )
    .select(['b.batchId', 'd.policyId', 'b.tokens', 'b.samples'])
    .where('d.backend', 'not in', OWN)
    .where((of) => of.or([of('b.plannedAt', '>', since), of('d.policyId', 'in', [...policies, ''])]))
    .orderBy(sql`b.ordinal - d.next_ordinal`)
    .orderBy('b.batchId')
    .limit(MOST)
    .execute();
}
