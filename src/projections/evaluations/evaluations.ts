import type { Delivery, Envelope } from '../../events/envelope.ts';
import { insertRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import type { Row } from '../../postgres/table.ts';
import { isOf, type Poison, type Projection } from '../projection.ts';
import { tables } from './tables.ts';

/** Folds the results of evaluations. A run has one: the first is the fact, a repetition changes nothing. */
export const evaluations: Projection = { name: 'evaluations', version: 2, handles: ['EvaluationFinished'], project };

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const rows = batch.flatMap((delivery) => (isOf(delivery, 'EvaluationFinished') ? [rowOf(delivery.event)] : []));
  await insertRows(trx, tables.evaluations, rows);
  return [];
}

function rowOf({ data, occurredAt }: Envelope<'EvaluationFinished'>): Row<typeof tables.evaluations> {
  return {
    runId: data.runId,
    policyId: data.policy.policyId,
    policyVersion: data.policy.version,
    environment: data.environment,
    split: data.split,
    tasks: data.tasks,
    episodes: data.episodes,
    rewarded: data.rewarded ?? null,
    meanReturn: data.meanReturn,
    returnLow: data.returnInterval?.low ?? null,
    returnHigh: data.returnInterval?.high ?? null,
    successRate: data.successRate,
    successLow: data.successInterval.low,
    successHigh: data.successInterval.high,
    meanSteps: data.meanSteps,
    bootstrap: data.bootstrap,
    repeatedActions: data.repeatedActions,
    byDepth: data.byDepth,
    recoveredRunId: data.recovery?.fromRunId ?? null,
    trained: data.trained,
    finishedAt: occurredAt,
  };
}
