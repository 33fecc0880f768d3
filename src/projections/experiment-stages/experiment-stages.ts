import type { Delivery, Envelope } from '../../events/envelope.ts';
import { insertRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import type { Row } from '../../postgres/table.ts';
import { isOf, type Poison, type Projection } from '../projection.ts';
import { tables } from './tables.ts';

/** Folds the declarations of experiments and the ends of their stages. The first declaration is the fact. */
export const experimentStages: Projection = {
  name: 'experiment-stages',
  version: 1,
  handles: ['ExperimentDeclared', 'StageFinished'],
  project,
};

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const plans = batch.flatMap((delivery) => (isOf(delivery, 'ExperimentDeclared') ? planRows(delivery.event) : []));
  const stages = batch.flatMap((delivery) => (isOf(delivery, 'StageFinished') ? [stageRow(delivery.event)] : []));
  await insertRows(trx, tables.experimentPlans, plans);
  await insertRows(trx, tables.experimentStages, stages);
  return [];
}

function planRows({ data }: Envelope<'ExperimentDeclared'>): Row<typeof tables.experimentPlans>[] {
  const { experimentId, declaration, rerunOf = null } = data;
  // any JSON may be declared over HTTP: what is no object declares no stages
  if (typeof declaration !== 'object' || declaration === null || Array.isArray(declaration)) return [];
  return [{ experimentId, declaration: { ...declaration }, rerunOf }];
}

function stageRow({ id, data, occurredAt }: Envelope<'StageFinished'>): Row<typeof tables.experimentStages> {
  const { experimentId, arm, stage, kind, seed, key, outcome, message, reusedFrom, output } = data;
  return {
    eventId: id,
    experimentId,
    arm,
    stage,
    kind,
    seed,
    key,
    outcome,
    message,
    reusedFrom,
    output,
    finishedAt: occurredAt,
  };
}
