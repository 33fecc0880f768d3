import type { Reach } from '../../../domain/training/advantages/estimator.ts';
import { configureEstimator } from '../../../domain/training/advantages/estimators.ts';
import { needsWeights } from '../../../training/backends/linear/prepare-batch.ts';
import { penalisesRewards } from '../../../training/backends/penalise-batch.ts';
import { trainingSettings } from '../../../training/backends/training-settings.ts';
import type { BatchUpdate } from '../../../training/versions/read-batch-update.ts';

/**
 * Returns whether the advantages that `advantagesOf` computes of a group follow from its rows alone, or from the batch. A row of
 * another group may have the whole batch refused: a group is read alone only of an update that our own trainers made.
 */
export function reachOf({ method, backend, settings, metrics }: Made): Reach {
  if (method === null) return 'group'; // no advantages
  const options = (method.mode ?? {}) as Readonly<Record<string, unknown>>; // each option is checked by its rule
  const configured = configureEstimator(method.name, options);
  if (configured.kind === 'refused' || configured.estimator.revision !== method.revision) return 'group'; // refused, whatever rows
  if (metrics === null || (backend !== 'linear' && backend !== 'torch')) return 'batch';
  const { estimator } = configured;
  const { data: declared } = trainingSettings.safeParse(settings);
  // what reads weights is refused outside linear policies, whatever the rows; there KL and corrections look at whole batches
  if (needsWeights(estimator) || (declared && penalisesRewards(declared))) return backend === 'linear' ? 'batch' : 'group';
  if ((declared?.processRewards?.normalisation ?? 'none') !== 'none') return 'batch';
  return estimator.reach;
}
type Made = Pick<BatchUpdate, 'method' | 'backend' | 'settings' | 'metrics'>;
