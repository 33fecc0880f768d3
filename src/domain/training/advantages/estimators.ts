import { type RefusedOption, refuseOption } from '../method-options.ts';
import type { ConfiguredEstimator, Estimator } from './estimator.ts';
import { gaeEstimator } from './gae-estimator.ts';
import { gigpoEstimator } from './gigpo-estimator.ts';
import { gpgEstimator, grpoEstimator, opoEstimator, passAtKEstimator, rlooEstimator } from './group-estimators.ts';
import {
  optimalBaselineEstimator,
  reinforcePlusPlusBaselineEstimator,
  reinforcePlusPlusEstimator,
  reinforceStepEstimator,
  remaxEstimator,
} from './return-estimators.ts';
import { stepPartsEstimator } from './step-parts-estimator.ts';

/** Every advantage estimator by the name that runs and updates record. */
export const ESTIMATORS: Readonly<Record<string, Estimator>> = Object.fromEntries(
  [
    gaeEstimator,
    grpoEstimator,
    passAtKEstimator,
    reinforcePlusPlusEstimator,
    reinforcePlusPlusBaselineEstimator,
    reinforceStepEstimator,
    rlooEstimator,
    remaxEstimator,
    opoEstimator,
    gpgEstimator,
    gigpoEstimator,
    optimalBaselineEstimator,
    stepPartsEstimator,
  ].map((estimator) => [estimator.name, estimator]),
);

/** Finds an estimator and chooses its options; refuses a name or an option that does not exist, saying which there are. */
export function configureEstimator(
  name: string,
  options: Readonly<Record<string, unknown>>,
): { readonly kind: 'configured'; readonly estimator: ConfiguredEstimator } | RefusedOption {
  const estimator = Object.hasOwn(ESTIMATORS, name) ? ESTIMATORS[name] : undefined;
  if (estimator === undefined)
    return refuseOption(`there is no estimator ${name}; there are ${Object.keys(ESTIMATORS).join(', ')}`);
  return estimator.configure(options);
}
