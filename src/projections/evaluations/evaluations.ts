import type { Delivery, Envelope } from '../../events/envelope.ts';
import { insertRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import type { Row } from '../../postgres/table.ts';
import { isOf, type Poison, type Projection } from '../projection.ts';
import { tables } from './tables.ts';

/** Folds the results of evaluations. A run has one: the first is the fact, a repetition changes nothing. */
export const evaluations: Projection = { name: 'evaluations', version: 3, handles: ['EvaluationFinished'], project };

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const rows = batch.flatMap((delivery) => (isOf(delivery, 'EvaluationFinished') ? [rowOf(delivery.event)] : []));
  await insertRows(trx, tables.evaluations, rows);
  return [];
}

function rowOf({ data, occurredAt }: Envelope<'EvaluationFinished'>): Row<typeof tables.evaluations> {
  const { runId, policy, tasks, meanReturn, recovery, trained, ...measures } = data;
  return {
    runId,
    policyId: policy.policyId,
    policyVersion: policy.version,
    tasks,
    meanReturn,
    recoveredRunId: recovery?.fromRunId ?? null,
    trained,
    measures,
    finishedAt: occurredAt,
  };
}
