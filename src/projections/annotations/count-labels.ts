import { sql } from 'kysely';
import { recordset } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';

/** An annotation with a label that was added, or retracted. */
export interface LabelChange {
  readonly runId: string;
  readonly partition: number;
  readonly label: string;
  readonly score: number | null;
  readonly more: 1 | -1;
}

const TYPES = { runId: 'uuid', partition: 'integer', label: 'text', score: 'double precision', more: 'integer' } as const;

/** Adds annotations to the counts of their labels, those that are retracted taken off. Scores are added as decimals. */
export async function countLabelled(trx: Trx, changes: readonly LabelChange[]): Promise<void> {
  if (changes.length === 0) return;
  await sql`
    insert into label_counts (run_id, partition, label, annotations, scored, total)
    select r.run_id, r.partition, r.label, sum(r.more), coalesce(sum(r.more) filter (where r.score is not null), 0),
           trim_scale(coalesce(sum(r.more * r.score::text::numeric), 0))
    from ${recordset(changes, TYPES)} group by r.run_id, r.partition, r.label
    on conflict (run_id, partition, label) do update set annotations = label_counts.annotations + excluded.annotations,
      scored = label_counts.scored + excluded.scored, total = trim_scale(label_counts.total + excluded.total)`.execute(trx);
}
