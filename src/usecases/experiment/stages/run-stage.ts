import type { StageOutput } from '../../../projections/experiment-stages/read-stages.ts';
import type { STAGE_FIELDS } from '../declaration/stage-fields.ts';
import { releaseStage, reviseStage } from './data-stages.ts';
import { collectStage, evaluateStage } from './rollout-stages.ts';
import type { StageWork } from './stage-work.ts';
import { cloneStage, trainStage } from './train-stages.ts';

const RUNNERS: { readonly [Form in keyof typeof STAGE_FIELDS]: (work: StageWork<Form>) => Promise<StageOutput> } = {
  collect: collectStage,
  search: collectStage,
  revise: reviseStage,
  release: releaseStage,
  train: trainStage,
  clone: cloneStage,
  evaluate: evaluateStage,
};

/**
 * Does the work of a stage. Every id follows from its key: who does it again after a kill goes on where the record ends, and
 * comes to the same. @throws what the use case throws; what the signal aborts with.
 */
export function runStage<Form extends keyof typeof STAGE_FIELDS>(work: StageWork<Form>): Promise<StageOutput> {
  return RUNNERS[work.stage.form](work);
}
