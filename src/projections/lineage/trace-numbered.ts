import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { type Finder, oneStream, readOne, type TracedEntity } from './trace-links.ts';
import { findBatch } from './trace-training.ts';

/**
 * What is named by a number behind `#`: `NAME@V#LINE` is a line of a released file, from 1; `POLICY#N` the N-th batch of a
 * policy, from 0.
 */
export const findNumbered: Finder = async (db, text) => {
  const hash = text.lastIndexOf('#');
  const [name, number] = [text.slice(0, hash), Number(text.slice(hash + 1))];
  if (hash < 1 || !/#\d{1,9}$/.test(text)) return null;
  return (await findLine(db, name, number)) ?? findBatchOf(db, name, number);
};

interface Line {
  readonly datasetId: string;
  readonly kind: string;
  readonly line: number;
  readonly lines: number;
}

async function findLine(db: Db, release: string, line: number): Promise<TracedEntity | null> {
  const found = await readOne(
    db,
    sql<Line>`
      select d.dataset_id, e.kind, e.line, e.lines from datasets d join dataset_examples e on e.dataset_id = d.dataset_id
      where d.name || '@' || d.version = ${release} and ${line}::int between e.line and e.line + e.lines - 1`,
  );
  if (!found) return null;
  const { datasetId, kind, lines } = found;
  const row = sql`(select * from dataset_examples where dataset_id = ${datasetId} and line = ${found.line}) e`;
  const trajectory = (relation: string, column: 'goodRolloutId' | 'badRolloutId') => ({
    relation,
    query: sql`select r.rollout_id as id, coalesce('return ' || t.value, 'no return') as text from ${row}
      join rollouts r on r.rollout_id = e.${sql.ref(column)} and r.tree_id = e.tree_id
      left join returns t on t.rollout_id = r.rollout_id and t.tree_id = r.tree_id`,
  });
  return {
    kind: 'line of a dataset',
    id: `${release}#${line}`,
    title: lines === 1 ? kind : `${kind}, lines ${found.line} to ${found.line + lines - 1}`,
    madeBy: { streams: oneStream(datasetId), types: ['DatasetReleased', 'DatasetSourced'], field: 'datasetId', named: datasetId },
    from: [
      { relation: 'tree', query: sql`select t.tree_id as id, t.alias as text from ${row} join trees t on t.tree_id = e.tree_id` },
      trajectory('good trajectory', 'goodRolloutId'),
      trajectory('bad trajectory', 'badRolloutId'),
      { relation: 'revision', query: sql`select e.revision_id as id, '' as text from ${row} where e.revision_id is not null` },
    ],
    usedBy: [{ relation: 'in', query: sql`select ${datasetId}::uuid as id, ${release}::text as text` }],
    seed: { kind: 'dataset', datasetId },
  };
}

async function findBatchOf(db: Db, policyId: string, ordinal: number): Promise<TracedEntity | null> {
  const [batch] = await rowsWhere(db, 'batches', { policyId, ordinal }, ['batchId']);
  return batch ? findBatch(db, batch.batchId, null) : null;
}
