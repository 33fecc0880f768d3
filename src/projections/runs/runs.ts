import { sql } from 'kysely';
import type { EventType } from '../../events/catalogue.ts';
import type { Delivery, Envelope } from '../../events/envelope.ts';
import { insertRows, recordset } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import { isOf, type Poison, type Projection } from '../projection.ts';

const HANDLES: readonly EventType[] = ['ExperimentDeclared', 'RunStarted', 'RunFinished', 'MetricRecorded'];

/**
 * Folds experiments, runs and their metrics. The first start and the first end of a run are the facts; a repetition changes
 * nothing.
 */
export const runs: Projection = { name: 'runs', version: 1, handles: HANDLES, project };

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const experiments: object[] = [];
  const started: object[] = [];
  const finished = new Map<string, object>();
  const metrics: object[] = [];
  const poison: Poison[] = [];
  const known = await knownRuns(batch, trx);

  for (const delivery of batch) {
    if (isOf(delivery, 'ExperimentDeclared')) experiments.push(experimentRow(delivery.event));
    if (isOf(delivery, 'RunStarted')) {
      known.add(delivery.event.data.runId);
      started.push(runRow(delivery.event));
    }
    if (isOf(delivery, 'RunFinished') || isOf(delivery, 'MetricRecorded')) {
      const { runId } = delivery.event.data;
      if (!known.has(runId)) {
        poison.push({
          delivery,
          code: 'missing-run',
          field: 'data.runId',
          reason: `run ${runId} was never started; append its RunStarted first`,
        });
        continue;
      }
    }
    if (isOf(delivery, 'RunFinished') && !finished.has(delivery.event.data.runId))
      finished.set(delivery.event.data.runId, endRow(delivery.event));
    if (isOf(delivery, 'MetricRecorded')) metrics.push(metricRow(delivery.event));
  }

  await insertRows(trx, 'experiments', ['experiment_id'], experiments, EXPERIMENT_COLUMNS);
  await insertRows(trx, 'runs', ['run_id'], started, RUN_COLUMNS);
  if (finished.size > 0) {
    await sql`
      update runs set finished_at = r.finished_at, outcome = r.outcome, message = r.message
      from ${recordset([...finished.values()], { run_id: 'uuid', finished_at: 'timestamptz', outcome: 'text', message: 'text' })}
      where runs.run_id = r.run_id and runs.finished_at is null`.execute(trx);
  }
  await insertRows(trx, 'metrics', ['event_id'], metrics, METRIC_COLUMNS);
  return poison;
}

async function knownRuns(batch: readonly Delivery[], trx: Trx): Promise<Set<string>> {
  const ids = batch.flatMap((d) => (isOf(d, 'RunFinished') || isOf(d, 'MetricRecorded') ? [d.event.data.runId] : []));
  if (ids.length === 0) return new Set();
  const { rows } = await sql<{
    run_id: string;
  }>`select run_id from runs where run_id = any(${[...new Set(ids)]}::uuid[])`.execute(trx);
  return new Set(rows.map((row) => row.run_id));
}

const EXPERIMENT_COLUMNS = { experiment_id: 'uuid', name: 'text', question: 'text', declared_at: 'timestamptz' };
function experimentRow({ data, occurredAt }: Envelope<'ExperimentDeclared'>): object {
  return { experiment_id: data.experimentId, name: data.name, question: data.question, declared_at: occurredAt };
}

const RUN_COLUMNS = {
  run_id: 'uuid',
  experiment_id: 'uuid',
  name: 'text',
  kind: 'text',
  seed: 'bigint',
  code_version: 'text',
  config: 'jsonb',
  environments: 'jsonb',
  policy_id: 'text',
  policy_version: 'integer',
  started_at: 'timestamptz',
};
function runRow({ data, occurredAt }: Envelope<'RunStarted'>): object {
  return {
    run_id: data.runId,
    experiment_id: data.experimentId,
    name: data.name,
    kind: data.kind,
    seed: data.seed,
    code_version: data.codeVersion,
    config: data.config ?? {}, // a run whose configuration is JSON's null; a recordset would make it the null of SQL
    environments: data.environments,
    policy_id: data.policy?.policyId ?? null,
    policy_version: data.policy?.version ?? null,
    started_at: occurredAt,
  };
}

function endRow({ data, occurredAt }: Envelope<'RunFinished'>): object {
  return { run_id: data.runId, finished_at: occurredAt, outcome: data.outcome, message: data.message };
}

const METRIC_COLUMNS = {
  event_id: 'uuid',
  run_id: 'uuid',
  metric: 'text',
  value: 'double precision',
  at: 'bigint',
  occurred_at: 'timestamptz',
};
function metricRow({ id, data, occurredAt }: Envelope<'MetricRecorded'>): object {
  return { event_id: id, run_id: data.runId, metric: data.metric, value: data.value, at: data.at, occurred_at: occurredAt };
}
