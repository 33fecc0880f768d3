import type { Reach } from '../../../domain/training/advantages/estimator.ts';
import { configureEstimator } from '../../../domain/training/advantages/estimators.ts';
import { needsWeights } from '../../../training/backends/linear/assess-steps.ts';
import { penalisesRewards } from '../../../training/backends/penalise-batch.ts';
import type { StepRow } from '../../../training/backends/step-row.ts';
import { trainingSettings } from '../../../training/backends/training-settings.ts';
import type { BatchUpdate } from '../../../training/versions/read-batch-update.ts';

/**
 * Returns whether the advantages that `advantagesOf` computes of a group follow from its rows alone, or from the batch.
 * @param rows of the group, once they are read.
 */
export function reachOf(
  { method, backend, settings }: Pick<BatchUpdate, 'method' | 'backend' | 'settings'>,
  rows: readonly StepRow[] | null = null,
): Reach {
  if (method === null) return 'group'; // no advantages
  const options = (method.mode ?? {}) as Readonly<Record<string, unknown>>; // each option is checked by its rule
  const configured = configureEstimator(method.name, options);
  if (configured.kind === 'refused' || configured.estimator.revision !== method.revision) return 'group'; // refused, whatever rows
  const { estimator } = configured;
  const { data: declared } = trainingSettings.safeParse(settings);
  // what reads weights is refused outside linear policies, whatever the rows; there KL and corrections look at whole batches
  if (needsWeights(estimator) || (declared && penalisesRewards(declared))) return backend === 'linear' ? 'batch' : 'group';
  if ((declared?.processRewards?.normalisation ?? 'none') !== 'none') return 'batch';
  const isKnown = backend === 'linear' || backend === 'torch';
  // otherwise steps are taken by their tokens where one step of the batch has several
  if (!isKnown && rows?.every(({ tokens }) => (tokens?.ids.length ?? 0) <= 1)) return 'batch';
  return estimator.reach;
}
