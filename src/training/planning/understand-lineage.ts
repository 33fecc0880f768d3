import { configureEstimator } from '../../domain/training/advantages/estimators.ts';
import { planRules } from '../../events/schemas/training.ts';
import type { LineageRecord } from '../../projections/training-pool/read-lineages.ts';
import { TrainingRefused } from './training-refused.ts';

/**
 * Configures the estimator that was declared. One of another revision would be ready at other times: its batches are not planned.
 * @throws TrainingRefused.
 */
export function understandLineage({ policyId, rules, estimator: { name, revision, mode } }: LineageRecord) {
  const chosen = configureEstimator(name, mode as Record<string, unknown>); // the options, as `declareTraining` wrote them
  if (chosen.kind === 'refused') throw new TrainingRefused(`${policyId}: ${chosen.reason}`);
  if (chosen.estimator.revision !== revision)
    throw new TrainingRefused(`${policyId} was declared with ${name}@${revision}, this version has ${chosen.estimator.revision}`);
  return { rules: planRules.parse(rules), estimator: chosen.estimator };
}
