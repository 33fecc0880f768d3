import type { Delivery, Envelope } from '../../events/envelope.ts';
import { insertRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import type { Row } from '../../postgres/table.ts';
import { isOf, type Poison, type Projection } from '../projection.ts';
import { tables } from './tables.ts';

/** Folds the results of evaluations. A run has one: the first is the fact, a repetition changes nothing. */
export const evaluations: Projection = { name: 'evaluations', version: 1, handles: ['EvaluationFinished'], project };

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const rows = batch.flatMap((delivery) => (isOf(delivery, 'EvaluationFinished') ? [rowOf(delivery.event)] : []));
  await insertRows(trx, tables.evaluations, rows);
  return [];
}

function rowOf({ data, occurredAt }: Envelope<'EvaluationFinished'>): Row<typeof tables.evaluations> {
  return {
    run_id: data.runId,
    policy_id: data.policy.policyId,
    policy_version: data.policy.version,
    environment: data.environment,
    split: data.split,
    tasks: data.tasks,
    episodes: data.episodes,
    mean_return: data.meanReturn,
    return_low: data.returnInterval.low,
    return_high: data.returnInterval.high,
    success_rate: data.successRate,
    success_low: data.successInterval.low,
    success_high: data.successInterval.high,
    mean_steps: data.meanSteps,
    bootstrap: data.bootstrap,
    repeated_actions: data.repeatedActions,
    by_depth: data.byDepth,
    recovered_run_id: data.recovery?.fromRunId ?? null,
    trained: data.trained,
    finished_at: occurredAt,
  };
}
