import type { Delivery, Envelope } from '../../events/envelope.ts';
import { insertRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import { isOf, type Poison, type Projection } from '../projection.ts';

/** Folds the results of evaluations. A run has one: the first is the fact, a repetition changes nothing. */
export const evaluations: Projection = { name: 'evaluations', version: 1, handles: ['EvaluationFinished'], project };

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const rows = batch.flatMap((delivery) => (isOf(delivery, 'EvaluationFinished') ? [rowOf(delivery.event)] : []));
  await insertRows(trx, 'evaluations', ['run_id'], rows, COLUMNS);
  return [];
}

const COLUMNS = {
  run_id: 'uuid',
  policy_id: 'text',
  policy_version: 'integer',
  environment: 'text',
  split: 'text',
  tasks: 'integer',
  episodes: 'integer',
  mean_return: 'double precision',
  return_low: 'double precision',
  return_high: 'double precision',
  success_rate: 'double precision',
  success_low: 'double precision',
  success_high: 'double precision',
  mean_steps: 'double precision',
  bootstrap: 'jsonb',
  repeated_actions: 'jsonb',
  by_depth: 'jsonb',
  recovered_run_id: 'uuid',
  trained: 'jsonb',
  finished_at: 'timestamptz',
};
function rowOf({ data, occurredAt }: Envelope<'EvaluationFinished'>): Record<keyof typeof COLUMNS, unknown> {
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
