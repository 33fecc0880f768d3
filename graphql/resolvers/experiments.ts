import {
  type ExperimentPlanRecord,
  readExperimentCounts,
  readExperimentPlans,
  readStages,
} from '../../src/projections/experiment-stages/read-stages.ts';
import { ExperimentRefused } from '../../src/usecases/experiment/declaration/experiment.ts';
import { type DeclaredExperiment, declaredForm, declaredOf } from '../../src/usecases/experiment/record-experiment.ts';
import { armsOfRecords, recordedArms, reportOf } from '../../src/usecases/experiment/report.ts';
import type { Context } from '../context.ts';
import { runFilter } from '../filters.ts';
import type { ArmResultResolvers, ExperimentResolvers, ExperimentStageResolvers } from '../generated/types.ts';
import { many, one, readFrom } from '../loaders/batch.ts';
import { loadedBy } from '../loaders/loaded-by.ts';
import { connectRuns, scopedTo } from './lists.ts';

const plans = loadedBy((db) => one(readFrom(db)(readExperimentPlans), ({ experimentId }) => experimentId));
const counts = loadedBy((db) => one(readFrom(db)(readExperimentCounts), ({ id }) => id));
const stages = loadedBy((db) => many(readFrom(db)(readStages), ({ experimentId }) => experimentId));

export const Experiment: ExperimentResolvers = {
  declaration: async ({ id }, _, context) => {
    const plan = await plans(context).load(id);
    return plan === null ? null : declaredForm(plan.declaration);
  },
  refused: async ({ id }, _, context) => {
    const declared = await declaredIn(id, context);
    return declared instanceof ExperimentRefused ? declared.message : null;
  },
  rerunOf: async ({ id }, _, context) => {
    const rerunOf = (await plans(context).load(id))?.rerunOf ?? null;
    return rerunOf === null ? null : context.loaders.experiment.load(rerunOf);
  },
  completedStages: async ({ id }, _, context) => (await counts(context).load(id))?.completed ?? 0,
  failedStages: async ({ id }, _, context) => (await counts(context).load(id))?.failed ?? 0,
  arms: async ({ id }, _, context) => {
    const declared = await declaredIn(id, context);
    if (declared === null) return [];
    const records = await stages(context).load(id);
    return declared instanceof ExperimentRefused ? armsOfRecords(records) : recordedArms(declared.experiment, records);
  },
  comparison: async ({ id }, _, context) => {
    const declared = await declaredIn(id, context);
    if (declared === null || declared instanceof ExperimentRefused) return [];
    return reportOf(context.sources.db, declared);
  },
  runs: ({ id }, args, context) => connectRuns(args, scopedTo(runFilter(args.filter), 'experimentId', id), context),
};

export const ExperimentStage: ExperimentStageResolvers = {
  state: ({ record }) => record?.outcome ?? 'planned',
  message: ({ record }) => record?.message ?? '',
  key: ({ record }) => record?.key ?? null,
  finishedAt: ({ record }) => record?.finishedAt ?? null,
  reusedFrom: ({ record }, _, { loaders }) => (record?.reusedFrom ? loaders.experiment.load(record.reusedFrom) : null),
  digest: ({ record }) => record?.output?.digest ?? null,
  policy: ({ record }) => record?.output?.policy ?? null,
  judge: ({ record }) => record?.output?.judge ?? null,
  // a run that went to quarantine, or belongs to another project, is left out
  runs: async ({ record }, _, { loaders }) => {
    const runs = await Promise.all((record?.output?.runIds ?? []).map((id) => loaders.run.load(id)));
    return runs.filter((run) => run !== null);
  },
  dataset: ({ record }, _, { loaders }) => (record?.output?.datasetId ? loaders.dataset.load(record.output.datasetId) : null),
  kept: ({ record }) => record?.output?.kept ?? null,
  values: ({ record }) => named(record?.output?.values ?? {}),
};

export const ArmResult: ArmResultResolvers = { values: ({ values }) => named(values) };

/** Reads what an experiment declares; null where it declares no stages, the refusal where this version cannot run it. */
async function declaredIn(id: string, context: Context): Promise<DeclaredExperiment | ExperimentRefused | null> {
  const plan = await plans(context).load(id);
  return plan === null ? null : readDeclared(plan);
}

function readDeclared(plan: ExperimentPlanRecord): DeclaredExperiment | ExperimentRefused {
  try {
    return declaredOf(plan);
  } catch (error) {
    if (error instanceof ExperimentRefused) return error;
    throw error;
  }
}

function named(values: Readonly<Record<string, number>>): readonly { readonly name: string; readonly value: number }[] {
  return Object.entries(values).map(([name, value]) => ({ name, value }));
}
