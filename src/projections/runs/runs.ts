import type { EventType } from '../../events/catalogue.ts';
import type { Delivery, Envelope } from '../../events/envelope.ts';
import { insertRows, updateRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import type { Row } from '../../postgres/table.ts';
import { isOf, type Poison, type Projection } from '../projection.ts';
import { tables } from './tables.ts';

const HANDLES: readonly EventType[] = [
  ...(['ExperimentDeclared', 'RunStarted', 'RecorderJoined', 'RecorderLeft', 'RunFinished', 'MetricRecorded'] as const),
];

/**
 * Folds experiments, runs, their recorders and their metrics. The first start and the first end of a run are the facts; a repetition changes
 * nothing. Who joins a run behind its end goes to quarantine.
 */
export const runs: Projection = { name: 'runs', version: 2, handles: HANDLES, project };

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const experiments: Row<typeof tables.experiments>[] = [];
  const started: ReturnType<typeof runRow>[] = [];
  const finished = new Map<string, ReturnType<typeof endRow>>();
  const metrics: Row<typeof tables.metrics>[] = [];
  const joined: ReturnType<typeof joinedRow>[] = [];
  const left = new Map<string, ReturnType<typeof leftRow>>();
  const poison: Poison[] = [];
  const known = await knownRuns(batch, trx);
  const recorders = await knownRecorders(batch, trx);

  for (const delivery of batch) {
    if (isOf(delivery, 'ExperimentDeclared')) experiments.push(experimentRow(delivery.event));
    if (isOf(delivery, 'RunStarted')) {
      const { runId } = delivery.event.data;
      known.set(runId, known.get(runId) ?? 'going');
      started.push(runRow(delivery.event));
    }
    if (belongsToRun(delivery)) {
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
    if (isOf(delivery, 'RecorderJoined')) {
      const { runId } = delivery.event.data;
      if (known.get(runId) === 'finished') {
        const reason = `run ${runId} has ended; record into a run of its own`;
        poison.push({ delivery, code: 'conflict', field: 'data.runId', reason });
        continue;
      }
      joined.push(joinedRow(delivery.event));
      recorders.add(recorderKey(delivery.event.data));
    }
    if (isOf(delivery, 'RecorderLeft')) {
      const { data } = delivery.event;
      const key = recorderKey(data);
      if (recorders.has(key)) left.set(key, left.get(key) ?? leftRow(delivery.event));
      else
        poison.push({
          delivery,
          code: 'missing-recorder',
          field: 'data.recorderId',
          reason: `recorder ${data.recorderId} never joined run ${data.runId}; append its RecorderJoined first`,
        });
    }
    if (isOf(delivery, 'RunFinished')) {
      const { runId } = delivery.event.data;
      if (!finished.has(runId)) finished.set(runId, endRow(delivery.event));
      known.set(runId, 'finished');
    }
    if (isOf(delivery, 'MetricRecorded')) metrics.push(metricRow(delivery.event));
  }

  await insertRows(trx, tables.experiments, experiments);
  await insertRows(trx, tables.runs, started);
  await updateRows(trx, tables.runs, [...finished.values()], 'finishedAt');
  await insertRows(trx, tables.runRecorders, joined);
  await updateRows(trx, tables.runRecorders, [...left.values()], 'leftAt');
  await insertRows(trx, tables.metrics, metrics);
  return poison;
}

const OF_RUN: readonly EventType[] = ['RecorderJoined', 'RecorderLeft', 'RunFinished', 'MetricRecorded'];

function belongsToRun(
  delivery: Delivery,
): delivery is Delivery<Envelope<(typeof OF_RUN)[number]>> & { event: { data: { runId: string } } } {
  return OF_RUN.includes(delivery.event.type);
}

async function knownRuns(batch: readonly Delivery[], trx: Trx): Promise<Map<string, 'going' | 'finished'>> {
  const ids = batch.flatMap((d) => (belongsToRun(d) ? [d.event.data.runId] : []));
  if (ids.length === 0) return new Map();
  const rows = await rowsWhere(trx, 'runs', { runId: new Set(ids) }, ['runId', 'finishedAt']);
  return new Map(rows.map(({ runId, finishedAt }) => [runId, finishedAt === null ? 'going' : 'finished']));
}

async function knownRecorders(batch: readonly Delivery[], trx: Trx): Promise<Set<string>> {
  const named = batch.flatMap((d) => (isOf(d, 'RecorderLeft') ? [d.event.data] : []));
  if (named.length === 0) return new Set();
  const where = { runId: new Set(named.map((each) => each.runId)), recorderId: new Set(named.map((each) => each.recorderId)) };
  const rows = await rowsWhere(trx, 'runRecorders', where, ['runId', 'recorderId']);
  return new Set(rows.map(recorderKey));
}

function recorderKey({ runId, recorderId }: { readonly runId: string; readonly recorderId: string }): string {
  return `${runId} ${recorderId}`;
}

function experimentRow({ data, occurredAt }: Envelope<'ExperimentDeclared'>): Row<typeof tables.experiments> {
  return { experimentId: data.experimentId, name: data.name, question: data.question, declaredAt: occurredAt };
}

function runRow({
  data,
  occurredAt,
}: Envelope<'RunStarted'>): Omit<Row<typeof tables.runs>, 'finishedAt' | 'outcome' | 'message'> {
  return {
    runId: data.runId,
    experimentId: data.experimentId,
    name: data.name,
    kind: data.kind,
    seed: data.seed,
    codeVersion: data.codeVersion,
    config: data.config ?? {}, // a run whose configuration is JSON's null; a recordset would make it the null of SQL
    environments: data.environments.map(({ environment, fingerprint }) => ({ environment, fingerprint })),
    policyId: data.policy?.policyId ?? null,
    policyVersion: data.policy?.version ?? null,
    startedAt: occurredAt,
  };
}

function endRow({ data, occurredAt }: Envelope<'RunFinished'>) {
  return { runId: data.runId, finishedAt: occurredAt, outcome: data.outcome, message: data.message };
}

function joinedRow({ data, occurredAt }: Envelope<'RecorderJoined'>) {
  const { runId, recorderId, name, endedByOpener = false } = data;
  return { runId, recorderId, name, joinedAt: occurredAt, endedByOpener };
}

function leftRow({ data, occurredAt }: Envelope<'RecorderLeft'>) {
  const { runId, recorderId, outcome, message } = data;
  return { runId, recorderId, leftAt: occurredAt, outcome, message };
}

function metricRow({ id, data, occurredAt }: Envelope<'MetricRecorded'>): Row<typeof tables.metrics> {
  return {
    eventId: id,
    runId: data.runId,
    metric: data.metric,
    value: data.value,
    at: data.at,
    weights: data.weights ?? null,
    occurredAt,
  };
}
