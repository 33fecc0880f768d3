import { sql } from 'kysely';
import type { Delivery } from '../../events/envelope.ts';
import { recordset } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';

/** Tree → the partition that it lies in. */
export type PartitionOf = ReadonlyMap<string, number>;

/** Returns the partitions of the trees that a batch speaks of. */
export function partitionsIn(batch: readonly Delivery[]): PartitionOf {
  // every type that this projection handles names its tree
  return new Map(batch.map(({ event, partition }) => [(event.data as { treeId: string }).treeId, partition]));
}

/** A return that is written, null where nobody rewarded; `written` is what it takes the place of, null for a first one. */
export interface SummedReturn {
  readonly treeId: string;
  readonly runId: string;
  readonly written: number | null;
  readonly value: number | null;
}

const TYPES = { runId: 'uuid', partition: 'integer', written: 'double precision', value: 'double precision' } as const;

/**
 * Adds returns to the totals of their runs; what nobody rewarded has none, and a reward is never taken back. They are added as the decimals that a double is written as: sums of doubles would
 * depend on the order of additions and corrections. `trim_scale` makes equal sums equal texts.
 */
export async function countReturns(sums: readonly SummedReturn[], partitionOf: PartitionOf, trx: Trx): Promise<void> {
  const changed = sums.filter(({ written, value }) => written !== value);
  if (changed.length === 0) return;
  const rows = changed.map(({ treeId, runId, written, value }) => ({
    runId,
    partition: partitionOf.get(treeId),
    written,
    value,
  }));
  await sql`
    insert into run_returns (run_id, partition, returns, total)
    select r.run_id, r.partition, count(*) filter (where r.written is null),
           trim_scale(sum(r.value::text::numeric - coalesce(r.written::text::numeric, 0)))
    from ${recordset(rows, TYPES)} group by r.run_id, r.partition
    on conflict (run_id, partition) do update set
      returns = run_returns.returns + excluded.returns, total = trim_scale(run_returns.total + excluded.total)`.execute(trx);
}
